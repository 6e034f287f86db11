/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PC boards without CPUs running: memory map, attribute map, interrupt routing, CMOS, config space
 * both ways, fw_cfg, tables.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hw/i386/pc-fw_cfg.h"
#include "system/runstate.h"
#include "util/units.h"

static PcMachine *pc;

static Machine *machine_prepare(const char *type, uint64_t ram)
{
    static uint8_t rom[65536];
    char *path = g_build_filename(g_get_tmp_dir(), "cleat-test-pc.rom", NULL);      /* the machine's, for good */
    Error *err = NULL;
    Machine *m = machine_new(type, &err);

    m->accel_chips.smm = true;
    ck_assert_msg(m != NULL, "%s", err ? error_text(err) : "");
    rom[65535] = 0x5a;
    ck_assert(g_file_set_contents(path, (const char *)rom, sizeof(rom), NULL));
    m->config = (MachineConfig) {
        .ram_size = ram, .maxram_size = ram, .bios = path,
        .smp = { .cpus = 2, .maxcpus = 2, .sockets = 2, .dies = 1, .clusters = 1, .modules = 1, .cores = 1,
                 .threads = 1 },
    };
    machine_lock();
    return m;
}

static void board_build(void)
{
    Error *err = NULL;

    ck_assert_msg(((const MachineOps *)type_ops(pc->parent.obj.type))->build(&pc->parent, &err), "%s",
                  err ? error_text(err) : "");
}

static void board_end(void)
{
    Error *err = NULL;

    ck_assert_msg(((const MachineOps *)type_ops(pc->parent.obj.type))->finish(&pc->parent, &err), "%s",
                  err ? error_text(err) : "");
    system_reset_now(SHUTDOWN_NONE);
}

static void board_finish(void)
{
    board_build();
    board_end();
}

static PcMachine *board_new(const char *type, uint64_t ram)
{
    pc = (PcMachine *)machine_prepare(type, ram);
    board_finish();
    return pc;
}

static uint64_t mem(hwaddr addr, unsigned size)
{
    uint64_t v = 0;

    address_space_ld(&pc->parent.as_memory, addr, &v, size);
    return v;
}

static uint64_t in(unsigned port, unsigned size)
{
    uint64_t v = 0;

    address_space_ld(&pc->parent.as_io, port, &v, size);
    return v;
}

static void out(unsigned port, uint64_t v, unsigned size)
{
    address_space_st(&pc->parent.as_io, port, v, size);
}

static uint32_t config_read(unsigned slot, unsigned fn, unsigned reg)
{
    out(0xcf8, 0x80000000u | slot << 11 | fn << 8 | reg, 4);
    return in(0xcfc, 4);
}

static void config_write(unsigned slot, unsigned fn, unsigned reg, uint32_t v, unsigned size)
{
    out(0xcf8, 0x80000000u | slot << 11 | fn << 8 | (reg & 0xfc), 4);
    out(0xcfc + (reg & 3), v, size);
}

START_TEST(i440fx_shows_its_functions)
{
    board_new("pc", 128 * MiB);
    ck_assert_uint_eq(config_read(0, 0, 0), 0x12378086);
    ck_assert_uint_eq(config_read(1, 0, 0), 0x70008086);
    ck_assert_uint_eq(config_read(1, 3, 0), 0x71138086);
    ck_assert_uint_eq(config_read(2, 0, 0), 0xffffffff);
    ck_assert_uint_eq(config_read(1, 0, 0x0c) >> 16 & 0xff, 0x80);
}
END_TEST

START_TEST(q35_shows_config_space_in_memory)
{
    board_new("q35", 128 * MiB);
    ck_assert_uint_eq(config_read(0, 0, 0), 0x29c08086);
    ck_assert_uint_eq(config_read(0x1f, 0, 0), 0x29188086);
    ck_assert_uint_eq(mem(0xb0000000, 4), 0xffffffff);
    config_write(0, 0, 0x60, 0xb0000001, 4);
    ck_assert_uint_eq(mem(0xb0000000, 4), 0x29c08086);
    ck_assert_uint_eq(mem(0xb0000000 + (0x1f << 15), 4), 0x29188086);
    ck_assert_uint_eq(mem(0xb0000000 + (0x1e << 15), 4), 0xffffffff);
    ck_assert_uint_eq(mem(0xb0100000, 4), 0xffffffff);      /* bus 1 */
    system_reset_now(SHUTDOWN_GUEST_RESET);
    ck_assert_uint_eq(mem(0xb0000000, 4), 0xffffffff);
}
END_TEST

