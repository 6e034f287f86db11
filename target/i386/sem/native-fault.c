/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unmasked SIMD exceptions in native stubs: the host raises SIGFPE, which ends the stub (SDM vol.
 * 1 11.5).
 *
 * Only then are OE, UE and PE exactly the guest's. The handler is installed at the first such
 * run, and hands signals from elsewhere on to the one before it. Any vCPU thread. Test:
 * tests/insn.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "target/i386/sem/native.h"

#define MXCSR_HOST 0x1f80u

static _Thread_local NativeContext *volatile native_fault_running;
static struct sigaction native_fault_previous;
static pthread_once_t native_fault_once = PTHREAD_ONCE_INIT;

/* A stub has pushed nothing when its instruction faults, so this returns to the stub's caller. */
void native_fault_exit(void);
__asm__(".text\n.globl native_fault_exit\nnative_fault_exit:\n    ret\n");

static void on_sigfpe(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    NativeContext *ctx = native_fault_running;

    if (ctx) {
        ctx->faulted = true;
        ctx->mxcsr = uc->uc_mcontext.fpregs->mxcsr;
        uc->uc_mcontext.fpregs->mxcsr = MXCSR_HOST;
        uc->uc_mcontext.fpregs->ftw = 0;                /* MMX registers were loaded: EMMS */
        uc->uc_mcontext.gregs[REG_RIP] = (uintptr_t)native_fault_exit;
    } else if (native_fault_previous.sa_flags & SA_SIGINFO) {
        native_fault_previous.sa_sigaction(sig, info, context);
    } else {
        signal(sig, SIG_DFL);                           /* the fault comes again, and ends the process */
    }
}

static void fault_init(void)
{
    struct sigaction sa = { .sa_sigaction = on_sigfpe, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

    sigemptyset(&sa.sa_mask);
    sigaction(SIGFPE, &sa, &native_fault_previous);
}

bool native_run_unmasked(NativeStub *stub, X86State *st, void *mem, NativeContext *ctx, uint64_t *flags)
{
    pthread_once(&native_fault_once, fault_init);
    ctx->faulted = false;
    native_fault_running = ctx;
    *flags = stub(st, mem, ctx);
    native_fault_running = NULL;
    return !ctx->faulted;
}
