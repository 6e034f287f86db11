/* SPDX-License-Identifier: GPL-2.0-or-later */
/* la57_switch(cr3, on): CR4.LA57 changes only with paging off, so through 32-bit code. */
    .text
    .code64
    .globl la57_switch
la57_switch:
    pushq %rbx
    pushq $0x58                 /* CS32 */
    leaq 1f(%rip), %rax
    pushq %rax
    lretq
    .code32
1:  movl %cr0, %eax
    andl $0x7fffffff, %eax
    movl %eax, %cr0
    movl %cr4, %eax
    andl $~0x1000, %eax
    testl %esi, %esi
    jz 2f
    orl $0x1000, %eax
2:  movl %eax, %cr4
    movl %edi, %cr3
    movl %cr0, %eax
    orl $0x80000000, %eax
    movl %eax, %cr0
    ljmp $0x08, $3f
    .code64
3:  popq %rbx
    ret
    .section .note.GNU-stack, "", @progbits
