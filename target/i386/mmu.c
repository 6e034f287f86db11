/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear to physical: page walks for 32-bit, PAE, 4-level and 5-level paging (SDM vol. 3 ch. 4), and the TLB.
 *
 * A walk reads page tables through x86_phys_page(); rights are judged over all levels, then A and D are set by
 * compare-and-swap, and a lost race walks again. The TLB is emptied, not tagged, when CR3 changes, except for
 * global pages. Large pages enter as 4 KiB pieces; their union is remembered, so that INVLPG can find the pieces.
 * vCPU thread only. Loads and stores that miss: access.c. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>

#include "target/i386/debug.h"
#include "target/i386/internal.h"

enum { PTE_P = 1, PTE_W = 2, PTE_U = 4, PTE_A = 0x20, PTE_D = 0x40, PTE_PS = 0x80, PTE_G = 0x100 };
#define PTE_NX (1ull << 63)
enum { PF_P = 1, PF_W = 2, PF_U = 4, PF_RSVD = 8, PF_ID = 16, PF_PK = 32 };

/* ---- physical pages ---- */
const X86PhysPage *x86_phys_page(X86CPU *cpu, uint64_t gpa)
{
    X86PhysPage *p = &cpu->st->phys[(gpa >> 12) % X86_PHYS_SIZE];
    MemoryPage mp;

    gpa &= ~0xfffull;
    if (p->gpa == (gpa | 1)) {
        return p;
    }
    address_space_page(x86_memory(cpu), gpa, &mp);
    p->gpa = gpa | 1;
    p->host = mp.host;
    p->readonly = mp.readonly;
    p->ram = mp.host && mp.ram && !mp.readonly;
    p->ram_page = mp.ram_page;
    return p;
}

/* ---- TLB ---- */
static uint64_t tlb_empty_tag(unsigned index)
{
    return index ? 0 : 0x1000;
}

void x86_tlb_init(X86State *st)
{
    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        for (unsigned k = 0; k < TLB_KINDS; k++) {
            st->tlb[c][k][0].tag = tlb_empty_tag(0);
        }
    }
}

/* Empties the entries of one table that pick() accepts (NULL: all). */
static void tlb_drop(X86State *st, unsigned c, unsigned k, bool (*pick)(const X86TlbSide *, uint64_t), uint64_t arg)
{
    for (unsigned w = 0; w < X86_TLB_SIZE / 64; w++) {
        for (uint64_t bits = st->tlb_used[c][k][w]; bits; bits &= bits - 1) {
            unsigned i = w * 64 + __builtin_ctzll(bits);

            if (!pick || pick(&st->tlb_side[c][k][i], arg)) {
                st->tlb[c][k][i].tag = tlb_empty_tag(i);
                st->tlb_side[c][k][i].lin = 0;
                st->tlb_used[c][k][w] &= ~(1ull << (i % 64));
            }
        }
    }
}

static void tlb_drop_all(X86State *st, bool (*pick)(const X86TlbSide *, uint64_t), uint64_t arg)
{
    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        for (unsigned k = 0; k < TLB_KINDS; k++) {
            tlb_drop(st, c, k, pick, arg);
        }
    }
    st->tlb_generation++;
}

static bool side_not_global(const X86TlbSide *s, uint64_t arg)
{
    return !(s->lin & TLBS_GLOBAL);
}

static bool side_is_large(const X86TlbSide *s, uint64_t arg)
{
    return s->lin & TLBS_LARGE;
}

void x86_tlb_flush(X86CPU *cpu, bool globals)
{
    tlb_drop_all(cpu->st, globals ? NULL : side_not_global, 0);
    if (globals) {
        cpu->st->tlb_large_mask[0] = cpu->st->tlb_large_mask[1] = 0;
    }
}

void x86_tlb_flush_memory(X86CPU *cpu)
{
    x86_tlb_flush(cpu, true);
    memset(cpu->st->phys, 0, sizeof(cpu->st->phys));
}

