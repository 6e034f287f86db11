/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of CPL-0 snippets and of entries from outer rings; slack above, since the catcher reads past a
 * short frame.
 */
    .bss
    .balign 16
    .skip 4096
    .globl kstack_top, estack_top
kstack_top:
    .skip 128
    .skip 4096
estack_top:
    .skip 128
    .section .note.GNU-stack, "", @progbits
