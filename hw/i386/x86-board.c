/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps that all x86 boards share; contract in include/hw/i386/x86-board.h. Main thread.
 * Tests: tests/unit/test-pc.c, tests/unit/test-microvm.c, tests/boot/.
 */
#include "hw/i386/x86-board.h"

#include <inttypes.h>
#include <string.h>

#include "hw/i386/acpi-tables.h"
#include "hw/i386/kernel.h"
#include "target/i386/apic.h"
#include "util/units.h"

#define BIOS_SIZE_MAX (16 * MiB)
enum { MTRR_FIXED = 11, MTRR_A0000 = 2 };   /* fixed ranges: 0, 80000h, a0000h, then c0000h in eight steps */
enum { MTRR_WRITE_BACK = 6, MTRR_FIXED_ENABLE = 1 << 10, MTRR_ENABLE = 1 << 11, MTRR_VALID = 1 << 11 };

bool x86_board_check_config(const Machine *m, Error **errp)
{
    const MachineConfig *c = &m->config;

    if (c->shim) {
        error_set(errp, "Parameter 'shim' names '%s': booting through a shim needs firmware that is not available yet",
                  c->shim);
        return false;
    }
    if (c->maxram_size > c->ram_size) {
        error_set(errp, "Parameter 'maxmem' asks for memory hot-plug (0x%" PRIx64 " bytes), which is not available yet",
                  c->maxram_size);
        return false;
    }
    if (c->smp.maxcpus > c->smp.cpus) {
        error_set(errp, "Parameter 'smp.maxcpus' asks for CPU hot-plug (%u of %u present), which is not available yet",
                  c->smp.cpus, c->smp.maxcpus);
        return false;
    }
    return true;
}

bool x86_board_cpus_create(Machine *m, X86CPU ***cpus, unsigned *n, Error **errp)
{
    *n = m->config.smp.cpus;
    *cpus = g_new0(X86CPU *, *n);
    for (unsigned i = 0; i < *n; i++) {
        (*cpus)[i] = x86_cpu_create(m, i, x86_apic_id_from_index(m, i), errp);
        if (!(*cpus)[i]) {
            if (m->config.cpu_model) {
                error_prepend(errp, "-cpu %s: ", m->config.cpu_model);
            }
            return false;
        }
    }
    memory_region_add(&m->system_memory, X86_APIC_BASE, apic_mmio_region(), 2);
    return true;
}

FwCfg *x86_board_fw_cfg_create(Machine *m, Error **errp)
{
    const MachineConfig *c = &m->config;
    FwCfg *fw = (FwCfg *)device_new("fw_cfg_io");

    object_add_child(&m->obj, "fw_cfg", &fw->parent.obj);
    fw->dma_as = &m->as_memory;
    if (!device_plug(&fw->parent, NULL, errp)) {
        return NULL;
    }
    memory_region_add(&m->system_io, FW_CFG_PORT, &fw->io, 0);
    if (fw->dma_enabled) {
        memory_region_add(&m->system_io, FW_CFG_DMA_PORT, &fw->dma_io, 0);
    }
    for (int i = 0; i < c->n_fw_cfg; i++) {
        if (!fw_cfg_add_option(fw, c->fw_cfg[i], errp)) {
            error_prepend(errp, "-fw_cfg %s: ", c->fw_cfg[i]->value);     /* its name comes first */
            return NULL;
        }
    }
    return fw;
}

void x86_board_fw_cfg_numbers(const Machine *m, FwCfg *fw, X86CPU *const *cpus, unsigned n)
{
    const MachineConfig *c = &m->config;
    uint32_t max_apic_id = 0;

    for (unsigned i = 0; i < n; i++) {
        max_apic_id = MAX_OF(max_apic_id, cpus[i]->apic_id);
    }
    fw_cfg_add_u64(fw, FW_CFG_RAM_SIZE, c->ram_size);
    fw_cfg_add_u16(fw, FW_CFG_NB_CPUS, n);
    fw_cfg_add_u16(fw, FW_CFG_MAX_CPUS, max_apic_id + 1);
    fw_cfg_add_u16(fw, FW_CFG_NOGRAPHIC, !m->graphics);
    fw_cfg_add_bytes(fw, FW_CFG_UUID, c->uuid_bytes, sizeof(c->uuid_bytes));
    fw_cfg_add_u32(fw, FW_CFG_IRQ0_OVERRIDE, 1);
}

