/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stackful coroutines; see include/util/coroutine.h.
 *
 * On x86-64 a switch saves the callee-saved registers, MXCSR and the x87 control word on the old
 * stack and swaps rsp (System V ABI, figure 3.4). Elsewhere ucontext. Under ASan each switch is
 * announced. Test: tests/unit/test-coroutine.c.
 */
#include "util/coroutine.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { POOL_MAX = 16, GUARD = 4096 };

struct Coroutine {
    void (*fn)(void *opaque);
    void *opaque;
    uint8_t *stack;                 /* mapping: guard page, then COROUTINE_STACK bytes */
    Coroutine *entered_from;        /* who runs again when this one yields; NULL: the thread's own stack */
    bool running, done;
#ifdef __x86_64__
    void *sp;
    void *caller_sp;
#else
    ucontext_t context, caller;
#endif
#ifdef __SANITIZE_ADDRESS__
    void *fake_stack, *caller_fake;
    const void *caller_bottom;
    size_t caller_size;
#endif
    Coroutine *next_pooled;
};

static __thread struct {
    Coroutine *current;
    Coroutine *pool;
    unsigned pooled;
} co_thread;

Coroutine *coroutine_self(void)
{
    return co_thread.current;
}

static void coroutine_main(Coroutine *co);

#ifdef __x86_64__
/* co_switch(&save_sp, load_sp): returns on the other stack. */
void co_switch(void **save, void *load);
__asm__(".text\n"
        ".globl co_switch\n"
        ".hidden co_switch\n"
        ".type co_switch, @function\n"
        "co_switch:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    subq $8, %rsp\n    stmxcsr (%rsp)\n    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n    fldcw 4(%rsp)\n    addq $8, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size co_switch, .-co_switch\n"
        ".globl co_first\n"
        ".hidden co_first\n"
        "co_first:\n"               /* first entry: rbx is the coroutine, r12 coroutine_main */
        "    movq %rbx, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    callq *%r12\n"
        "    ud2\n");
void co_first(void);

static void context_prepare(Coroutine *co)
{
    uint64_t *sp = (uint64_t *)(co->stack + GUARD + COROUTINE_STACK);
    uint32_t mxcsr;
    uint16_t fcw;

    __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr), "=m"(fcw));
    *--sp = 0;
    *--sp = 0;                      /* keeps rsp on 16 bytes at co_first's call */
    *--sp = (uint64_t)(uintptr_t)co_first;
    *--sp = 0;                      /* rbp */
    *--sp = (uint64_t)(uintptr_t)co;                /* rbx */
    *--sp = (uint64_t)(uintptr_t)coroutine_main;    /* r12 */
    *--sp = 0;
    *--sp = 0;
    *--sp = 0;
    *--sp = mxcsr | (uint64_t)fcw << 32;
    co->sp = sp;
}

static void context_enter(Coroutine *co)
{
    co_switch(&co->caller_sp, co->sp);
}

static void context_leave(Coroutine *co)
{
    co_switch(&co->sp, co->caller_sp);
}
#else
static void context_main(unsigned hi, unsigned lo)
{
    coroutine_main((Coroutine *)((uintptr_t)hi << 32 | lo));
}

static void context_prepare(Coroutine *co)
{
    uintptr_t self = (uintptr_t)co;

    getcontext(&co->context);
    co->context.uc_stack.ss_sp = co->stack + GUARD;
    co->context.uc_stack.ss_size = COROUTINE_STACK;
    makecontext(&co->context, (void (*)(void))context_main, 2, (unsigned)((uint64_t)self >> 32), (unsigned)self);
}

static void context_enter(Coroutine *co)
{
    swapcontext(&co->caller, &co->context);
}

static void context_leave(Coroutine *co)
{
    swapcontext(&co->context, &co->caller);
}
#endif

/* ---- ASan is told which stack is in use ---- */

static void enter_begin(Coroutine *co)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&co->caller_fake, co->stack + GUARD, COROUTINE_STACK);
#endif
}

static void enter_end(Coroutine *co)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(co->caller_fake, NULL, NULL);
#endif
}

static void arrive(Coroutine *co)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(co->fake_stack, &co->caller_bottom, &co->caller_size);
#endif
}