START_TEST(firmware_is_at_the_top_and_below_one_mib)
{
    board_new("q35", 128 * MiB);
    ck_assert_uint_eq(mem(0xffffffff, 1), 0x5a);
    ck_assert_uint_eq(mem(0xfffff, 1), 0x5a);
    address_space_st(&pc->parent.as_memory, 0xfffff, 0x11, 1);
    ck_assert_uint_eq(mem(0xfffff, 1), 0x5a);
}
END_TEST

START_TEST(attribute_map_switches_between_rom_and_ram)
{
    board_new("pc", 128 * MiB);
    config_write(0, 0, 0x59, 0x30, 1);                      /* RAM, writable */
    ck_assert_uint_eq(mem(0xfffff, 1), 0);
    address_space_st(&pc->parent.as_memory, 0xfffff, 0x22, 1);
    ck_assert_uint_eq(mem(0xfffff, 1), 0x22);
    config_write(0, 0, 0x59, 0x10, 1);                      /* read-only RAM */
    address_space_st(&pc->parent.as_memory, 0xfffff, 0x33, 1);
    ck_assert_uint_eq(mem(0xfffff, 1), 0x22);
    config_write(0, 0, 0x59, 0x00, 1);
    ck_assert_uint_eq(mem(0xfffff, 1), 0x5a);
    config_write(0, 0, 0x5a, 0x30, 1);                      /* c4000h only */
    address_space_st(&pc->parent.as_memory, 0xc0000, 0x44, 1);
    address_space_st(&pc->parent.as_memory, 0xc4000, 0x44, 1);
    ck_assert_uint_eq(mem(0xc4000, 1), 0x44);
    ck_assert_uint_ne(mem(0xc0000, 1), 0x44);
}
END_TEST

START_TEST(memory_beyond_the_hole_moves_up)
{
    board_new("q35", 3 * GiB);
    ck_assert_uint_eq(pc->below_4g, 2 * GiB);
    address_space_st(&pc->parent.as_memory, 5 * GiB - 8, 0x1234, 8);
    ck_assert_uint_eq(mem(5 * GiB - 8, 8), 0x1234);
    ck_assert_uint_eq(mem(2 * GiB, 8), UINT64_MAX);
    ck_assert_uint_eq(rtc_cmos_get(pc->rtc, 0x5b) | rtc_cmos_get(pc->rtc, 0x5c) << 8, GiB / 65536);
    ck_assert_uint_eq(rtc_cmos_get(pc->rtc, 0x5f), 1);
}
END_TEST

START_TEST(pirq_register_routes_to_the_8259)
{
    PCIDevice *d;

    board_new("pc", 128 * MiB);
    d = pc->south;
    d->config[PCI_INTERRUPT_PIN] = 2;                       /* slot 1, INTB: PIRQB */
    config_write(1, 0, 0x61, 11, 1);
    pci_irq_set(d, 1);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 1u << 11);
    config_write(1, 0, 0x61, 10, 1);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 1u << 10);
    config_write(1, 0, 0x61, 0x80, 1);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 0);
    pci_irq_set(d, 0);
}
END_TEST

START_TEST(ich9_pirqs_are_io_apic_inputs)
{
    PCIDevice *d;

    board_new("q35", 128 * MiB);
    d = pc->south;
    d->config[PCI_INTERRUPT_PIN] = 1;                       /* slot 31: D31IR, INTA is PIRQA after reset */
    pci_irq_set(d, 1);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 1u << 16);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI_PIC], 0);
    config_write(0x1f, 0, 0x60, 10, 1);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI_PIC], 1u << 10);
    config_write(0x1f, 0, 0x04, 0x0400, 2);                 /* INTx disabled */
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 0);
    config_write(0x1f, 0, 0x04, 0, 2);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI], 1u << 16);
    pci_irq_set(d, 0);
    ck_assert_uint_eq(pc->gsi_level[GSI_PCI_PIC], 0);
}
END_TEST

static void fw_cfg_select_key(uint16_t key)
{
    out(0x510, key, 2);
}

static uint32_t fw_cfg_be32(void)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        v = v << 8 | in(0x511, 1);
    }
    return v;
}

