/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K32: start a snippet, catch what ends it. Start: ip cs flags sp ss ds es fs gs regs[8] (4 bytes each). */
    .text
    .code32
    .globl run
run:
    pushl %ebp
    pushl %ebx
    pushl %esi
    pushl %edi
    movl 20(%esp), %esi
    movl %esp, saved_sp
    testl $0x20000, 8(%esi)
    jnz 1f
    testb $3, 4(%esi)
    jnz 2f
    lss 12(%esi), %esp          /* same ring: IRET does not switch stacks */
    jmp 3f
1:  pushl 32(%esi)
    pushl 28(%esi)
    pushl 20(%esi)
    pushl 24(%esi)
2:  pushl 16(%esi)
    pushl 12(%esi)
3:  pushl 8(%esi)
    pushl 4(%esi)
    pushl (%esi)
    pushl 36(%esi)              /* ax cx dx bx - bp si di */
    pushl 40(%esi)
    pushl 44(%esi)
    pushl 48(%esi)
    pushl 52(%esi)
    pushl 56(%esi)
    pushl 60(%esi)
    pushl 64(%esi)
    testl $0x20000, 8(%esi)
    jnz 4f
    pushl 20(%esi)
    movw 24(%esi), %es
    movw 28(%esi), %fs
    movw 32(%esi), %gs
    popl %ds
4:  popal
    .globl run_iret
run_iret:
    iretl

    .globl catch
catch:                          /* on the stack: vector, error code, frame */
    pushal
    pushl %ds
    pushl %es
    pushl %fs
    pushl %gs
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    cld
    movl %esp, %esi
    movl %ss, %eax
    larl %eax, %eax
    testl $0x400000, %eax
    jnz 1f
    movzwl %si, %esi            /* a 16-bit stack */
1:  movl $frame, %edi
    movl $23, %ecx
2:  movl %ss:(%esi), %eax
    movl %eax, (%edi)
    addl $4, %esi
    addl $4, %edi
    decl %ecx
    jnz 2b
    subl $23 * 4, %esi
    movl %esi, frame_sp
    movw %ss, frame_ss
    .globl catch_done
catch_done:                     /* back to run()'s caller; frame[] is filled */
    movl $0x10, %eax
    movl %eax, %ss
    movl saved_sp, %esp
    movl %eax, %fs
    movl %eax, %gs
    pushl $2
    popfl
    call catch_record
    popl %edi
    popl %esi
    popl %ebx
    popl %ebp
    ret

    .globl vectors
    .balign 16
vectors:
    .set n, 0
    .rept 256
    .balign 16
    .if n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21
    .else
    pushl $0
    .endif
    pushl $n
    jmp catch
    .set n, n + 1
    .endr

    .globl df_entry
df_entry:                       /* the double-fault task: error code on its stack; the victim is in the main TSS */
    call catch_df
    clts
    pushl $0                    /* leave the nested state: NT off, TR is set again by C */
    popfl
    movl $0x10, %eax
    movl %eax, %ss
    movl saved_sp, %esp
    popl %edi
    popl %esi
    popl %ebx
    popl %ebp
    ret

    .bss
    .globl frame, frame_sp, frame_ss, saved_sp
saved_sp: .long 0
frame: .skip 24 * 4
frame_sp: .long 0
frame_ss: .long 0
    .section .note.GNU-stack, "", @progbits
