/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SMBIOS structures of a PC board and their entry points (DSP0134 3.0: entry points 5.2, structures 7).
 *
 * A structure is built in place: header, fields, then its strings, numbered in order of use. Multi-byte fields are
 * little-endian. The firmware structure (type 0) is there when asked for, and in a direct boot, where no firmware
 * adds one.
 * Contract in include/hw/i386/smbios.h. Main thread.
 */
#include "hw/i386/smbios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/units.h"

#define DIMM_MAX (16 * GiB)
#define MAKER "QEMU"                    /* what guests look for to know the platform */

typedef struct Structure {
    SmbiosBuild *s;
    guint at;                           /* in s->tables */
    GPtrArray *strings;
} Structure;

static void put(Structure *t, uint64_t v, int bytes)
{
    uint8_t le[8];

    for (int i = 0; i < 8; i++) {
        le[i] = v >> 8 * i;
    }
    g_byte_array_append(t->s->tables, le, bytes);
}

/* The number of a string; empty and missing ones are number 0. */
static void put_string(Structure *t, const char *text)
{
    if (text && *text) {
        g_ptr_array_add(t->strings, g_strdup(text));
    }
    put(t, text && *text ? t->strings->len : 0, 1);
}

static void put_given(Structure *t, int type, const char *key, const char *absent)
{
    put_string(t, smbios_given(t->s, type, key, absent));
}

/* False: a file has brought structures of that type. */
static bool structure_begin(Structure *t, SmbiosBuild *s, uint8_t type, uint16_t handle)
{
    *t = (Structure) { .s = s, .at = s->tables->len };
    if (s->raw_type[type]) {
        return false;
    }
    t->strings = g_ptr_array_new_with_free_func(g_free);
    put(t, type, 1);
    put(t, 0, 1);
    put(t, handle, 2);
    return true;
}

static void structure_end(Structure *t)
{
    SmbiosBuild *s = t->s;

    s->tables->data[t->at + 1] = s->tables->len - t->at;
    for (guint i = 0; i < t->strings->len; i++) {
        const char *text = g_ptr_array_index(t->strings, i);

        g_byte_array_append(s->tables, (const uint8_t *)text, strlen(text) + 1);
    }
    put(t, 0, t->strings->len ? 1 : 2);
    g_ptr_array_free(t->strings, TRUE);
    s->count++;
    s->largest = MAX_OF(s->largest, s->tables->len - t->at);
}

/* ---- structures ---- */

static void build_firmware(SmbiosBuild *s, const PcMachine *pc)
{
    unsigned major = 0, minor = 0;
    Structure t;

    if ((!s->given[0] && !pc->parent.config.kernel) || !structure_begin(&t, s, 0, 0)) {
        return;
    }
    sscanf(smbios_given(s, 0, "release", "0.0"), "%u.%u", &major, &minor);
    put_given(&t, 0, "vendor", "Cleat");
    put_given(&t, 0, "version", "direct boot");
    put(&t, 0xe800, 2);                 /* start segment */
    put_given(&t, 0, "date", "01/01/2025");
    put(&t, 0, 1);                      /* 64 KiB */
    put(&t, 8, 8);                      /* characteristics are not given */
    put(&t, 0, 1);
    put(&t, 0x14 | (s->given[0] && keyvals_bool(s->given[0], "uefi", false) ? 8 : 0), 1);   /* a virtual machine */
    put(&t, major, 1);
    put(&t, minor, 1);
    put(&t, 0xffff, 2);                 /* no embedded controller */
    structure_end(&t);
}

/* The first three fields of a UUID are little-endian here. */
static void put_uuid(Structure *t, const uint8_t u[16])
{
    static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

    for (int i = 0; i < 16; i++) {
        put(t, u[order[i]], 1);
    }
}

