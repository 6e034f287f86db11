/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The local APIC: acceptance by priority, destinations, INIT and SIPI, modes, the timer's count. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "target/i386/apic.h"
#include "target/i386/exec.h"
#include "target/i386/kvmpv.h"
#include "x86-harness.h"

enum { ID = 0x20, TPR = 0x80, EOI = 0xb0, LDR = 0xd0, DFR = 0xe0, SVR = 0xf0, ESR = 0x280, ICR = 0x300, ICR2 = 0x310,
       LVT_TIMER = 0x320, LVT_LINT0 = 0x350, LVT_LINT1 = 0x360, TMICT = 0x380, TMCCT = 0x390, TDCR = 0x3e0 };

static X86CPU *enabled_cpu(void)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    apic_reg_write(cpu, SVR, 0x1ff);
    return cpu;
}

START_TEST(the_highest_vector_is_first_and_masks_lower_ones)
{
    X86CPU *cpu = enabled_cpu();

    apic_set_irr(cpu->apic, 0x41, false);
    apic_set_irr(cpu->apic, 0x61, false);
    ck_assert_int_eq(apic_ack(cpu), 0x61);
    ck_assert_int_eq(apic_ack(cpu), -1);                /* 61h is in service */
    apic_set_irr(cpu->apic, 0x71, false);
    ck_assert_int_eq(apic_ack(cpu), 0x71);
    apic_reg_write(cpu, EOI, 0);
    ck_assert_int_eq(apic_ack(cpu), -1);
    apic_reg_write(cpu, EOI, 0);
    ck_assert_int_eq(apic_ack(cpu), 0x41);
}
END_TEST

START_TEST(the_task_priority_holds_interrupts_back)
{
    X86CPU *cpu = enabled_cpu();

    apic_set_irr(cpu->apic, 0x41, false);
    apic_reg_write(cpu, TPR, 0x40);
    ck_assert(!apic_has_interrupt(cpu));
    x86_cpu_lower(cpu, PENDING_APIC);
    apic_reg_write(cpu, TPR, 0x30);
    ck_assert(cpu->st->pending & PENDING_APIC);         /* found again */
    ck_assert_int_eq(apic_ack(cpu), 0x41);
}
END_TEST

START_TEST(destinations_reach_whom_they_name)
{
    X86CPU *a = enabled_cpu(), *b;

    b = harness_cpu("max");
    b->apic_id = 1;
    x86_cpu_reset(b);
    apic_reg_write(b, SVR, 0x1ff);
    apic_deliver(1, false, 0, 0x50, false);
    ck_assert_int_eq(apic_ack(a), -1);
    ck_assert_int_eq(apic_ack(b), 0x50);
    apic_deliver(0xff, false, 0, 0x51, false);
    apic_reg_write(b, EOI, 0);
    ck_assert_int_eq(apic_ack(a), 0x51);
    ck_assert_int_eq(apic_ack(b), 0x51);
    apic_reg_write(a, EOI, 0);
    apic_reg_write(b, EOI, 0);
    apic_reg_write(a, LDR, 1u << 24);                   /* flat logical ids */
    apic_reg_write(b, LDR, 2u << 24);
    apic_deliver(2, true, 0, 0x52, false);
    ck_assert_int_eq(apic_ack(a), -1);
    ck_assert_int_eq(apic_ack(b), 0x52);
    apic_reg_write(b, EOI, 0);
    apic_reg_write(a, TPR, 0x20);                       /* lowest priority takes the other one */
    apic_deliver(3, true, 1, 0x53, false);
    ck_assert_int_eq(apic_ack(a), -1);
    ck_assert_int_eq(apic_ack(b), 0x53);
}
END_TEST

START_TEST(a_sipi_right_after_init_is_not_lost)
{
    X86CPU *a = enabled_cpu(), *b = harness_cpu("max");

    b->apic_id = 1;
    x86_cpu_reset(b);
    apic_reg_write(a, ICR2, 1u << 24);
    apic_reg_write(a, ICR, 0x4500);                     /* INIT */
    apic_reg_write(a, ICR, 0x4608);                     /* SIPI, vector 8 */
    ck_assert(x86_cpu_has_work(b));
    while (x86_handle_pending(b)) {
    }
    ck_assert_uint_eq(b->st->mp_state, MP_RUNNABLE);
    ck_assert_uint_eq(b->st->seg[SEG_CS].base, 0x8000);
    ck_assert_uint_eq(b->st->rip, 0);
}
END_TEST

