/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a case on the real CPU, in this process: its state is loaded with XRSTOR and IRETQ, TF
 * set, and comes back in the frame of the signal that ends it (the step's #DB, or the fault). See
 * insn-test.h. One thread; the case can write only to the window, but for addresses hit by
 * chance.
 */
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "insn-test.h"

#define FEATURES_TESTED (XFEATURE_X87 | XFEATURE_SSE | XFEATURE_AVX | XFEATURE_OPMASK | XFEATURE_ZMMH | XFEATURE_HI16)

/* What native_enter() loads; offsets are known to the assembly below. */
typedef struct Entry {
    uint64_t regs[16];              /* 0 */
    uint64_t rip, rflags;           /* 128, 136 */
    uint64_t saved_rsp;             /* 144 */
    uint64_t features;              /* 152 */
    uint8_t pad[32];
    uint8_t xsave[4096];            /* 192: host's layout */
} __attribute__((aligned(64))) Entry;
_Static_assert(__builtin_offsetof(Entry, xsave) == 192, "known to the assembly");

typedef struct Native {
    Entry entry;
    uint64_t features;
    uint32_t offset[10];            /* of components in the host's standard format */
    uint8_t *code;                  /* writable view of the code page */
    const InsnCase *running;
    InsnOutcome *out;
} Native;
static Native native;

uint8_t window_start[DATA_SIZE];

void native_enter(Entry *e);
void native_exit(void);
void native_signal(int sig, siginfo_t *info, void *context);

__asm__(
    ".text\n.globl native_enter, native_exit, native_signal\n"
    "native_enter:\n"
    "    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "    mov %rsp, 144(%rdi)\n"
    "    mov 152(%rdi), %eax; mov 156(%rdi), %edx\n"
    "    xrstor64 192(%rdi)\n"
    "    mov %ss, %eax; push %rax; pushq 32(%rdi); pushq 136(%rdi); mov %cs, %eax; push %rax; pushq 128(%rdi)\n"
    "    mov 0(%rdi), %rax; mov 8(%rdi), %rcx; mov 16(%rdi), %rdx; mov 24(%rdi), %rbx\n"
    "    mov 40(%rdi), %rbp; mov 48(%rdi), %rsi; mov 64(%rdi), %r8; mov 72(%rdi), %r9\n"
    "    mov 80(%rdi), %r10; mov 88(%rdi), %r11; mov 96(%rdi), %r12; mov 104(%rdi), %r13\n"
    "    mov 112(%rdi), %r14; mov 120(%rdi), %r15; mov 56(%rdi), %rdi\n"
    "    iretq\n"
    "native_exit:\n"
    "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "    ret\n"
    /* The kernel leaves AC as the case had it: clear it before any C code. */
    "native_signal:\n"
    "    pushfq; andl $0xfffbffff, (%rsp); popfq\n"
    "    jmp native_signal_c\n");

/* ---- the host's XSAVE layout ---- */

static uint64_t host_features(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return 0;
    }
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a & FEATURES_TESTED;
}

uint64_t native_features(void)
{
    return native.features;
}

uint16_t native_selector(int seg)
{
    uint16_t v = 0;

    switch (seg) {
    case SEG_ES: __asm__ volatile("mov %%es, %0" : "=r"(v)); break;
    case SEG_CS: __asm__ volatile("mov %%cs, %0" : "=r"(v)); break;
    case SEG_SS: __asm__ volatile("mov %%ss, %0" : "=r"(v)); break;
    case SEG_DS: __asm__ volatile("mov %%ds, %0" : "=r"(v)); break;
    case SEG_FS: __asm__ volatile("mov %%fs, %0" : "=r"(v)); break;
    default: __asm__ volatile("mov %%gs, %0" : "=r"(v)); break;
    }
    return v;
}

typedef struct Part {
    uint8_t component;
    uint16_t offset, size;          /* in X86XSave */
} Part;
static const Part parts[] = {
    { 2, offsetof(X86XSave, ymmh), 256 }, { 5, offsetof(X86XSave, k), 64 },
    { 6, offsetof(X86XSave, zmmh), 512 }, { 7, offsetof(X86XSave, hi16), 1024 },
};

static void xsave_to_host(const X86XSave *xs, uint8_t *area)
{
    memcpy(area, xs, 416);
    memset(area + 416, 0, 160);
    memcpy(area + 512, &native.features, 8);
    for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
        if (native.features >> parts[n].component & 1) {
            memcpy(area + native.offset[parts[n].component], (const uint8_t *)xs + parts[n].offset, parts[n].size);
        }
    }
}

/* A component that XSTATE_BV says is initial has no bytes in the image. */
static void xsave_from_host(const uint8_t *area, X86XSave *xs)
{
    uint64_t bv;

    memset(xs, 0, sizeof(*xs));
    memcpy(&bv, area + 512, 8);
    memcpy(&xs->mxcsr, area + 24, 4);
    if (bv & XFEATURE_X87) {
        memcpy(xs, area, 24);
        memcpy(xs->st, area + 32, 128);
    } else {
        xs->fcw = 0x37f;
    }
    if (bv & XFEATURE_SSE) {
        memcpy(xs->xmm, area + 160, 256);
    }
    for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
        if (native.features & bv & 1u << parts[n].component) {
            memcpy((uint8_t *)xs + parts[n].offset, area + native.offset[parts[n].component], parts[n].size);
        }
    }
}