static void leave_begin(Coroutine *co)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(co->done ? NULL : &co->fake_stack, co->caller_bottom, co->caller_size);
#endif
}

/* ---- life ---- */

static void coroutine_leave(Coroutine *co)
{
    leave_begin(co);
    context_leave(co);
    arrive(co);
}

static void coroutine_main(Coroutine *co)
{
    arrive(co);
    co->fn(co->opaque);
    co->done = true;
    coroutine_leave(co);
}

static Coroutine *coroutine_alloc(void)
{
    Coroutine *co = co_thread.pool;

    if (co) {
        uint8_t *stack = co->stack;

        co_thread.pool = co->next_pooled;
        co_thread.pooled--;
        memset(co, 0, sizeof(*co));
        co->stack = stack;
        return co;
    }
    co = g_new0(Coroutine, 1);
    co->stack = mmap(NULL, GUARD + COROUTINE_STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (co->stack == MAP_FAILED) {
        g_error("no memory for a coroutine's stack");
    }
    mprotect(co->stack, GUARD, PROT_NONE);
    return co;
}

static void coroutine_release(Coroutine *co)
{
    if (co_thread.pooled < POOL_MAX) {
        co->next_pooled = co_thread.pool;
        co_thread.pool = co;
        co_thread.pooled++;
        return;
    }
    munmap(co->stack, GUARD + COROUTINE_STACK);
    g_free(co);
}

void coroutine_pool_trim(void)
{
    while (co_thread.pool) {
        Coroutine *co = co_thread.pool;

        co_thread.pool = co->next_pooled;
        munmap(co->stack, GUARD + COROUTINE_STACK);
        g_free(co);
    }
    co_thread.pooled = 0;
}

Coroutine *coroutine_new(void (*fn)(void *opaque), void *opaque)
{
    Coroutine *co = coroutine_alloc();

    co->fn = fn;
    co->opaque = opaque;
    context_prepare(co);
    return co;
}

void coroutine_enter(Coroutine *co)
{
    if (co->running) {
        g_error("a coroutine was entered while it runs");
    }
    co->running = true;
    co->entered_from = co_thread.current;
    co_thread.current = co;
    enter_begin(co);
    context_enter(co);
    enter_end(co);
    co_thread.current = co->entered_from;
    co->running = false;
    if (co->done) {
        coroutine_release(co);
    }
}

void coroutine_yield(void)
{
    Coroutine *co = co_thread.current;

    if (!co) {
        g_error("coroutine_yield() outside a coroutine");
    }
    coroutine_leave(co);
}

/* ---- waiting ---- */

typedef struct CoWaiter {
    Coroutine *co;
    struct CoWaiter *next;
} CoWaiter;

static void waiters_init(CoWaiter **first, CoWaiter ***last)
{
    *first = NULL;
    *last = first;
}

/* The node lies on the waiter's own stack. */
static void wait_in(CoWaiter **first, CoWaiter ***last)
{
    CoWaiter me = { .co = co_thread.current };

    if (!*first) {
        *last = first;
    }
    **last = &me;
    *last = &me.next;
    coroutine_yield();
}

static Coroutine *waiter_pop(CoWaiter **first, CoWaiter ***last)
{
    CoWaiter *w = *first;

    if (!w) {
        return NULL;
    }
    *first = w->next;
    if (!*first) {
        *last = first;
    }
    return w->co;
}

void co_mutex_init(CoMutex *m)
{
    m->holder = NULL;
    waiters_init(&m->first, &m->last);
}

void co_mutex_lock(CoMutex *m)
{
    if (m->holder) {
        wait_in(&m->first, &m->last);       /* the unlocker made us the holder */
    } else {
        m->holder = co_thread.current;
    }
}

void co_mutex_unlock(CoMutex *m)
{
    m->holder = waiter_pop(&m->first, &m->last);
    if (m->holder) {
        coroutine_enter(m->holder);
    }
}

void co_queue_init(CoQueue *q)
{
    waiters_init(&q->first, &q->last);
}

void co_queue_wait(CoQueue *q)
{
    wait_in(&q->first, &q->last);
}

bool co_queue_next(CoQueue *q)
{
    Coroutine *co = waiter_pop(&q->first, &q->last);

    if (co) {
        coroutine_enter(co);
    }
    return co != NULL;
}
