/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a debugger asks of an accelerator: points to stop at, single steps, and why a vCPU stopped.
 *
 * The debugger (gdbstub/) changes points and steps only while every vCPU is stopped; the rows of the
 * accelerator table that do it are debug_insert, debug_remove and debug_step (include/accel/accel.h). A vCPU that
 * comes to a point or ends its step fills its VCpu.debug_stop and returns VCPU_RUN_DEBUG; the machine then
 * stops in RUN_STATE_DEBUG. The guest's own debug registers are another matter (target/i386): where both
 * would act on one instruction, the debugger's point comes first. Tests: tests/gdb/, tests/unit/test-debug.c.
 */
#ifndef CLEAT_SYSTEM_DEBUG_H
#define CLEAT_SYSTEM_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

/* Numbered as gdb's packets Z0..Z4. */
typedef enum DebugKind {
    DEBUG_BREAK_SOFT,           /* any number of them */
    DEBUG_BREAK_HARD,           /* as many as the accelerator has registers for; tcg: any number */
    DEBUG_WATCH_WRITE,
    DEBUG_WATCH_READ,           /* where hardware has none, reads and writes */
    DEBUG_WATCH_ACCESS,
    DEBUG_KINDS
} DebugKind;

/*
 * addr: linear, as the vCPU it was asked on sees it; the point holds for every vCPU. A breakpoint stops
 * before the instruction that begins there; its len means nothing. A watchpoint stops after the instruction that
 * touched [addr, addr + len), len at least 1.
 */
typedef struct DebugPoint {
    DebugKind kind;
    uint64_t addr, len;
} DebugPoint;

/* How to step, numbered as gdb's qqemu.sstepbits. */
enum { DEBUG_STEP_ON = 1,       /* stop after one instruction, or at the first one of the handler it led to */
       DEBUG_STEP_NOIRQ = 2,    /* take no interrupts, NMIs and SMIs meanwhile */
       DEBUG_STEP_NOTIMER = 4 };/* virtual time stands still meanwhile (the debugger sees to that) */

typedef enum DebugWhy { DEBUG_WHY_NONE, DEBUG_WHY_STEP, DEBUG_WHY_BREAK, DEBUG_WHY_WATCH } DebugWhy;

/* Written by the vCPU's thread, read and cleared by the debugger while the vCPU is stopped. */
typedef struct DebugStop {
    DebugWhy why;
    DebugKind kind;             /* of the point: BREAK and WATCH */
    uint64_t addr;              /* of the point: BREAK and WATCH */
} DebugStop;

#endif