static void handle_all(X86CPU *cpu)
{
    while (x86_handle_pending(cpu)) {
    }
}

START_TEST(a_sipi_to_a_cpu_that_does_not_wait_for_one_is_lost)
{
    X86CPU *a = enabled_cpu(), *b = harness_cpu("max");

    b->apic_id = 1;
    x86_cpu_reset(b);
    apic_reg_write(a, ICR2, 1u << 24);
    apic_reg_write(a, ICR, 0x4608);
    handle_all(b);
    ck_assert_uint_eq(b->st->mp_state, MP_RUNNABLE);
    apic_reg_write(a, ICR, 0x4609);                     /* it runs: neither is kept for the INIT that follows */
    apic_reg_write(a, ICR, 0x4500);
    handle_all(b);
    ck_assert_uint_eq(b->st->mp_state, MP_UNINITIALIZED);
    apic_reg_write(a, ICR, 0x460a);                     /* it waits, but INIT comes again before it sees this */
    apic_reg_write(a, ICR, 0x4500);
    handle_all(b);
    ck_assert_uint_eq(b->st->mp_state, MP_UNINITIALIZED);
    apic_reg_write(a, ICR, 0x460b);
    apic_reg_write(a, ICR, 0x460c);                     /* INIT SIPI SIPI: the second finds it running or is taken */
    handle_all(b);
    ck_assert_uint_eq(b->st->mp_state, MP_RUNNABLE);
    ck_assert_uint_eq(b->st->seg[SEG_CS].base, 0xc000);
    apic_reg_write(a, ICR, 0x460d);
    handle_all(b);
    ck_assert_uint_eq(b->st->seg[SEG_CS].base, 0xc000);
    ck_assert(!(b->st->pending & PENDING_SIPI));
}
END_TEST

static _Atomic int starts_over;

/* A processor that takes INIT and SIPI as they come, until it is told to end. */
static void *starting_processor(void *opaque)
{
    X86CPU *cpu = opaque;

    while (!atomic_load(&starts_over)) {
        x86_handle_pending(cpu);
    }
    return NULL;
}

START_TEST(a_sipi_that_comes_while_init_is_taken_is_not_lost)
{
    X86CPU *a = enabled_cpu(), *b = harness_cpu("max");
    pthread_t thread;

    b->apic_id = 1;
    x86_cpu_reset(b);
    apic_reg_write(a, ICR2, 1u << 24);
    ck_assert_int_eq(pthread_create(&thread, NULL, starting_processor, b), 0);
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t page = 1 + round % 200;
        int64_t end = clock_ns(CLOCK_HOST) + 10ll * 1000000000;

        apic_reg_write(a, ICR, 0x4500);
        for (unsigned n = round % 64 * 20; n; n--) {    /* at another place of the other's work each time */
            __builtin_ia32_pause();
        }
        apic_reg_write(a, ICR, 0x4600 | page);
        while ((atomic_load(&b->st->pending) || b->st->mp_state != MP_RUNNABLE) && clock_ns(CLOCK_HOST) < end) {
            __builtin_ia32_pause();
        }
        ck_assert_msg(b->st->mp_state == MP_RUNNABLE, "round %u: the SIPI was lost", round);
        ck_assert_uint_eq(b->st->seg[SEG_CS].base, page << 12);
    }
    atomic_store(&starts_over, 1);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(the_nmi_button_is_lint1)
{
    X86CPU *cpu = enabled_cpu();

    apic_deliver_nmi(cpu);
    ck_assert(!(cpu->st->pending & PENDING_NMI));       /* masked since the reset */
    apic_reg_write(cpu, LVT_LINT1, 0x400);
    apic_deliver_nmi(cpu);
    ck_assert(cpu->st->pending & PENDING_NMI);
    x86_cpu_lower(cpu, PENDING_NMI);
    apic_reg_write(cpu, LVT_LINT1, 0x66);
    apic_deliver_nmi(cpu);
    ck_assert_int_eq(apic_ack(cpu), 0x66);
    ck_assert(apic_write_base(cpu, 0xfee00000));
    apic_deliver_nmi(cpu);
    ck_assert(cpu->st->pending & PENDING_NMI);
}
END_TEST

