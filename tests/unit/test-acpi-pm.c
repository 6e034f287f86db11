/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ACPI fixed hardware: modes, PM timer, power button, sleep, GPE, TCO. */
#include "chip-bench.h"

#include "chip-requests.h"
#include "hw/acpi/pm.h"

#define PMBASE 0x600
enum { STS = PMBASE, EN = PMBASE + 2, CNT = PMBASE + 4, TMR = PMBASE + 8, ICH9_GPE = PMBASE + 0x20,
       TCO = PMBASE + 0x60 };
enum { SCI = 9, SMI = 20 };

static AcpiPm pm;

static void start(AcpiPmKind kind, bool smm)
{
    acpi_pm_init(&pm, kind);
    pm.sci = &bench.line[SCI];
    pm.smi = smm ? &bench.line[SMI] : NULL;
    acpi_pm_realize(&pm, NULL);
    memory_region_add(&bench.io, PMBASE, &pm.io, 0);
    memory_region_add(&bench.io, ACPI_APM_PORT, &pm.apm_io, 0);
    if (kind == ACPI_PM_PIIX4) {
        memory_region_add(&bench.io, ACPI_PIIX4_GPE_BASE, &pm.gpe_io, 0);
    }
    acpi_pm_reset(&pm);
}

START_TEST(apm_port_switches_modes)
{
    start(ACPI_PM_PIIX4, true);
    ck_assert_int_eq(inw(CNT) & 1, 0);
    outb(0xb2, 0xf1);
    ck_assert_int_eq(inw(CNT) & 1, 1);
    outw(CNT, 0);                           /* SCI_EN is not writable */
    ck_assert_int_eq(inw(CNT) & 1, 1);
    outb(0xb2, 0xf0);
    ck_assert_int_eq(inw(CNT) & 1, 0);
    ck_assert_int_eq(bench.rises[SMI], 0);
    pm.apm_smi_enabled = true;
    outb(0xb2, 0x55);
    outb(0xb3, 0x66);
    ck_assert_int_eq(bench.rises[SMI], 1);
    ck_assert_int_eq(inb(0xb2), 0x55);
    ck_assert_int_eq(inb(0xb3), 0x66);
}
END_TEST

START_TEST(without_smm_acpi_mode_is_on)
{
    start(ACPI_PM_ICH9, false);
    ck_assert_int_eq(inw(CNT) & 1, 1);
    outb(0xb2, 0x03);
    ck_assert_int_eq(inw(CNT) & 1, 0);
    outb(0xb2, 0x02);
    ck_assert_int_eq(inw(CNT) & 1, 1);
}
END_TEST

START_TEST(timer_counts_and_overflows)
{
    uint32_t t0;

    start(ACPI_PM_PIIX4, false);
    t0 = inl(TMR);
    clock_qtest_step(1000000);
    ck_assert_int_eq((inl(TMR) - t0) & 0xffffff, 3579);
    outw(EN, 1);
    outw(STS, 1);
    ck_assert_int_eq(bench.level[SCI], 0);
    clock_qtest_step(2400000000);           /* half of the 24 bits take 2.34 s */
    ck_assert_int_eq(bench.level[SCI], 1);
    ck_assert_int_eq(inw(STS) & 1, 1);
    outw(STS, 1);
    ck_assert_int_eq(bench.level[SCI], 0);
    clock_qtest_step(2350000000);
    ck_assert_int_eq(bench.level[SCI], 1);
    outw(EN, 0);
    outw(STS, 1);
    ck_assert(!timer_pending(&pm.tmr_timer));
    clock_qtest_step(2350000000);           /* unwatched, the bit is found on reading */
    ck_assert_int_eq(inw(STS) & 1, 1);
}
END_TEST

START_TEST(power_button_raises_sci)
{
    start(ACPI_PM_ICH9, false);
    asked.power_button(asked.power_opaque);
    ck_assert_int_eq(inw(STS), 0);          /* not enabled: nobody is there to answer */
    outw(EN, 0x100);
    asked.power_button(asked.power_opaque);
    ck_assert_int_eq(inw(STS), 0x100);
    ck_assert_int_eq(bench.level[SCI], 1);
    outb(STS + 1, 1);
    ck_assert_int_eq(bench.level[SCI], 0);
}
END_TEST

START_TEST(soft_off_and_other_sleeps)
{
    start(ACPI_PM_PIIX4, false);
    outw(CNT, 1 << 10 | 1 << 13);           /* S3: not there */
    ck_assert_int_eq(asked.shutdowns, 0);
    outw(CNT, 0);
    ck_assert_int_eq(asked.shutdowns, 0);
    outw(CNT, 2 << 10 | 1 << 13);           /* S4 */
    ck_assert_int_eq(asked.shutdowns, 1);
    ck_assert_str_eq(asked.event, "SUSPEND_DISK");
    pm.disable_s4 = 1;
    outw(CNT, 2 << 10 | 1 << 13);
    ck_assert_int_eq(asked.shutdowns, 1);
    outw(CNT, 1 << 13);
    ck_assert_int_eq(asked.shutdowns, 2);
    ck_assert_int_eq(inw(CNT), 1);
}
END_TEST

START_TEST(gpe_block_has_status_and_enable)
{
    start(ACPI_PM_ICH9, false);
    acpi_pm_gpe_raise(&pm, 10);
    ck_assert_int_eq(bench.level[SCI], 0);
    ck_assert_int_eq(inb(ICH9_GPE + 1), 4);
    outb(ICH9_GPE + 8 + 1, 4);
    ck_assert_int_eq(bench.level[SCI], 1);
    outb(ICH9_GPE + 1, 0xff);
    ck_assert_int_eq(bench.level[SCI], 0);
    ck_assert_int_eq(inb(ICH9_GPE + 1), 0);
}
END_TEST

START_TEST(piix4_gpe_block_is_apart)
{
    start(ACPI_PM_PIIX4, false);
    outw(0xafe2, 0x0002);
    acpi_pm_gpe_raise(&pm, 1);
    ck_assert_int_eq(bench.level[SCI], 1);
    ck_assert_int_eq(inw(0xafe0), 2);
    outw(0xafe0, 2);
    ck_assert_int_eq(bench.level[SCI], 0);
}
END_TEST

START_TEST(tco_runs_out_twice_and_resets)
{
    start(ACPI_PM_ICH9, false);
    pm.tco_no_reboot = false;
    outw(TCO + 0x12, 5);
    outw(TCO, 1);
    clock_qtest_step(60000000000);
    ck_assert_int_eq(inw(TCO + 4), 0);      /* halted */
    outw(TCO + 8, 0);
    clock_qtest_step(3000000000);
    ck_assert_int_eq(inw(TCO + 4), 8);
    ck_assert_int_eq(asked.resets, 0);
    outw(TCO, 1);                           /* the driver lives */
    clock_qtest_step(3000000000);
    ck_assert_int_eq(asked.resets, 0);
    clock_qtest_step(3000000000);
    ck_assert_int_eq(asked.resets, 1);
    ck_assert_int_eq(inw(TCO + 6) & 2, 2);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, apm_port_switches_modes);
    tcase_add_test(tc, without_smm_acpi_mode_is_on);
    tcase_add_test(tc, timer_counts_and_overflows);
    tcase_add_test(tc, power_button_raises_sci);
    tcase_add_test(tc, soft_off_and_other_sleeps);
    tcase_add_test(tc, gpe_block_has_status_and_enable);
    tcase_add_test(tc, piix4_gpe_block_is_apart);
    tcase_add_test(tc, tco_runs_out_twice_and_resets);
}

int main(void)
{
    return bench_main("acpi-pm", add);
}
