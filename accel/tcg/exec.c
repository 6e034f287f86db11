/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run loop of the software CPU: events, then a block of decoded instructions, again and again.
 *
 * Faults come back by siglongjmp to tcg_run() with the exception pending in the state. Steps of one instruction are
 * taken where something must be looked at between instructions: TF, breakpoints, RF, the interrupt shadow.
 * The vCPU's thread, machine lock not held. Test: tests/unit/test-x86cpu.c.
 */
#include <inttypes.h>

#include "accel/tcg/xl.h"
#include "target/i386/apic.h"
#include "util/log.h"

enum { DR6_BT = 1 << 15 };

static void log_block(X86CPU *cpu, const Block *b)
{
    const X86State *st = cpu->st;

    if (log_enabled(LOG_EXEC)) {
        log_printf("%d: block %04x:%016" PRIx64 " mode %05x insns %u %s\n", cpu->vcpu.index,
                   st->seg[SEG_CS].selector, st->rip, st->mode, b->count,
                   b->insns[0].op ? x86_mnemonic(&b->insns[0]) : "");
    }
    if (log_enabled(LOG_CPU)) {
        const uint64_t *r = st->regs;

        log_printf("RAX=%016" PRIx64 " RBX=%016" PRIx64 " RCX=%016" PRIx64 " RDX=%016" PRIx64 "\nRSI=%016" PRIx64
                   " RDI=%016" PRIx64 " RBP=%016" PRIx64 " RSP=%016" PRIx64 "\nR8 =%016" PRIx64 " R9 =%016" PRIx64
                   " R10=%016" PRIx64 " R11=%016" PRIx64 "\nR12=%016" PRIx64 " R13=%016" PRIx64 " R14=%016" PRIx64
                   " R15=%016" PRIx64 "\nRIP=%016" PRIx64 " RFL=%08" PRIx64 " CR0=%08" PRIx64 " CR3=%016" PRIx64 "\n",
                   r[R_RAX], r[R_RBX], r[R_RCX], r[R_RDX], r[R_RSI], r[R_RDI], r[R_RBP], r[R_RSP], r[R_R8], r[R_R9],
                   r[R_R10], r[R_R11], r[R_R12], r[R_R13], r[R_R14], r[R_R15], st->rip, st->rflags, st->cr0, st->cr3);
    }
}

/* The block's first instruction, with what must be looked at around it. */
static void step(X86CPU *cpu, Block *b)
{
    cpu->blocks->end = &b->insns[1];
    x86_exec_insn(cpu, &b->insns[0]);
}

static inline void run_block(X86CPU *cpu, Block *b)
{
    struct X86BlockCache *bc = cpu->blocks;
    const Insn *i = b->insns;

    bc->running = b;
    bc->end = i + b->count;
    do {
        i->fn(cpu, i);
    } while (++i < bc->end);
}

#define MODE_STEP (MODE_TF | MODE_IOBP)

/* modes: those of MODE_* that ask for steps. */
static inline bool must_step(const X86State *st, const Block *b, uint32_t modes)
{
    return (st->mode & modes) || st->ev.interrupt_shadow || (st->rflags & FL_RF)
        || (!(st->mode & MODE_CS64) && st->rip + b->bytes - 1 > st->seg[SEG_CS].limit);
}

/* Somebody wants this vCPU's attention. True: leave the loop. */
static bool attend(X86CPU *cpu)
{
    VCpu *v = &cpu->vcpu;

    if (cpu->blocks->xl) {
        atomic_store(&xl_hot(cpu->st)->req, 0);         /* first: a kick sets it last */
    }
    atomic_store(&v->exit_request, 0);
    if (atomic_load(&v->stop) || v->work_first || v->unplug || atomic_load(&v->halted)) {
        return true;
    }
    vcpu_exec_end(v);                                   /* an exclusive section or a reclaimer may wait for us */
    vcpu_exec_begin(v);
    return false;
}

/* The debugger's step may ask for no interruptions; what is no event for the guest's program is taken all the same. */
static bool take_pending(X86CPU *cpu)
{
    if ((cpu->vcpu.debug_step & DEBUG_STEP_NOIRQ)
        && !(atomic_load(&cpu->st->pending) & (PENDING_FLUSH | PENDING_INIT | PENDING_SIPI))) {
        return false;
    }
    return x86_handle_pending(cpu);
}

/* After an instruction or a delivery: is this a place where the debugger wants to stop? */
static bool debug_stops(X86CPU *cpu, VCpuRunResult *result)
{
    if (G_UNLIKELY(cpu->vcpu.debug_step || cpu->watching) && tcg_debug_after(cpu)) {
        *result = VCPU_RUN_DEBUG;
        return true;
    }
    return false;
}

/*
 * SMI and INIT come before a trap of the previous instruction, a machine check and a task's T bit do not wait behind
 * them (SDM vol. 3 table 6-2).
 */
