/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a guest CPU as gdb knows them: numbers, sizes, values, and the XML that tells gdb of them.
 *
 * Numbers are QEMU's (0 rax .. 65 mxcsr); the upper halves of vectors, masks and pkru follow where the CPU model has
 * them. Values are little-endian bytes. The vCPU is stopped and its state is here. Machine lock.
 * Test: tests/unit/test-gdb.c.
 */
#ifndef CLEAT_TARGET_I386_GDB_H
#define CLEAT_TARGET_I386_GDB_H

#include "target/i386/cpu.h"

#define X86_GDB_REG_MAX 32          /* bytes of the longest register */

/* Bytes of register n; 0: there is no such register. */
unsigned x86_gdb_reg_size(const X86CPU *cpu, unsigned n);
/* Copies its value to buf and returns its size; 0: there is no such register. */
unsigned x86_gdb_reg_read(X86CPU *cpu, unsigned n, uint8_t buf[X86_GDB_REG_MAX]);
/* Sets it from x86_gdb_reg_size() bytes; false: no such register, or not a value that the CPU could have now. */
bool x86_gdb_reg_write(X86CPU *cpu, unsigned n, const uint8_t *buf);
/* The value of a register of up to 64 bits by its name ("rip", "cr3"); false: there is none. */
bool x86_gdb_reg_by_name(X86CPU *cpu, const char *name, uint64_t *v);
/* The target description; the caller frees it. */
char *x86_gdb_target_xml(const X86CPU *cpu);

#endif