START_TEST(x2apic_refuses_what_the_manual_refuses)
{
    X86CPU *cpu = enabled_cpu();
    uint64_t v;

    ck_assert(!apic_msr_read(cpu, 0x802, &v));          /* not in x2APIC mode yet */
    ck_assert(!apic_write_base(cpu, 0xfee00400));       /* EXTD without EN */
    ck_assert(apic_write_base(cpu, 0xfee00c00));
    ck_assert(apic_msr_read(cpu, 0x802, &v));
    ck_assert(!apic_write_base(cpu, 0xfee00800));       /* back to xAPIC directly */
    ck_assert(!apic_msr_write(cpu, 0x802, 1));          /* read-only */
    ck_assert(!apic_msr_write(cpu, 0x80b, 1));          /* EOI takes 0 only */
    ck_assert(!apic_msr_read(cpu, 0x80e, &v));          /* no DFR there */
    ck_assert(apic_msr_write(cpu, 0x83f, 0x44));        /* self IPI */
    ck_assert_int_eq(apic_ack(cpu), 0x44);
    ck_assert(apic_write_base(cpu, 0xfee00000));
    ck_assert(!apic_msr_read(cpu, 0x802, &v));
}
END_TEST

START_TEST(an_eoi_by_flag_counts_even_when_the_flag_is_switched_off)
{
    X86CPU *cpu = enabled_cpu();
    uint8_t *flag = harness_ram() + H_DATA;

    *flag = 0;
    ck_assert(x86_kvm_write_pv_eoi(cpu, H_DATA | 1));
    apic_set_irr(cpu->apic, 0x61, false);
    ck_assert_int_eq(apic_ack(cpu), 0x61);
    ck_assert_uint_eq(*flag, 1);
    *flag = 0;                                          /* the guest's EOI */
    ck_assert(x86_kvm_write_pv_eoi(cpu, 0));
    apic_set_irr(cpu->apic, 0x41, false);
    ck_assert_int_eq(apic_ack(cpu), 0x41);
    ck_assert_uint_eq(*flag, 0);
}
END_TEST

START_TEST(illegal_vectors_are_errors)
{
    X86CPU *cpu = enabled_cpu();

    apic_reg_write(cpu, ICR, 0x40000 | 5);              /* self, vector 5 */
    apic_reg_write(cpu, ESR, 0);
    ck_assert_uint_eq(apic_reg_read(cpu, ESR), 1 << 5);
    apic_reg_write(cpu, ESR, 0);
    ck_assert_uint_eq(apic_reg_read(cpu, ESR), 0);
    ck_assert_int_eq(apic_ack(cpu), -1);
}
END_TEST

START_TEST(the_timer_counts_down)
{
    X86CPU *cpu = enabled_cpu();
    uint32_t first;

    clock_virtual_enable(true);
    apic_reg_write(cpu, TDCR, 0xb);                     /* by 1 */
    apic_reg_write(cpu, LVT_TIMER, 0x40);
    apic_reg_write(cpu, TMICT, 0xffffffff);
    first = apic_reg_read(cpu, TMCCT);
    g_usleep(2000);
    ck_assert_uint_gt(first - apic_reg_read(cpu, TMCCT), 1000000);
    apic_reg_write(cpu, TMICT, 0);
    ck_assert_uint_eq(apic_reg_read(cpu, TMCCT), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("apic");
    TCase *tc = tcase_create("apic");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 60);                          /* a busy host gives two threads little */
    tcase_add_test(tc, the_highest_vector_is_first_and_masks_lower_ones);
    tcase_add_test(tc, the_task_priority_holds_interrupts_back);
    tcase_add_test(tc, destinations_reach_whom_they_name);
    tcase_add_test(tc, a_sipi_right_after_init_is_not_lost);
    tcase_add_test(tc, a_sipi_to_a_cpu_that_does_not_wait_for_one_is_lost);
    tcase_add_test(tc, a_sipi_that_comes_while_init_is_taken_is_not_lost);
    tcase_add_test(tc, the_nmi_button_is_lint1);
    tcase_add_test(tc, x2apic_refuses_what_the_manual_refuses);
    tcase_add_test(tc, an_eoi_by_flag_counts_even_when_the_flag_is_switched_off);
    tcase_add_test(tc, illegal_vectors_are_errors);
    tcase_add_test(tc, the_timer_counts_down);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
