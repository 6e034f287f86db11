/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the reset vector to C in 16-bit real mode (built with -DBITS16), 32-bit PAE mode (-m32) or 64-bit mode
 * (-m64), for the boot processor and, through
 * a trampoline at 8000h, for application processors. Real-mode checks come first: their lines start with "16".
 * Memory: IVT 0, page tables 2000h.., trampoline 8000h, stacks up to 70000h, data 10000h; in real mode stacks up to
 * 7000h and f000h, data 9000h.
 */
#define DEBUGCON 0xe9
#define PT_BASE 0x2000

.macro put16 text
    movw $\text - start16, %si
    call print16
.endm

    .section .text.start, "ax"
    .code16
    .globl start16
start16:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ss
    movw $0x7000, %sp
    movw %ax, %es
    movw $0xf000, %ax
    movw %ax, %ds
    put16 msg_pio
    call unreal16
    call timer16
#ifdef BITS16
    jmp enter16
#else
    jmp enter_protected
#endif

/* DS:SI: text ending in 0, to the debug console */
print16:
    lodsb
    testb %al, %al
    jz 1f
    outb %al, $DEBUGCON
    jmp print16
1:  ret

/* Counts five PIT interrupts through the 8259 with vectors at 20h; waits in HLT. */
timer16:
    movb $0x11, %al
    outb %al, $0x20
    outb %al, $0xa0
    movb $0x20, %al
    outb %al, $0x21
    movb $0x28, %al
    outb %al, $0xa1
    movb $4, %al
    outb %al, $0x21
    movb $2, %al
    outb %al, $0xa1
    movb $1, %al
    outb %al, $0x21
    outb %al, $0xa1
    movb $0xfe, %al
    outb %al, $0x21
    movb $0xff, %al
    outb %al, $0xa1
    movw $tick16 - start16, %es:0x20*4
    movw $0xf000, %es:0x20*4+2
    movb $0x34, %al
    outb %al, $0x43
    movb $(1193 & 0xff), %al
    outb %al, $0x40
    movb $(1193 >> 8), %al
    outb %al, $0x40
    xorw %bx, %bx
    sti
1:  hlt
    cmpw $5, %bx
    jb 1b
    cli
    movb $0xff, %al
    outb %al, $0x21
    put16 msg_timer
    ret
tick16:
    pushw %ax
    incw %bx
    movb $0x20, %al
    outb %al, $0x20
    popw %ax
    iret

/* A flat data segment in real mode reads the I/O APIC's version register above 1 MiB. */
unreal16:
    lgdtl %cs:gdt_desc - start16
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    movw $0x10, %cx
    movw %cx, %fs
    andb $0xfe, %al
    movl %eax, %cr0
    movl $0xfec00000, %edi
    movl $1, %fs:(%edi)
    movl %fs:0x10(%edi), %eax
    andl $0xff0000, %eax
    cmpl $0x170000, %eax
    jne 1f
    put16 msg_unreal
1:  movl $0xfee00000, %edi      /* as firmware does: local APIC on, LINT0 takes the 8259 */
    movl $0x1ff, %fs:0xf0(%edi)
    movl $0x700, %fs:0x350(%edi)
    ret

#ifdef BITS16
/* Data and stack segments with base 0 and 4 GiB; the code stays at f000:0. Returns to the near address in %bp. */
flat16:
    lgdtl %cs:gdt_desc - start16
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    movw $0x10, %cx
    movw %cx, %ds
    movw %cx, %es
    movw $0x20, %cx
    movw %cx, %ss
    andl $0xfffffffa, %eax      /* PE, EM off */
    orb $2, %al
    movl %eax, %cr0
    xorw %cx, %cx
    movw %cx, %ds
    movw %cx, %es
    movw %cx, %ss
    movl %cr4, %eax
    orl $0x600, %eax            /* OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    jmpw *%bp

enter16:
    movw $1f - start16, %bp
    jmp flat16
1:  movl $0x7000, %esp
    movl $0x9000, %edi          /* clear data */
    movl $0x5000 / 4, %ecx
    xorl %eax, %eax
    addr32 rep stosl
    movl $ap16, %esi
    movl $0x8000, %edi
    movl $ap16_end - ap16, %ecx
    addr32 rep movsb
    calll bsp_main
    hlt

ap_enter16:
    cld
    xorw %ax, %ax
    movw %ax, %ss
    movl $0xf000, %esp
    movw $1f - start16, %bp
    jmp flat16
1:  calll ap_main
2:  cli
    hlt
    jmp 2b
#endif

enter_protected:
    lgdtl %cs:gdt_desc - start16
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $bsp32

msg_pio: .asciz "16 pio ok\n"
msg_timer: .asciz "16 timer-pic 5\n"
msg_unreal: .asciz "16 unreal mmio ok\n"

    .balign 8
