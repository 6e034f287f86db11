/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The software CPU under a debugger: breakpoints, watchpoints, steps, linear memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "accel/accel.h"
#include "target/i386/debug.h"
#include "x86-harness.h"

/* Runs on from rip until it halts or the debugger is wanted; true: it halted. */
static bool go(X86CPU *cpu, uint64_t rip)
{
    cpu->vcpu.debug_stop = (DebugStop){ 0 };
    return harness_run_from(cpu, rip);
}

static void insert(X86CPU *cpu, DebugKind kind, uint64_t addr, uint64_t len)
{
    DebugPoint p = { kind, addr, len };

    ck_assert(accel_find("tcg")->debug_insert(&cpu->vcpu, &p, NULL));
}

static bool take_away(X86CPU *cpu, DebugKind kind, uint64_t addr, uint64_t len)
{
    DebugPoint p = { kind, addr, len };

    return accel_find("tcg")->debug_remove(&cpu->vcpu, &p);
}

static void set_step(X86CPU *cpu, uint32_t flags)
{
    cpu->vcpu.debug_step = flags;
    accel_find("tcg")->debug_step(&cpu->vcpu);
}

static void check_stop(const X86CPU *cpu, DebugWhy why, uint64_t rip)
{
    ck_assert_int_eq(cpu->vcpu.debug_stop.why, why);
    ck_assert_uint_eq(cpu->st->rip, rip);
}

static X86CPU *setup(const uint8_t *code, size_t len)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    memcpy(harness_ram() + H_CODE, code, len);
    return cpu;
}
#define SETUP(name) setup(name, name##_end - name)

/* Offsets: 0 mov (5), 5 add (3), 8 add (3), 11 hlt. */
PAYLOAD(p_adds, ".code64", "mov $40, %eax\nadd $1, %eax\nadd $1, %eax");

START_TEST(a_breakpoint_stops_before_its_instruction)
{
    X86CPU *cpu = SETUP(p_adds);

    insert(cpu, DEBUG_BREAK_SOFT, H_CODE + 8, 1);
    ck_assert(!go(cpu, H_CODE));
    check_stop(cpu, DEBUG_WHY_BREAK, H_CODE + 8);
    ck_assert_uint_eq(cpu->vcpu.debug_stop.addr, H_CODE + 8);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 41);
    ck_assert(!go(cpu, cpu->st->rip));                  /* it is still there */
    ck_assert(take_away(cpu, DEBUG_BREAK_SOFT, H_CODE + 8, 1));
    ck_assert(!take_away(cpu, DEBUG_BREAK_SOFT, H_CODE + 8, 1));
    ck_assert(go(cpu, cpu->st->rip));
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 42);
}
END_TEST

START_TEST(a_breakpoint_is_not_in_guest_memory)
{
    X86CPU *cpu = SETUP(p_adds);
    uint8_t bytes[3];

    insert(cpu, DEBUG_BREAK_SOFT, H_CODE + 5, 1);
    ck_assert(!go(cpu, H_CODE));
    ck_assert(x86_debug_read(cpu, H_CODE + 5, bytes, 3));
    ck_assert_mem_eq(bytes, p_adds + 5, 3);
    ck_assert_mem_eq(harness_ram() + H_CODE + 5, p_adds + 5, 3);
}
END_TEST

START_TEST(a_step_is_one_instruction_and_goes_over_a_breakpoint)
{
    X86CPU *cpu = SETUP(p_adds);

    insert(cpu, DEBUG_BREAK_HARD, H_CODE, 1);
    set_step(cpu, DEBUG_STEP_ON);
    ck_assert(!go(cpu, H_CODE));
    check_stop(cpu, DEBUG_WHY_STEP, H_CODE + 5);
    ck_assert(!go(cpu, cpu->st->rip));
    check_stop(cpu, DEBUG_WHY_STEP, H_CODE + 8);
    set_step(cpu, 0);
    ck_assert(go(cpu, cpu->st->rip));
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 42);
}
END_TEST

PAYLOAD(p_fault, ".code64", "ud2");
START_TEST(a_step_into_a_fault_ends_at_the_handler)
{
    X86CPU *cpu = SETUP(p_fault);

    set_step(cpu, DEBUG_STEP_ON);
    ck_assert(!go(cpu, H_CODE));
    check_stop(cpu, DEBUG_WHY_STEP, 0x9000 + EXCP_UD * 32);
}
END_TEST

/* Offsets: 0 movl to memory (11), 11 mov from memory (7), 18 addl to memory (8), 26 movb (8), 34 hlt. */
PAYLOAD(p_touch, ".code64", "movl $7, 0x300010\nmov 0x300010, %eax\naddl $1, 0x300010\nmovb $1, 0x300013");

