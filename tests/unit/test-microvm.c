/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The microvm board without CPUs running: slots, GED, I/O APICs and what the properties leave out; and what a taken
 * slot does to the kernel's command line and the ACPI tables.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hw/i386/microvm.h"
#include "system/runstate.h"
#include "util/units.h"

static MicrovmMachine *mv;
static ShutdownCause reset_cause, shutdown_cause;
void __wrap_system_reset_request(ShutdownCause cause);
void __wrap_system_shutdown_request(ShutdownCause cause);

void __wrap_system_reset_request(ShutdownCause cause)
{
    reset_cause = cause;
}

void __wrap_system_shutdown_request(ShutdownCause cause)
{
    shutdown_cause = cause;
}

/* Something to sit in a slot. */
static const Type sitter_type = { .name = "test-sitter", .parent = "device", .bus = "virtio-bus",
                                  .size = sizeof(Device), .user_creatable = true };
TYPE_REGISTER(sitter_type)

typedef struct Opt {
    const char *key, *value;
} Opt;

static Machine *board_new(const Opt *opts)
{
    Error *err = NULL;
    Machine *m = machine_new("microvm", &err);

    ck_assert_msg(m != NULL, "%s", err ? error_text(err) : "");
    m->config = (MachineConfig) {
        .ram_size = 64 * MiB, .maxram_size = 64 * MiB,
        .smp = { .cpus = 2, .maxcpus = 2, .sockets = 2, .dies = 1, .clusters = 1, .modules = 1, .cores = 1,
                 .threads = 1 },
    };
    for (; opts && opts->key; opts++) {
        ck_assert_msg(object_prop_set(&m->obj, opts->key, opts->value, &err), "%s", err ? error_text(err) : "");
    }
    machine_lock();
    mv = (MicrovmMachine *)m;
    return m;
}

static void board_build(const Opt *opts)
{
    Error *err = NULL;
    Machine *m = board_new(opts);

    ck_assert_msg(((const MachineOps *)type_ops(m->obj.type))->build(m, &err), "%s", err ? error_text(err) : "");
}

static uint64_t mem(hwaddr addr, unsigned size)
{
    uint64_t v = 0;

    address_space_ld(&mv->parent.as_memory, addr, &v, size);
    return v;
}

static uint64_t in(unsigned port)
{
    uint64_t v = 0;

    address_space_ld(&mv->parent.as_io, port, &v, 1);
    return v;
}

START_TEST(empty_slots_have_no_device)
{
    board_build(NULL);
    for (unsigned n = 0; n < MICROVM_SLOTS_MAX; n++) {
        hwaddr at = MICROVM_SLOTS_BASE + n * 512;

        ck_assert_uint_eq(mem(at, 4), 0x74726976);
        ck_assert_uint_eq(mem(at + 4, 4), 1);
        ck_assert_uint_eq(mem(at + 8, 4), 0);
        ck_assert_uint_eq(mem(at + 12, 4), 0x554d4551);
        ck_assert_uint_eq(mem(at + 0x70, 4), 0);
        ck_assert_uint_eq(mem(at + 0x100, 1), 0);
    }
    ck_assert_uint_eq(mem(MICROVM_SLOTS_BASE + 24 * 512, 4), UINT32_MAX);
}
END_TEST

/* The first device gets the last slot, as on the boards that guests know. */
START_TEST(devices_fill_slots_from_the_last)
{
    Error *err = NULL;

    board_build(NULL);
    ck_assert_ptr_nonnull(device_add_from_props("test-sitter", NULL, 0, &err));
    ck_assert(virtio_mmio_taken(mv->slot[23]) && !virtio_mmio_taken(mv->slot[22]));
    ck_assert_ptr_nonnull(device_add_from_props("test-sitter", NULL, 0, &err));
    ck_assert(virtio_mmio_taken(mv->slot[22]));
    ck_assert_str_eq(mv->slot[0]->bus.obj.name, "virtio-mmio-bus.0");
}
END_TEST

static const guint8 *find(const GByteArray *in_bytes, const char *text)
{
    return memmem(in_bytes->data, in_bytes->len, text, strlen(text));
}

START_TEST(tables_name_taken_slots_only)
{
    Error *err = NULL;

    board_build(NULL);
    ck_assert_ptr_nonnull(device_add_from_props("test-sitter", NULL, 0, &err));
    ck_assert(microvm_acpi_init(mv, &err));
    ck_assert_ptr_nonnull(find(mv->acpi->tables, "VR23"));
    ck_assert_ptr_null(find(mv->acpi->tables, "VR22"));
    ck_assert_ptr_nonnull(find(mv->acpi->tables, "LNRO0005"));
    ck_assert_ptr_nonnull(find(mv->acpi->tables, "ACPI0013"));
}
END_TEST

START_TEST(command_line_names_taken_slots_without_acpi)
{
    static const Opt off[] = { { "acpi", "off" }, { NULL, NULL } };
    Error *err = NULL;

    board_build(off);
    mv->parent.config.append = "quiet";
    ck_assert_uint_eq(mv->n_slots, 8);
    ck_assert_ptr_nonnull(device_add_from_props("test-sitter", NULL, 0, &err));
    g_autofree char *line = microvm_command_line(mv);
    ck_assert_str_eq(line, "quiet virtio_mmio.device=512@0xfeb00e00:12");
    mv->auto_cmdline = false;
    g_autofree char *plain = microvm_command_line(mv);
    ck_assert_str_eq(plain, "quiet");
}
END_TEST

