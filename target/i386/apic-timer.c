/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local APIC's timer: one-shot, periodic and TSC-deadline (SDM vol. 3 11.5.4). It counts at APIC_BUS_HZ of the
 * virtual clock, a frequency that CPUID 0x40000010 tells the guest.
 *
 * The Timer fires on the main loop; timer_lock guards what it reads against the CPU's thread.
 * Test: tests/unit/test-apic.c.
 */
#include "target/i386/apic-internal.h"
#include "target/i386/tsc.h"

enum { MODE_ONE_SHOT, MODE_PERIODIC, MODE_DEADLINE };

static unsigned timer_mode(const X86Apic *a)
{
    return (a->regs.lvt[APIC_LVT_TIMER] >> 17) & 3;
}

/* ns of one count. */
static int64_t count_ns(const X86Apic *a)
{
    unsigned d = a->regs.timer_divide;
    unsigned shift = ((d & 3) | (d >> 1 & 4)) == 7 ? 0 : ((d & 3) | (d >> 1 & 4)) + 1;

    return (1000000000 / X86_APIC_BUS_HZ) << shift;
}

static void timer_fire(void *opaque)
{
    X86Apic *a = opaque;

    pthread_mutex_lock(&a->timer_lock);
    if (timer_mode(a) == MODE_PERIODIC && a->regs.timer_initial) {
        int64_t period = MAX(count_ns(a) * a->regs.timer_initial, 20000), now = clock_ns(CLOCK_VIRTUAL);

        a->regs.timer_start += period;
        if (now - a->regs.timer_start > period * 16) {
            a->regs.timer_start = now;                  /* far behind: do not flood the guest */
        }
        timer_mod(&a->timer, a->regs.timer_start + period);
    } else if (timer_mode(a) == MODE_DEADLINE) {
        a->cpu->st->tsc_deadline = 0;
    }
    pthread_mutex_unlock(&a->timer_lock);
    apic_local_fire(a, APIC_LVT_TIMER);
}

void apic_timer_init(X86Apic *a)
{
    timer_init(&a->timer, CLOCK_VIRTUAL, timer_fire, a);
}

void apic_timer_stop(X86Apic *a)
{
    timer_del(&a->timer);
}

static void arm_count(X86Apic *a)
{
    if (a->regs.timer_initial) {
        timer_mod(&a->timer, a->regs.timer_start + count_ns(a) * a->regs.timer_initial);
    } else {
        timer_del(&a->timer);
    }
}

void apic_timer_set_initial(X86Apic *a, uint32_t v)
{
    pthread_mutex_lock(&a->timer_lock);
    if (timer_mode(a) != MODE_DEADLINE) {
        a->regs.timer_initial = v;
        a->regs.timer_start = clock_ns(CLOCK_VIRTUAL);
        arm_count(a);
    }
    pthread_mutex_unlock(&a->timer_lock);
}

void apic_timer_set_divide(X86Apic *a, uint32_t v)
{
    uint32_t left = apic_timer_count(a);

    pthread_mutex_lock(&a->timer_lock);
    a->regs.timer_divide = v;
    if (left) {
        a->regs.timer_start = clock_ns(CLOCK_VIRTUAL) - count_ns(a) * (a->regs.timer_initial - left);
        arm_count(a);
    }
    pthread_mutex_unlock(&a->timer_lock);
}

void apic_timer_set_lvt(X86Apic *a, uint32_t v)
{
    pthread_mutex_lock(&a->timer_lock);
    if ((a->regs.lvt[APIC_LVT_TIMER] ^ v) & (2 << 17)) {        /* to or from TSC-deadline disarms */
        a->regs.timer_initial = 0;
        a->cpu->st->tsc_deadline = 0;
        timer_del(&a->timer);
    }
    if (!x86_has(a->cpu, X86_FEAT_TSC_DEADLINE)) {
        v &= ~(2u << 17);
    }
    a->regs.lvt[APIC_LVT_TIMER] = v;
    pthread_mutex_unlock(&a->timer_lock);
}

uint32_t apic_timer_count(X86Apic *a)
{
    int64_t unit = count_ns(a), passed;
    uint64_t total = a->regs.timer_initial;

    if (!total || timer_mode(a) == MODE_DEADLINE) {
        return 0;
    }
    passed = (clock_ns(CLOCK_VIRTUAL) - a->regs.timer_start) / unit;
    if (timer_mode(a) == MODE_PERIODIC) {
        return total - passed % total;
    }
    return passed >= total ? 0 : total - passed;
}

void apic_timer_note_count(X86CPU *cpu, uint32_t left)
{
    X86Apic *a = cpu->apic;
    uint32_t passed = a->regs.timer_initial - MIN(left, a->regs.timer_initial);

    a->regs.timer_start = clock_ns(CLOCK_VIRTUAL) - count_ns(a) * passed;
}

static void arm_deadline(X86Apic *a)
{
    uint64_t deadline = a->cpu->st->tsc_deadline, now = x86_rdtsc(a->cpu);
    int64_t delta = deadline > now ? x86_tsc_to_ns(a->cpu->model->tsc_hz, deadline - now) : 0;

    timer_mod(&a->timer, clock_ns(CLOCK_VIRTUAL) + delta);
}

void apic_set_tsc_deadline(X86CPU *cpu, uint64_t tsc)
{
    X86Apic *a = cpu->apic;

    if (!a) {
        return;
    }
    pthread_mutex_lock(&a->timer_lock);
    if (timer_mode(a) == MODE_DEADLINE) {
        cpu->st->tsc_deadline = tsc;
        if (tsc) {
            arm_deadline(a);
        } else {
            timer_del(&a->timer);
        }
    }
    pthread_mutex_unlock(&a->timer_lock);
}

void apic_timer_restart(X86Apic *a)
{
    pthread_mutex_lock(&a->timer_lock);
    if (timer_mode(a) == MODE_DEADLINE) {
        if (a->cpu->st->tsc_deadline) {
            arm_deadline(a);
        }
    } else if (timer_mode(a) == MODE_PERIODIC || apic_timer_count(a)) {
        arm_count(a);
    }
    pthread_mutex_unlock(&a->timer_lock);
}
