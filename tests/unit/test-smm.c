/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System management mode: SMI, the save area, SMRAM of its own, RSM and what it refuses. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "system/loop.h"
#include "target/i386/exec.h"
#include "target/i386/smm.h"
#include "x86-harness.h"

enum { SMBASE = 0x30000, ENTRY = SMBASE + 0x8000 };
static MemoryRegion smm_root, smm_normal, smram;
static AddressSpace smm_space;

/* SMRAM: 32 KiB at 0x38000 that lie over normal memory in SMM only. */
static uint8_t *give_smram(X86CPU *cpu)
{
    machine_lock();
    if (!smm_root.size) {
        memory_region_init(&smm_root, NULL, "smm", MEMORY_SIZE_ALL);
        memory_region_init_alias(&smm_normal, NULL, "smm-normal", cpu->vcpu.mem->root, 0, MEMORY_SIZE_ALL);
        memory_region_add(&smm_root, 0, &smm_normal, 0);
        memory_region_init_ram(&smram, NULL, "smram", 0x8000, NULL);
        memory_region_add(&smm_root, ENTRY, &smram, 1);
        address_space_init(&smm_space, &smm_root, "smm");
    }
    x86_cpu_set_smm_memory(cpu, &smm_space);
    machine_unlock();
    memset(memory_region_ram_ptr(&smram), 0, 0x8000);
    return memory_region_ram_ptr(&smram);
}

static uint64_t saved(const uint8_t *smram_bytes, unsigned at, unsigned size)
{
    uint64_t v = 0;

    memcpy(&v, smram_bytes + at, size);
    return v;
}

static void handler(uint8_t *to, const uint8_t *from, const uint8_t *end)
{
    memcpy(to, from, end - from);
}
#define HANDLER(to, name) handler(to, name, name##_end)

/* SMRAM was written behind the CPU's back. */
static void forget_code(void)
{
    MemoryPage p;

    address_space_page(&smm_space, ENTRY, &p);
    ram_dirty_set(p.ram_page, 1);
}

/* A handler that shows that it ran: counts at normal address 0x8100, where user code can see it. */
PAYLOAD(p_count, ".code16", "push %ax\nxor %ax, %ax\nmov %ax, %ds\nincw 0x8100\npop %ax\nrsm");
PAYLOAD(p_add, ".code64", "mov $40, %eax\nadd $2, %eax\nmovzwl 0x8100, %ebx");

static uint16_t smi_runs(void)
{
    return harness_ram()[0x8100] | harness_ram()[0x8101] << 8;
}

START_TEST(an_smi_runs_its_handler_in_its_own_memory)
{
    X86CPU *cpu = harness_cpu("max");
    X86State *st = cpu->st;
    uint8_t *sm = give_smram(cpu);

    harness_long_mode(cpu);
    HANDLER(sm, p_count);
    memset(harness_ram() + ENTRY, 0xcc, 64);            /* normal memory: a trap, were it run */
    st->regs[R_R15] = 0x123456789abcdef0;
    st->seg[SEG_FS].base = 0xffff888000000000;
    x86_cpu_smi(cpu);
    ck_assert(RUN(cpu, p_add));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(st->regs[R_RAX], 42);
    ck_assert_uint_eq(st->regs[R_RBX], 1);
    ck_assert_uint_eq(st->smi_count, 1);
    ck_assert_uint_eq(st->regs[R_R15], 0x123456789abcdef0);
    ck_assert_uint_eq(st->seg[SEG_FS].base, 0xffff888000000000);
    ck_assert(!st->ev.smm && !st->ev.nmi_masked && (st->mode & MODE_CS64));
    ck_assert_uint_eq(saved(sm, 0x7efc, 4), 0x20064);
    ck_assert_uint_eq(saved(sm, 0x7f00, 4), SMBASE);
    ck_assert_uint_eq(saved(sm, 0x7f78, 8), H_CODE);
    ck_assert_uint_eq(saved(sm, 0x7f80, 8), 0x123456789abcdef0);
    ck_assert_uint_eq(saved(sm, 0x7f50, 8), H_PML4);
    ck_assert_uint_eq(saved(sm, 0x7e10, 2), H_CS64);
    ck_assert_uint_eq(saved(sm, 0x7e12, 2), 0xa09b);
    ck_assert_uint_eq(saved(sm, 0x7ed0, 8), st->efer);
}
END_TEST

/*
 * What the handler finds: all in one dump at 0x8200. The store above 1 MiB is `addr32 movl $0xa5a5, 0x1f0000`, in
 * bytes since not every assembler takes the prefix in 16-bit code.
 */
PAYLOAD(p_dump, ".code16",
        "xor %ax, %ax\nmov %ax, %ds\nmovl %cr0, %eax\nmovl %eax, 0x8200\nmovl %cr4, %eax\nmovl %eax, 0x8204\n"
        "pushfl\npopl 0x8208\nmov %cs, 0x820c\n.byte 0x66, 0x67, 0xc7, 0x05\n.long 0x1f0000, 0xa5a5\nrsm");
