/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixed ACPI tables of the PC boards and the commands that place them; contract in include/hw/i386/acpi-build.h.
 *
 * Each table is appended to one blob; addresses in it are offsets into the blob until the linker commands add where it
 * came to lie. Checksums are commands too. Tables: ACPI 6.4 ch. 5; HPET: IA-PC HPET 3.2.4; MCFG: PCI Firmware 3.2
 * 4.1.2.
 */
#include "hw/i386/acpi-build.h"

#include <string.h>

#include "hw/i386/acpi-dsdt.h"
#include "util/units.h"

#define TABLES_FILE "etc/acpi/tables"
#define RSDP_FILE "etc/acpi/rsdp"
#define LOADER_FILE "etc/table-loader"
#define HEADER_SIZE 36
#define RSDP_SIZE 36
#define MAX_TABLES 12
#define COMMAND_SIZE 128
#define FILE_FIELD 56
enum { CMD_ALLOCATE = 1, CMD_ADD_POINTER = 2, CMD_ADD_CHECKSUM = 3 };
enum { ZONE_HIGH = 1, ZONE_FSEG = 2 };

struct AcpiBuild {
    GByteArray *tables, *rsdp, *loader;
    uint32_t table[MAX_TABLES];         /* offsets of what RSDT and XSDT list */
    int n_tables;
};

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

