/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The translator: decoded blocks to host code (docs/devel/translator.rst; rules T1-T25 there).
 *
 * Translated code runs with rsp at X86State, which has X86_HOT_BYTES of hot words right below it. Guest registers
 * are in the host's of the same name, but guest rAX in r14 and rSP in r13; guest r13-r15 stay in the state. Host rax
 * and r15 are scratch. Arithmetic flags are in host EFLAGS or in XlHot.image; at block boundaries in the image.
 * Nothing is called on rsp: C runs on the thread's own stack. Vector and x87 state is in the host's registers as far
 * as XlHot.level says. The vCPU's thread only, unless said otherwise. Test: tests/insn, tests/bare.
 */
#ifndef CLEAT_ACCEL_TCG_XL_H
#define CLEAT_ACCEL_TCG_XL_H

#include "accel/tcg/xl-layout.h"
#include "accel/tcg/tcg-internal.h"

/* How much vector state the host's registers hold. Each level has what is below it. */
enum { XL_VEC_NONE, XL_VEC_SSE /* x87, MMX, XMM, MXCSR */, XL_VEC_AVX, XL_VEC_AVX512 };

/* Why translated code came back: what xl_enter() returns. */
typedef enum XlExit {
    XL_EXIT_DONE,               /* st->rip is set */
    XL_EXIT_LINK,               /* st->rip is set; link slot XlHot.arg may be bound to the block there */
    XL_EXIT_FAULT,              /* a host signal at XlHot.fault_pc: that instruction is the interpreter's */
} XlExit;

/* The hot words, right below X86State: reached with 8-bit displacements, and safe from signal frames (red zone). */
typedef struct XlHot {
    uint64_t vec_up;            /* asm routines, for indirect calls (XL_FN_*) */
    uint64_t exit_rip, exit_link, end_insn, slow;
    uint64_t fault_pc;
    uint32_t level, resume_level;
    uint64_t resume;            /* where to go on after a slow call */
    uint64_t arg;
    uint64_t tmp, tmp2;
    uint64_t c_stack;           /* the thread's stack while translated code runs */
    uint64_t code_base;         /* linear address of the page that runs */
    _Atomic uint32_t req;       /* non-zero: leave at the next boundary. Any thread sets it */
    uint32_t stale;
    uint64_t image;             /* flags: byte 0 OF, byte 1 as LAHF gives them */
    uint64_t scratch;           /* return address of a call */
} XlHot;
_Static_assert(sizeof(XlHot) == XL_HOT_BYTES, "hot words end at the state");
#define XL_HOT(field) ((int)offsetof(XlHot, field) - XL_HOT_BYTES)
_Static_assert(XL_HOT(slow) == XL_FN_SLOW && XL_HOT(level) == XL_LEVEL && XL_HOT(resume) == XL_RESUME
               && XL_HOT(c_stack) == XL_C_STACK && XL_HOT(fault_pc) == XL_FAULT_PC && XL_HOT(arg) == XL_ARG
               && XL_HOT(resume_level) == XL_RESUME_LEVEL && XL_HOT(tmp) == XL_TMP, "xl-layout.h");
_Static_assert(offsetof(X86State, xs) == XL_XS && offsetof(X86State, rip) == XL_RIP, "xl-layout.h");

static inline XlHot *xl_hot(X86State *st)
{
    return (XlHot *)st - 1;
}

/* Below the state: the hot words, and room for signal frames. */
#define XL_BELOW (32u << 10)
/* A block is translated when it has been interpreted so many times. */
#define XL_HITS 3

/* The accelerator's tables, right behind X86State (x86_accel_area()). */
#define XL_JUMPS 2048u
#define XL_LINKS 16384u
typedef struct XlJump {
    uint64_t rip;               /* linear address; empty: ~0 for the entry of address 0, else 0 */
    uint64_t code;
} XlJump;
typedef struct XlTables {
    XlJump jump[TLB_CLASSES][XL_JUMPS];     /* by class of access and rip % XL_JUMPS */
    uint64_t link[XL_LINKS];                /* where jumps inside a page go: a block, or their exit stub */
} XlTables;
#define XL_TABLES ((int)((sizeof(X86State) + 63) & ~63ul))
static inline XlTables *xl_tables(X86State *st)
{
    return (XlTables *)((uint8_t *)st + XL_TABLES);
}

