/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host signals in translated code (T15): misaligned SSE operands, divide errors, SIMD and x87 exceptions.
 *
 * The handler sends the thread to xl_asm_fault with its registers as they are, by returning from the signal, so that
 * the vector state comes back too; the interpreter then runs the instruction and raises what it must. Signals from
 * anywhere else go to whoever was there before. Test: tests/insn, tests/bare.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "accel/tcg/xl.h"

static _Thread_local X86CPU *volatile fault_cpu;
static struct sigaction previous[NSIG];

void xl_host_faults_thread(X86CPU *cpu)
{
    fault_cpu = cpu;
}

static bool is_ours(ucontext_t *uc)
{
    X86CPU *cpu = fault_cpu;

    return cpu && uc->uc_mcontext.gregs[REG_RSP] == (greg_t)(uintptr_t)cpu->st
        && xl_code_find(cpu->blocks->xl, uc->uc_mcontext.gregs[REG_RIP]);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    const struct sigaction *old = &previous[sig];

    if (is_ours(uc)) {
        xl_hot(fault_cpu->st)->fault_pc = uc->uc_mcontext.gregs[REG_RIP];
        uc->uc_mcontext.gregs[REG_RIP] = (uintptr_t)xl_asm_fault;
    } else if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(sig, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(sig);
    } else {
        signal(sig, SIG_DFL);                           /* the fault comes again, and ends the process */
    }
}

static void install(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE };
    struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

    sigemptyset(&sa.sa_mask);
    for (unsigned n = 0; n < G_N_ELEMENTS(signals); n++) {
        sigaction(signals[n], &sa, &previous[signals[n]]);
    }
}

void xl_host_faults_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install);
}
