/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of a CPU that no accelerator runs (target/i386/step.h): state in, state out; faults, pages, devices, events.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "system/loop.h"
#include "target/i386/mmu.h"
#include "target/i386/step.h"
#include "x86-harness.h"

enum { V_DATA = 0x50000, V_GONE = 0x51000, V_DEVICE = 0x52000, V_READ_ONLY = 0x53000 };
#define DEVICE 0x50000000ul     /* physical: a page of registers, 8 bytes each, that keep what is written */

static uint64_t registers[512];
static unsigned accesses;

static uint64_t device_read(void *opaque, hwaddr at, unsigned size)
{
    uint64_t v = 0;

    accesses++;
    memcpy(&v, (uint8_t *)registers + at, size);
    return v;
}

static void device_write(void *opaque, hwaddr at, uint64_t v, unsigned size)
{
    accesses++;
    memcpy((uint8_t *)registers + at, &v, size);
}

static void pte(uint64_t lin, uint64_t value)
{
    memcpy(harness_ram() + H_PT + (lin >> 12) * 8, &value, 8);
}

static X86CPU *prepare(void)
{
    static const MemoryRegionOps ops = { .read = device_read, .write = device_write,
                                         .valid = { .min = 1, .max = 8 }, .impl = { .min = 1, .max = 8 } };
    static MemoryRegion device;
    X86CPU *cpu = harness_cpu_alone("max");

    ck_assert_ptr_null(cpu->blocks);
    machine_lock();
    memory_region_init_io(&device, NULL, &ops, NULL, "device", 4096);
    memory_region_add(cpu->vcpu.mem->root, DEVICE, &device, 0);
    machine_unlock();
    harness_long_mode(cpu);
    pte(V_GONE, 0);
    pte(V_DEVICE, DEVICE | 3);
    pte(V_READ_ONLY, V_READ_ONLY | 1);
    cpu->st->rip = H_CODE;
    return cpu;
}

static X86StepResult step_bytes(X86CPU *cpu, uint64_t rip, const void *code, size_t len, const char *mnemonic)
{
    const char *name = "unset";
    X86StepResult r;

    memcpy(harness_ram() + rip, code, len);
    cpu->st->rip = rip;
    vcpu_exec_begin(&cpu->vcpu);
    r = x86_step_one(cpu, &name);
    vcpu_exec_end(&cpu->vcpu);
    ck_assert_ptr_null(cpu->fault_jmp);
    ck_assert_pstr_eq(name, mnemonic);
    return r;
}
#define STEP(cpu, payload, name) step_bytes(cpu, H_CODE, payload, payload##_end - payload, name)

/* The payload without the HLT that PAYLOAD puts behind it was executed, and nothing else. */
#define DONE(cpu, payload, name) do { \
    ck_assert_int_eq(STEP(cpu, payload, name), X86_STEP_DONE); \
    ck_assert_uint_eq((cpu)->st->rip, H_CODE + (payload##_end - payload) - 1); \
    ck_assert(!(cpu)->st->ev.exception_pending); \
} while (0)

static void faults(X86CPU *cpu, X86StepResult r, int vector, int error, uint64_t rip)
{
    const X86State *st = cpu->st;

    ck_assert_int_eq(r, X86_STEP_FAULT);
    ck_assert(st->ev.exception_pending);
    ck_assert(!st->ev.exception_injected);
    ck_assert_int_eq(st->ev.exception_nr, vector);
    ck_assert_int_eq(st->ev.exception_has_error, error >= 0);
    ck_assert_int_eq(st->ev.exception_error, MAX(error, 0));
    ck_assert_uint_eq(st->rip, rip);
}

static uint64_t *word(uint64_t at)
{
    return (uint64_t *)(harness_ram() + at);
}

static void pair_registers(X86State *st, uint64_t lo, uint64_t hi)
{
    st->regs[R_RAX] = lo;
    st->regs[R_RDX] = hi;
    st->regs[R_RBX] = 0x1111;
    st->regs[R_RCX] = 0x2222;
}

PAYLOAD(p_cx16, ".code64", "lock cmpxchg16b 0x50010");
PAYLOAD(p_cx16_device, ".code64", "lock cmpxchg16b 0x52010");
START_TEST(a_locked_exchange_of_16_bytes)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    *word(V_DATA + 16) = 5;
    *word(V_DATA + 24) = 6;
    pair_registers(st, 5, 6);
    DONE(cpu, p_cx16, "cmpxchg16b");
    ck_assert(st->rflags & FL_ZF);
    ck_assert_uint_eq(*word(V_DATA + 16), 0x1111);
    ck_assert_uint_eq(*word(V_DATA + 24), 0x2222);
    pair_registers(st, 5, 6);
    DONE(cpu, p_cx16, "cmpxchg16b");
    ck_assert(!(st->rflags & FL_ZF));
    ck_assert_uint_eq(st->regs[R_RAX], 0x1111);
    ck_assert_uint_eq(st->regs[R_RDX], 0x2222);
    registers[2] = 7;
    registers[3] = 8;
    pair_registers(st, 7, 8);
    DONE(cpu, p_cx16_device, "cmpxchg16b");
    ck_assert(st->rflags & FL_ZF);
    ck_assert_uint_eq(registers[2], 0x1111);
    ck_assert_uint_eq(registers[3], 0x2222);
    ck_assert_uint_eq(accesses, 4);
}
END_TEST