START_TEST(the_handler_starts_in_flat_real_mode)
{
    X86CPU *cpu = harness_cpu("max");
    uint8_t *sm = give_smram(cpu), *r = harness_ram();

    harness_long_mode(cpu);
    HANDLER(sm, p_dump);
    cpu->st->regs[R_RSP] = 0x7000;                      /* the handler's stack is SS 0, as it comes */
    cpu->st->rflags |= FL_AC | FL_DF;
    x86_cpu_smi(cpu);
    ck_assert(RUN(cpu, p_add));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(*(uint32_t *)(r + 0x8200) & (CR0_PE | CR0_PG | CR0_TS | CR0_EM), 0);
    ck_assert_uint_eq(*(uint32_t *)(r + 0x8200) & CR0_NE, CR0_NE);
    ck_assert_uint_eq(*(uint32_t *)(r + 0x8204), 0);
    ck_assert_uint_eq(*(uint32_t *)(r + 0x8208), 2 | FL_ZF | FL_PF);
    ck_assert_uint_eq(*(uint16_t *)(r + 0x820c), SMBASE >> 4);
    ck_assert_uint_eq(*(uint32_t *)(r + 0x1f0000), 0xa5a5);     /* limits are 4 GiB */
    ck_assert(cpu->st->rflags & FL_AC);
    ck_assert(cpu->st->rflags & FL_DF);
}
END_TEST

/* Moves SMBASE to 0x50000, below its own SMRAM. */
PAYLOAD(p_move, ".code16", "movl $0x50000, %cs:0xff00\nrsm");
START_TEST(smbase_moves)
{
    X86CPU *cpu = harness_cpu("max");
    uint8_t *sm = give_smram(cpu);

    harness_long_mode(cpu);
    HANDLER(sm, p_move);
    x86_cpu_smi(cpu);
    ck_assert(RUN(cpu, p_add));
    ck_assert_uint_eq(cpu->st->smbase, 0x50000);
    HANDLER(harness_ram() + 0x58000, p_count);
    ram_dirty_set(0x58, 1);
    x86_cpu_smi(cpu);
    ck_assert(RUN(cpu, p_add));
    ck_assert_uint_eq(smi_runs(), 1);
    x86_cpu_init_signal(cpu);
    ck_assert_uint_eq(cpu->st->smbase, 0x50000);        /* INIT keeps it, RESET does not */
    x86_cpu_reset(cpu);
    ck_assert_uint_eq(cpu->st->smbase, SMBASE);
}
END_TEST

PAYLOAD(p_halt, ".code64", "mov $1, %ecx\nhlt\nmov $2, %ecx");
PAYLOAD(p_wake, ".code16", "movb $0, %cs:0xfec9\nrsm");
START_TEST(hlt_is_restarted_unless_the_handler_says_no)
{
    X86CPU *cpu = harness_cpu("max");
    uint8_t *sm = give_smram(cpu);

    harness_long_mode(cpu);
    HANDLER(sm, p_count);
    ck_assert(RUN(cpu, p_halt));
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 1);
    x86_cpu_smi(cpu);
    ck_assert(harness_continue(cpu));
    ck_assert_uint_eq(saved(sm, 0x7ec9, 1), 1);
    ck_assert_uint_eq(smi_runs(), 1);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 1);
    HANDLER(sm, p_wake);
    x86_cpu_smi(cpu);
    forget_code();
    ck_assert(harness_continue(cpu));
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 2);
}
END_TEST

/* Both wait: the SMI latched in the handler and the NMI run after RSM. */
PAYLOAD(p_wait, ".code16", "cmpw $0, %cs:0x9000\nmovw $1, %cs:0x9000\njne 1f\nhlt\n1: rsm");
START_TEST(nmi_and_smi_wait_for_rsm)
{
    X86CPU *cpu = harness_cpu("max");
    uint8_t *sm = give_smram(cpu);

    harness_long_mode(cpu);
    HANDLER(sm, p_wait);
    x86_cpu_smi(cpu);
    ck_assert(RUN(cpu, p_add));                         /* halted in SMM */
    ck_assert(cpu->st->ev.smm);
    x86_cpu_raise(cpu, PENDING_NMI);
    x86_cpu_smi(cpu);
    x86_cpu_raise(cpu, PENDING_INIT);
    ck_assert(!x86_cpu_has_work(cpu));
    ck_assert_uint_eq(cpu->st->smi_count, 1);
    x86_cpu_lower(cpu, PENDING_INIT);
    cpu->st->mp_state = MP_RUNNABLE;                    /* go on behind the HLT */
    ck_assert(harness_continue(cpu));
    ck_assert_uint_eq(cpu->st->smi_count, 2);           /* the SMI goes first */
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_NMI);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE);
}
END_TEST