static void build_system(SmbiosBuild *s, const PcMachine *pc, const char *version)
{
    const char *text = smbios_given(s, 1, "uuid", NULL);
    uint8_t uuid[16];
    Structure t;

    if (!structure_begin(&t, s, 1, 0x100)) {
        return;
    }
    memcpy(uuid, pc->parent.config.uuid_bytes, sizeof(uuid));
    if (text) {
        parse_uuid(text, uuid);
    }
    put_given(&t, 1, "manufacturer", MAKER);
    put_given(&t, 1, "product", pc->parent.obj.type->desc);
    put_given(&t, 1, "version", version);
    put_given(&t, 1, "serial", NULL);
    put_uuid(&t, uuid);
    put(&t, 6, 1);                      /* woken by the power switch */
    put_given(&t, 1, "sku", NULL);
    put_given(&t, 1, "family", NULL);
    structure_end(&t);
}

static void build_board(SmbiosBuild *s, const PcMachine *pc, const char *version)
{
    Structure t;

    if (!s->given[2] || !structure_begin(&t, s, 2, 0x200)) {
        return;
    }
    put_given(&t, 2, "manufacturer", MAKER);
    put_given(&t, 2, "product", pc->parent.obj.type->desc);
    put_given(&t, 2, "version", version);
    put_given(&t, 2, "serial", NULL);
    put_given(&t, 2, "asset", NULL);
    put(&t, 1, 1);                      /* hosting board */
    put_given(&t, 2, "location", NULL);
    put(&t, 0x300, 2);
    put(&t, 0x0a, 1);                   /* motherboard */
    put(&t, 0, 1);
    structure_end(&t);
}

static void build_chassis(SmbiosBuild *s, const char *version)
{
    Structure t;

    if (!structure_begin(&t, s, 3, 0x300)) {
        return;
    }
    put_given(&t, 3, "manufacturer", MAKER);
    put(&t, 1, 1);                      /* other */
    put_given(&t, 3, "version", version);
    put_given(&t, 3, "serial", NULL);
    put_given(&t, 3, "asset", NULL);
    put(&t, 0x030303, 3);               /* boot, power, thermal: safe */
    put(&t, 2, 1);                      /* security: unknown */
    put(&t, 0, 4);
    put(&t, 0, 1);                      /* height, power cords, elements */
    put(&t, 0, 1);
    put(&t, 0, 2);
    put_given(&t, 3, "sku", NULL);
    structure_end(&t);
}

static unsigned clamp_count(unsigned n)
{
    return MIN_OF(n, 255);
}

static uint64_t given_uint(const SmbiosBuild *s, int type, const char *key, uint64_t absent)
{
    return s->given[type] ? keyvals_uint(s->given[type], key, absent) : absent;
}

static void build_processor(SmbiosBuild *s, const PcMachine *pc, unsigned socket, const char *version)
{
    const SmpConfig *smp = &pc->parent.config.smp;
    unsigned cores = MAX_OF(smp->cpus / MAX_OF(smp->sockets * smp->threads, 1), 1);
    unsigned threads = cores * MAX_OF(smp->threads, 1);
    g_autofree char *name = g_strdup_printf("%s%2x", smbios_given(s, 4, "sock_pfx", "CPU"), socket);
    uint64_t signature = pc->cpus[0]->st->regs[R_RDX];      /* as reset leaves it */
    Structure t;

    if (!structure_begin(&t, s, 4, 0x400 + socket)) {
        return;
    }
    put_string(&t, name);
    put(&t, 3, 1);                      /* central processor */
    put(&t, 0xfe, 1);                   /* family: see the last field */
    put_given(&t, 4, "manufacturer", MAKER);
    put(&t, given_uint(s, 4, "processor-id", signature), 8);
    put_given(&t, 4, "version", version);
    put(&t, 0, 1);                      /* voltage */
    put(&t, 0, 2);
    put(&t, given_uint(s, 4, "max-speed", 2000), 2);
    put(&t, given_uint(s, 4, "current-speed", 2000), 2);
    put(&t, 0x41, 1);                   /* socket populated, CPU enabled */
    put(&t, 1, 1);                      /* upgrade: other */
    put(&t, 0xffff, 2);                 /* no cache structures */
    put(&t, 0xffff, 2);
    put(&t, 0xffff, 2);
    put_given(&t, 4, "serial", NULL);
    put_given(&t, 4, "asset", NULL);
    put_given(&t, 4, "part", NULL);
    put(&t, clamp_count(cores), 1);
    put(&t, clamp_count(cores), 1);
    put(&t, clamp_count(threads), 1);
    put(&t, 0x02, 2);                   /* characteristics: unknown */
    put(&t, given_uint(s, 4, "processor-family", 1), 2);
    put(&t, cores, 2);
    put(&t, cores, 2);
    put(&t, threads, 2);
    structure_end(&t);
}

