/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a case on the real CPU, in this process: its state is loaded with XRSTOR and IRETQ (which goes to 32- and
 * 16-bit code as well), TF set where asked, and comes back in the frame of the signal that ends it (int3, the step's
 * #DB, or the fault). A case that changes FS loses this thread's own data until native_signal has put it back.
 * See insn-test.h. One thread; the case can write only to the window: what the interpreter faults on is not run
 * where this process owns the address (native_owns).
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
    uint16_t sel[SEG_COUNT];        /* 160 */
    uint8_t segments;               /* 172: load DS, ES, FS, GS */
    uint8_t pad[19];
    uint8_t xsave[4096];            /* 192: host's layout */
} __attribute__((aligned(64))) Entry;
_Static_assert(__builtin_offsetof(Entry, xsave) == 192, "known to the assembly");

typedef struct Native {
    Entry entry;
    uint64_t features;
    uint32_t offset[10];            /* of components in the host's standard format */
    uint8_t *code;                  /* writable view of the code page */
    unsigned length;                /* of the case that is there */
    const InsnCase *running;
    InsnOutcome *out;
    uint64_t page;                  /* the last one asked about */
    bool owned, fsgsbase;
    bool step;                      /* the case runs with TF */
} Native;
static Native native;

/* For native_signal: what it saves and puts back. */
struct NativeSegments {
    uint64_t fs_base, gs_base;      /* 0, 8 */
    uint16_t ds, es, fs, gs;        /* 16 .. 22 */
    uint8_t restore;                /* 24 */
} native_segments __attribute__((visibility("hidden")));

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
    "    movzwl 164(%rdi), %eax; push %rax; pushq 32(%rdi); pushq 136(%rdi)\n"
    "    movzwl 162(%rdi), %eax; push %rax; pushq 128(%rdi)\n"
    "    cmpb $0, 172(%rdi); je 1f\n"
    "    mov 160(%rdi), %es; mov 166(%rdi), %ds; mov 168(%rdi), %fs; mov 170(%rdi), %gs\n"
    "1:\n"
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
    "    mov %ds, 16+native_segments(%rip); mov %es, 18+native_segments(%rip)\n"
    "    mov %fs, 20+native_segments(%rip); mov %gs, 22+native_segments(%rip)\n"
    "    cmpb $0, 24+native_segments(%rip); je 1f\n"
    "    push %rdi; push %rsi; push %rdx\n"
    "    xor %eax, %eax; mov %eax, %ds; mov %eax, %es\n"
    "    mov $158, %eax; mov $0x1002, %edi; mov native_segments(%rip), %rsi; syscall\n"     /* ARCH_SET_FS */
    "    mov $158, %eax; mov $0x1001, %edi; mov 8+native_segments(%rip), %rsi; syscall\n"   /* ARCH_SET_GS */
    "    pop %rdx; pop %rsi; pop %rdi\n"
    "1:  jmp native_signal_c\n");

/* ---- the host's XSAVE layout ---- */

uint64_t native_xcr0(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return 0;
    }
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a | (uint64_t)d << 32;
}

uint64_t native_features(void)
{
    return native.features;
}

unsigned native_xsave_offset(unsigned component)
{
    return native.features >> component & 1 ? native.offset[component] : 0;
}

/* CR4.FSGSBASE, which CPUID does not tell: tries. */
static bool fsgsbase_works(void)
{
    static InsnCase c = { .bits = 64, .length = 4, .count = 1, .code = { 0xf3, 0x0f, 0xae, 0xc0 } };
    InsnOutcome out;

    c.start.rip = CODE_START;
    c.start.rflags = 0x202;
    c.start.sel[SEG_CS] = SEL_CODE64;
    c.start.sel[SEG_SS] = SEL_DATA;
    c.start.xs.fcw = 0x37f;
    c.start.xs.mxcsr = 0x1f80;
    native_run(&c, false, &out);
    return out.vector < 0;
}

bool native_has_fsgsbase(void)
{
    return native.fsgsbase;
}

bool native_has_misalignsse(void)
{
    unsigned a, b, c = 0, d;

    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c >> 7 & 1);
}

