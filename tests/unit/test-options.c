/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option table and what a command line becomes: names, topology, defaults, repeats. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "system/config.h"
#include "system/system.h"

/* Splits at blanks; the Config of "prog LINE", or NULL with the error's text in *why. */
static Config *parse(const char *line, char **why)
{
    g_autofree char *whole = g_strconcat("prog", *line ? " " : "", line, NULL);
    char **argv = g_strsplit(whole, " ", -1);       /* the Config borrows it: kept */
    Config *c = config_new();
    Error *err = NULL;

    if (config_parse(c, g_strv_length(argv), argv, &err)) {
        return c;
    }
    if (why) {
        *why = g_strdup(error_text(err));
    }
    error_free(err);
    config_free(c);
    return NULL;
}

START_TEST(every_option_has_a_row)
{
    static const char names[] =
        "help h version machine M cpu accel smp numa add-fd set global boot m mem-path mem-prealloc k "
        "audio audiodev device name uuid fda fdb hda hdb hdc hdd cdrom blockdev drive mtdblock sd "
        "snapshot fsdev virtfs iscsi usb usbdevice display nographic spice vga full-screen vnc "
        "win2k-hack no-fd-bootchk acpitable smbios netdev nic net chardev tpmdev bios pflash kernel "
        "shim append initrd dtb compat fw_cfg serial parallel monitor qmp qmp-pretty mon debugcon "
        "pidfile preconfig S overcommit gdb s d D dfilter seed L enable-kvm xen-domid xen-attach "
        "xen-domid-restrict no-reboot no-shutdown action loadvm daemonize option-rom rtc icount "
        "watchdog-action echr incoming only-migratable nodefaults prom-env semihosting "
        "semihosting-config old-param sandbox readconfig no-user-config trace plugin qtest qtest-log "
        "run-with msg dump-vmstate enable-sync-profile perfmap jitdump object";
    g_auto(GStrv) list = g_strsplit(names, " ", -1);
    int rows = 0;

    for (int i = 0; list[i]; i++) {
        ck_assert_msg(option_find(list[i]) != NULL, "no row for -%s", list[i]);
    }
    while (option_row(rows)) {
        const OptionRow *row = option_row(rows++);

        ck_assert_int_eq(!!row->set + !!row->missing + row->elsewhere, 1);
    }
    ck_assert_int_eq(rows, (int)g_strv_length(list));
}
END_TEST

