/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debugger's view of a guest CPU: its points as the software CPU looks at them, linear memory, registers.
 *
 * Points of the debugger (DebugPoint, include/system/debug.h) and the guest's own debug registers are kept apart: these
 * functions know both, so that one look is enough on the slow way of an access, and the debugger's come first.
 * Watched pages have no fast TLB entry, so whoever watches nothing pays nothing. Test: tests/unit/test-debug.c.
 */
#ifndef CLEAT_TARGET_I386_DEBUG_H
#define CLEAT_TARGET_I386_DEBUG_H

#include "target/i386/cpu.h"

/*
 * The debugger's points from now on: borrowed until the next call. While the vCPU is stopped. Also to be called with
 * the same points when VCpu.debug_step changed, since both are in MODE_DEBUG.
 */
void x86_debug_set_points(X86CPU *cpu, const DebugPoint *points, unsigned n);
/* The debugger's breakpoint that lies first in [lin, lin + len), NULL: none. The vCPU's thread. */
const DebugPoint *x86_debug_break_in(const X86CPU *cpu, uint64_t lin, unsigned len);

/*
 * May accesses of this kind (TLB_READ, TLB_WRITE) to this linear page be of interest? A page with any watchpoint is
 * watched for writes, since a read-modify-write goes by the write entry alone. Only if cpu->watching.
 */
bool x86_watch_page(const X86CPU *cpu, unsigned kind, uint64_t lin);
/* An access is being made: notes what it hits (vcpu.debug_stop) and has the run loop look after the instruction. */
void x86_watch_access(X86CPU *cpu, unsigned kind, uint64_t lin, unsigned len);
static inline void x86_watch(X86CPU *cpu, unsigned kind, uint64_t lin, unsigned len)
{
    if (G_UNLIKELY(cpu->watching)) {
        x86_watch_access(cpu, kind, lin, len);
    }
}

/*
 * Linear memory as the stopped vCPU would see it, without faults, rights or A/D bits. Writes go to ROM too and drop
 * decoded code. False: some page is not mapped; what lies before it has been copied. Any accelerator; its state must
 * be here (vcpus_get_state()).
 */
bool x86_debug_read(X86CPU *cpu, uint64_t lin, void *buf, size_t len);
bool x86_debug_write(X86CPU *cpu, uint64_t lin, const void *buf, size_t len);

/* Text for people, appended to out (debug-print.c). The stopped vCPU's state is here. */
void x86_print_registers(X86CPU *cpu, GString *out);
void x86_print_apic(X86CPU *cpu, GString *out);
void x86_print_tlb(X86CPU *cpu, GString *out);
void x86_print_mem(X86CPU *cpu, GString *out);

#endif