static void put_zeros(GByteArray *out, guint n)
{
    while (n--) {
        put(out, 0, 1);
    }
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

static void link_checksum(AcpiBuild *a, const char *file, uint32_t at, uint32_t start, uint32_t len)
{
    uint8_t *c = command_new(a, CMD_ADD_CHECKSUM);

    g_strlcpy((char *)c + 4, file, FILE_FIELD);
    le32(c + 4 + FILE_FIELD, at);
    le32(c + 8 + FILE_FIELD, start);
    le32(c + 12 + FILE_FIELD, len);
}

/* ---- tables ---- */

static guint table_begin(AcpiBuild *a, const PcMachine *pc, const char *signature, uint8_t revision)
{
    guint at;

    put_zeros(a->tables, ALIGN_UP(a->tables->len, 16) - a->tables->len);
    at = a->tables->len;
    put_text(a->tables, signature, 4);
    put(a->tables, 0, 4);               /* length */
    put(a->tables, revision, 1);
    put(a->tables, 0, 1);               /* checksum */
    put_text(a->tables, pc->oem_id ? pc->oem_id : ACPI_OEM_ID, 6);
    put_text(a->tables, pc->oem_table_id ? pc->oem_table_id : ACPI_OEM_TABLE_ID, 8);
    put(a->tables, 1, 4);
    put_text(a->tables, "CLTB", 4);
    put(a->tables, 1, 4);
    return at;
}

/* Length and checksum; lists the table in RSDT and XSDT if listed. */
static void table_end(AcpiBuild *a, guint at, bool listed)
{
    guint len = a->tables->len - at;

    put_at(a->tables, at + 4, len, 4);
    link_checksum(a, TABLES_FILE, at + 9, at, len);
    if (listed) {
        g_assert(a->n_tables < MAX_TABLES);
        a->table[a->n_tables++] = at;
    }
}

static guint build_facs(AcpiBuild *a)
{
    guint at = a->tables->len;          /* first in the blob: it wants 64-byte alignment */

    put_text(a->tables, "FACS", 4);
    put(a->tables, 64, 4);
    put_zeros(a->tables, 24);
    put(a->tables, 2, 1);               /* version, offset 32 */
    put_zeros(a->tables, 31);
    return at;
}

static guint build_dsdt(AcpiBuild *a, const PcMachine *pc)
{
    guint at = table_begin(a, pc, "DSDT", 2);
    Aml aml = { .out = a->tables };

    acpi_dsdt_build(pc, &aml);
    table_end(a, at, false);
    return at;
}

/* Generic address: space 1 is I/O; access 0 undefined. */
static void put_gas(GByteArray *out, uint8_t space, uint8_t bits, uint8_t access, uint64_t addr)
{
    put(out, space, 1);
    put(out, addr ? bits : 0, 1);
    put(out, 0, 1);
    put(out, addr ? access : 0, 1);
    put(out, addr, 8);
}

enum { FADT_WBINVD = 1 << 0, FADT_PROC_C1 = 1 << 2, FADT_SLP_BUTTON = 1 << 5, FADT_RESET_REG = 1 << 10,
       FADT_USE_PLATFORM_CLOCK = 1 << 15, FADT_CLUSTER = 1 << 18 };
enum { BOOT_LEGACY = 1 << 0, BOOT_8042 = 1 << 1 };

static uint32_t fadt_flags(const PcMachine *pc)
{
    return FADT_WBINVD | FADT_PROC_C1 | FADT_SLP_BUTTON | FADT_RESET_REG | FADT_USE_PLATFORM_CLOCK |
           (pc->n_cpus > 8 ? FADT_CLUSTER : 0);
}

/* Ports of the fixed hardware; gpe_len in bytes, status and enable together. */
typedef struct FadtPorts {
    uint32_t event, control, timer, gpe;
    uint8_t gpe_len;
} FadtPorts;

static void fadt_legacy(AcpiBuild *a, const PcMachine *pc, const FadtPorts *p)
{
    GByteArray *t = a->tables;
    bool q35 = pc->kind->pcie;

    put(t, 1, 1);                       /* INT_MODEL of ACPI 1.0: dual PIC and APIC */
    put(t, 0, 1);                       /* profile: unspecified */
    put(t, PC_SCI_GSI, 2);
    put(t, ACPI_APM_PORT, 4);
    put(t, q35 ? ACPI_ICH9_ENABLE : ACPI_PIIX4_ENABLE, 1);
    put(t, q35 ? ACPI_ICH9_DISABLE : ACPI_PIIX4_DISABLE, 1);
    put(t, 0, 2);                       /* S4BIOS, PSTATE */
    put(t, p->event, 4);
    put(t, 0, 4);
    put(t, p->control, 4);
    put(t, 0, 8);                       /* PM1b control, PM2 */
    put(t, p->timer, 4);
    put(t, p->gpe, 4);
    put(t, 0, 4);
    put(t, 4, 1);                       /* lengths: PM1 event, control, PM2, timer, GPE 0 and 1 */
    put(t, 2, 1);
    put(t, 0, 1);
    put(t, 4, 1);
    put(t, p->gpe_len, 1);
    put(t, 0, 3);                       /* GPE 1's length and base, CST */
    put(t, 0xfff, 2);                   /* no C2, no C3 */
    put(t, 0xfff, 2);
    put(t, 0, 6);                       /* flush size and stride, duty */
    put(t, 0, 2);                       /* no day and month alarms */
    put(t, 0x32, 1);                    /* century register */
    put(t, BOOT_LEGACY | (pc->i8042_enabled ? BOOT_8042 : 0), 2);
    put(t, 0, 1);
    put(t, fadt_flags(pc), 4);
    put_gas(t, 1, 8, 1, RESET_CONTROL_PORT);
    put(t, 0x0f, 1);
    put(t, 0, 2);                       /* ARM */
    put(t, 5, 1);                       /* FADT minor version: 6.5's fields up to here */
}

static void build_fadt(AcpiBuild *a, const PcMachine *pc, guint facs, guint dsdt)
{
    bool q35 = pc->kind->pcie;
    const FadtPorts p = {
        ACPI_PIIX4_PMBASE, ACPI_PIIX4_PMBASE + 4, ACPI_PIIX4_PMBASE + 8,
        q35 ? ACPI_PIIX4_PMBASE + 0x20 : ACPI_PIIX4_GPE_BASE, q35 ? 16 : 4,
    };
    guint at = table_begin(a, pc, "FACP", 6);
    GByteArray *t = a->tables;

    put(t, facs, 4);
    put(t, dsdt, 4);
    fadt_legacy(a, pc, &p);
    put(t, 0, 8);                       /* X_FACS: the 32-bit one counts */
    put(t, dsdt, 8);
    put_gas(t, 1, 32, 0, p.event);
    put_gas(t, 1, 0, 0, 0);
    put_gas(t, 1, 16, 0, p.control);
    put_gas(t, 1, 0, 0, 0);
    put_gas(t, 1, 0, 0, 0);
    put_gas(t, 1, 32, 0, p.timer);
    put_gas(t, 1, p.gpe_len * 8, 0, p.gpe);
    put_gas(t, 1, 0, 0, 0);
    put_gas(t, 1, 0, 0, 0);             /* sleep control and status: only reduced hardware has them */
    put_gas(t, 1, 0, 0, 0);
    put_zeros(t, 8);                    /* hypervisor vendor */
    link_pointer(a, TABLES_FILE, at + 36, 4);
    link_pointer(a, TABLES_FILE, at + 40, 4);
    link_pointer(a, TABLES_FILE, at + 140, 8);
    table_end(a, at, true);
}

static void madt_cpu(GByteArray *t, uint32_t uid, uint32_t apic_id)
{
    if (apic_id < 255) {
        put(t, 0, 1);
        put(t, 8, 1);
        put(t, uid, 1);
        put(t, apic_id, 1);
        put(t, 1, 4);
        return;
    }
    put(t, 9, 1);                       /* x2APIC */
    put(t, 16, 1);
    put(t, 0, 2);
    put(t, apic_id, 4);
    put(t, 1, 4);
    put(t, uid, 4);
}

static void madt_override(GByteArray *t, uint8_t irq, uint32_t gsi, uint16_t flags)
{
    put(t, 2, 1);
    put(t, 10, 1);
    put(t, 0, 1);
    put(t, irq, 1);
    put(t, gsi, 4);
    put(t, flags, 2);
}

static void build_madt(AcpiBuild *a, const PcMachine *pc)
{
    static const uint8_t level_irqs[] = { 5, 9, 10, 11 };   /* where PCI interrupts and SCI may be */
    guint at = table_begin(a, pc, "APIC", 5);
    GByteArray *t = a->tables;

    put(t, PC_APIC_BASE, 4);
    put(t, 1, 4);                       /* 8259s are there too */
    for (unsigned i = 0; i < pc->n_cpus; i++) {
        madt_cpu(t, i, pc->cpus[i]->apic_id);
    }
    put(t, 1, 1);                       /* I/O APIC 0 */
    put(t, 12, 1);
    put(t, 0, 2);
    put(t, PC_IOAPIC_BASE, 4);
    put(t, 0, 4);
    madt_override(t, 0, 2, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(level_irqs); i++) {
        madt_override(t, level_irqs[i], level_irqs[i], 0x0d);   /* active high, level */
    }
    put(t, 4, 1);                       /* NMI at every CPU's LINT1 */
    put(t, 6, 1);
    put(t, 0xff, 1);
    put(t, 0, 2);
    put(t, 1, 1);
    table_end(a, at, true);
}

static void build_hpet(AcpiBuild *a, const PcMachine *pc)
{
    guint at = table_begin(a, pc, "HPET", 1);

    put(a->tables, 0x8086a201, 4);
    put_gas(a->tables, 0, 0, 0, PC_HPET_BASE);
    put(a->tables, 0, 4);               /* number, shortest period, protection */
    table_end(a, at, true);
}

static void build_mcfg(AcpiBuild *a, const PcMachine *pc)
{
    guint at = table_begin(a, pc, "MCFG", 1);

    put(a->tables, 0, 8);
    put(a->tables, PC_ECAM_BASE, 8);
    put(a->tables, 0, 2);
    put(a->tables, 0, 1);
    put(a->tables, PC_ECAM_SIZE / PCI_ECAM_BUS_SIZE - 1, 1);
    put(a->tables, 0, 4);
    table_end(a, at, true);
}

/* Windows' emulated devices: the PM timer is good to read once. */
static void build_waet(AcpiBuild *a, const PcMachine *pc)
{
    guint at = table_begin(a, pc, "WAET", 1);

    put(a->tables, 2, 4);
    table_end(a, at, true);
}

/* RSDT (4-byte pointers) or XSDT (8). */
static guint build_root(AcpiBuild *a, const PcMachine *pc, const char *signature, int size)
{
    guint at = table_begin(a, pc, signature, 1);

    for (int i = 0; i < a->n_tables; i++) {
        link_pointer(a, TABLES_FILE, a->tables->len, size);
        put(a->tables, a->table[i], size);
    }
    table_end(a, at, false);
    return at;
}

static void build_rsdp(AcpiBuild *a, const PcMachine *pc, guint rsdt, guint xsdt)
{
    put_text(a->rsdp, "RSD PTR ", 8);
    put(a->rsdp, 0, 1);
    put_text(a->rsdp, pc->oem_id ? pc->oem_id : ACPI_OEM_ID, 6);
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

bool pc_acpi_init(PcMachine *pc, Error **errp)
{
    AcpiBuild *a = g_new0(AcpiBuild, 1);
    guint facs, dsdt, rsdt, xsdt;

    pc->acpi = a;
    a->tables = g_byte_array_new();
    a->rsdp = g_byte_array_new();
    a->loader = g_byte_array_new();
    link_allocate(a, RSDP_FILE, 16, ZONE_FSEG);
    link_allocate(a, TABLES_FILE, 64, ZONE_HIGH);
    facs = build_facs(a);
    dsdt = build_dsdt(a, pc);
    build_fadt(a, pc, facs, dsdt);
    build_madt(a, pc);
    if (pc->hpet) {
        build_hpet(a, pc);
    }
    if (pc->kind->pcie) {
        build_mcfg(a, pc);
    }
    build_waet(a, pc);
    rsdt = build_root(a, pc, "RSDT", 4);
    xsdt = build_root(a, pc, "XSDT", 8);
    build_rsdp(a, pc, rsdt, xsdt);
    return fw_cfg_add_file(pc->fw_cfg, TABLES_FILE, a->tables->data, a->tables->len, errp) &&
           fw_cfg_add_file(pc->fw_cfg, RSDP_FILE, a->rsdp->data, a->rsdp->len, errp) &&
           fw_cfg_add_file(pc->fw_cfg, LOADER_FILE, a->loader->data, a->loader->len, errp);
}

void acpi_build_free(AcpiBuild *a)
{
    if (a) {
        g_byte_array_free(a->tables, TRUE);
        g_byte_array_free(a->rsdp, TRUE);
        g_byte_array_free(a->loader, TRUE);
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