static void expect_watch(DebugKind kind, uint64_t addr, uint64_t len, const unsigned *at)
{
    X86CPU *cpu = SETUP(p_touch);
    uint64_t rip = H_CODE;

    insert(cpu, kind, addr, len);
    for (; *at; at++) {
        ck_assert(!go(cpu, rip));
        check_stop(cpu, DEBUG_WHY_WATCH, H_CODE + *at);
        ck_assert_int_eq(cpu->vcpu.debug_stop.kind, kind);
        ck_assert_uint_eq(cpu->vcpu.debug_stop.addr, addr);
        rip = cpu->st->rip;
    }
    ck_assert(go(cpu, rip));
    ck_assert_uint_eq(*(uint32_t *)(harness_ram() + 0x300010), 8 | 1 << 24);
    ck_assert(take_away(cpu, kind, addr, len));
    ck_assert(go(cpu, H_CODE));
}

START_TEST(watchpoints_stop_after_the_access)
{
    static const unsigned writes[] = { 11, 26, 34, 0 }, reads[] = { 18, 26, 0 }, all[] = { 11, 18, 26, 34, 0 };

    expect_watch(DEBUG_WATCH_WRITE, 0x300010, 4, writes);
    expect_watch(DEBUG_WATCH_READ, 0x300010, 4, reads);
    expect_watch(DEBUG_WATCH_ACCESS, 0x300010, 4, all);
}
END_TEST

START_TEST(a_watchpoint_minds_its_own_bytes)
{
    static const unsigned none[] = { 0 }, last[] = { 11, 26, 34, 0 }, first[] = { 11, 26, 0 };

    expect_watch(DEBUG_WATCH_WRITE, 0x30000c, 4, none);
    expect_watch(DEBUG_WATCH_WRITE, 0x300014, 4, none);
    expect_watch(DEBUG_WATCH_WRITE, 0x300013, 1, last);
    expect_watch(DEBUG_WATCH_WRITE, 0x300010, 1, first);
    expect_watch(DEBUG_WATCH_WRITE, 0x2fff00, 0x113, first);       /* over a page's end */
}
END_TEST

PAYLOAD(p_vector, ".code64", "movups 0x300000, %xmm0\nmovups %xmm0, 0x300100\nlock incl 0x300200\nrep movsb");
START_TEST(every_way_to_memory_is_watched)
{
    static const uint64_t from[] = { 0x30000f, 0x300100, 0x300200, 0x300300, 0x300400 };
    X86CPU *cpu = SETUP(p_vector);

    for (unsigned i = 0; i < 5; i++) {
        insert(cpu, DEBUG_WATCH_ACCESS, from[i], 1);
        cpu->st->regs[R_RSI] = 0x300300;
        cpu->st->regs[R_RDI] = 0x300400;
        cpu->st->regs[R_RCX] = 16;
        ck_assert(!go(cpu, H_CODE));
        ck_assert_int_eq(cpu->vcpu.debug_stop.why, DEBUG_WHY_WATCH);
        ck_assert_uint_eq(cpu->vcpu.debug_stop.addr, from[i]);
        ck_assert(take_away(cpu, DEBUG_WATCH_ACCESS, from[i], 1));
    }
}
END_TEST

START_TEST(linear_memory_goes_through_the_page_tables)
{
    X86CPU *cpu = SETUP(p_adds);
    uint64_t pte = 0x60000 | 7, away = 0;
    uint8_t buf[32] = { 0 };

    memcpy(harness_ram() + H_PT + 0x50 * 8, &pte, 8);
    memcpy(harness_ram() + H_PT + 0x52 * 8, &away, 8);
    memset(harness_ram() + 0x60000, 0xab, 4096);
    ck_assert(x86_debug_read(cpu, 0x50ff0, buf, 32));
    ck_assert(buf[0] == 0xab && buf[15] == 0xab && buf[16] == 0);
    ck_assert(x86_debug_write(cpu, 0x50000, "xy", 2));
    ck_assert_mem_eq(harness_ram() + 0x60000, "xy", 2);
    ck_assert(!x86_debug_read(cpu, 0x51ff0, buf, 32));
    ck_assert(!x86_debug_read(cpu, 1ull << 47, buf, 1));
}
END_TEST

START_TEST(a_write_to_code_that_has_run_takes_effect)
{
    X86CPU *cpu = SETUP(p_adds);

    ck_assert(go(cpu, H_CODE));
    ck_assert(x86_debug_write(cpu, H_CODE + 1, "\x20", 1));
    ck_assert(go(cpu, H_CODE));
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 34);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("debug");
    TCase *tc = tcase_create("debug");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, a_breakpoint_stops_before_its_instruction);
    tcase_add_test(tc, a_breakpoint_is_not_in_guest_memory);
    tcase_add_test(tc, a_step_is_one_instruction_and_goes_over_a_breakpoint);
    tcase_add_test(tc, a_step_into_a_fault_ends_at_the_handler);
    tcase_add_test(tc, watchpoints_stop_after_the_access);
    tcase_add_test(tc, a_watchpoint_minds_its_own_bytes);
    tcase_add_test(tc, every_way_to_memory_is_watched);
    tcase_add_test(tc, linear_memory_goes_through_the_page_tables);
    tcase_add_test(tc, a_write_to_code_that_has_run_takes_effect);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