/* ---- coming back ---- */

static void take_registers(const ucontext_t *uc, InsnState *s)
{
    static const uint8_t reg[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    for (int n = 0; n < 16; n++) {
        s->regs[n] = uc->uc_mcontext.gregs[reg[n]];
    }
    s->rip = uc->uc_mcontext.gregs[REG_RIP];
    s->rflags = uc->uc_mcontext.gregs[REG_EFL] & ~(uint64_t)(FL_TF | FL_RF);
    xsave_from_host((const uint8_t *)uc->uc_mcontext.fpregs, &s->xs);
}

static void leave_case(ucontext_t *uc)
{
    struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

    uc->uc_mcontext.gregs[REG_RIP] = (uintptr_t)native_exit;
    uc->uc_mcontext.gregs[REG_RSP] = native.entry.saved_rsp;
    uc->uc_mcontext.gregs[REG_EFL] = 0x202;
    fp->cwd = 0x37f;
    fp->swd = 0;
    fp->ftw = 0;
    fp->mxcsr = 0x1f80;
}

void native_signal_c(int sig, siginfo_t *info, void *context) __attribute__((used));
void native_signal_c(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    const InsnCase *c = native.running;
    InsnOutcome *out = native.out;
    int trap = uc->uc_mcontext.gregs[REG_TRAPNO];
    uint64_t rip = uc->uc_mcontext.gregs[REG_RIP];

    if (!c) {
        signal(sig, SIG_DFL);           /* the test itself is broken: die of it */
        return;
    }
    native.running = NULL;
    take_registers(uc, &out->end);
    out->vector = trap == EXCP_DB ? -1 : trap;
    out->end.rflags &= ~(uint64_t)FL_TF;
    if (trap == EXCP_BP && rip == CODE_START + c->length + 1) {
        out->vector = -1;               /* the end of a sequence */
        out->end.rip--;
    }
    out->error = uc->uc_mcontext.gregs[REG_ERR];
    out->cr2 = uc->uc_mcontext.gregs[REG_CR2];
    leave_case(uc);
}

/* ---- set-up ---- */

static bool map_window(void)
{
    int fd = memfd_create("code", 0);
    void *data = mmap((void *)DATA_AT, DATA_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0), *code;

    if (data != (void *)DATA_AT || fd < 0 || ftruncate(fd, 4096) < 0) {
        return false;
    }
    memcpy(data, window_start, DATA_SIZE);
    mprotect((uint8_t *)data + DATA_RW, DATA_SIZE - DATA_RW, PROT_READ);
    native.code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    code = mmap((void *)CODE_AT, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    close(fd);
    return native.code != MAP_FAILED && code == (void *)CODE_AT;
}

bool native_init(const char **reason)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    struct sigaction sa = { .sa_sigaction = native_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    stack_t stack = { .ss_sp = g_malloc(256 << 10), .ss_size = 256 << 10 };
    uint32_t a, b, c, d;

    native.features = host_features();
    if (!(native.features & XFEATURE_SSE)) {
        *reason = "the host has no XSAVE";
        return false;
    }
    for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
        __cpuid_count(0xd, parts[n].component, a, b, c, d);
        native.offset[parts[n].component] = b;
        if ((native.features >> parts[n].component & 1) && b + parts[n].size > sizeof(native.entry.xsave)) {
            *reason = "the host's XSAVE area is too big";
            return false;
        }
    }
    if (!map_window() || sigaltstack(&stack, NULL) < 0 || syscall(SYS_arch_prctl, ARCH_SET_GS, GS_BASE) < 0) {
        *reason = "the window of memory cannot be mapped";
        return false;
    }
    for (size_t n = 0; n < G_N_ELEMENTS(signals); n++) {
        sigaction(signals[n], &sa, NULL);
    }
    return true;
}

uint8_t *native_window(void)
{
    return (uint8_t *)DATA_AT;
}

void native_run(const InsnCase *c, bool step, InsnOutcome *out)
{
    Entry *e = &native.entry;

    memcpy((void *)DATA_AT, window_start, DATA_RW);
    memcpy(native.code + 0x800, c->code, c->length);
    native.code[0x800 + c->length] = 0xcc;
    memcpy(e->regs, c->start.regs, sizeof(e->regs));
    e->rip = CODE_START;
    e->rflags = c->start.rflags | (step ? FL_TF : 0);
    e->features = native.features;
    xsave_to_host(&c->start.xs, e->xsave);
    memset(out, 0, sizeof(*out));
    native.running = c;
    native.out = out;
    __asm__ volatile("" ::: "memory");
    native_enter(e);
}
