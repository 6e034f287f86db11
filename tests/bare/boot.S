/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the reset vector to kernel_main() in 32-bit protected mode (K32) or 64-bit mode (K64), and the
 * trampoline of application processors (copied to 8000h), which end in ap_main(cpu number), each on its own
 * stack.
 */
#define ROM_IMAGE 0xfffc0000
#define IMAGE_SIZE 0x3f000
#define AP_STACK_SIZE 0x1000

    .section .rom, "ax"
    .code16
rom_start:
    cli
    cld
    lgdtl %cs:rom_gdt_desc - rom_start + 0xf000
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $rom32
    .balign 8
rom_gdt:
    .quad 0
    .quad 0x00cf9b000000ffff    /* 08: 32-bit code */
    .quad 0x00cf93000000ffff    /* 10: data */
    .quad 0x00af9b000000ffff    /* 18: 64-bit code */
rom_gdt_desc:
    .word . - rom_gdt - 1
    .long rom_gdt
    .code32
rom32:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $ROM_IMAGE, %esi
    movl $0x100000, %edi
    movl $IMAGE_SIZE / 4, %ecx
    rep movsl
    movl $entry32, %eax
    jmp *%eax

    .section .reset, "ax"
    .code16
    .byte 0xea                  /* ljmpw $0xf000, $0xf000: rom_start's place in the segment */
    .word 0xf000, 0xf000

    .section .text.start, "ax"
    .code32
    .globl entry32
entry32:
    jmp 1f
    .org 0x500
    .skip 0x20                  /* 100500h: what real.c's a20() may write to */
1:  movl $image_low, %esi
    movl $0x20000, %edi
    movl $low_end, %ecx
    subl %edi, %ecx
    rep movsb
    movl $0x30000, %edi
    movl $snip_end, %ecx
    subl %edi, %ecx
    rep movsb
    movl $bss_start, %edi
    movl $bss_end, %ecx
    subl %edi, %ecx
    xorl %eax, %eax
    rep stosb
    movl $boot_stack_top, %esp
    movl $ap16, %esi
    movl $0x8000, %edi
    movl $ap16_end - ap16, %ecx
    rep movsb
#ifdef __x86_64__
    call make_tables
    call long_mode
    .code64
#endif
    call kernel_main
1:  cli
    hlt
    jmp 1b

#ifdef __x86_64__
    .code32
/* Identity map of 4 GiB: 2 MiB pages, the first of them as 4 KiB pages, of which 30000h..5ffffh are the user's. */
make_tables:
    movl $boot_pdpt + 7, boot_pml4
    movl $boot_pdpt, %edi
    movl $boot_pd + 7, %eax
1:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x1000, %eax
    cmpl $boot_pd + 0x4000, %eax
    jb 1b
    movl $boot_pd, %edi
    movl $0x83, %eax
2:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x200000, %eax
    cmpl $boot_pd + 0x4000, %edi
    jb 2b
    movl $boot_pt + 7, boot_pd
    movl $boot_pt, %edi
    movl $3, %eax
3:  movl %eax, (%edi)
    cmpl $0x30003, %eax
    jb 4f
    cmpl $0x60003, %eax
    jae 4f
    orl $4, (%edi)
4:  addl $8, %edi
    addl $0x1000, %eax
    cmpl $0x200003, %eax
    jb 3b
    ret

long_mode:
    movl %cr4, %eax
    orl $0x620, %eax            /* PAE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    movl $boot_pml4, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x901, %eax            /* SCE, LME, NXE */
    wrmsr
    movl %cr0, %eax
    andl $0x9ffffffb, %eax
    orl $0x80000022, %eax
    movl %eax, %cr0
    ljmpl $0x18, $5f
    .code64
5:  movl (%rsp), %eax
    addl $4, %esp
    jmp *%rax
#endif

/* Copied to 8000h: an application processor starts here in real mode with CS = 800h. */
    .code16
ap16:
    cli
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl %cs:ap_gdt_desc - ap16
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $ap32
    .balign 8
ap_gdt:
    .quad 0
    .quad 0x00cf9b000000ffff
    .quad 0x00cf93000000ffff
    .quad 0x00af9b000000ffff
ap_gdt_desc:
    .word 31
    .long 0x8000 + ap_gdt - ap16
ap16_end:
    .code32
ap32:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $1, %ebx
    lock xaddl %ebx, ap_number
    movl %ebx, %eax
    shll $12, %eax
    leal ap_stacks(%eax), %esp
#ifdef __x86_64__
    call long_mode
    .code64
    movl %ebx, %edi
    subl $8, %esp
    andl $-16, %esp
    call ap_main
#else
    pushl %ebx
    call ap_main
#endif
2:  cli
    hlt
    jmp 2b

    .data
    .globl ap_number
ap_number: .long 1              /* the next application processor's */
    .section .bss.page, "aw", @nobits
    .balign 4096
    .globl boot_pml4, boot_pd, boot_pt, ap_stacks, boot_pdpt
boot_pml4: .skip 4096
boot_pdpt: .skip 4096
boot_pd: .skip 4 * 4096
boot_pt: .skip 4096
ap_stacks: .skip 4 * AP_STACK_SIZE
    .skip 4096
boot_stack_top: .skip 64
    .section .note.GNU-stack, "", @progbits