/* The selector of a file by its name, through the directory as a guest reads it. */
static uint16_t fw_cfg_file(const char *name, uint32_t *size)
{
    uint32_t n;

    fw_cfg_select_key(FW_CFG_FILE_DIR);
    n = fw_cfg_be32();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t len = fw_cfg_be32(), key = fw_cfg_be32() >> 16;
        char text[56];

        for (int c = 0; c < 56; c++) {
            text[c] = in(0x511, 1);
        }
        if (!strcmp(text, name)) {
            *size = len;
            return key;
        }
    }
    return 0;
}

START_TEST(fw_cfg_gives_files_by_port_and_dma)
{
    static const uint8_t request[16] = { 0, 0, 0, 0x0a, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0x20, 0x00 };
    uint32_t size = 0;
    uint16_t key;
    uint8_t r[16];

    board_new("q35", 128 * MiB);
    fw_cfg_select_key(FW_CFG_SIGNATURE);
    ck_assert_uint_eq(fw_cfg_be32(), 0x51454d55);
    ck_assert_uint_eq(in(0x511, 1), 0);
    key = fw_cfg_file("etc/acpi/rsdp", &size);
    ck_assert_uint_ge(key, FW_CFG_FILE_FIRST);
    ck_assert_uint_eq(size, 36);
    memcpy(r, request, sizeof(r));
    r[0] = key >> 8;
    r[1] = key;
    address_space_write(&pc->parent.as_memory, 0x1000, r, sizeof(r));
    out(0x514, 0, 4);
    out(0x518, __builtin_bswap32(0x1000), 4);
    ck_assert_uint_eq(mem(0x1000, 4), 0);
    ck_assert_uint_eq(mem(0x2000, 8), 0x2052545020445352ull);   /* "RSD PTR " */
    r[3] = 0x10;                                                /* write: this file is not the guest's */
    address_space_write(&pc->parent.as_memory, 0x1000, r, sizeof(r));
    out(0x518, __builtin_bswap32(0x1000), 4);
    ck_assert_uint_eq(mem(0x1000, 4), 0x01000000);
    ck_assert_uint_eq(__builtin_bswap32(in(0x514, 4)), 0x51454d55);
}
END_TEST

static uint64_t smm_mem(hwaddr addr)
{
    uint64_t v = 0;

    address_space_ld(&pc->as_smm, addr, &v, 1);
    return v;
}

START_TEST(boot_order_is_in_cmos_and_once_holds_once)
{
    pc = (PcMachine *)machine_prepare("pc", 128 * MiB);
    pc->parent.config.boot_once = "n";
    pc->parent.config.boot_order = "dca";
    pc->parent.config.no_fd_bootchk = true;
    board_finish();
    out(0x70, 0x3d, 1);
    ck_assert_uint_eq(in(0x71, 1), 0x04);
    system_reset_now(SHUTDOWN_GUEST_RESET);
    out(0x70, 0x3d, 1);
    ck_assert_uint_eq(in(0x71, 1), 0x23);
    out(0x70, 0x38, 1);
    ck_assert_uint_eq(in(0x71, 1), 0x11);
}
END_TEST

static void check_file(const char *name, const char *data, uint32_t len)
{
    const FwCfgItem *item = fw_cfg_find_file(pc->fw_cfg, name);

    ck_assert_msg(item != NULL, "%s", name);
    ck_assert_uint_eq(item->len, len);
    ck_assert(!len || !memcmp(item->data, data, len));
}

START_TEST(fw_cfg_tells_firmware_how_to_boot)
{
    static const char rom[512];
    Error *err = NULL;

    pc = (PcMachine *)machine_prepare("q35", 128 * MiB);
    pc->parent.config.boot_strict = true;
    pc->parent.config.boot_menu_timeout = 1000;
    pc->parent.config.boot_reboot_timeout = -1;
    board_build();
    ck_assert(pc_option_rom_add(pc, "b.rom", rom, sizeof(rom), 7, NULL));
    ck_assert(pc_option_rom_add(pc, "a.rom", rom, sizeof(rom), 2, NULL));
    ck_assert(pc_option_rom_add(pc, "c.rom", rom, sizeof(rom), -1, NULL));
    ck_assert(!pc_boot_entry_add(pc, "/pci@i0cf8/x", 7, &err));
    ck_assert_str_eq(error_text(err), "The bootindex 7 has already been used");
    error_free(err);
    board_end();
    check_file("bootorder", "/rom@genroms/a.rom\n/rom@genroms/b.rom\nHALT", 43);
    check_file("genroms/c.rom", rom, sizeof(rom));
    check_file("etc/boot-menu-wait", "\xe8\3", 2);
    check_file("etc/boot-fail-wait", "\xff\xff\xff\xff", 4);
    check_file("etc/system-states", "\x80\0\0\1\x82\x80", 6);
}
END_TEST

