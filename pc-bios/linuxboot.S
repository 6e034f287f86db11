/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option ROM that boots -kernel under firmware: a PnP ROM (PnP BIOS 1.0A ch. 3) whose boot entry vector fetches
 * kernel, initrd, command line and set-up code through fw_cfg and enters the set-up code in real mode
 * (Documentation/arch/x86/boot.rst). The emulator has laid out all addresses: hw/i386/linuxboot.c.
 *
 * Blobs come by fw_cfg's DMA, which reaches all memory, or, without it, byte by byte through the data port with ES
 * widened to 4 GiB. The ROM may be write-protected: what varies is on the firmware's stack.
 * scripts/romgen.py fills in size and checksums. Test: tests/boot/test-firmware.py.
 */
    .code16
    .text

.set FW_SELECTOR, 0x510
.set FW_DATA, 0x511
.set FW_DMA_LOW, 0x518          /* the high half is left 0: descriptors are below 1 MiB */
.set FW_ID, 0x01
.set ID_HAS_DMA, 2
.set KERNEL_ADDR, 0x07
.set INITRD_ADDR, 0x0a
.set CMDLINE_ADDR, 0x13
.set SETUP_ADDR, 0x16
.set DMA_SELECT_READ, 0x0a
.set DMA_ERROR, 1
.set STACK_GAP, 16              /* between the set-up code's stack and what is above it */

rom:
    .byte 0x55, 0xaa
    .byte 0                     /* length in blocks of 512 */
    .byte 0xe9                  /* jmp, in the long form: offset 3 is the init vector */
    .word init - (. + 2)
    .org 0x18
    .word 0                     /* no PCI structure: this ROM is on no card */
    .word pnp

pnp:
    .ascii "$PnP"
    .byte 1                     /* revision */
    .byte (pnp_end - pnp) / 16
    .word 0                     /* no further header */
    .byte 0
    .byte 0                     /* checksum */
    .long 0                     /* device id */
    .word maker, product
    .byte 0, 0x80, 2            /* class: other mass storage */
    .byte 0xe4                  /* DDIM, may be shadowed, read-cacheable, initial program load */
    .word 0, 0                  /* boot connection, disconnect: none */
    .word boot
    .word 0, 0
pnp_end:

maker:
    .asciz "Cleat"
product:
    .asciz "Linux from fw_cfg"
failed:
    .asciz "linuxboot: fw_cfg did not give the kernel\r\n"

    .balign 8
gdt:
    .quad 0
    .quad 0x00cf93000000ffff    /* 8: 4 GiB of data */
gdt_end:

/* Called in POST. AX: an IPL device is attached. */
init:
    movw $0x20, %ax
    lretw

/* Called by the firmware to boot. Never returns: INT 18h tries the next device. */
boot:
    cli
    cld
    movw $KERNEL_ADDR, %bp
    call load_blob
    movw $INITRD_ADDR, %bp
    call load_blob
    movw $CMDLINE_ADDR, %bp
    call load_blob
    movw $SETUP_ADDR, %bp
    call load_blob

    movw $CMDLINE_ADDR, %ax
    call read_number
    movl %eax, %ecx
    movw $SETUP_ADDR, %ax
    call read_number
    subl %eax, %ecx             /* the stack ends below the command line */
    subw $STACK_GAP, %cx
    shrl $4, %eax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %fs
    movw %ax, %gs
    movw %ax, %ss
    movzwl %cx, %esp
    addw $0x20, %ax             /* the set-up code begins behind its boot sector */
    pushw %ax
    pushw $0
    lretw

/* eax = the 32-bit item with key ax. Changes dx. */
read_number:
    movw $FW_SELECTOR, %dx
    outw %ax, %dx
    movw $FW_DATA, %dx
    pushw %cx
    xorl %eax, %eax
    movw $4, %cx
1:  inb %dx, %al
    rorl $8, %eax
    loop 1b
    popw %cx
    ret

/* Loads a blob: item bp is its address, bp + 1 its length; its bytes are one more, or 11h and 12h. Changes all. */
load_blob:
    movw %bp, %ax
    call read_number
    movl %eax, %edi
    incw %bp
    movw %bp, %ax
    call read_number
    movl %eax, %ecx
    testl %eax, %eax
    jz 3f
    incw %bp                    /* command line and set-up code: the bytes are the next item; */
    cmpw $KERNEL_ADDR + 2, %bp
    jne 1f
    movw $0x11, %bp
1:  cmpw $INITRD_ADDR + 2, %bp  /* kernel and initrd: elsewhere */
    jne 2f
    movw $0x12, %bp
2:  movw $FW_ID, %ax
    call read_number
    testb $ID_HAS_DMA, %al
    jz load_by_port
    jmp load_by_dma
3:  ret

/* bp: key, edi: address, ecx: length. The descriptor is built on the stack: control, length, address, big-endian. */
load_by_dma:
    bswapl %edi
    pushl %edi
    pushl $0
    bswapl %ecx
    pushl %ecx
    movzwl %bp, %eax
    shll $16, %eax
    movb $DMA_SELECT_READ, %al
    bswapl %eax
    pushl %eax
    movw %sp, %si
    movw %ss, %ax
    movzwl %ax, %eax
    shll $4, %eax
    movzwl %si, %edx
    addl %edx, %eax
    bswapl %eax
    movw $FW_DMA_LOW, %dx
    outl %eax, %dx
1:  movl %ss:(%si), %eax
    bswapl %eax
    testl $DMA_ERROR, %eax
    jnz fail
    testl %eax, %eax
    jnz 1b
    addw $16, %sp
    ret

load_by_port:
    call widen_es
    movw $FW_SELECTOR, %dx
    movw %bp, %ax
    outw %ax, %dx
    movw $FW_DATA, %dx
    .byte 0x67, 0xf3, 0x6c          /* addr32 rep insb, which not every assembler takes in 16-bit code */
    ret

/* ES = base 0, limit 4 GiB, by a moment in protected mode. Changes eax, bx. */
widen_es:
    movw %cs, %ax
    movzwl %ax, %eax
    shll $4, %eax
    addl $gdt, %eax
    pushl %eax
    pushw $gdt_end - gdt - 1
    movw %sp, %bx
    lgdtl %ss:(%bx)
    addw $6, %sp
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    movw $8, %bx
    movw %bx, %es
    andb $0xfe, %al
    movl %eax, %cr0
    xorw %bx, %bx
    movw %bx, %es
    ret

fail:
    movw $failed, %si
1:  movb %cs:(%si), %al
    incw %si
    testb %al, %al
    jz 2f
    movb $0x0e, %ah             /* teletype */
    movw $7, %bx
    int $0x10
    jmp 1b
2:  sti
    int $0x18
    jmp 2b
