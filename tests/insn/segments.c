/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segment descriptors that both worlds have: those of the host's GDT that LAR and LSL show to ring 3, and an LDT of
 * our own with 16-bit code, small, expand-down, read-only and absent data segments (SDM vol. 3 3.4). Some hosts have
 * no 32-bit code segment, no 16-bit ones, or take modify_ldt() without effect: the guest's descriptors then lack them
 * too, and there are no cases of 32- or 16-bit code. See insn-test.h.
 */
#include <asm/ldt.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "insn-test.h"

enum { KIND_DATA, KIND_DOWN, KIND_CODE, KIND_CONFORMING };

/* One entry a line, from index 1: base, limit (in pages where pages), kind, big, read only or not readable, absent. */
typedef struct Entry {
    uint32_t base, limit;
    uint8_t kind;
    bool pages, big, plain, absent;
} Entry;
static const Entry ldt[] = {
    { CODE_AT, 0xffff, KIND_CODE, false, false, false, false },
    { DATA_AT, 0xffff, KIND_DATA, false, false, false, false },
    { DATA_AT, DATA_SIZE - 1, KIND_DATA, false, true, false, false },
    { DATA_AT, DATA_SIZE - 1, KIND_DATA, false, true, true, false },
    { DATA_AT - 0x1000, 0xfff, KIND_DOWN, false, true, false, false },
    { DATA_AT, 0x3ff, KIND_DOWN, false, false, false, false },
    { 0, 0xfffff, KIND_CODE, true, true, true, false },
    { 0, 0xfffff, KIND_DATA, true, true, false, true },
    { DATA_AT + 0x800, 0x7fe, KIND_DATA, false, true, false, false },
    { CODE_AT, 0xfff, KIND_CODE, false, true, false, false },
    { CODE_AT, 0xffff, KIND_CODE, false, false, true, false },
    { 0, 0xfffff, KIND_CODE, true, true, false, false },
};
_Static_assert(G_N_ELEMENTS(ldt) == SEL_LDT_LAST / 8, "last selector");
_Static_assert((G_N_ELEMENTS(ldt) + 1) * 8 == SEGMENTS_LDT, "size");

/* Index 1 must be 64-bit kernel code, for the handlers here; what else ring 3 cannot see is its own affair. */
static uint64_t gdt[SEGMENTS_GDT / 8] = { 0, 0x00af9b000000ffff, 0x00af9b000000ffff, 0x00cf93000000ffff };
static bool installed[G_N_ELEMENTS(ldt)];

/* What ring 3 may know of a descriptor: access rights and limit. */
static bool host_rights(uint16_t selector, uint32_t *rights, uint32_t *limit)
{
    uint32_t ar = 0, last = 0;
    bool ok;

    __asm__ volatile("lar %2, %0" : "+r"(ar), "=@ccz"(ok) : "r"((uint32_t)selector) : "cc");
    __asm__ volatile("lsl %1, %0" : "+r"(last) : "r"((uint32_t)selector) : "cc");
    *rights = ar;
    *limit = last;
    return ok;
}

static void entry_install(unsigned index, const Entry *e)
{
    struct user_desc d = {
        .entry_number = index, .base_addr = e->base, .limit = e->limit, .seg_32bit = e->big, .contents = e->kind,
        .read_exec_only = e->plain, .limit_in_pages = e->pages, .seg_not_present = e->absent,
    };

    syscall(SYS_modify_ldt, 0x11, &d, sizeof(d));
}

static void gdt_copy(void)
{
    for (unsigned n = 1; n < G_N_ELEMENTS(gdt); n++) {
        uint32_t rights, limit;

        if (host_rights(n << 3 | 3, &rights, &limit)) {
            limit = rights & DESC_G ? limit >> 12 : limit;
            gdt[n] = (uint64_t)((rights & 0xf0ff00) | (limit & 0xf0000)) << 32 | (limit & 0xffff);
        }
    }
}

void segments_init(void)
{
    gdt_copy();
    for (size_t n = 0; n < G_N_ELEMENTS(ldt); n++) {
        uint32_t rights, limit;

        entry_install(n + 1, &ldt[n]);
        installed[n] = host_rights((n + 1) << 3 | 7, &rights, &limit);
    }
}

/* As modify_ldt() makes them: DPL 3, accessed. */
static uint64_t entry_bits(const Entry *e)
{
    uint64_t hi = DESC_S | 3 << DESC_DPL_SHIFT | DESC_A | e->kind << 10 | (e->plain ? 0 : DESC_W) |
                  (e->absent ? 0 : DESC_P) | (e->big ? DESC_B : 0) | (e->pages ? DESC_G : 0);

    hi |= (e->base >> 16 & 0xff) | (e->base & 0xff000000) | (e->limit & 0xf0000);
    return hi << 32 | (e->base & 0xffff) << 16 | (e->limit & 0xffff);
}

void segments_write(uint8_t *gdt_out, uint8_t *ldt_out)
{
    memcpy(gdt_out, gdt, sizeof(gdt));
    memset(ldt_out, 0, SEGMENTS_LDT);
    for (size_t n = 0; n < G_N_ELEMENTS(ldt); n++) {
        uint64_t v = installed[n] ? entry_bits(&ldt[n]) : 0;

        memcpy(ldt_out + 8 * (n + 1), &v, 8);
    }
}

static uint64_t descriptor_of(uint16_t selector)
{
    unsigned n = selector >> 3;

    if (selector & 4) {
        return n >= 1 && n <= G_N_ELEMENTS(ldt) && installed[n - 1] ? entry_bits(&ldt[n - 1]) : 0;
    }
    return n < G_N_ELEMENTS(gdt) ? gdt[n] : 0;
}

bool segment_there(uint16_t selector)
{
    return descriptor_of(selector) != 0;
}

bool segments_have(unsigned bits)
{
    return bits == 64 || (bits == 32 ? segment_there(SEL_CODE32) : segment_there(SEL_CODE16));
}

X86Segment segment_of(uint16_t selector)
{
    uint64_t d = descriptor_of(selector);
    uint32_t hi = d >> 32;
    X86Segment s = { .selector = selector, .unusable = true };

    if (d) {
        s.unusable = false;
        s.base = (uint32_t)((d >> 16 & 0xffff) | (hi & 0xff) << 16 | (hi & 0xff000000));
        s.limit = (d & 0xffff) | (hi & 0xf0000);
        if (hi & DESC_G) {
            s.limit = s.limit << 12 | 0xfff;
        }
        s.attr = hi & 0xf0ff00;
    }
    return s;
}

unsigned code_bits(uint16_t cs)
{
    uint32_t hi = descriptor_of(cs) >> 32;

    return hi & DESC_L ? 64 : hi & DESC_B ? 32 : 16;
}

uint64_t segment_base(const InsnCase *c, int seg)
{
    if (c->bits == 64) {
        return seg == SEG_GS ? GS_BASE : 0;
    }
    return segment_of(c->start.sel[seg]).base;
}