PAYLOAD(p_xsaves, ".code64", "xsaves64 0x50000");
PAYLOAD(p_xrstors, ".code64", "xrstors64 0x50000");
PAYLOAD(p_xrstor, ".code64", "xrstor64 0x50000");
START_TEST(extended_state_to_memory_and_back)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    st->cr4 |= CR4_OSXSAVE;
    st->xcr0 = XFEATURE_X87 | XFEATURE_SSE | XFEATURE_AVX;
    x86_update_mode(cpu);
    st->regs[R_RAX] = 7;
    st->regs[R_RDX] = 0;
    memset(st->xs.xmm[3], 0x33, 16);
    memset(st->xs.ymmh[3], 0x44, 16);
    st->xs.xstate_bv |= XFEATURE_AVX;
    DONE(cpu, p_xsaves, "xsaves");
    ck_assert_uint_eq(harness_ram()[V_DATA + 160 + 48], 0x33);
    ck_assert_uint_eq(*word(V_DATA + 520), 1ull << 63 | 7);
    memset(st->xs.xmm[3], 0, 16);
    memset(st->xs.ymmh[3], 0, 16);
    DONE(cpu, p_xrstors, "xrstors");
    ck_assert_uint_eq(st->xs.xmm[3][15], 0x33);
    ck_assert_uint_eq(st->xs.ymmh[3][15], 0x44);
    *word(V_DATA + 512) = *word(V_DATA + 520) = 0;      /* all in initial state, standard format */
    DONE(cpu, p_xrstor, "xrstor");
    ck_assert_uint_eq(st->xs.xmm[3][15], 0);
    ck_assert_uint_eq(st->xs.ymmh[3][15], 0);
    st->cr4 &= ~(uint64_t)CR4_OSXSAVE;
    x86_update_mode(cpu);
    faults(cpu, STEP(cpu, p_xrstor, "xrstor"), EXCP_UD, -1, H_CODE);
}
END_TEST

PAYLOAD(p_store_gone, ".code64", "mov %rax, 0x51008");
PAYLOAD(p_store_ro, ".code64", "lock incq 0x53008");
PAYLOAD(p_store_cross, ".code64", "mov %rax, 0x50ffc");
PAYLOAD(p_store_across, ".code64", "mov %rax, 0x53ffc");
START_TEST(faults_change_nothing_else)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    st->regs[R_RAX] = ~0ull;
    faults(cpu, STEP(cpu, p_store_gone, "mov"), EXCP_PF, 2, H_CODE);
    ck_assert_uint_eq(st->cr2, 0x51008);
    *word(V_READ_ONLY + 8) = 1;
    faults(cpu, STEP(cpu, p_store_ro, "inc"), EXCP_PF, 3, H_CODE);
    ck_assert_uint_eq(st->cr2, 0x53008);
    ck_assert_uint_eq(*word(V_READ_ONLY + 8), 1);
    *word(V_DATA + 0xff8) = 0;
    faults(cpu, STEP(cpu, p_store_cross, "mov"), EXCP_PF, 2, H_CODE);
    ck_assert_uint_eq(st->cr2, 0x51000);
    ck_assert_uint_eq(*word(V_DATA + 0xff8), 0);
    pte(V_READ_ONLY, V_READ_ONLY | 3);
    st->ev.exception_pending = false;
    DONE(cpu, p_store_across, "mov");                   /* and the old translation is not remembered */
    ck_assert_uint_eq(*word(0x53ff8), 0xffffffffull << 32);
    ck_assert_uint_eq(*word(0x54000), 0xffffffff);
}
END_TEST