void x86_tlb_flush_page(X86CPU *cpu, uint64_t lin)
{
    X86State *st = cpu->st;
    unsigned i = x86_tlb_index(lin);

    if (st->tlb_large_mask[lin >> 63] && !((lin ^ st->tlb_large_base[lin >> 63]) & st->tlb_large_mask[lin >> 63])) {
        tlb_drop_all(st, side_is_large, 0);
    }
    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        for (unsigned k = 0; k < TLB_KINDS; k++) {
            if (!((st->tlb_side[c][k][i].lin ^ lin) >> 12)) {
                st->tlb[c][k][i].tag = tlb_empty_tag(i);
                st->tlb_side[c][k][i].lin = 0;
                st->tlb_used[c][k][i / 64] &= ~(1ull << (i % 64));
            }
        }
    }
    st->tlb_generation++;
}

void x86_tlb_protect(X86State *st, const uint8_t *host_page)
{
    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        for (unsigned w = 0; w < X86_TLB_SIZE / 64; w++) {
            for (uint64_t bits = st->tlb_used[c][TLB_WRITE][w]; bits; bits &= bits - 1) {
                unsigned i = w * 64 + __builtin_ctzll(bits);
                X86TlbEntry *e = &st->tlb[c][TLB_WRITE][i];

                if (e->tag != tlb_empty_tag(i) && e->host == (uintptr_t)host_page) {
                    e->tag = tlb_empty_tag(i);
                }
            }
        }
    }
}

/* One union for each half of the address space: kernel's and user's large pages do not concern each other. */
static void tlb_large_note(X86State *st, uint64_t lin, uint64_t page_mask)
{
    unsigned half = lin >> 63;

    if (!st->tlb_large_mask[half]) {
        st->tlb_large_mask[half] = page_mask;
        st->tlb_large_base[half] = lin;
        return;
    }
    st->tlb_large_mask[half] &= page_mask;
    while ((lin ^ st->tlb_large_base[half]) & st->tlb_large_mask[half]) {
        st->tlb_large_mask[half] <<= 1;
    }
}

/* ---- walks ---- */
typedef struct Walk {
    uint64_t lin, gpa;
    unsigned kind;
    unsigned cls;
    bool user, writable, nx, global, dirty;
    unsigned shift;                 /* of the page: 12, 21, 22, 30 */
    uint8_t pkey;
    int levels;                     /* entries passed, for A bits */
    uint64_t pte_addr[5], pte[5];
    unsigned pte_size;
    uint32_t error;                 /* of a failed walk */
} Walk;

/* What the A20 line lets through. */
static uint64_t a20(const X86CPU *cpu, uint64_t gpa)
{
    return gpa & atomic_load_explicit(&cpu->st->a20_mask, memory_order_relaxed);
}

static uint64_t pte_read(X86CPU *cpu, uint64_t addr, unsigned size)
{
    uint64_t v = 0, gpa = a20(cpu, addr);
    const X86PhysPage *p = x86_phys_page(cpu, gpa);

    if (p->host) {
        const void *h = p->host + (gpa & 0xfff);
        return size == 8 ? *(const volatile uint64_t *)h : *(const volatile uint32_t *)h;
    }
    if (address_space_ld(x86_memory(cpu), gpa, &v, size) != MEM_OK) {
        return 0;
    }
    return v;
}