/* ---- one vCPU's translations (xl-cache.c) ---- */
typedef struct XlCode {             /* one block's, in address order: finds the instruction of a host address */
    uint32_t offset;                /* in its chunk */
    uint32_t bytes;
    Block *block;
    uint32_t starts;                /* index of its instructions' places in XlChunk.starts */
} XlCode;
typedef struct XlChunk {
    uint8_t *exec;
    GArray *codes;                  /* of XlCode */
    GArray *starts;                 /* of uint16_t: offsets of instructions in their block's code */
} XlChunk;
#define XL_LINK_BACK 0x8000
struct XlCpu {
    GPtrArray *chunks;              /* of XlChunk */
    unsigned current;               /* chunk being filled */
    uint8_t *writable;              /* its writable view; NULL: none */
    size_t used;                    /* bytes of it */
    unsigned links;                 /* link slots taken */
    uint16_t link_offset[XL_LINKS]; /* page offset of the target | XL_LINK_BACK */
    int bind;                       /* link that led to the run loop; -1: none */
    uint64_t bind_base;             /* in this page */
    uint32_t tlb_generation;        /* the jump tables are good for */
    uint32_t jump_mode[TLB_CLASSES];
    uint64_t jump_used[TLB_CLASSES][XL_JUMPS / 64];
    bool full;                      /* no room: everything is to be dropped before the next translation */
    struct {
        uint64_t blocks, insns, code_bytes, guest_bytes, flushes, exits, links, slow, ends, faults;
    } stats;
};

struct XlCpu *xl_cpu_new(X86CPU *cpu);
void xl_cpu_free(X86CPU *cpu);
/* Drops all translations and links. No translated code may be running on this vCPU. */
void xl_cpu_flush(X86CPU *cpu);
/* Writable bytes for a block of at most max bytes, and their address as code; NULL: none (full is set). */
uint8_t *xl_code_begin(struct XlCpu *xc, size_t max, uint8_t **exec);
void xl_code_end(struct XlCpu *xc, size_t bytes, Block *b, const uint16_t *starts);
/* Forgets one class's jump table. */
void xl_jumps_flush(X86CPU *cpu, unsigned cls);
/* The block and instruction that host address pc belongs to; NULL: not translated code. Signal-safe. */
const Insn *xl_code_find(struct XlCpu *xc, uint64_t pc);

/* ---- emission (xl-emit.c) ---- */
enum { H_RAX, H_RCX, H_RDX, H_RBX, H_RSP, H_RBP, H_RSI, H_RDI, H_R8, H_R9, H_R10, H_R11, H_R12, H_R13, H_R14, H_R15,
       H_NONE = 16 };
#define XL_COLD_MAX 192
#define XL_EXITS_MAX 8
typedef struct XlCold {
    uint8_t *jump;                  /* rel32 of the jump here */
    uint8_t *back;
    const Insn *insn;
    bool flags;                     /* EFLAGS are to be valid at back */
    uint8_t level;                  /* instead: a change of vector level */
    bool leave;                     /* instead: to the run loop, the guest at this offset of the page */
    uint16_t offset;
} XlCold;

typedef struct Xl {
    X86CPU *cpu;
    struct XlCpu *xc;
    Block *b;
    uint8_t *p, *start, *end;       /* writable view */
    ptrdiff_t exec;                 /* + p: address as code */
    bool full;
    unsigned k;                     /* instruction being translated */
    const Insn *i;
    bool eflags;                    /* host EFLAGS hold the guest's flags */
    bool image;                     /* the image does */
    uint8_t level;                  /* vector level established in this block */
    bool ended;                     /* control does not fall through */
    unsigned first;                 /* page offset of the block's first byte */
    unsigned n_exits;
    uint16_t exits[XL_EXITS_MAX];   /* link slots */
    unsigned n_cold;
    XlCold cold[XL_COLD_MAX];
    bool need_in[BLOCK_INSNS + 1];  /* flags before instruction k are looked at */
    uint16_t starts[BLOCK_INSNS];
} Xl;

void xl_u8(Xl *x, uint8_t v);
void xl_u32(Xl *x, uint32_t v);
void xl_u64(Xl *x, uint64_t v);
/* How an operand in ModRM.rm is encoded. */
typedef struct XlRm {
    uint8_t kind;                   /* XL_RM_* */
    uint8_t reg, index, scale;
    int32_t disp;
} XlRm;
enum { XL_RM_REG, XL_RM_MEM };
static inline XlRm xl_reg(unsigned r) { return (XlRm) { XL_RM_REG, r, H_NONE, 0, 0 }; }
static inline XlRm xl_mem(unsigned base, int32_t disp) { return (XlRm) { XL_RM_MEM, base, H_NONE, 0, disp }; }
static inline XlRm xl_mem2(unsigned base, unsigned index) { return (XlRm) { XL_RM_MEM, base, index, 0, 0 }; }
static inline XlRm xl_state(int32_t off) { return xl_mem(H_RSP, off); }
/*
 * A legacy instruction: prefix 0, 66h, F2h, F3h; map MAP_1B..MAP_0F3A; w: REX.W; rex: an empty REX is needed
 * (SPL..DIL). The immediate is the caller's.
 */