static void build_oem_strings(SmbiosBuild *s)
{
    Structure t;

    if (!s->oem_strings->len || !structure_begin(&t, s, 11, 0xe00)) {
        return;
    }
    put(&t, s->oem_strings->len, 1);
    for (guint i = 0; i < s->oem_strings->len; i++) {
        g_ptr_array_add(t.strings, g_strdup(g_ptr_array_index(s->oem_strings, i)));
    }
    structure_end(&t);
}

static void build_memory_array(SmbiosBuild *s, uint64_t ram, unsigned dimms)
{
    uint64_t kib = ram / KiB;
    bool large = kib >= 0x80000000u;
    Structure t;

    if (!structure_begin(&t, s, 16, 0x1000)) {
        return;
    }
    put(&t, 1, 1);                      /* location: other */
    put(&t, 3, 1);                      /* system memory */
    put(&t, 6, 1);                      /* multi-bit ECC */
    put(&t, large ? 0x80000000u : kib, 4);
    put(&t, 0xfffe, 2);                 /* no error information */
    put(&t, dimms, 2);
    put(&t, large ? ram : 0, 8);
    structure_end(&t);
}

static void build_memory_device(SmbiosBuild *s, unsigned n, uint64_t size)
{
    g_autofree char *where = g_strdup_printf("%s %u", smbios_given(s, 17, "loc_pfx", "DIMM"), n);
    uint64_t mib = size / MiB, speed = given_uint(s, 17, "speed", 0);
    Structure t;

    if (!structure_begin(&t, s, 17, 0x1100 + n)) {
        return;
    }
    put(&t, 0x1000, 2);
    put(&t, 0xfffe, 2);
    put(&t, 0xffff, 2);                 /* widths: unknown */
    put(&t, 0xffff, 2);
    put(&t, mib < 0x7fff ? mib : 0x7fff, 2);
    put(&t, 9, 1);                      /* DIMM */
    put(&t, 0, 1);
    put_string(&t, where);
    put_given(&t, 17, "bank", NULL);
    put(&t, 7, 1);                      /* RAM */
    put(&t, 2, 2);                      /* detail: other */
    put(&t, speed, 2);
    put_given(&t, 17, "manufacturer", MAKER);
    put_given(&t, 17, "serial", NULL);
    put_given(&t, 17, "asset", NULL);
    put_given(&t, 17, "part", NULL);
    put(&t, 0, 1);                      /* rank */
    put(&t, mib < 0x7fff ? 0 : mib, 4);
    put(&t, speed, 2);
    put(&t, 0, 6);                      /* voltages */
    structure_end(&t);
}

static void build_memory_range(SmbiosBuild *s, unsigned n, uint64_t start, uint64_t size)
{
    uint64_t first = start / KiB, last = (start + size) / KiB - 1;
    bool large = last > 0xfffffffeu;
    Structure t;

    if (!size || !structure_begin(&t, s, 19, 0x1300 + n)) {
        return;
    }
    put(&t, large ? UINT32_MAX : first, 4);
    put(&t, large ? UINT32_MAX : last, 4);
    put(&t, 0x1000, 2);
    put(&t, 1, 1);
    put(&t, large ? start : 0, 8);
    put(&t, large ? start + size - 1 : 0, 8);
    structure_end(&t);
}

static void build_end(SmbiosBuild *s)
{
    Structure t;

    if (structure_begin(&t, s, 32, 0x2000)) {
        put(&t, 0, 7);                  /* reserved, boot status: no errors */
        structure_end(&t);
    }
    structure_begin(&t, s, 127, 0x7f00);
    structure_end(&t);
}