/* Sets bits in an entry; false: it changed meanwhile. */
static bool pte_set(X86CPU *cpu, uint64_t addr, unsigned size, uint64_t old, uint64_t bits)
{
    uint64_t gpa = a20(cpu, addr);
    const X86PhysPage *p = x86_phys_page(cpu, gpa);
    void *h;
    bool ok;

    if (!p->host) {
        address_space_st(x86_memory(cpu), gpa, old | bits, size);
        return true;
    }
    if (!p->ram) {
        return true;
    }
    h = p->host + (gpa & 0xfff);
    if (size == 8) {
        ok = __atomic_compare_exchange_n((uint64_t *)h, &old, old | bits, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    } else {
        uint32_t o = old;
        ok = __atomic_compare_exchange_n((uint32_t *)h, &o, o | (uint32_t)bits, false,
                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    if (ok && ram_dirty_get(p->ram_page) != X86_DIRTY_ALL) {
        x86_ram_written(cpu, p->ram_page, gpa & 0xfff, size);
    }
    return ok;
}

static bool walk_fail(Walk *w, uint32_t error)
{
    w->error = error;
    return false;
}

/* Takes one entry into the walk: present and reserved bits, rights so far. */
static bool walk_step(X86CPU *cpu, Walk *w, uint64_t addr, uint64_t reserved)
{
    uint64_t pte = pte_read(cpu, addr, w->pte_size);

    if (!(pte & PTE_P)) {
        return walk_fail(w, 0);
    }
    w->pte_addr[w->levels] = addr;
    w->pte[w->levels++] = pte;
    if (pte & reserved) {
        return walk_fail(w, PF_P | PF_RSVD);
    }
    w->writable &= (pte & PTE_W) != 0;
    w->user &= (pte & PTE_U) != 0;
    w->nx |= w->pte_size == 8 && (pte & PTE_NX);
    return true;
}

static void walk_leaf(Walk *w, unsigned shift, uint64_t base)
{
    uint64_t pte = w->pte[w->levels - 1];

    w->shift = shift;
    w->gpa = (base & ~((1ull << shift) - 1)) | (w->lin & ((1ull << shift) - 1));
    w->dirty = pte & PTE_D;
    w->global = pte & PTE_G;
    w->pkey = (pte >> 59) & 15;
}

static uint64_t reserved_high(X86CPU *cpu)
{
    unsigned bits = x86_phys_bits(cpu);
    uint64_t r = 0x000fffffffffffffull & ~((1ull << bits) - 1);

    return (cpu->st->efer & EFER_NXE) ? r : r | PTE_NX;
}

static bool walk_long(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;
    uint64_t high = reserved_high(cpu), table = st->cr3;
    unsigned shift = (st->cr4 & CR4_LA57) ? 48 : 39;
    bool has_1g = x86_has(cpu, X86_FEAT_PDPE1GB);

    w->pte_size = 8;
    for (;; shift -= 9) {
        uint64_t addr = (table & 0x000ffffffffff000ull) + ((w->lin >> shift) & 511) * 8;
        uint64_t reserved = high;
        bool large_ok = shift == 21 || (shift == 30 && has_1g);

        if (shift > 21 && !large_ok) {
            reserved |= PTE_PS;
        }
        if (!walk_step(cpu, w, addr, reserved)) {
            return false;
        }
        table = w->pte[w->levels - 1];
        if (shift == 12 || (large_ok && (table & PTE_PS))) {
            break;
        }
    }
    if (shift > 12 && (table & ((1ull << shift) - 1) & ~0x1fffull)) {
        return walk_fail(w, PF_P | PF_RSVD);
    }
    walk_leaf(w, shift, table & 0x000ffffffffff000ull);
    return true;
}

static bool walk_pae(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;
    uint64_t high = reserved_high(cpu) | 0x7ff0000000000000ull, table = st->pdpte[(w->lin >> 30) & 3];
    unsigned shift = 21;

    w->pte_size = 8;
    if (!(table & PTE_P)) {
        return walk_fail(w, 0);
    }
    for (;; shift -= 9) {
        uint64_t addr = (table & 0x000ffffffffff000ull) + ((w->lin >> shift) & 511) * 8;

        if (!walk_step(cpu, w, addr, high)) {
            return false;
        }
        table = w->pte[w->levels - 1];
        if (shift == 12 || (table & PTE_PS)) {
            break;
        }
    }
    if (shift > 12 && (table & 0x1fe000)) {
        return walk_fail(w, PF_P | PF_RSVD);
    }
    walk_leaf(w, shift, table & 0x000ffffffffff000ull);
    return true;
}

/* Bits of a 4-MiB entry that stand for no address: 21, and those of 20:13 beyond PSE-36 (SDM table 4-4). */
static uint32_t pse_reserved(const X86CPU *cpu)
{
    unsigned extra = CLAMP(x86_phys_bits(cpu), 32, 40) - 32;  /* address bits above 31, from bit 13 on */

    return x86_has(cpu, X86_FEAT_PSE36) ? 0x200000 | (0x1fe000 & ~(((1u << extra) - 1) << 13)) : 0x3fe000;
}

static bool walk_32(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;
    uint32_t pde;
    uint64_t base;

    w->pte_size = 4;
    if (!walk_step(cpu, w, (st->cr3 & 0xfffff000) + ((w->lin >> 22) & 1023) * 4, 0)) {
        return false;
    }
    pde = w->pte[0];
    if ((pde & PTE_PS) && (st->cr4 & CR4_PSE)) {
        if (pde & pse_reserved(cpu)) {
            return walk_fail(w, PF_P | PF_RSVD);
        }
        base = (pde & 0xffc00000) | ((uint64_t)(pde & 0x1fe000) << 19);
        walk_leaf(w, 22, base);
        return true;
    }
    if (!walk_step(cpu, w, (pde & 0xfffff000) + ((w->lin >> 12) & 1023) * 4, 0)) {
        return false;
    }
    walk_leaf(w, 12, w->pte[1] & 0xfffff000);
    return true;
}

/* What the page's protection key adds to the error code, beside any other reason (SDM 3A 4.7). */
static uint32_t walk_pkey(X86CPU *cpu, const Walk *w, bool user_access)
{
    const X86State *st = cpu->st;
    unsigned rights;

    if (!(st->efer & EFER_LMA) || !(st->cr4 & (w->user ? CR4_PKE : CR4_PKS)) || (user_access && !w->user)) {
        return 0;
    }
    rights = ((uint32_t)(w->user ? st->xs.pkru : st->pkrs) >> (w->pkey * 2)) & 3;
    return (rights & 1) || ((rights & 2) && w->kind == TLB_WRITE && (user_access || (st->cr0 & CR0_WP))) ? PF_PK : 0;
}

/* Rights of the whole walk against the access (SDM 4.6). */
static bool walk_judge(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;
    bool user_access = w->cls == TLB_USER;
    uint32_t pk;

    if (w->kind == TLB_CODE) {
        if (w->nx || user_access != w->user) {
            if (w->nx || user_access || (st->cr4 & CR4_SMEP)) {
                return walk_fail(w, PF_P);
            }
        }
        return true;
    }
    pk = walk_pkey(cpu, w, user_access);
    if (pk || (user_access && !w->user)
        || (!user_access && w->user && (st->cr4 & CR4_SMAP) && w->cls != TLB_KERNEL_AC)
        || (w->kind == TLB_WRITE && !w->writable && (user_access || (st->cr0 & CR0_WP)))) {
        return walk_fail(w, PF_P | pk);
    }
    return true;
}

/* A on every level, D on the leaf of a write. False: an entry changed, walk again. */
static bool walk_mark(X86CPU *cpu, Walk *w)
{
    for (int i = 0; i < w->levels; i++) {
        uint64_t bits = PTE_A;

        if (i == w->levels - 1 && w->kind == TLB_WRITE) {
            bits |= PTE_D;
            w->dirty = true;
        }
        if ((w->pte[i] & bits) != bits && !pte_set(cpu, w->pte_addr[i], w->pte_size, w->pte[i], bits)) {
            return false;
        }
    }
    return true;
}

static bool walk_tables(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;

    w->levels = 0;
    w->user = w->writable = true;
    w->nx = false;
    if (st->efer & EFER_LMA) {
        return walk_long(cpu, w);
    }
    w->lin = (uint32_t)w->lin;
    return (st->cr4 & CR4_PAE) ? walk_pae(cpu, w) : walk_32(cpu, w);
}

static bool walk(X86CPU *cpu, Walk *w)
{
    X86State *st = cpu->st;

    if (!(st->cr0 & CR0_PG)) {
        w->gpa = (uint32_t)w->lin;
        w->shift = 12;
        w->user = w->writable = w->dirty = true;
        w->global = w->nx = false;
        return true;
    }
    do {
        if (!walk_tables(cpu, w) || !walk_judge(cpu, w)) {
            w->error |= w->kind == TLB_WRITE ? PF_W : 0;
            w->error |= w->cls == TLB_USER ? PF_U : 0;
            if (w->kind == TLB_CODE && ((st->cr4 & CR4_SMEP) || ((st->cr4 & CR4_PAE) && (st->efer & EFER_NXE)))) {
                w->error |= PF_ID;
            }
            return false;
        }
    } while (!walk_mark(cpu, w));
    return true;
}

bool x86_load_pdptes(X86CPU *cpu, uint64_t cr3)
{
    uint64_t v[4], reserved = (~((1ull << x86_phys_bits(cpu)) - 1)) | 0x1e6;

    for (int i = 0; i < 4; i++) {
        v[i] = pte_read(cpu, (cr3 & 0xffffffe0) + i * 8, 8);
        if ((v[i] & PTE_P) && (v[i] & reserved)) {
            return false;
        }
    }
    memcpy(cpu->st->pdpte, v, sizeof(v));
    return true;
}

/* ---- filling ---- */
static void tlb_fill(X86CPU *cpu, const Walk *w, const X86PhysPage *p, unsigned kind, bool fast)
{
    X86State *st = cpu->st;
    unsigned i = x86_tlb_index(w->lin);
    uint64_t page = w->lin & ~0xfffull;
    X86TlbSide *s = &st->tlb_side[w->cls][kind][i];

    s->gpa = w->gpa & ~0xfffull;
    s->lin = page | TLBS_VALID | (w->global && (st->cr4 & CR4_PGE) ? TLBS_GLOBAL : 0)
        | (w->shift > 12 ? TLBS_LARGE : 0);
    st->tlb[w->cls][kind][i].tag = fast ? page : tlb_empty_tag(i);
    st->tlb[w->cls][kind][i].host = (uintptr_t)p->host;
    st->tlb_used[w->cls][kind][i / 64] |= 1ull << (i % 64);
}

static bool page_is_watched(const X86CPU *cpu, unsigned kind, uint64_t lin)
{
    return G_UNLIKELY(cpu->watching) && x86_watch_page(cpu, kind, lin);
}

/* What a page with known gpa allows for an access of this kind; marks RAM dirty for a coming write. */
static bool xlat_page(X86CPU *cpu, const X86PhysPage *p, unsigned kind, uint64_t gpa, X86Xlat *x)
{
    x->gpa = gpa;
    x->ram_page = p->ram_page;
    x->ram = p->ram;
    x->notify = false;
    x->host = p->host ? p->host + (gpa & 0xfff) : NULL;
    if (!p->host) {
        return false;
    }
    if (kind == TLB_WRITE) {
        if (!p->ram) {
            x->host = NULL;
            return false;
        }
        x->notify = !x86_ram_dirty_for_write(p->ram_page);
        return !x->notify;
    }
    return true;
}

void x86_xlat(X86CPU *cpu, unsigned cls, unsigned kind, uint64_t lin, X86Xlat *x)
{
    X86State *st = cpu->st;
    const X86TlbSide *s = &st->tlb_side[cls][kind][x86_tlb_index(lin)];
    Walk w = { .lin = lin, .kind = kind, .cls = cls };
    const X86PhysPage *p;
    bool fast;

    if ((s->lin & TLBS_VALID) && !((s->lin ^ lin) >> 12)) {
        p = x86_phys_page(cpu, s->gpa);
        fast = xlat_page(cpu, p, kind, s->gpa | (lin & 0xfff), x);
        if (fast && !page_is_watched(cpu, kind, lin)) {
            st->tlb[cls][kind][x86_tlb_index(lin)] = (X86TlbEntry) {
                .tag = lin & ~0xfffull, .host = (uintptr_t)p->host };
        }
        return;
    }
    if ((st->efer & EFER_LMA) && !x86_canonical(st, lin)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (!walk(cpu, &w)) {
        x86_raise_pf(cpu, lin, w.error);
    }
    if (w.shift > 12) {
        tlb_large_note(st, w.lin, ~((1ull << w.shift) - 1));
    }
    w.gpa = a20(cpu, w.gpa);
    p = x86_phys_page(cpu, w.gpa);
    fast = xlat_page(cpu, p, kind, w.gpa, x) && !page_is_watched(cpu, kind, lin);
    tlb_fill(cpu, &w, p, kind, fast);
}

bool x86_xlat_debug(X86CPU *cpu, uint64_t lin, uint64_t *gpa)
{
    Walk w = { .lin = lin, .kind = TLB_READ, .cls = TLB_KERNEL_AC };

    memset(cpu->st->phys, 0, sizeof(cpu->st->phys));    /* only a CPU that runs in software keeps it up to date */
    if (!(cpu->st->cr0 & CR0_PG)) {
        *gpa = a20(cpu, (uint32_t)lin);
        return true;
    }
    if (!walk_tables(cpu, &w)) {
        return false;
    }
    *gpa = a20(cpu, w.gpa);
    return true;
}