PAYLOAD(p_long, ".code64", "movabs $0x123456789abcdef0, %rsi");
START_TEST(an_instruction_that_straddles_pages)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    for (unsigned before = 1; before < 10; before++) {
        uint64_t at = H_CODE + 0x1000 - before;

        st->regs[R_RSI] = 0;
        ck_assert_int_eq(step_bytes(cpu, at, p_long, 10, "mov"), X86_STEP_DONE);
        ck_assert_uint_eq(st->rip, at + 10);
        ck_assert_uint_eq(st->regs[R_RSI], 0x123456789abcdef0);
    }
    pte(H_CODE + 0x1000, 0);
    faults(cpu, step_bytes(cpu, H_CODE + 0xffd, p_long, 10, NULL), EXCP_PF, 0x10, H_CODE + 0xffd);
    ck_assert_uint_eq(st->cr2, H_CODE + 0x1000);
    ck_assert_int_eq(step_bytes(cpu, H_CODE + 0xfff, "\x90", 1, "nop"), X86_STEP_DONE);  /* needs only its own page */
}
END_TEST

PAYLOAD(p_ud2, ".code64", "ud2");
PAYLOAD(p_nothing, ".code64", ".byte 0x0f, 0x04");
PAYLOAD(p_cr5, ".code64", "mov %rax, %cr5");
START_TEST(what_there_is_not_is_undefined)
{
    X86CPU *cpu = prepare();

    faults(cpu, STEP(cpu, p_ud2, "ud2"), EXCP_UD, -1, H_CODE);
    faults(cpu, STEP(cpu, p_nothing, NULL), EXCP_UD, -1, H_CODE);
    faults(cpu, STEP(cpu, p_cr5, NULL), EXCP_UD, -1, H_CODE);
}
END_TEST

PAYLOAD(p_pinsr, ".code64", "pinsrd $2, 0x52024, %xmm1");
PAYLOAD(p_vpadd, ".code64", "vpaddd 0x52020, %ymm1, %ymm2");
START_TEST(devices_are_operands_and_hold_code)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    registers[4] = 0xcafef00d00000001;
    DONE(cpu, p_pinsr, "pinsrd");
    ck_assert_mem_eq(st->xs.xmm[1] + 8, "\x0d\xf0\xfe\xca", 4);
    ck_assert_uint_eq(accesses, 1);
    st->cr4 |= CR4_OSXSAVE;
    st->xcr0 = 7;
    x86_update_mode(cpu);
    if (__builtin_cpu_supports("avx2")) {
        memset(&st->xs.xmm[1], 0, 16);
        memset(&st->xs.ymmh[1], 0, 16);
        registers[7] = 0x77;
        DONE(cpu, p_vpadd, "vpaddd");
        ck_assert_uint_eq(st->xs.xmm[2][0], 1);
        ck_assert_uint_eq(st->xs.ymmh[2][8], 0x77);
        ck_assert(st->xs.xstate_bv & XFEATURE_AVX);
    }
    registers[511] = 0xc3ull << 56;                     /* ret, the last byte */
    *word(H_STACK) = 0x123456;
    st->rip = V_DEVICE + 0xfff;
    {
        const char *name;

        ck_assert_int_eq(x86_step_one(cpu, &name), X86_STEP_DONE);
        ck_assert_str_eq(name, "ret");
    }
    ck_assert_uint_eq(st->rip, 0x123456);
}
END_TEST

PAYLOAD(p_out, ".code32", "outl %eax, $0x80");
PAYLOAD(p_in, ".code32", "repe insl");
PAYLOAD(p_push, ".code32", "pushl %fs:4");
START_TEST(ports_and_segments)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;
    static const MemoryRegionOps ops = { .read = device_read, .write = device_write };
    static MemoryRegion ports;

    machine_lock();
    memory_region_init_io(&ports, NULL, &ops, NULL, "ports", 8);
    memory_region_add(cpu->vcpu.io->root, 0x80, &ports, 0);
    machine_unlock();
    harness_protected_mode(cpu);
    st->regs[R_RAX] = 0x12345678;
    DONE(cpu, p_out, "out");
    ck_assert_uint_eq(registers[0], 0x12345678);
    st->regs[R_RDI] = V_DATA;
    st->regs[R_RCX] = 3;
    st->regs[R_RDX] = 0x80;
    DONE(cpu, p_in, "ins");                             /* all three: nobody wants the CPU to leave */
    ck_assert_uint_eq(*word(V_DATA), 0x1234567812345678);
    ck_assert_uint_eq(st->regs[R_RDI], V_DATA + 12);
    ck_assert_uint_eq(st->regs[R_RCX], 0);
    st->seg[SEG_FS].base = V_DATA;
    st->seg[SEG_FS].limit = 7;
    x86_update_mode(cpu);
    DONE(cpu, p_push, "push");
    ck_assert_mem_eq(harness_ram() + H_STACK - 4, "\x78\x56\x34\x12", 4);
    st->seg[SEG_FS].limit = 6;
    x86_update_mode(cpu);
    faults(cpu, STEP(cpu, p_push, "push"), EXCP_GP, 0, H_CODE);
    ck_assert_uint_eq(st->regs[R_RSP], H_STACK - 4);
    st->seg[SEG_CS].limit = H_CODE - 1;
    x86_update_mode(cpu);
    faults(cpu, STEP(cpu, p_out, NULL), EXCP_GP, 0, H_CODE);
    st->seg[SEG_CS].limit = H_CODE;                     /* its first byte alone */
    x86_update_mode(cpu);
    faults(cpu, STEP(cpu, p_out, "out"), EXCP_GP, 0, H_CODE);
}
END_TEST

