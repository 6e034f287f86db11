/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACPI tables and the commands that place them; contract in include/hw/i386/acpi-tables.h.
 *
 * Each table is appended to one blob; addresses in it are offsets into the blob until the linker commands add where it
 * came to lie. Checksums are commands too. Main thread. Test: tests/boot/test-tables.py.
 */
#include "hw/i386/acpi-tables.h"

#include <string.h>

#include "util/units.h"

#define TABLES_FILE "etc/acpi/tables"
#define RSDP_FILE "etc/acpi/rsdp"
#define LOADER_FILE "etc/table-loader"
#define RSDP_SIZE 36
#define COMMAND_SIZE 128
#define FILE_FIELD 56
enum { CMD_ALLOCATE = 1, CMD_ADD_POINTER = 2, CMD_ADD_CHECKSUM = 3 };
enum { ZONE_HIGH = 1, ZONE_FSEG = 2 };

static void put(GByteArray *out, uint64_t v, int bytes)
{
    uint8_t le[8];

    for (int i = 0; i < 8; i++) {
        le[i] = v >> 8 * i;
    }
    g_byte_array_append(out, le, bytes);
}

static void put_at(GByteArray *out, guint at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        out->data[at + i] = v >> 8 * i;
    }
}

static void put_text(GByteArray *out, const char *text, guint len)
{
    uint8_t field[16] = { 0 };

    memcpy(field, text, MIN_OF(strlen(text), len));
    g_byte_array_append(out, field, len);
}

void acpi_put(AcpiBuild *a, uint64_t v, int bytes)
{
    put(a->tables, v, bytes);
}

void acpi_put_zeros(AcpiBuild *a, guint n)
{
    while (n--) {
        put(a->tables, 0, 1);
    }
}

void acpi_put_text(AcpiBuild *a, const char *text, guint len)
{
    put_text(a->tables, text, len);
}

void acpi_put_gas(AcpiBuild *a, uint8_t space, uint8_t bits, uint8_t access, uint64_t addr)
{
    acpi_put(a, space, 1);
    acpi_put(a, addr ? bits : 0, 1);
    acpi_put(a, 0, 1);
    acpi_put(a, addr ? access : 0, 1);
    acpi_put(a, addr, 8);
}

/* ---- linker commands ---- */

static uint8_t *command_new(AcpiBuild *a, uint32_t kind)
{
    guint at = a->loader->len;

    g_byte_array_set_size(a->loader, at + COMMAND_SIZE);
    memset(a->loader->data + at, 0, COMMAND_SIZE);
    put_at(a->loader, at, kind, 4);
    return a->loader->data + at;
}

static void le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = v >> 8 * i;
    }
}

