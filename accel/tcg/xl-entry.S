/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The border between C and translated code (register plan and hot words: xl.h).
 *
 * rsp is at X86State in translated code, on the thread's stack in C. No routine here keeps a guest flag in EFLAGS:
 * they are in the image.
 */
#include "accel/tcg/xl-layout.h"

#define XSTATE_BV (XL_XS + 512)
#define YMMH (XL_XS + 576)
#define OPMASK (XL_XS + 1088)
#define ZMMH (XL_XS + 1152)
#define HI16 (XL_XS + 1664)

        .text

.macro save_gprs
        movq    %r14, 0(%rsp)
        movq    %rcx, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rbx, 24(%rsp)
        movq    %r13, 32(%rsp)
        movq    %rbp, 40(%rsp)
        movq    %rsi, 48(%rsp)
        movq    %rdi, 56(%rsp)
        movq    %r8, 64(%rsp)
        movq    %r9, 72(%rsp)
        movq    %r10, 80(%rsp)
        movq    %r11, 88(%rsp)
        movq    %r12, 96(%rsp)
.endm

.macro load_gprs
        movq    0(%rsp), %r14
        movq    8(%rsp), %rcx
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rbx
        movq    32(%rsp), %r13
        movq    40(%rsp), %rbp
        movq    48(%rsp), %rsi
        movq    56(%rsp), %rdi
        movq    64(%rsp), %r8
        movq    72(%rsp), %r9
        movq    80(%rsp), %r10
        movq    88(%rsp), %r11
        movq    96(%rsp), %r12
.endm

/* ---- vector and x87 state, by level ---- */
.macro ymm_high op
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .ifc \op, load
        vinsertf128 $1, YMMH + 16 * \n(%rsp), %ymm\n, %ymm\n
        .else
        vextractf128 $1, %ymm\n, YMMH + 16 * \n(%rsp)
        .endif
        .endr
.endm

.macro zmm_parts op
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        .ifc \op, load
        kmovq   OPMASK + 8 * \n(%rsp), %k\n
        .else
        kmovq   %k\n, OPMASK + 8 * \n(%rsp)
        .endif
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .ifc \op, load
        vinsertf64x4 $1, ZMMH + 32 * \n(%rsp), %zmm\n, %zmm\n
        .else
        vextractf64x4 $1, %zmm\n, ZMMH + 32 * \n(%rsp)
        .endif
        .endr
        .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        .ifc \op, load
        vmovups HI16 + 64 * (\n - 16)(%rsp), %zmm\n
        .else
        vmovups %zmm\n, HI16 + 64 * (\n - 16)(%rsp)
        .endif
        .endr
.endm

/*
 * rsp at the state: level eax (from none) to memory, and the host's registers as C wants them. Returns to r15 without
 * a stack. Keeps eax; clobbers rcx, rdx, rsi, rdi.
 */
vec_save:
        movq    XL_XS + 8(%rsp), %rcx           /* FIP, FDP, FOP are the guest's, the mask is not the host's */
        movq    XL_XS + 16(%rsp), %rdx
        movl    XL_XS + 28(%rsp), %esi
        movzwl  XL_XS + 6(%rsp), %edi
        fxsave64 XL_XS(%rsp)
        movq    %rcx, XL_XS + 8(%rsp)
        movq    %rdx, XL_XS + 16(%rsp)
        movl    %esi, XL_XS + 28(%rsp)
        movw    %di, XL_XS + 6(%rsp)
        movl    $3, %ecx
        cmpl    $2, %eax
        jb      2f
        movl    $7, %ecx
        je      1f
        movl    $0xe7, %ecx
        zmm_parts save
1:      ymm_high save
        vzeroupper
2:      orq     %rcx, XSTATE_BV(%rsp)
        fninit
        ldmxcsr host_mxcsr(%rip)
        jmpq    *%r15

/* Raises the level in the host's registers from XL_LEVEL to eax, which is at least that. Returns to r15. */
vec_load:
        cmpl    $0, XL_LEVEL(%rsp)
        jne     1f
        fxrstor64 XL_XS(%rsp)
1:      cmpl    $2, %eax
        jb      3f
        testb   $0xe0, XSTATE_BV(%rsp)          /* VEX rows clear what is above 256 bits: it must be there */
        jz      1f
        movl    $3, %eax
1:      cmpl    $2, XL_LEVEL(%rsp)
        jae     2f
        ymm_high load