bool native_owns(uint64_t address)
{
    uint64_t page = address & ~4095ull;
    unsigned char resident;

    if (page != native.page) {
        native.page = page;
        native.owned = mincore((void *)(uintptr_t)page, 1, &resident) == 0;
    }
    return native.owned && page - DATA_AT >= DATA_SIZE && page != CODE_AT;
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
    uint64_t bv = xs->xstate_bv & native.features;

    memcpy(area, xs, 416);
    memset(area + 416, 0, 160);
    memcpy(area + 512, &bv, 8);
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
    s->rflags = uc->uc_mcontext.gregs[REG_EFL] & ~(uint64_t)FL_TF;
    s->sel[SEG_CS] = uc->uc_mcontext.gregs[REG_CSGSFS];
    s->sel[SEG_SS] = (uint64_t)uc->uc_mcontext.gregs[REG_CSGSFS] >> 48;
    s->sel[SEG_DS] = native_segments.ds;
    s->sel[SEG_ES] = native_segments.es;
    s->sel[SEG_FS] = native_segments.fs;
    s->sel[SEG_GS] = native_segments.gs;
    xsave_from_host((const uint8_t *)uc->uc_mcontext.fpregs, &s->xs);
}

static void leave_case(ucontext_t *uc)
{
    struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

    uc->uc_mcontext.gregs[REG_RIP] = (uintptr_t)native_exit;
    uc->uc_mcontext.gregs[REG_RSP] = native.entry.saved_rsp;
    uc->uc_mcontext.gregs[REG_EFL] = 0x202;
    uc->uc_mcontext.gregs[REG_CSGSFS] = SEL_CODE64 | (uint64_t)SEL_DATA << 48;
    fp->cwd = 0x37f;
    fp->swd = 0;
    fp->ftw = 0;
    fp->mxcsr = 0x1f80;
}

static struct sigaction before_us[NSIG];

void native_signal_c(int sig, siginfo_t *info, void *context) __attribute__((used));
void native_signal_c(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    const InsnCase *c = native.running;
    InsnOutcome *out = native.out;
    int trap = uc->uc_mcontext.gregs[REG_TRAPNO];
    uint64_t rip = uc->uc_mcontext.gregs[REG_RIP];

    if (!c && (before_us[sig].sa_flags & SA_SIGINFO)) {
        before_us[sig].sa_sigaction(sig, info, context);        /* the accelerator's */
        return;
    }
    if (!c) {
        signal(sig, SIG_DFL);           /* the test itself is broken: die of it */
        return;
    }
    native.running = NULL;
    take_registers(uc, &out->end);
    out->vector = trap;
    if (trap == EXCP_DB && native.step) {
        out->vector = -1;
    } else if (trap == EXCP_BP && rip == c->start.rip + c->length + 1) {
        out->vector = -1;               /* the int3 behind the case */
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
    code = mmap((void *)CODE_AT, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0);
    close(fd);
    if (native.code == MAP_FAILED || code != (void *)CODE_AT) {
        return false;
    }
    memset(native.code, 0xcc, 4096);
    return true;
}

bool native_init(const char **reason)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    struct sigaction sa = { .sa_sigaction = native_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    stack_t stack = { .ss_sp = g_malloc(256 << 10), .ss_size = 256 << 10 };
    uint32_t a, b, c, d;

    native.features = native_xcr0() & FEATURES_TESTED;
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
    syscall(SYS_arch_prctl, ARCH_GET_FS, &native_segments.fs_base);
    native_segments.gs_base = GS_BASE;
    for (size_t n = 0; n < G_N_ELEMENTS(signals); n++) {
        sigaction(signals[n], &sa, &before_us[signals[n]]);
    }
    native.fsgsbase = fsgsbase_works();
    return true;
}

uint8_t *native_window(void)
{
    return (uint8_t *)DATA_AT;
}

void native_run(const InsnCase *c, bool step, InsnOutcome *out)
{
    Entry *e = &native.entry;
    unsigned old = native.length;

    memcpy((void *)DATA_AT, window_start, DATA_RW);
    xsave_to_native(c, (void *)DATA_AT);
    memcpy(native.code + 0x800, c->code, c->length);
    memset(native.code + 0x800 + c->length, 0xcc, old > c->length ? old - c->length : 1);
    native.length = c->length;
    memcpy(e->regs, c->start.regs, sizeof(e->regs));
    e->rip = c->start.rip;
    e->rflags = c->start.rflags | (step ? FL_TF : 0);
    e->features = native.features;
    memcpy(e->sel, c->start.sel, sizeof(e->sel));
    e->segments = c->bits != 64;
    native_segments.restore = c->bits != 64 || c->reloads;
    xsave_to_host(&c->start.xs, e->xsave);
    memset(out, 0, sizeof(*out));
    native.running = c;
    native.out = out;
    native.step = step;
    __asm__ volatile("" ::: "memory");
    native_enter(e);
}