static void build_tables(SmbiosBuild *s, const PcMachine *pc)
{
    uint64_t ram = pc->parent.config.ram_size;
    unsigned dimms = (ram + DIMM_MAX - 1) / DIMM_MAX;
    g_autofree char *version = machine_user_name(pc->parent.obj.type);

    build_firmware(s, pc);
    build_system(s, pc, version);
    build_board(s, pc, version);
    build_chassis(s, version);
    for (unsigned i = 0; i < MAX_OF(pc->parent.config.smp.sockets, 1); i++) {
        build_processor(s, pc, i, version);
    }
    build_oem_strings(s);
    build_memory_array(s, ram, dimms);
    for (unsigned i = 0; i < dimms; i++) {
        build_memory_device(s, i, MIN_OF(ram - i * DIMM_MAX, DIMM_MAX));
    }
    build_memory_range(s, 0, 0, pc->below_4g);
    build_memory_range(s, 1, 4 * GiB, pc->above_4g);
    g_byte_array_append(s->tables, s->raw->data, s->raw->len);
    build_end(s);
}

/* ---- entry points ---- */

static void le(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        p[i] = v >> 8 * i;
    }
}

/* Without address and checksums, which depend on the place. */
static void build_anchor(SmbiosBuild *s)
{
    uint8_t *p = s->anchor;

    if (s->entry64) {
        s->anchor_len = 24;
        memcpy(p, "_SM3_", 5);
        p[6] = s->anchor_len;
        p[7] = 3;
        p[10] = 1;                      /* revision of the entry point */
        le(p + 12, s->tables->len, 4);
        return;
    }
    s->anchor_len = 31;
    memcpy(p, "_SM_", 4);
    p[5] = s->anchor_len;
    p[6] = 2;
    p[7] = 8;
    le(p + 8, s->largest, 2);
    memcpy(p + 16, "_DMI_", 5);
    le(p + 22, s->tables->len, 2);
    le(p + 28, s->count, 2);
    p[30] = 0x28;
}

static void anchor_sum(uint8_t *p, unsigned at, unsigned start, unsigned len)
{
    uint8_t sum = 0;

    p[at] = 0;
    for (unsigned i = start; i < start + len; i++) {
        sum += p[i];
    }
    p[at] = -sum;
}

void smbios_write_tables(const SmbiosBuild *s, AddressSpace *as, hwaddr anchor, hwaddr tables, uint64_t max)
{
    uint8_t p[32];

    if (s->tables->len > max) {
        return;
    }
    memcpy(p, s->anchor, sizeof(p));
    if (s->entry64) {
        le(p + 16, tables, 8);
        anchor_sum(p, 5, 0, s->anchor_len);
    } else {
        le(p + 24, tables, 4);
        anchor_sum(p, 21, 16, 15);
        anchor_sum(p, 4, 0, s->anchor_len);
    }
    address_space_write(as, anchor, p, s->anchor_len);
    address_space_write(as, tables, s->tables->data, s->tables->len);
}

void smbios_build_free(SmbiosBuild *s)
{
    if (!s) {
        return;
    }
    for (int i = 0; i < SMBIOS_TYPES; i++) {
        if (s->given[i]) {
            keyvals_free(s->given[i]);
        }
    }
    g_ptr_array_free(s->oem_strings, TRUE);
    g_byte_array_free(s->raw, TRUE);
    g_byte_array_free(s->tables, TRUE);
    g_free(s);
}

bool pc_smbios_init(PcMachine *pc, Error **errp)
{
    SmbiosBuild *s = g_new0(SmbiosBuild, 1);

    pc->smbios = s;
    s->oem_strings = g_ptr_array_new_with_free_func(g_free);
    s->raw = g_byte_array_new();
    s->tables = g_byte_array_new();
    if (!smbios_parse_options(s, &pc->parent.config, errp)) {
        return false;
    }
    build_tables(s, pc);
    s->entry64 = pc->smbios_entry ? pc->smbios_entry == 2 : pc->version->smbios30 || s->tables->len > UINT16_MAX;
    if (!s->entry64 && s->tables->len > UINT16_MAX) {
        error_set(errp, "SMBIOS tables of %u bytes need the 64-bit entry point (smbios-entry-point-type=64)",
                  s->tables->len);
        return false;
    }
    build_anchor(s);
    return fw_cfg_add_file(pc->fw_cfg, "etc/smbios/smbios-tables", s->tables->data, s->tables->len, errp) &&
           fw_cfg_add_file(pc->fw_cfg, "etc/smbios/smbios-anchor", s->anchor, s->anchor_len, errp);
}