START_TEST(smm_memory_opens_until_it_is_locked)
{
    board_new("q35", 128 * MiB);
    config_write(0, 0, 0x9d, 0x4a, 1);                      /* open */
    address_space_st(&pc->parent.as_memory, 0xa0000, 0x77, 1);
    ck_assert_uint_eq(mem(0xa0000, 1), 0x77);
    config_write(0, 0, 0x9d, 0x1a, 1);                      /* closed and locked */
    ck_assert_uint_ne(mem(0xa0000, 1), 0x77);
    config_write(0, 0, 0x9d, 0x4a, 1);
    ck_assert_uint_ne(mem(0xa0000, 1), 0x77);
    ck_assert_uint_eq(smm_mem(0xa0000), 0x77);              /* as long as it is enabled */
    config_write(0, 0, 0x9e, 0x81, 1);                      /* locked too */
    ck_assert_uint_eq(config_read(0, 0, 0x9c) >> 16 & 0xff, 0x38);
    system_reset_now(SHUTDOWN_GUEST_RESET);
    ck_assert_uint_ne(smm_mem(0xa0000), 0x77);
    config_write(0, 0, 0x9d, 0x4a, 1);
    ck_assert_uint_eq(mem(0xa0000, 1), 0x77);
}
END_TEST

START_TEST(i440fx_smm_memory_is_seen_in_smm_only)
{
    board_new("pc", 128 * MiB);
    config_write(0, 0, 0x72, 0x4a, 1);
    address_space_st(&pc->parent.as_memory, 0xbffff, 0x66, 1);
    config_write(0, 0, 0x72, 0x0a, 1);
    ck_assert_uint_ne(mem(0xbffff, 1), 0x66);
    ck_assert_uint_eq(smm_mem(0xbffff), 0x66);
    ck_assert_ptr_eq(pc->cpus[0]->smm_mem, &pc->as_smm);    /* both CPUs see it so */
    ck_assert_ptr_eq(pc->cpus[1]->smm_mem, &pc->as_smm);
    address_space_st(&pc->parent.as_memory, 0x30000, 0x55, 1);
    ck_assert_uint_eq(smm_mem(0x30000), 0x55);
    config_write(0, 0, 0x72, 0x02, 1);
    ck_assert_uint_ne(smm_mem(0xbffff), 0x66);
}
END_TEST

START_TEST(tseg_hides_the_top_of_low_memory)
{
    static const struct { uint8_t esmramc; uint64_t size; } sizes[] = {
        { 1, MiB }, { 3, 2 * MiB }, { 5, 8 * MiB }, { 7, 16 * MiB },
    };
    hwaddr top = 128 * MiB;

    board_new("q35", top);
    config_write(0, 0, 0x50, 0xffff, 2);
    ck_assert_uint_eq(config_read(0, 0, 0x50) & 0xffff, 16);
    config_write(0, 0, 0x9d, 0x0a, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        hwaddr at = top - sizes[i].size;

        config_write(0, 0, 0x9e, 0, 1);
        address_space_st(&pc->parent.as_memory, at, 0x70 + i, 1);
        address_space_st(&pc->parent.as_memory, at - 1, 0x71 + i, 1);
        config_write(0, 0, 0x9e, sizes[i].esmramc, 1);
        ck_assert_uint_eq(mem(at, 1), 0xff);
        ck_assert_uint_eq(mem(top - 1, 1), 0xff);
        ck_assert_uint_eq(mem(at - 1, 1), 0x71 + i);
        ck_assert_uint_eq(smm_mem(at), 0x70 + i);
    }
    config_write(0, 0, 0x9d, 0x02, 1);                      /* SMRAM off: TSEG too */
    ck_assert_uint_eq(mem(top - 16 * MiB, 1), 0x73);
}
END_TEST

