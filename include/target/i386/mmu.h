/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software MMU (SDM vol. 3 ch. 4): address translation and the TLB that data accesses look in.
 *
 * A direct-mapped table per access class (user, kernel, kernel with AC) and kind (read, write, code); an entry
 * hits when (linear ^ tag) <= 4096 - size, which also refuses accesses that leave the page. Tags are page
 * addresses; an empty entry's tag has index bits that no address looked up there can have, so no linear
 * address, canonical or not, can hit it. Write entries exist only for pages with D set whose RAM may be
 * written without notice. vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#ifndef CLEAT_TARGET_I386_MMU_H
#define CLEAT_TARGET_I386_MMU_H

#include "target/i386/cpu.h"

/* Access as a data load, store, or instruction fetch in TLB class cls, outcome of a translation. */
typedef struct X86Xlat {
    uint64_t gpa;                   /* of the byte asked for */
    uint8_t *host;                  /* host address of that byte; NULL: memory-mapped I/O (or a write to ROM) */
    uint64_t ram_page;              /* of RAM */
    bool notify;                    /* write: call x86_ram_written() after the store */
    bool ram;                       /* RAM, not ROM */
} X86Xlat;

/* Translates or raises the fault; fills the TLB. */
void x86_xlat(X86CPU *cpu, unsigned cls, unsigned kind, uint64_t lin, X86Xlat *x);
/* Without faults or A/D bits, ignoring rights: for debuggers and hypercalls. False: not mapped. */
bool x86_xlat_debug(X86CPU *cpu, uint64_t lin, uint64_t *gpa);
/* A store to RAM that had `notify`: dirty bits and decoded code. */
void x86_ram_written(X86CPU *cpu, uint64_t ram_page, unsigned offset, unsigned len);

/* TLB maintenance. Own vCPU thread, or while the vCPU cannot run. */
void x86_tlb_init(X86State *st);
void x86_tlb_flush(X86CPU *cpu, bool globals);
void x86_tlb_flush_page(X86CPU *cpu, uint64_t lin);
void x86_tlb_flush_memory(X86CPU *cpu);             /* everything, and physical page translations */
/* Drops write entries for one page of RAM (its host address): it has become watched. */
void x86_tlb_protect(X86State *st, const uint8_t *host_page);
/* PAE: loads the four entries from cr3; false: a reserved bit is set (nothing changed). */
bool x86_load_pdptes(X86CPU *cpu, uint64_t cr3);
/* One physical page as walks see it; never NULL. */
const X86PhysPage *x86_phys_page(X86CPU *cpu, uint64_t gpa);

uint64_t x86_ld_slow(X86CPU *cpu, uint64_t lin, unsigned size);
void x86_st_slow(X86CPU *cpu, uint64_t lin, uint64_t v, unsigned size);
uint64_t x86_linear_slow(X86CPU *cpu, int seg, uint64_t offset, unsigned size, bool write);
void *x86_host_slow(X86CPU *cpu, uint64_t lin, unsigned len, bool write);

/* Guest physical memory as this CPU sees it now. */
static inline AddressSpace *x86_memory(const X86CPU *cpu)
{
    return G_UNLIKELY(cpu->st->ev.smm) && cpu->smm_mem ? cpu->smm_mem : cpu->vcpu.mem;
}

static inline unsigned x86_tlb_index(uint64_t lin)
{
    return (lin >> 12) & (X86_TLB_SIZE - 1);
}

static inline void *x86_tlb_hit(const X86TlbEntry *table, uint64_t lin, unsigned size)
{
    const X86TlbEntry *e = &table[x86_tlb_index(lin)];

    if (G_LIKELY((lin ^ e->tag) <= 4096 - size)) {
        return (void *)(uintptr_t)(e->host + (lin ^ e->tag));
    }
    return NULL;
}

#define X86_ACCESS(bits) \
static inline uint##bits##_t x86_ld##bits(X86CPU *cpu, uint64_t linear) \
{ \
    const void *p = x86_tlb_hit(cpu->st->tlb_rd, linear, bits / 8); \
    uint##bits##_t v; \
    if (G_LIKELY(p)) { \
        __builtin_memcpy(&v, p, bits / 8); \
        return v; \
    } \
    return x86_ld_slow(cpu, linear, bits / 8); \
} \
static inline void x86_st##bits(X86CPU *cpu, uint64_t linear, uint##bits##_t v) \
{ \
    void *p = x86_tlb_hit(cpu->st->tlb_wr, linear, bits / 8); \
    if (G_LIKELY(p)) { \
        __builtin_memcpy(p, &v, bits / 8); \
    } else { \
        x86_st_slow(cpu, linear, v, bits / 8); \
    } \
}
X86_ACCESS(8)
X86_ACCESS(16)
X86_ACCESS(32)
X86_ACCESS(64)
#undef X86_ACCESS

static inline void *x86_host(X86CPU *cpu, uint64_t linear, unsigned len, bool write)
{
    void *p = len <= 4096 ? x86_tlb_hit(write ? cpu->st->tlb_wr : cpu->st->tlb_rd, linear, len) : NULL;

    return G_LIKELY(p) ? p : x86_host_slow(cpu, linear, len, write);
}

static inline uint64_t x86_linear(X86CPU *cpu, int seg, uint64_t offset, unsigned size, bool write)
{
    const X86State *st = cpu->st;
    uint64_t lin = offset;

    if (G_LIKELY((st->mode & (MODE_CS64 | MODE_AC | MODE_WATCH | MODE_LAM)) == MODE_CS64)) {
        if (seg >= SEG_FS) {
            return lin + st->seg[seg].base;         /* never in the TLB when not canonical: the miss raises #GP */
        }
        if (seg != SEG_SS || G_LIKELY((uint64_t)((int64_t)(lin << 16) >> 16) == lin)) {
            return lin;
        }
    }
    return x86_linear_slow(cpu, seg, offset, size, write);
}

#endif