START_TEST(topologies)
{
    static const struct {
        const char *text;
        SmpConfig want;     /* cpus, maxcpus, sockets, dies, clusters, modules, cores, threads */
    } good[] = {
        { "", { 1, 1, 1, 1, 1, 1, 1, 1 } },
        { "4", { 4, 4, 1, 1, 1, 1, 4, 1 } },
        { "2,maxcpus=8", { 2, 8, 1, 1, 1, 1, 8, 1 } },
        { "8,sockets=2", { 8, 8, 2, 1, 1, 1, 4, 1 } },
        { "8,cores=2", { 8, 8, 4, 1, 1, 1, 2, 1 } },
        { "8,sockets=2,cores=2", { 8, 8, 2, 1, 1, 1, 2, 2 } },
        { "cores=2,threads=2,sockets=1", { 4, 4, 1, 1, 1, 1, 2, 2 } },
        { "dies=2,modules=2", { 4, 4, 1, 2, 1, 2, 1, 1 } },
        { "8,dies=2,threads=2", { 8, 8, 1, 2, 1, 1, 2, 2 } },
        { "255", { 255, 255, 1, 1, 1, 1, 255, 1 } },
        { "2,sockets=2,dies=1,clusters=1,books=1,drawers=1,cores=1,threads=1",
          { 2, 2, 2, 1, 1, 1, 1, 1 } },
    };
    static const struct {
        const char *text, *part;
    } bad[] = {
        { "0", "'cpus' must be greater than zero" },
        { "2,dies=0", "'dies' must be greater than zero" },
        { "2,sockets=3", "!= maxcpus (2)" },
        { "3,cores=2", "!= maxcpus (3)" },
        { "4,maxcpus=2", "< cpus (4)" },
        { "books=2", "'books=2' must be 1" },
        { "clusters=2", "'clusters=2' must be 1" },
        { "256", "Invalid SMP CPUs 256" },
        { "1,maxcpus=256", "Invalid SMP CPUs 256" },
        { "4294967297", "'cpus=4294967297'" },
        { "cpus=1,sockets=1024,dies=1024,modules=1024,threads=1024", "!= maxcpus (1)" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(KeyVals) kv = keyvals_parse_tree(good[i].text, "cpus", NULL);
        SmpConfig got = { 0 };

        ck_assert_msg(smp_resolve(kv, "m", 255, &got, NULL), "refused: %s", good[i].text);
        ck_assert_msg(!memcmp(&got, &good[i].want, sizeof(got)), "wrong: %s", good[i].text);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(KeyVals) kv = keyvals_parse_tree(bad[i].text, "cpus", NULL);
        g_autoptr(Error) err = NULL;
        SmpConfig got = { 0 };

        ck_assert_msg(!smp_resolve(kv, "m", 255, &got, &err), "accepted: %s", bad[i].text);
        ck_assert_msg(strstr(error_text(err), bad[i].part) != NULL, "%s: %s", bad[i].text,
                      error_text(err));
    }
}
END_TEST

START_TEST(overcommit_repeats)
{
    static const struct {
        const char *line;
        MlockState mlock;
        bool cpu_pm;
    } cases[] = {
        { "", MLOCK_OFF, false },
        { "-overcommit mem-lock=on", MLOCK_ON, false },
        { "-overcommit mem-lock=on-fault", MLOCK_ON_FAULT, false },
        { "-overcommit mem-lock=on -overcommit cpu-pm=on", MLOCK_ON, true },
        { "-overcommit cpu-pm=on -overcommit mem-lock=on-fault", MLOCK_ON_FAULT, true },
        { "-overcommit mem-lock=on -overcommit mem-lock=off", MLOCK_OFF, false },
        { "-overcommit mem-lock=off,mem-lock=on-fault", MLOCK_ON_FAULT, false },
        { "-overcommit cpu-pm=on,mem-lock=on -overcommit cpu-pm=off", MLOCK_ON, false },
        { "--overcommit mem-lock=on", MLOCK_ON, false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config *c;

        mlock_state = MLOCK_OFF;
        enable_cpu_pm = false;
        c = parse(cases[i].line, NULL);
        ck_assert_ptr_nonnull(c);
        ck_assert_int_eq(mlock_state, cases[i].mlock);
        ck_assert_int_eq(enable_cpu_pm, cases[i].cpu_pm);
        config_free(c);
    }
    ck_assert(!should_mlock(MLOCK_OFF) && should_mlock(MLOCK_ON) && should_mlock(MLOCK_ON_FAULT));
    ck_assert(!is_mlock_on_fault(MLOCK_OFF) && !is_mlock_on_fault(MLOCK_ON)
              && is_mlock_on_fault(MLOCK_ON_FAULT));
}
END_TEST

START_TEST(machine_spellings_meet)
{
    Config *c = parse("-machine pc,usb=off,smp.cpus=2,smp.threads=2 -M q35,accel=kvm:tcg -smp 4 "
                      "-machine memory.size=64M,boot.order=d -usb -m size=1G,maxmem=4G,slots=2", NULL);

    ck_assert_str_eq(c->machine_type, "q35");
    ck_assert_str_eq(c->machine_accel, "kvm:tcg");
    ck_assert_str_eq(keyvals_get(c->machine_props, "usb", ""), "on");
    ck_assert_ptr_null(keyvals_get(c->machine_props, "type", NULL));
    ck_assert_uint_eq(keyvals_uint(c->smp, "cpus", 0), 4);
    ck_assert_uint_eq(keyvals_uint(c->smp, "threads", 0), 2);
    ck_assert_str_eq(keyvals_get(c->boot, "order", ""), "d");
    ck_assert_uint_eq(c->ram_size, UINT64_C(1) << 30);
    ck_assert_uint_eq(c->maxram_size, UINT64_C(4) << 30);
    ck_assert_uint_eq(c->ram_slots, 2);
    config_free(c);
}
END_TEST

static const char *serial(const Config *c, guint i)
{
    return i < c->serials->len ? ((ConfigPort *)g_ptr_array_index(c->serials, i))->chardev : "-";
}

static const char *monitor(const Config *c, guint i)
{
    return i < c->monitors->len ? ((ConfigMonitor *)g_ptr_array_index(c->monitors, i))->chardev : "-";
}

START_TEST(default_ports)
{
    static const struct {
        const char *line, *serial, *monitor;
    } cases[] = {
        { "", "null", "-" },
        { "-nographic", "mon:stdio", "-" },
        { "-nographic -serial null", "null", "stdio" },
        { "-nographic -monitor none", "stdio", "-" },
        { "-nographic -nodefaults", "-", "-" },
        { "-nographic -serial mon:stdio", "mon:stdio", "-" },
        { "-nographic -qmp null", "stdio", "null" },
        { "-nographic -device isa-serial", "-", "stdio" },
        { "-serial stdio", "stdio", "-" },
        { "-nodefaults -serial none", "none", "-" },
        { "-machine none -nographic", "-", "-" },
        { "-S -nodefaults -nographic -machine none,accel=kvm:tcg -qmp null -daemonize", "-", "null" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config *c = parse(cases[i].line, NULL);

        ck_assert_msg(!strcmp(serial(c, 0), cases[i].serial), "%s: serial %s", cases[i].line,
                      serial(c, 0));
        ck_assert_msg(!strcmp(monitor(c, 0), cases[i].monitor), "%s: monitor %s", cases[i].line,
                      monitor(c, 0));
        config_free(c);
    }
}
END_TEST

START_TEST(globals_have_two_spellings)
{
    Config *c = parse("-global a.b=c -global driver=cfi.pflash01,property=secure,value=on "
                      "-global ICH9-LPC.x.y=1=2", NULL);
    static const char *const want[3][3] = {
        { "a", "b", "c" }, { "cfi.pflash01", "secure", "on" }, { "ICH9-LPC", "x.y", "1=2" }
    };

    for (int i = 0; i < 3; i++) {
        const OptionUse *use = g_ptr_array_index(c->globals, i);

        ck_assert_str_eq(keyvals_get(use->kv, "driver", ""), want[i][0]);
        ck_assert_str_eq(keyvals_get(use->kv, "property", ""), want[i][1]);
        ck_assert_str_eq(keyvals_get(use->kv, "value", ""), want[i][2]);
    }
    config_free(c);
}
END_TEST

START_TEST(actions_and_clock)
{
    Config *c = parse("-no-reboot -no-shutdown -action panic=none,watchdog=inject-nmi "
                      "-rtc base=2006-06-17T16:01:21,clock=vm,driftfix=slew", NULL);

    ck_assert_int_eq(c->actions.reboot, REBOOT_SHUTDOWN);
    ck_assert_int_eq(c->actions.shutdown, SHUTDOWN_PAUSE);
    ck_assert_int_eq(c->actions.panic, PANIC_NONE);
    ck_assert_int_eq(c->actions.watchdog, WATCHDOG_INJECT_NMI);
    ck_assert(c->rtc_date && c->rtc_slew && c->rtc_clock == CLOCK_VIRTUAL);
    ck_assert_int_eq(c->rtc_epoch_s, 1150560081);
    config_free(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *tc = tcase_create("options");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, every_option_has_a_row);
    tcase_add_test(tc, topologies);
    tcase_add_test(tc, overcommit_repeats);
    tcase_add_test(tc, machine_spellings_meet);
    tcase_add_test(tc, default_ports);
    tcase_add_test(tc, globals_have_two_spellings);
    tcase_add_test(tc, actions_and_clock);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
