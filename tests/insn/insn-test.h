/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differential test of the software CPU against the real one: shared shapes.
 *
 * A case is an instruction (or a short sequence) of 64-, 32- or 16-bit code with a start state and
 * the contents of a small window of memory. It runs once on the host (native.c: ring 3, ended by a
 * signal; 32-bit code through the kernel's compatibility segment, 16-bit code through an LDT) and
 * once in the interpreter, or several times under an accelerator (guest.c: the whole CPU with paging,
 * CPL 3, the same descriptors); gen.c makes cases from the instruction table and a seed; compare.c judges.
 */
#ifndef CLEAT_TESTS_INSN_TEST_H
#define CLEAT_TESTS_INSN_TEST_H

#include <stdio.h>

#include "target/i386/cpu.h"
#include "target/i386/insn.h"

/* Linear addresses, the same in both worlds. Pages around them are not mapped. */
#define DATA_AT 0x10000000ull
#define DATA_RW 0x3000u             /* writable bytes; then a page that may only be read, then nothing */
#define DATA_SIZE 0x4000u
#define CODE_AT 0x10200000ull       /* one page, not writable */
#define CODE_START (CODE_AT + 0x800)
#define GUEST_KERNEL (64u << 20)    /* below it the interpreter's guest has supervisor pages */
#define GS_BASE (DATA_AT + 0x40)    /* in 64-bit code */
#define SEQUENCE_MAX 8
#define PROGRAM_MAX 40              /* random instructions of a program */
#define CODE_MAX 1536

/* Selectors of the host's GDT (Linux) and of the LDT that segments.c sets up. */
enum { SEL_CODE32 = 0x23, SEL_DATA = 0x2b, SEL_CODE64 = 0x33,
       SEL_CODE16 = 0x0f, SEL_DATA16 = 0x17, SEL_DATA32 = 0x1f, SEL_LDT_LAST = 0x67 };

typedef struct InsnState {
    uint64_t regs[16];
    uint64_t rip, rflags;
    uint16_t sel[SEG_COUNT];
    X86XSave xs;                    /* XSTATE_BV, at the start only: components not in their initial state */
} InsnState;

typedef struct InsnCase {
    uint64_t seed;
    unsigned bits;                  /* of the code: 64, 32, 16 */
    InsnState start;
    uint8_t code[CODE_MAX + 32];    /* followed by int3 */
    unsigned length, count;         /* bytes, instructions */
    Insn insn[PROGRAM_MAX];
    bool undecodable;               /* our decoder refuses it: #UD expected */
    uint16_t flags_undef;           /* left undefined at the end */
    uint64_t target;                /* where the (first) memory operand is */
    bool reloads;                   /* may load a segment register */
    bool mmio;                      /* a page of the window is a device that behaves like memory */
    bool program;                   /* loops and calls: the instructions do not follow each other */
    bool xsave;                     /* the XSAVE family: the window holds an image at target */
} InsnCase;

typedef struct InsnOutcome {
    InsnState end;
    int vector;                     /* of the fault, -1: none */
    uint32_t error;
    uint64_t cr2;
    bool hung;                      /* the guest's program did not end */
} InsnOutcome;

/* Window contents at the start of a case, and where each world keeps its copy. */
extern uint8_t window_start[DATA_SIZE];

/* native.c */
bool native_init(const char **reason);          /* false: this host cannot run the test */
uint64_t native_features(void);                 /* XFEATURE_* of the host that the test knows */
uint64_t native_xcr0(void);
uint8_t *native_window(void);                   /* writable view of the data window */
void native_run(const InsnCase *c, bool step, InsnOutcome *out);
bool native_has_fsgsbase(void);
bool native_has_misalignsse(void);        /* AMD's MXCSR.MM */
/* Does this process have something of its own at that address? Such a case says nothing. */
bool native_owns(uint64_t address);
/* Offset of a component in the host's standard format; 0: not there. */
unsigned native_xsave_offset(unsigned component);

/* guest.c */
void guest_init(void);
X86CPU *guest_cpu(void);
uint8_t *guest_window(void);
/* Before guest_init(): runs cases by that accelerator ("tcg,mode=interp"), so many times each. */
void guest_accel(const char *options, unsigned runs);
/* direct: by the instructions' functions all the same (a branch leads to where no int3 stands); not a program. */
void guest_run(const InsnCase *c, bool direct, InsnOutcome *out);
/* CPU mode bits that the decoder looks at. */
uint32_t guest_mode(unsigned bits);

/* segments.c: one set of descriptors for both worlds. */
void segments_init(void);                       /* asks the host for the LDT */
bool segments_have(unsigned bits);              /* can code of so many bits run here? */
bool segment_there(uint16_t selector);
void segments_write(uint8_t *gdt, uint8_t *ldt);    /* SEGMENTS_GDT and SEGMENTS_LDT bytes */
enum { SEGMENTS_GDT = 16 * 8, SEGMENTS_LDT = 13 * 8 };
X86Segment segment_of(uint16_t selector);       /* hidden part; unusable when null or not there */
uint64_t segment_base(const InsnCase *c, int seg);  /* at the start of a case */
unsigned code_bits(uint16_t cs);

/* xsave.c */
bool is_xsave(const Insn *i);
/* Moves the components of the image in a window from our places to the host's, and back. */
void xsave_to_native(const InsnCase *c, uint8_t *window);
void xsave_from_native(const InsnCase *c, uint8_t *window);
/* Lets components in their initial state differ in XSTATE_BV (SDM vol. 1 13.6: XINUSE of them is not defined). */
void xsave_tame(const InsnCase *c, uint8_t *native, const uint8_t *guest);

/* gen.c */
const char *row_skip_reason(unsigned op);       /* NULL: ring 3 can run it here */
bool row_in(unsigned op, unsigned bits);        /* does it exist there? */
void case_generate(InsnCase *c, uint64_t seed, unsigned op);
void sequence_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows);
/* How many cases of a hundred have a device in their window. */
void gen_mmio(unsigned percent);
/* gen-program.c: loops, branches, calls, stack operations around random instructions with any memory operand. */
void program_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows);

/* compare.c: true when both agree, or where they may differ. */
bool outcome_same(const InsnCase *c, const InsnOutcome *native, const InsnOutcome *guest, FILE *report);

#endif
