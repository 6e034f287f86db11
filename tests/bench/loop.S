/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 64 KiB ROM for bench-interp.py: from the reset vector to flat 32-bit protected mode, ROUNDS times a loop of five
 * integer instructions, then isa-debug-exit (port f4h).
 */
        .code16
        .globl _start
_start:
start16:
        lgdtl   %cs:gdt_pointer - start16
        movl    %cr0, %eax
        orb     $1, %al
        movl    %eax, %cr0
        ljmpl   $8, $0xffff0000 + start32 - start16
        .code32
start32:
        movl    $ROUNDS, %ecx
1:      addl    %ecx, %eax
        xorl    %eax, %edx
        leal    3(%edx), %ebx
        decl    %ecx
        jnz     1b
        xorl    %eax, %eax
        outb    %al, $0xf4
        hlt
        .balign 8
gdt:    .quad   0, 0x00cf9b000000ffff
gdt_pointer:
        .word   15
        .long   0xffff0000 + gdt - start16
        .org    0xfff0, 0xff
        .code16
        jmp     start16
        .org    0x10000, 0xff
