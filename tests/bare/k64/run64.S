/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K64: start a snippet, catch what ends it. Start: ip cs flags sp ss ds es fs gs regs[16] (8 bytes each). */
    .text
    .code64
    .globl run
run:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, saved_sp
    pushq 32(%rdi)
    pushq 24(%rdi)
    pushq 16(%rdi)
    pushq 8(%rdi)
    pushq (%rdi)
    movw 40(%rdi), %ds
    movw 48(%rdi), %es
    movq 72(%rdi), %rax
    movq 80(%rdi), %rcx
    movq 88(%rdi), %rdx
    movq 96(%rdi), %rbx
    movq 112(%rdi), %rbp
    movq 120(%rdi), %rsi
    movq 136(%rdi), %r8
    movq 144(%rdi), %r9
    movq 152(%rdi), %r10
    movq 160(%rdi), %r11
    movq 168(%rdi), %r12
    movq 176(%rdi), %r13
    movq 184(%rdi), %r14
    movq 192(%rdi), %r15
    movq 128(%rdi), %rdi
    .globl run_iret
run_iret:
    iretq

    .globl catch
catch:                          /* on the stack: vector, error code, frame */
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rbx
    pushq %rsp
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movl %ds, %eax
    pushq %rax
    movl %es, %eax
    pushq %rax
    movl %fs, %eax
    pushq %rax
    movl %gs, %eax
    pushq %rax
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    cld
    movq %rsp, %rsi
    movl $frame, %edi
    movl $27, %ecx
    rep movsq
    leaq 22 * 8(%rsp), %rax
    movq %rax, frame_sp
    movl $0x10, %eax
    movl %eax, %ss
    movq saved_sp, %rsp
    pushq $2
    popfq
    call catch_record
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret

    .globl vectors
    .balign 16
vectors:
    .set n, 0
    .rept 256
    .balign 16
    .if n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21
    .else
    pushq $0
    .endif
    pushq $n
    jmp catch
    .set n, n + 1
    .endr

    .bss
    .balign 8
    .globl frame, frame_sp, saved_sp
saved_sp: .quad 0
frame: .skip 28 * 8
frame_sp: .quad 0
    .section .note.GNU-stack, "", @progbits