/* ---- what the command line hangs on the ISA bus ---- */

static bool serial_create(IsaBus *isa, int index, const char *chardev, Error **errp)
{
    Device *dev = device_new("isa-serial");

    return object_prop_set_uint(&dev->obj, "index", index, errp) &&
           object_prop_set(&dev->obj, "chardev", chardev, errp) && device_plug(dev, &isa->bus, errp);
}

bool x86_board_serials_create(Machine *m, IsaBus *isa, int max, Error **errp)
{
    const MachineConfig *c = &m->config;

    for (int i = 0; i < c->n_serial; i++) {
        if (i >= max && c->chardev_serial[i]) {
            error_set(errp, "this machine has %d serial port%s, and -serial number %d is one too many", max,
                      max == 1 ? "" : "s", i + 1);
            return false;
        }
        if (c->chardev_serial[i] && !serial_create(isa, i, c->chardev_serial[i], errp)) {
            return false;
        }
    }
    return true;
}

bool x86_board_debugcon_create(Machine *m, IsaBus *isa, Error **errp)
{
    Device *dev;

    if (!m->config.debugcon) {
        return true;
    }
    dev = device_new("isa-debugcon");
    return object_prop_set(&dev->obj, "chardev", m->config.debugcon, errp) && device_plug(dev, &isa->bus, errp);
}

/* ---- CMOS ---- */

static void cmos_set16(Rtc *rtc, unsigned low, uint64_t v, uint64_t max)
{
    v = MIN_OF(v, max);
    rtc_cmos_set(rtc, low, v);
    rtc_cmos_set(rtc, low + 1, v >> 8);
}

void x86_board_cmos_memory(Rtc *rtc, uint64_t below_4g, uint64_t above_4g)
{
    uint64_t above_1m = below_4g > MiB ? below_4g - MiB : 0;
    uint64_t above_16m = below_4g > 16 * MiB ? below_4g - 16 * MiB : 0;
    uint64_t high = above_4g / (64 * KiB);

    cmos_set16(rtc, 0x15, MIN_OF(below_4g / KiB, 640), 640);
    cmos_set16(rtc, 0x17, above_1m / KiB, 0xffff);
    cmos_set16(rtc, 0x30, above_1m / KiB, 0xffff);
    cmos_set16(rtc, 0x34, above_16m / (64 * KiB), 0xffff);
    for (int i = 0; i < 3; i++) {
        rtc_cmos_set(rtc, 0x5b + i, high >> 8 * i);
    }
}

/* ---- memory types ---- */

void x86_board_mtrrs(X86CPU *const *cpus, unsigned n, uint64_t uncached)
{
    for (unsigned i = 0; i < n; i++) {
        X86State *st = cpus[i]->st;
        uint64_t all = 1ull << cpus[i]->phys_bits;

        for (int r = 0; r < MTRR_FIXED; r++) {
            st->mtrr_fixed[r] = r < MTRR_A0000 ? 0x0606060606060606ull : r == MTRR_A0000 ? 0 : 0x0505050505050505ull;
        }
        memset(st->mtrr_phys, 0, sizeof(st->mtrr_phys));
        st->mtrr_phys[0] = uncached;
        st->mtrr_phys[1] = (all - (4 * GiB - uncached)) | MTRR_VALID;
        st->mtrr_def = MTRR_ENABLE | MTRR_FIXED_ENABLE | MTRR_WRITE_BACK;
    }
}

/* ---- firmware ---- */