/* The SMI goes first, and the trap of the instruction before it comes after RSM; INIT ends both. */
START_TEST(a_debug_trap_waits_for_rsm)
{
    static const char *const models[] = { "max", "pentium3" };

    for (unsigned n = 0; n < 2; n++) {
        X86CPU *cpu = harness_cpu(models[n]);
        uint8_t *sm = give_smram(cpu);

        (n ? harness_protected_mode : harness_long_mode)(cpu);
        HANDLER(sm, p_count);
        cpu->st->dr[6] |= 1 << 14;                      /* single step */
        cpu->st->ev.exception_pending = true;
        cpu->st->ev.exception_nr = EXCP_DB;
        x86_cpu_smi(cpu);
        ck_assert(RUN(cpu, p_add));
        ck_assert_uint_eq(smi_runs(), 1);
        ck_assert_uint_eq(saved(sm, n ? 0x7ff0 : 0x7f78, 4), H_CODE);   /* not the trap's handler */
        ck_assert_uint_eq(harness_fault()->count, 1);
        ck_assert_uint_eq(harness_fault()->vector, EXCP_DB);
        ck_assert_uint_eq(harness_fault()->rip, H_CODE);
        cpu->st->ev.exception_pending = true;
        cpu->st->ev.exception_nr = EXCP_DB;
        x86_cpu_raise(cpu, PENDING_INIT);
        cpu->vcpu.index = 1;                            /* no bootstrap processor: it waits for SIPI */
        cpu->st->mp_state = MP_RUNNABLE;
        ck_assert(harness_continue(cpu));
        ck_assert_uint_eq(harness_fault()->count, 1);
        ck_assert(!cpu->st->ev.exception_pending);
    }
}
END_TEST

PAYLOAD(p_rsm, ".code64", "rsm");
START_TEST(rsm_outside_smm_is_undefined)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_rsm));
    ck_assert_uint_eq(harness_fault()->vector, EXCP_UD);
}
END_TEST

/* PG without PE in the saved CR0. */
PAYLOAD(p_bad, ".code16", "andb $0xfe, %cs:0xff58\nrsm");
START_TEST(rsm_to_an_impossible_state_shuts_down)
{
    X86CPU *cpu = harness_cpu("max");
    uint8_t *sm = give_smram(cpu);

    harness_long_mode(cpu);
    HANDLER(sm, p_bad);
    x86_cpu_smi(cpu);
    ck_assert(!RUN(cpu, p_add));
    ck_assert_uint_eq(cpu->st->mp_state, MP_UNINITIALIZED);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0);
}
END_TEST

PAYLOAD(p_real, ".code16", "mov $0x1111, %ax");
START_TEST(a_32_bit_cpu_saves_in_its_own_format)
{
    X86CPU *cpu = harness_cpu("qemu32");
    uint8_t *sm = give_smram(cpu);

    x86_cpu_reset(cpu);
    HANDLER(sm, p_count);
    memset(harness_ram() + 0x8100, 0, 2);
    cpu->st->regs[R_RDI] = 0xdeadbeef;
    cpu->st->seg[SEG_GS] = (X86Segment) { .selector = 0x77, .base = 0x770, .limit = 0xfffff,
                                          .attr = DESC_P | DESC_S | DESC_W | DESC_A | DESC_B };
    cpu->st->seg[SEG_CS].base = cpu->st->seg[SEG_CS].selector = 0;
    memcpy(harness_ram() + 0x7c00, p_real, p_real_end - p_real);
    x86_cpu_smi(cpu);
    ck_assert(harness_run_from(cpu, 0x7c00));
    ck_assert_uint_eq(smi_runs(), 1);
    ck_assert_uint_eq(saved(sm, 0x7efc, 4), 0x20000);
    ck_assert_uint_eq(saved(sm, 0x7ef8, 4), SMBASE);
    ck_assert_uint_eq(saved(sm, 0x7fec, 4), 0xdeadbeef);
    ck_assert_uint_eq(saved(sm, 0x7fbc, 4), 0x77);
    ck_assert_uint_eq(saved(sm, 0x7f44, 4), 0x4093);
    ck_assert_uint_eq(saved(sm, 0x7f48, 4), 0xfffff);
    ck_assert_uint_eq(saved(sm, 0x7f4c, 4), 0x770);
    ck_assert_uint_eq(cpu->st->seg[SEG_GS].limit, 0xfffff);
    ck_assert_uint_eq(cpu->st->regs[R_RDI], 0xdeadbeef);
    ck_assert_uint_eq(cpu->st->regs[R_RAX] & 0xffff, 0x1111);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("smm");
    TCase *t = tcase_create("smm");
    SRunner *r;

    tcase_add_test(t, an_smi_runs_its_handler_in_its_own_memory);
    tcase_add_test(t, the_handler_starts_in_flat_real_mode);
    tcase_add_test(t, smbase_moves);
    tcase_add_test(t, hlt_is_restarted_unless_the_handler_says_no);
    tcase_add_test(t, nmi_and_smi_wait_for_rsm);
    tcase_add_test(t, a_debug_trap_waits_for_rsm);
    tcase_add_test(t, rsm_outside_smm_is_undefined);
    tcase_add_test(t, rsm_to_an_impossible_state_shuts_down);
    tcase_add_test(t, a_32_bit_cpu_saves_in_its_own_format);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    return srunner_ntests_failed(r) ? EXIT_FAILURE : EXIT_SUCCESS;
}