PAYLOAD(p_store, ".code64", "mov %rax, 0x50000");
PAYLOAD(p_load, ".code64", "mov 0x50000, %rax");
START_TEST(stores_are_in_the_dirty_map)
{
    X86CPU *cpu = prepare();
    uint64_t page = cpu->vcpu.mem ? x86_phys_page(cpu, V_DATA)->ram_page : 0;

    DONE(cpu, p_load, "mov");                           /* sets A bits of page tables on the way */
    ram_dirty_test_clear(page, 1, DIRTY_MIGRATION | DIRTY_VGA);
    DONE(cpu, p_load, "mov");
    ck_assert(!ram_dirty_test_clear(page, 1, DIRTY_MIGRATION | DIRTY_VGA));
    for (int n = 0; n < 2; n++) {                       /* no translation of the first one takes the second past it */
        DONE(cpu, p_store, "mov");
        ck_assert(ram_dirty_test_clear(page, 1, DIRTY_MIGRATION));
        ck_assert(ram_dirty_test_clear(page, 1, DIRTY_VGA));
    }
}
END_TEST

START_TEST(what_was_injected_comes_first)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    st->ev.interrupt_injected = true;
    st->ev.interrupt_nr = 0x21;
    ck_assert_int_eq(STEP(cpu, p_store, NULL), X86_STEP_DELIVERED);
    ck_assert_uint_eq(st->rip, 0x9000 + 0x21 * 32);
    ck_assert_uint_eq(*word(st->regs[R_RSP]), H_CODE);
    ck_assert(!st->ev.interrupt_injected);
    st->ev.exception_injected = true;
    st->ev.exception_nr = EXCP_PF;
    st->ev.exception_has_error = true;
    st->ev.exception_error = 2;
    ck_assert_int_eq(STEP(cpu, p_store, NULL), X86_STEP_DELIVERED);
    ck_assert_uint_eq(st->rip, 0x9000 + EXCP_PF * 32);
    ck_assert_uint_eq(*word(st->regs[R_RSP]), 2);
    ck_assert(!st->ev.exception_injected);
    st->ev.exception_injected = true;                   /* #DF whose stack is not there */
    st->ev.exception_nr = EXCP_DF;
    st->regs[R_RSP] = V_GONE + 0x100;
    ck_assert_int_eq(STEP(cpu, p_store, NULL), X86_STEP_FAULT);
    ck_assert(st->ev.triple_fault_pending);
}
END_TEST

START_TEST(a_single_step_trap_stays_pending)
{
    X86CPU *cpu = prepare();
    X86State *st = cpu->st;

    st->rflags |= FL_TF;
    st->ev.interrupt_shadow = 2;
    x86_update_mode(cpu);
    ck_assert_int_eq(STEP(cpu, p_load, "mov"), X86_STEP_DONE);
    ck_assert(st->ev.exception_pending);
    ck_assert_uint_eq(st->ev.exception_nr, EXCP_DB);
    ck_assert_uint_eq(st->dr[6] & 0x4000, 0x4000);
    ck_assert_uint_eq(st->rip, H_CODE + (p_load_end - p_load) - 1);
    ck_assert_uint_eq(st->ev.interrupt_shadow, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("step");
    TCase *t = tcase_create("step");
    SRunner *r;
    int failed;

    tcase_add_test(t, a_locked_exchange_of_16_bytes);
    tcase_add_test(t, extended_state_to_memory_and_back);
    tcase_add_test(t, faults_change_nothing_else);
    tcase_add_test(t, an_instruction_that_straddles_pages);
    tcase_add_test(t, what_there_is_not_is_undefined);
    tcase_add_test(t, devices_are_operands_and_hold_code);
    tcase_add_test(t, ports_and_segments);
    tcase_add_test(t, stores_are_in_the_dirty_map);
    tcase_add_test(t, what_was_injected_comes_first);
    tcase_add_test(t, a_single_step_trap_stays_pending);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
