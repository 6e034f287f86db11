/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real mode: run_real(start, unreal limit descriptor or 0). Protected mode is left through 16-bit segments;
 * each IVT entry leads to real_catch, which writes down everything, goes back to protected mode and
 * returns.
 */
    .section .low, "ax"
    .code16
low_base:
real_enter:                     /* in 16-bit protected mode, base LOW_BASE: PE off, then a far jump to real mode */
    movl %cr0, %eax
    andb $0xfe, %al
    movl %eax, %cr0
    ljmp $0x2000, $real_mode - low_base
real_mode:
    lidtl %cs:real_idt - low_base
    movw %cs, %ax
    movw %ax, %ds
    lssw real_ss_sp - low_base, %sp
    pushw real_flags - low_base
    pushw real_cs - low_base
    pushw real_ip - low_base
    movw real_es - low_base, %es
    movw real_fs - low_base, %fs
    movw real_gs - low_base, %gs
    movl real_regs - low_base + 0, %eax
    movl real_regs - low_base + 4, %ecx
    movl real_regs - low_base + 8, %edx
    movl real_regs - low_base + 12, %ebx
    movl real_regs - low_base + 20, %ebp
    movl real_regs - low_base + 24, %esi
    movl real_regs - low_base + 28, %edi
    pushw real_ds - low_base
    popw %ds
    iretw

    .balign 8
real_vectors:
    .set n, 0
    .rept 256
    pushw $n
    jmp real_catch
    .balign 8
    .set n, n + 1
    .endr

real_catch:                     /* stack: vector, IP, CS, FLAGS */
    pushal
    pushw %ds
    pushw %es
    movw %cs, %ax
    movw %ax, %es
    cld
    movw %sp, %si
    movw $real_frame - low_base, %di
    movw $22, %cx               /* es ds, 8 registers, vector ip cs flags */
    rep movsw %ss:(%si), %es:(%di)
    movw %es, %ax
    movw %ax, %ds
    movw %ss, real_frame_ss - low_base
    movw %sp, real_frame_sp - low_base
    movw %fs, real_frame_fs - low_base
    movw %gs, real_frame_gs - low_base
    lgdtl pm_gdt - low_base
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $back32

    .balign 4
real_idt: .word 0x3ff
    .long 0
    .globl pm_gdt, real_ip, real_frame, real_frame_ss, real_frame_sp, real_frame_fs, real_frame_gs, real_vectors
pm_gdt: .word 1023
    .long gdt
real_ip: .long 0
real_cs: .long 0
real_flags: .long 0
real_ss_sp: .word 0
    .word 0
real_ds: .long 0
real_es: .long 0
real_fs: .long 0
real_gs: .long 0
real_regs: .skip 32
real_frame: .skip 48
real_frame_ss: .long 0
real_frame_sp: .long 0
real_frame_fs: .long 0
real_frame_gs: .long 0

    .text
    .code32
    .globl real_switch
real_switch:                    /* (selector whose limit the data segments keep) */
    pushl %ebp
    pushl %ebx
    pushl %esi
    pushl %edi
    movl %esp, saved_real_sp
    movl 20(%esp), %eax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %fs
    movw %ax, %gs
    movl $0x80, %eax            /* a 16-bit stack in any case */
    movw %ax, %ss
    ljmp $0x78, $real_enter - low_base
back32:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %fs
    movw %ax, %gs
    movw %ax, %ss
    movl saved_real_sp, %esp
    pushl $2
    popfl
    popl %edi
    popl %esi
    popl %ebx
    popl %ebp
    ret
    .bss
saved_real_sp: .long 0
    .section .note.GNU-stack, "", @progbits