static bool outranks_trap(const X86State *st)
{
    uint32_t p = atomic_load(&st->pending);

    return st->ev.exception_nr == EXCP_DB && !st->ev.smm && !st->ev.interrupt_shadow && !(st->dr[6] & DR6_BT)
        && (p & (PENDING_SMI | PENDING_INIT)) && !(p & PENDING_MCE);
}

/* Takes what is pending; true when the loop must look again, false when a block may run. */
static bool events(X86CPU *cpu, VCpuRunResult *result, bool *leave)
{
    X86State *st = cpu->st;

    if (st->ev.triple_fault_pending && x86_handle_triple_fault(cpu)) {
        *result = VCPU_RUN_STOPPED;
        *leave = true;
        return true;
    }
    if (st->ev.exception_pending) {
        if (!outranks_trap(st) || !take_pending(cpu)) {
            x86_deliver_exception(cpu);
        }
        *leave = debug_stops(cpu, result);
        return true;
    }
    if (atomic_load_explicit(&cpu->vcpu.exit_request, memory_order_relaxed)) {
        bool asked = attend(cpu);

        *result = atomic_load(&cpu->vcpu.halted) ? VCPU_RUN_HALTED : VCPU_RUN_AGAIN;
        *leave = (cpu->watching && cpu->vcpu.debug_stop.why && debug_stops(cpu, result)) || asked;
        if (*leave) {
            return true;
        }
    }
    if (atomic_load_explicit(&st->pending, memory_order_acquire)) {
        uint64_t rip = st->rip;

        if (take_pending(cpu)) {
            *leave = st->rip != rip && debug_stops(cpu, result);
            return true;
        }
    }
    if (st->mp_state == MP_UNINITIALIZED || st->mp_state == MP_HALTED) {
        atomic_store(&cpu->vcpu.halted, true);
        *result = VCPU_RUN_HALTED;
        *leave = true;
        return true;
    }
    return false;
}

/* A block that something keeps from running in one go. True: leave the loop. */
static bool run_carefully(X86CPU *cpu, Block *b, bool must, VCpuRunResult *result)
{
    X86State *st = cpu->st;

    if (st->mode & MODE_DEBUG) {
        bool slow;

        if (tcg_debug_before(cpu, b, &slow)) {
            *result = VCPU_RUN_DEBUG;
            return true;
        }
        must |= slow;
    } else {
        must = true;
    }
    if (must || must_step(st, b, MODE_STEP)) {
        step(cpu, b);
        return debug_stops(cpu, result);
    }
    run_block(cpu, b);
    return false;
}

/* Has the block run often enough to be worth translating? True: it is. */
static bool hot(X86CPU *cpu, Block *b)
{
    if (!cpu->blocks->xl || b->tried || !b->host || ++b->hits < XL_HITS || !xl_mode_ok(cpu)) {
        return false;
    }
    if (cpu->blocks->xl->full) {
        block_cache_flush(cpu->blocks);                 /* the decoded blocks go too: b is not good any more */
        return false;
    }
    return xl_translate(cpu, b);
}

static VCpuRunResult run_loop(X86CPU *cpu)
{
    X86State *st = cpu->st;
    VCpuRunResult result = VCPU_RUN_AGAIN;
    bool leave = false, one_insn = tcg_config()->one_insn;
    Block *b;

    for (;;) {
        if (G_UNLIKELY(st->ev.exception_pending | st->ev.triple_fault_pending)
            || G_UNLIKELY(atomic_load_explicit(&cpu->vcpu.exit_request, memory_order_relaxed))
            || G_UNLIKELY(atomic_load_explicit(&st->pending, memory_order_relaxed))
            || G_UNLIKELY(st->mp_state != MP_RUNNABLE)) {
            if (events(cpu, &result, &leave)) {
                if (leave) {
                    return result;
                }
                continue;
            }
        }
        b = block_get(cpu);
        if (G_UNLIKELY(log_enabled(LOG_EXEC | LOG_CPU))) {
            log_block(cpu, b);
        }
        if (G_LIKELY(!one_insn && !must_step(st, b, MODE_STEP | MODE_DEBUG))) {
            if (b->native || hot(cpu, b)) {
                xl_run(cpu, b);
            } else {
                run_block(cpu, b);
            }
        } else if (run_carefully(cpu, b, one_insn, &result)) {
            return result;
        }
    }
}

VCpuRunResult tcg_run(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);
    VCpuRunResult result;
    sigjmp_buf jmp;

    cpu->fault_jmp = &jmp;
    if (cpu->blocks->xl) {
        xl_host_faults_thread(cpu);
    }
    sigsetjmp(jmp, 0);
    result = run_loop(cpu);
    cpu->fault_jmp = NULL;
    return result;
}