static uint32_t get32(const uint8_t *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static void link_allocate(AcpiBuild *a, const char *file, uint32_t align, uint8_t zone)
{
    uint8_t *c = command_new(a, CMD_ALLOCATE);

    g_strlcpy((char *)c + 4, file, FILE_FIELD);
    le32(c + 4 + FILE_FIELD, align);
    c[8 + FILE_FIELD] = zone;
}

/* The size-byte value at offset of dest gets the address of the tables' blob added. */
static void link_pointer(AcpiBuild *a, const char *dest, uint32_t offset, uint8_t size)
{
    uint8_t *c = command_new(a, CMD_ADD_POINTER);

    g_strlcpy((char *)c + 4, dest, FILE_FIELD);
    g_strlcpy((char *)c + 4 + FILE_FIELD, TABLES_FILE, FILE_FIELD);
    le32(c + 4 + 2 * FILE_FIELD, offset);
    c[8 + 2 * FILE_FIELD] = size;
}

void acpi_link_pointer(AcpiBuild *a, uint32_t at, uint8_t size)
{
    link_pointer(a, TABLES_FILE, at, size);
}

static void link_checksum(AcpiBuild *a, const char *file, uint32_t at, uint32_t start, uint32_t len)
{
    uint8_t *c = command_new(a, CMD_ADD_CHECKSUM);

    g_strlcpy((char *)c + 4, file, FILE_FIELD);
    le32(c + 4 + FILE_FIELD, at);
    le32(c + 8 + FILE_FIELD, start);
    le32(c + 12 + FILE_FIELD, len);
}

/* ---- tables ---- */

guint acpi_table_begin(AcpiBuild *a, const char *signature, uint8_t revision)
{
    guint at;

    acpi_put_zeros(a, ALIGN_UP(a->tables->len, 16) - a->tables->len);
    at = a->tables->len;
    put_text(a->tables, signature, 4);
    acpi_put(a, 0, 4);                  /* length */
    acpi_put(a, revision, 1);
    acpi_put(a, 0, 1);                  /* checksum */
    put_text(a->tables, a->oem_id, 6);
    put_text(a->tables, a->oem_table_id, 8);
    acpi_put(a, 1, 4);
    put_text(a->tables, "CLTB", 4);
    acpi_put(a, 1, 4);
    return at;
}

void acpi_table_end(AcpiBuild *a, guint at, bool listed)
{
    guint len = a->tables->len - at;

    put_at(a->tables, at + 4, len, 4);
    link_checksum(a, TABLES_FILE, at + 9, at, len);
    if (listed) {
        g_assert(a->n_tables < ACPI_MAX_TABLES);
        a->table[a->n_tables++] = at;
    }
}

void acpi_madt_cpu(AcpiBuild *a, uint32_t uid, uint32_t apic_id)
{
    if (apic_id < 255) {
        acpi_put(a, 0, 1);
        acpi_put(a, 8, 1);
        acpi_put(a, uid, 1);
        acpi_put(a, apic_id, 1);
        acpi_put(a, 1, 4);
        return;
    }
    acpi_put(a, 9, 1);                  /* x2APIC */
    acpi_put(a, 16, 1);
    acpi_put(a, 0, 2);
    acpi_put(a, apic_id, 4);
    acpi_put(a, 1, 4);
    acpi_put(a, uid, 4);
}

void acpi_madt_ioapic(AcpiBuild *a, uint8_t id, uint32_t addr, uint32_t gsi_base)
{
    acpi_put(a, 1, 1);
    acpi_put(a, 12, 1);
    acpi_put(a, id, 1);
    acpi_put(a, 0, 1);
    acpi_put(a, addr, 4);
    acpi_put(a, gsi_base, 4);
}

void acpi_madt_override(AcpiBuild *a, uint8_t irq, uint32_t gsi, uint16_t flags)
{
    acpi_put(a, 2, 1);
    acpi_put(a, 10, 1);
    acpi_put(a, 0, 1);
    acpi_put(a, irq, 1);
    acpi_put(a, gsi, 4);
    acpi_put(a, flags, 2);
}

void acpi_madt_nmi(AcpiBuild *a)
{
    acpi_put(a, 4, 1);
    acpi_put(a, 6, 1);
    acpi_put(a, 0xff, 1);
    acpi_put(a, 0, 2);
    acpi_put(a, 1, 1);
}

void acpi_build_mcfg(AcpiBuild *a, uint64_t ecam_base, uint8_t last_bus)
{
    guint at = acpi_table_begin(a, "MCFG", 1);

    acpi_put(a, 0, 8);
    acpi_put(a, ecam_base, 8);
    acpi_put(a, 0, 2);                  /* segment, first bus */
    acpi_put(a, 0, 1);
    acpi_put(a, last_bus, 1);
    acpi_put(a, 0, 4);
    acpi_table_end(a, at, true);
}

/* RSDT (4-byte pointers) or XSDT (8). */
static guint build_root(AcpiBuild *a, const char *signature, int size)
{
    guint at = acpi_table_begin(a, signature, 1);

    for (int i = 0; i < a->n_tables; i++) {
        acpi_link_pointer(a, a->tables->len, size);
        put(a->tables, a->table[i], size);
    }
    acpi_table_end(a, at, false);
    return at;
}

static void build_rsdp(AcpiBuild *a, guint rsdt, guint xsdt)
{
    put_text(a->rsdp, "RSD PTR ", 8);
    put(a->rsdp, 0, 1);
    put_text(a->rsdp, a->oem_id, 6);
    put(a->rsdp, 2, 1);
    put(a->rsdp, rsdt, 4);
    put(a->rsdp, RSDP_SIZE, 4);
    put(a->rsdp, xsdt, 8);
    put(a->rsdp, 0, 4);
    link_pointer(a, RSDP_FILE, 16, 4);
    link_pointer(a, RSDP_FILE, 24, 8);
    link_checksum(a, RSDP_FILE, 8, 0, 20);
    link_checksum(a, RSDP_FILE, 32, 0, RSDP_SIZE);
}

AcpiBuild *acpi_build_new(const char *oem_id, const char *oem_table_id)
{
    AcpiBuild *a = g_new0(AcpiBuild, 1);

    a->tables = g_byte_array_new();
    a->rsdp = g_byte_array_new();
    a->loader = g_byte_array_new();
    a->oem_id = g_strdup(oem_id ? oem_id : ACPI_OEM_ID);
    a->oem_table_id = g_strdup(oem_table_id ? oem_table_id : ACPI_OEM_TABLE_ID);
    link_allocate(a, RSDP_FILE, 16, ZONE_FSEG);
    link_allocate(a, TABLES_FILE, 64, ZONE_HIGH);
    return a;
}

bool acpi_build_finish(AcpiBuild *a, FwCfg *fw, Error **errp)
{
    guint rsdt = build_root(a, "RSDT", 4), xsdt = build_root(a, "XSDT", 8);

    build_rsdp(a, rsdt, xsdt);
    return fw_cfg_add_file(fw, TABLES_FILE, a->tables->data, a->tables->len, errp) &&
           fw_cfg_add_file(fw, RSDP_FILE, a->rsdp->data, a->rsdp->len, errp) &&
           fw_cfg_add_file(fw, LOADER_FILE, a->loader->data, a->loader->len, errp);
}

void acpi_build_free(AcpiBuild *a)
{
    if (a) {
        g_byte_array_free(a->tables, TRUE);
        g_byte_array_free(a->rsdp, TRUE);
        g_byte_array_free(a->loader, TRUE);
        g_free(a->oem_id);
        g_free(a->oem_table_id);
        g_free(a);
    }
}

uint64_t acpi_tables_size(const AcpiBuild *a)
{
    return a->tables->len;
}

/* ---- carrying out the commands ---- */

static void run_pointer(const uint8_t *c, uint8_t *file, uint64_t tables_addr)
{
    uint32_t offset = get32(c + 4 + 2 * FILE_FIELD);
    uint8_t size = c[8 + 2 * FILE_FIELD];
    uint64_t v = 0;

    for (int i = 0; i < size; i++) {
        v |= (uint64_t)file[offset + i] << 8 * i;
    }
    v += tables_addr;
    for (int i = 0; i < size; i++) {
        file[offset + i] = v >> 8 * i;
    }
}

static void run_checksum(const uint8_t *c, uint8_t *file)
{
    uint32_t at = get32(c + 4 + FILE_FIELD), start = get32(c + 8 + FILE_FIELD), len = get32(c + 12 + FILE_FIELD);
    uint8_t sum = 0;

    for (uint32_t i = 0; i < len; i++) {
        sum += file[start + i];
    }
    file[at] -= sum;
}

void acpi_write_tables(const AcpiBuild *a, AddressSpace *as, hwaddr tables_addr, hwaddr rsdp_addr)
{
    g_autofree uint8_t *tables = g_memdup2(a->tables->data, a->tables->len);
    g_autofree uint8_t *rsdp = g_memdup2(a->rsdp->data, a->rsdp->len);

    for (guint at = 0; at < a->loader->len; at += COMMAND_SIZE) {
        const uint8_t *c = a->loader->data + at;
        uint8_t *file = strcmp((const char *)c + 4, RSDP_FILE) ? tables : rsdp;

        if (get32(c) == CMD_ADD_POINTER) {
            run_pointer(c, file, tables_addr);
        } else if (get32(c) == CMD_ADD_CHECKSUM) {
            run_checksum(c, file);
        }
    }
    address_space_write(as, tables_addr, tables, a->tables->len);
    address_space_write(as, rsdp_addr, rsdp, a->rsdp->len);
}