void xl_legacy(Xl *x, unsigned prefix, unsigned map, unsigned opcode, bool w, bool rex, unsigned reg, XlRm rm);
/* ModRM, SIB and displacement alone. */
void xl_modrm(Xl *x, unsigned reg, XlRm rm);
/* 64-bit moves: mov reg, rm; mov rm, reg; lea. wide false: 32 bits. */
void xl_load(Xl *x, unsigned reg, XlRm rm);
void xl_store(Xl *x, XlRm rm, unsigned reg);
void xl_lea(Xl *x, unsigned reg, XlRm rm, bool wide);
/* jmp/jcc rel32 forward: returns the place of rel32, for xl_here(). cc 16: jmp. */
uint8_t *xl_jump(Xl *x, unsigned cc);
void xl_here(Xl *x, uint8_t *rel32);
/* jmp/jcc to a known code address; false: out of reach (nothing emitted). */
bool xl_jump_to(Xl *x, unsigned cc, uint64_t target);
/* call or jmp through a hot word. */
void xl_call_hot(Xl *x, int hot);
void xl_jump_hot(Xl *x, int hot);

/* A VEX instruction; pp 0-3: none, 66h, F3h, F2h; map 1-3; l: VEX.L. */
void xl_vex(Xl *x, unsigned pp, unsigned map, unsigned opcode, bool w, unsigned vvvv, unsigned l, unsigned reg,
            XlRm rm);

/* ---- flags (xl-flags.c) ---- */
void xl_flags_analyse(Xl *x);
/* Does this instruction need EFLAGS when it starts? */
bool xl_flags_wanted(const Xl *x);
/* EFLAGS are about to be overwritten by code of ours: saves them if somebody looks at them. */
void xl_flags_spill(Xl *x);
/* Makes the image valid, or EFLAGS. */
void xl_flags_save(Xl *x);
void xl_flags_restore(Xl *x);
void xl_flags_emit_restore(Xl *x);
/* Around an instruction that writes flags by its row. */
void xl_flags_before(Xl *x);
void xl_flags_after(Xl *x);

/* ---- memory operands (xl-mem.c) ---- */
/* Can the translator compute this operand's address? */
bool xl_ea_ok(const Xl *x, const Insn *i);
/* Does the row's memory form write its memory operand? */
bool xl_writes_memory(const InsnRow *r);
/* Its offset without a segment's base, to a host register; clobbers rax, r15, not flags. */
void xl_ea_to(Xl *x, const Insn *i, unsigned to, bool wide);
/* The operand's linear address to rax (clobbers r15, not flags). */
void xl_ea(Xl *x, const Insn *i);
/* Checks rax for an access of size bytes: then r15 + rax is the host address. Clobbers flags; a miss is slow. */
void xl_check(Xl *x, unsigned size, bool write);
/* Both, with flags kept as they must be. */
void xl_operand(Xl *x, const Insn *i, unsigned size, bool write);
/* The whole instruction by the interpreter, going on after it. */
void xl_slow_insn(Xl *x);
/* The same as the block's last: back to the run loop. */
void xl_end_insn(Xl *x);
/* Guest GPR number to host register; H_NONE: it lives in the state. */
unsigned xl_host(unsigned guest);
void xl_get(Xl *x, unsigned host, unsigned guest);
void xl_put(Xl *x, unsigned guest, unsigned host);
void xl_vec_level(Xl *x, unsigned level);
/* The out-of-line parts, behind the block. */
void xl_cold_emit(Xl *x);
XlCold *xl_cold_new(Xl *x);

/* ---- translators by class; false: not this one, nothing emitted ---- */
bool xl_same(Xl *x);
bool xl_vec(Xl *x);
bool xl_stack(Xl *x);
/* A push of the code's width: checks the place, r15 + rax then; and moves rSP once the value is stored. */
void xl_push_check(Xl *x);
void xl_push_done(Xl *x);
bool xl_flow(Xl *x);
bool xl_misc(Xl *x);
/* The block goes on at offset off from its page's start, in this page or another. */
void xl_goto(Xl *x, int64_t off);
/* The exit stubs of this block's links. */
void xl_exits_emit(Xl *x);
/* Where a link to b enters; back: it must look at requests. */
uint64_t xl_entry(const Block *b, bool back);
/* Block ends without a branch: to the next instruction. */
void xl_fall_out(Xl *x);

/* Translates a block; false: not possible (full: try again after a flush). */
bool xl_translate(X86CPU *cpu, Block *b);

/* ---- running (xl-run.c, xl-entry.S) ---- */
XlExit xl_enter(X86State *st, uint64_t code);
void xl_asm_slow(void);
void xl_asm_end(void);
void xl_asm_exit_rip(void);
void xl_asm_exit_link(void);
void xl_asm_vec_up(void);
void xl_asm_fault(void);
/* Called by xl-entry.S on the thread's stack, state saved. Zero: go on in the block. */
uint32_t xl_c_slow(X86State *st, const Insn *i);
void xl_c_end(X86State *st, const Insn *i);
/* Can blocks of the present mode be translated? */
bool xl_mode_ok(const X86CPU *cpu);
/* Runs translated code from block b on until something is to be looked at. Faults leave by fault_jmp. */
void xl_run(X86CPU *cpu, Block *b);
/* Translated code of stale blocks may be running: any thread. */
void xl_notify_stale(X86CPU *cpu);
/* Host signals in translated code become the interpreter's work; thread: tells whose this thread is. */
void xl_host_faults_init(void);
void xl_host_faults_thread(X86CPU *cpu);
bool xl_host_ok(void);

#endif