static bool bios_map(Machine *m, X86Bios *bios, MemoryRegion *high, const uint8_t *data, uint64_t size,
                     uint64_t alias_max, Error **errp)
{
    uint64_t alias = MIN_OF(size, alias_max);

    if (!memory_region_init_rom(&bios->rom, &m->obj, "pc.bios", size, errp)) {
        return false;
    }
    memcpy(memory_region_ram_ptr(&bios->rom), data, size);
    memory_transaction_begin();
    memory_region_add(high, 4 * GiB - size, &bios->rom, 0);
    memory_region_init_alias(&bios->alias, &m->obj, "isa-bios", &bios->rom, size - alias, alias);
    memory_region_add(high, MiB - alias, &bios->alias, 1);
    memory_transaction_commit();
    return true;
}

bool x86_board_bios_init(Machine *m, X86Bios *bios, MemoryRegion *high, const char *default_name, const char *what,
                         uint64_t alias_max, Error **errp)
{
    const char *name = m->config.bios ? m->config.bios : default_name;
    g_autofree char *path = machine_data_file(&m->config, name);
    size_t len;
    uint8_t *data = path ? map_file(path, "BIOS", &len, NULL) : NULL;
    bool ok;

    if (!data) {
        error_set(errp, "could not load %s '%s'", what, name);
        return false;
    }
    ok = len % (64 * KiB) == 0 && len <= BIOS_SIZE_MAX;
    if (!ok) {
        error_set(errp, "could not load %s '%s': its size must be a multiple of 64 KiB up to 16 MiB, not %zu", what,
                  name, len);
    } else {
        ok = bios_map(m, bios, high, data, len, alias_max, errp);
    }
    unmap_file(data, len);
    return ok;
}

/* ---- the machine type ---- */

static bool oem_set(char **field, const char *what, size_t max, const char *value, Error **errp)
{
    if (strlen(value) > max) {
        error_set(errp, "User specified %s value is bigger than %zu bytes in size", what, max);
        return false;
    }
    g_free(*field);
    *field = g_strdup(value);
    return true;
}

static bool oem_id_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    return oem_set(&((Machine *)obj)->oem_id, p->name, 6, value, errp);
}

static char *oem_id_get(Object *obj, const Property *p, Error **errp)
{
    const Machine *m = (const Machine *)obj;

    return g_strdup(m->oem_id ? m->oem_id : ACPI_OEM_ID);
}

static bool oem_table_id_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    return oem_set(&((Machine *)obj)->oem_table_id, p->name, 8, value, errp);
}

static char *oem_table_id_get(Object *obj, const Property *p, Error **errp)
{
    const Machine *m = (const Machine *)obj;

    return g_strdup(m->oem_table_id ? m->oem_table_id : ACPI_OEM_TABLE_ID);
}

static void x86_machine_fini(Object *obj)
{
    Machine *m = (Machine *)obj;

    g_free(m->oem_id);
    g_free(m->oem_table_id);
}

static const Property x86_machine_props[] = {
    PROP_FIELD("acpi", PROP_ONOFFAUTO, Machine, acpi, ON_OFF_AUTO_AUTO, "ACPI tables and power management"),
    PROP_FIELD("smm", PROP_ONOFFAUTO, Machine, smm, ON_OFF_AUTO_AUTO, "system management mode"),
    PROP_FIELD("pit", PROP_ONOFFAUTO, Machine, pit, ON_OFF_AUTO_AUTO, "the 8254 timer"),
    PROP_FIELD("pic", PROP_ONOFFAUTO, Machine, pic, ON_OFF_AUTO_AUTO, "the 8259 pair"),
    MACHINE_PART("bus-lock-ratelimit", "int", "0", "a limit on bus locks"),
    MACHINE_PART("sgx-epc", "string", NULL, "memory of SGX"),
    { .name = "x-oem-id", .kind = PROP_CUSTOM, .type_name = "string", .set = oem_id_set, .get = oem_id_get,
      .help = "ACPI tables' OEM id, 6 characters" },
    { .name = "x-oem-table-id", .kind = PROP_CUSTOM, .type_name = "string", .set = oem_table_id_set,
      .get = oem_table_id_get, .help = "ACPI tables' OEM table id, 8 characters" },
    PROP_END
};

static const Type x86_machine_type = {
    .name = "x86-machine", .parent = "machine", .abstract = true, .props = x86_machine_props, .fini = x86_machine_fini,
};
TYPE_REGISTER(x86_machine_type)