2:      cmpl    $3, %eax
        jb      3f
        cmpl    $3, XL_LEVEL(%rsp)
        jae     3f
        zmm_parts load
3:      movl    %eax, XL_LEVEL(%rsp)
        jmpq    *%r15

        .section .rodata
        .align  4
host_mxcsr:
        .long   0x1f80
        .text

/* call *XL_FN_VEC_UP; .long level: comes back behind it. Only rax and r15 are clobbered. */
        .globl  xl_asm_vec_up
        .hidden xl_asm_vec_up
        .type   xl_asm_vec_up, @function
xl_asm_vec_up:
        popq    %r15
        movl    (%r15), %eax
        addq    $4, %r15
        jmp     vec_load

/* ---- in and out ---- */
/* XlExit xl_enter(X86State *st, uint64_t code) */
        .globl  xl_enter
        .hidden xl_enter
        .type   xl_enter, @function
xl_enter:
        .cfi_startproc
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        subq    $8, %rsp
        movq    %rsp, XL_C_STACK(%rdi)
        movq    %rdi, %rsp
        movq    %rsi, XL_TMP(%rsp)
        load_gprs
        jmpq    *XL_TMP(%rsp)
        .cfi_endproc

/* rax: what is returned. State is at rsp, guest registers not saved yet. */
leave_block:
        movq    %rax, %r14                      /* after save_gprs of r14 */
        movl    XL_LEVEL(%rsp), %eax
        testl   %eax, %eax
        jz      1f
        leaq    1f(%rip), %r15
        movl    $0, XL_LEVEL(%rsp)
        jmp     vec_save
1:      movq    %r14, %rax
        movq    XL_C_STACK(%rsp), %rsp
        addq    $8, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        retq

/* rax: where the guest goes on. */
        .globl  xl_asm_exit_rip
        .hidden xl_asm_exit_rip
        .type   xl_asm_exit_rip, @function
xl_asm_exit_rip:
        movq    %rax, XL_RIP(%rsp)
        save_gprs
        xorl    %eax, %eax
        jmp     leave_block

/* eax: number of the link slot */
        .globl  xl_asm_exit_link
        .hidden xl_asm_exit_link
        .type   xl_asm_exit_link, @function
xl_asm_exit_link:
        movq    %rax, XL_ARG(%rsp)
        save_gprs
        movl    $1, %eax
        jmp     leave_block

/* A signal handler sent the thread here; XL_FAULT_PC is where it was. */
        .globl  xl_asm_fault
        .hidden xl_asm_fault
        .type   xl_asm_fault, @function
xl_asm_fault:
        cld
        save_gprs
        movl    $2, %eax
        jmp     leave_block

/* After a call with an Insn's address behind it: everything to the state, and function(state, insn) in C. Uses 1:. */
.macro call_interpreter function
        popq    %r15
        movq    %r15, XL_RESUME(%rsp)
        save_gprs
        movl    XL_LEVEL(%rsp), %eax
        movl    %eax, XL_RESUME_LEVEL(%rsp)
        testl   %eax, %eax
        jz      1f
        movl    $0, XL_LEVEL(%rsp)
        leaq    1f(%rip), %r15
        jmp     vec_save
1:      movq    %rsp, %rbx
        movq    %rsp, %rdi
        movq    XL_RESUME(%rsp), %rsi
        movq    (%rsi), %rsi
        movq    XL_C_STACK(%rsp), %rsp
        callq   \function
        movq    %rbx, %rsp
.endm

/* call *XL_FN_SLOW; .quad insn: the interpreter runs it, then the block goes on behind. */
        .globl  xl_asm_slow
        .hidden xl_asm_slow
        .type   xl_asm_slow, @function
xl_asm_slow:
        call_interpreter xl_c_slow
        testl   %eax, %eax
        jnz     2f
        movl    XL_RESUME_LEVEL(%rsp), %eax
        testl   %eax, %eax
        jz      1f
        leaq    1f(%rip), %r15
        jmp     vec_load
1:      load_gprs
        movq    XL_RESUME(%rsp), %r15
        addq    $8, %r15
        jmpq    *%r15
2:      xorl    %eax, %eax
        jmp     leave_block

/* call *XL_FN_END; .quad insn: the interpreter runs it, then C goes on. */
        .globl  xl_asm_end
        .hidden xl_asm_end
        .type   xl_asm_end, @function
xl_asm_end:
        call_interpreter xl_c_end
        xorl    %eax, %eax
        jmp     leave_block

        .section .note.GNU-stack, "", @progbits