START_TEST(slots_interrupt_where_tables_say)
{
    board_build(NULL);
    irq_set(mv->slot[0]->irq, 1);
    irq_set(mv->slot[23]->irq, 1);
    ck_assert_uint_eq(mv->ioapic[1]->level, 1u << 0 | 1u << 23);
    ck_assert_uint_eq(mv->ioapic[0]->level, 0);
    irq_set(mv->slot[0]->irq, 0);
    ck_assert_uint_eq(mv->ioapic[1]->level, 1u << 23);
}
END_TEST

START_TEST(one_ioapic_has_eight_slots)
{
    static const Opt one[] = { { "ioapic2", "off" }, { NULL, NULL } };

    board_build(one);
    ck_assert_uint_eq(mv->n_slots, 8);
    irq_set(mv->slot[7]->irq, 1);
    ck_assert_uint_eq(mv->ioapic[0]->level, 1u << 23);
    ck_assert_uint_eq(mem(MICROVM_IOAPIC2, 4), UINT32_MAX);
    ck_assert_uint_eq(mem(MICROVM_SLOTS_BASE + 8 * 512, 4), UINT32_MAX);
}
END_TEST

START_TEST(old_chips_can_be_left_out)
{
    static const Opt none[] = { { "pit", "off" }, { "pic", "off" }, { "rtc", "off" }, { "isa-serial", "off" },
                                { NULL, NULL } };
    static const unsigned ports[] = { 0x20, 0x40, 0x71, 0xa0, 0x3fd, 0x4d0, 0x61, 0x64, 0x92 };

    board_build(none);
    for (size_t i = 0; i < G_N_ELEMENTS(ports); i++) {
        ck_assert_msg(in(ports[i]) == 0xff, "port %xh answers", ports[i]);
    }
    ck_assert(!mv->pit && !mv->rtc && !mv->pic.master);
}
END_TEST

START_TEST(sleep_and_reset_registers_act)
{
    board_build(NULL);
    address_space_st(&mv->parent.as_memory, MICROVM_GED_REGS, 0x14, 1);     /* S5, not enabled */
    address_space_st(&mv->parent.as_memory, MICROVM_GED_REGS, 0x20 | 3 << 2, 1);
    address_space_st(&mv->parent.as_memory, MICROVM_GED_REGS + 2, 0x41, 1);
    ck_assert(shutdown_cause == SHUTDOWN_NONE && reset_cause == SHUTDOWN_NONE);
    address_space_st(&mv->parent.as_memory, MICROVM_GED_REGS, 0x34, 1);
    ck_assert_int_eq(shutdown_cause, SHUTDOWN_GUEST_SHUTDOWN);
    address_space_st(&mv->parent.as_memory, MICROVM_GED_REGS + 2, 0x42, 1);
    ck_assert_int_eq(reset_cause, SHUTDOWN_GUEST_RESET);
}
END_TEST

START_TEST(events_are_read_once)
{
    board_build(NULL);
    mv->ioapic[0]->redir[9] = 0x30;                                         /* unmasked, edge */
    acpi_ged_event(mv->ged, GED_POWER_BUTTON);
    ck_assert_uint_eq(mem(MICROVM_GED_EVENTS, 4), GED_POWER_BUTTON);
    ck_assert_uint_eq(mem(MICROVM_GED_EVENTS, 4), 0);
    acpi_ged_event(mv->ged, GED_NVDIMM_HOTPLUG);                            /* not described: not told */
    ck_assert_uint_eq(mem(MICROVM_GED_EVENTS, 4), 0);
}
END_TEST

START_TEST(without_acpi_there_is_no_ged)
{
    static const Opt off[] = { { "acpi", "off" }, { NULL, NULL } };

    board_build(off);
    ck_assert_ptr_null(mv->ged);
    ck_assert_uint_eq(mem(MICROVM_GED_EVENTS, 4), UINT32_MAX);
    irq_set(mv->slot[0]->irq, 1);
    ck_assert_uint_eq(mv->ioapic[0]->level, 1u << 5);
}
END_TEST

START_TEST(usb_is_refused)
{
    static const Opt usb[] = { { "usb", "on" }, { NULL, NULL } };
    Error *err = NULL;
    Machine *m = board_new(usb);

    ck_assert(!((const MachineOps *)type_ops(m->obj.type))->build(m, &err));
    ck_assert_ptr_nonnull(strstr(error_text(err), "usb"));
    error_free(err);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("microvm");
    TCase *tc = tcase_create("microvm");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, empty_slots_have_no_device);
    tcase_add_test(tc, devices_fill_slots_from_the_last);
    tcase_add_test(tc, tables_name_taken_slots_only);
    tcase_add_test(tc, command_line_names_taken_slots_without_acpi);
    tcase_add_test(tc, slots_interrupt_where_tables_say);
    tcase_add_test(tc, one_ioapic_has_eight_slots);
    tcase_add_test(tc, old_chips_can_be_left_out);
    tcase_add_test(tc, sleep_and_reset_registers_act);
    tcase_add_test(tc, events_are_read_once);
    tcase_add_test(tc, without_acpi_there_is_no_ged);
    tcase_add_test(tc, usb_is_refused);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