gdt:
    .quad 0
    .quad 0x00cf9b000000ffff    /* 08: 32-bit code */
    .quad 0x00cf93000000ffff    /* 10: data */
    .quad 0x00af9b000000ffff    /* 18: 64-bit code */
    .quad 0x008f93000000ffff    /* 20: 16-bit stack */
gdt_desc:
    .word . - gdt - 1
    .long gdt

    .code32
load_data_segments:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movw %ax, %fs
    movw %ax, %gs
    ret

bsp32:
    movw $0x10, %ax
    movw %ax, %ss
    movl $0x70000, %esp
    call load_data_segments
    cld
    movl $0x10000, %edi         /* clear data */
    movl $0x10000 / 4, %ecx
    xorl %eax, %eax
    rep stosl
    call make_tables
    call copy_trampoline
    jmp enter_paging

#ifdef __x86_64__
/* Identity map of 4 GiB in 2 MiB pages: PML4 2000h, PDPT 3000h, PDs 4000h..7fffh. */
make_tables:
    movl $PT_BASE, %edi
    movl $0x6000 / 4, %ecx
    rep stosl
    movl $PT_BASE + 0x1003, PT_BASE
    movl $0x4003, PT_BASE + 0x1000
    movl $0x5003, PT_BASE + 0x1008
    movl $0x6003, PT_BASE + 0x1010
    movl $0x7003, PT_BASE + 0x1018
#else
/* PAE: PDPT 2000h, PDs 4000h..7fffh. */
make_tables:
    movl $PT_BASE, %edi
    movl $0x6000 / 4, %ecx
    rep stosl
    movl $0x4001, PT_BASE
    movl $0x5001, PT_BASE + 8
    movl $0x6001, PT_BASE + 16
    movl $0x7001, PT_BASE + 24
#endif
    movl $0x4000, %edi
    movl $0x83, %eax
1:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x200000, %eax
    cmpl $0x8000, %edi
    jb 1b
    ret

copy_trampoline:
    movl $ap16, %esi
    movl $0x8000, %edi
    movl $ap16_end - ap16, %ecx
    rep movsb
    ret

/* Paging on; then C: bsp_main() or ap_main(), by whether %esp is the boot processor's. */
enter_paging:
    movl $PT_BASE, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x620, %eax            /* PAE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
#ifdef __x86_64__
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x100, %eax
    wrmsr
#endif
    movl %cr0, %eax
    andl $0xfffffffb, %eax
    orl $0x80000002, %eax
    movl %eax, %cr0
#ifdef __x86_64__
    ljmpl $0x18, $enter_c
    .code64
#endif
enter_c:
#ifdef __x86_64__
    movl %esp, %esp
    cmpq $0x70000, %rsp
#else
    cmpl $0x70000, %esp
#endif
    jne 1f
    call bsp_main
    hlt
1:  call ap_main
2:  cli
    hlt
    jmp 2b

/* Copied to 8000h: an application processor starts here in real mode with CS = 800h. */
    .code16
ap16:
    cli
    xorw %ax, %ax
    movw %ax, %ds
#ifdef BITS16
    .byte 0xea                  /* ljmpw $0xf000, $ap_enter16 */
    .word ap_enter16 - start16, 0xf000
#endif
    lgdtl %cs:ap_gdt_desc - ap16
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $ap32
ap_gdt_desc:
    .word 31
    .long gdt
ap16_end:
    .code32
ap32:
    movw $0x10, %ax
    movw %ax, %ss
    movl $0x60000, %esp
    call load_data_segments
    jmp enter_paging

/* Interrupt stubs: vectors 30h..35h call isr(vector) */
    .text
#ifdef __x86_64__
    .code64
.macro stub n
    .globl isr_stub_\n
isr_stub_\n:
    push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9; push %r10; push %r11
    movl $\n, %edi
    cld
    call isr
    pop %r11; pop %r10; pop %r9; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax
    iretq
.endm
#elif defined(BITS16)
    .code16
.macro stub n
    .globl isr_stub_\n
isr_stub_\n:
    pushal
    pushl $\n
    cld
    calll isr
    addl $4, %esp
    popal
    iretw
.endm
#else
.macro stub n
    .globl isr_stub_\n
isr_stub_\n:
    pushal
    pushl $\n
    cld
    call isr
    addl $4, %esp
    popal
    iretl
.endm
#endif
    stub 48
    stub 49
    stub 50
    stub 51
    stub 52
    stub 53

    .section .reset, "ax"
    .code16
    .byte 0xea                  /* ljmpw $0xf000, $start16 */
    .word 0, 0xf000
    .section .note.GNU-stack, "", @progbits