START_TEST(high_smm_memory_stands_for_the_low_one)
{
    board_new("q35", 128 * MiB);
    config_write(0, 0, 0x9e, 0x80, 1);
    config_write(0, 0, 0x9d, 0x4a, 1);
    address_space_st(&pc->parent.as_memory, 0xfeda0010, 0x44, 1);
    ck_assert_uint_eq(mem(0xfeda0010, 1), 0x44);
    ck_assert_uint_ne(mem(0xa0010, 1), 0x44);
    ck_assert_uint_ne(smm_mem(0xa0010), 0x44);
    ck_assert_uint_eq(smm_mem(0xfeda0010), 0x44);
    config_write(0, 0, 0x9d, 0x0a, 1);
    ck_assert_uint_ne(mem(0xfeda0010, 1), 0x44);
    config_write(0, 0, 0x9e, 0x00, 1);
    ck_assert_uint_eq(smm_mem(0xa0010), 0x44);
}
END_TEST

/* Firmware takes the set enable bit for "SMM is set up already". */
START_TEST(without_smm_its_enable_bit_is_set_from_the_start)
{
    pc = (PcMachine *)machine_prepare("pc", 128 * MiB);
    pc->parent.smm = ON_OFF_AUTO_OFF;
    board_finish();
    ck_assert(config_read(1, 3, 0x58) & 1 << 25);
}
END_TEST

START_TEST(without_smm_the_ich9_says_so_too)
{
    pc = (PcMachine *)machine_prepare("q35", 128 * MiB);
    pc->parent.smm = ON_OFF_AUTO_OFF;
    board_finish();
    config_write(31, 0, 0x40, 0x601, 4);
    config_write(31, 0, 0x44, 0x80, 1);
    ck_assert_uint_eq(in(0x630, 4), 0x20);
}
END_TEST

START_TEST(smi_enable_locks_until_reset)
{
    board_new("q35", 128 * MiB);
    config_write(31, 0, 0x40, 0x601, 4);
    config_write(31, 0, 0x44, 0x80, 1);
    ck_assert_uint_eq(in(0x630, 4), 0);
    out(0x630, 0x21, 4);
    config_write(31, 0, 0xa0, 0x10, 1);
    out(0x630, 0, 4);
    ck_assert_uint_eq(in(0x630, 4), 1);
    config_write(31, 0, 0xa0, 0, 1);
    ck_assert_uint_eq(config_read(31, 0, 0xa0) & 0x10, 0x10);
    system_reset_now(SHUTDOWN_GUEST_RESET);
    ck_assert_uint_eq(config_read(31, 0, 0xa0) & 0x10, 0);
}
END_TEST

START_TEST(smm_cannot_be_had_from_an_accelerator_without)
{
    Error *err = NULL;

    pc = (PcMachine *)machine_prepare("q35", 128 * MiB);
    pc->parent.accel_chips.smm = false;
    pc->parent.smm = ON_OFF_AUTO_ON;
    ck_assert(!((const MachineOps *)type_ops(pc->parent.obj.type))->build(&pc->parent, &err));
    ck_assert(strstr(error_text(err), "'smm' cannot be on"));
    error_free(err);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pc");
    TCase *t = tcase_create("board");
    SRunner *r;
    int failed;

    tcase_add_test(t, i440fx_shows_its_functions);
    tcase_add_test(t, q35_shows_config_space_in_memory);
    tcase_add_test(t, firmware_is_at_the_top_and_below_one_mib);
    tcase_add_test(t, attribute_map_switches_between_rom_and_ram);
    tcase_add_test(t, memory_beyond_the_hole_moves_up);
    tcase_add_test(t, pirq_register_routes_to_the_8259);
    tcase_add_test(t, ich9_pirqs_are_io_apic_inputs);
    tcase_add_test(t, fw_cfg_gives_files_by_port_and_dma);
    tcase_add_test(t, smm_memory_opens_until_it_is_locked);
    tcase_add_test(t, i440fx_smm_memory_is_seen_in_smm_only);
    tcase_add_test(t, tseg_hides_the_top_of_low_memory);
    tcase_add_test(t, high_smm_memory_stands_for_the_low_one);
    tcase_add_test(t, without_smm_its_enable_bit_is_set_from_the_start);
    tcase_add_test(t, without_smm_the_ich9_says_so_too);
    tcase_add_test(t, smi_enable_locks_until_reset);
    tcase_add_test(t, smm_cannot_be_had_from_an_accelerator_without);
    tcase_add_test(t, boot_order_is_in_cmos_and_once_holds_once);
    tcase_add_test(t, fw_cfg_tells_firmware_how_to_boot);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
