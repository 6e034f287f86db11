/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory and port access behind the inline TLB hit: misses, page crossings, MMIO, watched pages.
 *
 * A crossing translates both pages before it moves a byte. MMIO goes to the memory dispatcher, which takes
 * the machine lock; RAM never does. vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>

#include "target/i386/debug.h"
#include "target/i386/internal.h"

bool x86_ram_dirty_for_write(uint64_t ram_page)
{
    uint8_t d = ram_dirty_get(ram_page);

    if (d != X86_DIRTY_ALL) {
        d = atomic_fetch_or(&ram_dirty_map[ram_page], DIRTY_VGA | DIRTY_MIGRATION);
    }
    return d & DIRTY_CODE;
}

void x86_ram_written(X86CPU *cpu, uint64_t ram_page, unsigned offset, unsigned len)
{
    if (!x86_ram_dirty_for_write(ram_page) && cpu->code_written) {
        cpu->code_written(cpu, ram_page, offset, len);
    }
}

static uint64_t mask_linear(const X86State *st, uint64_t lin)
{
    return x86_long_mode(st) ? lin : (uint32_t)lin;
}

/* ---- one piece inside a page ---- */
static void piece_read(X86CPU *cpu, const X86Xlat *x, void *buf, unsigned len)
{
    if (x->host) {
        memcpy(buf, x->host, len);
        return;
    }
    for (unsigned done = 0; done < len;) {
        unsigned n = 8;
        uint64_t v;

        while (n > len - done || ((x->gpa + done) & (n - 1))) {
            n /= 2;
        }
        if (address_space_ld(x86_memory(cpu), x->gpa + done, &v, n) != MEM_OK) {
            v = ~0ull;
        }
        memcpy((uint8_t *)buf + done, &v, n);
        done += n;
    }
}

static void piece_write(X86CPU *cpu, const X86Xlat *x, const void *buf, unsigned len)
{
    if (x->host) {
        memcpy(x->host, buf, len);
        if (x->notify) {
            x86_ram_written(cpu, x->ram_page, x->gpa & 0xfff, len);
        }
        return;
    }
    for (unsigned done = 0; done < len;) {
        unsigned n = 8;
        uint64_t v = 0;

        while (n > len - done || ((x->gpa + done) & (n - 1))) {
            n /= 2;
        }
        memcpy(&v, (const uint8_t *)buf + done, n);
        address_space_st(x86_memory(cpu), x->gpa + done, v, n);
        done += n;
    }
}

/* Translates [lin, lin+len), at most two pages; returns the length of the first piece. */
static unsigned xlat_range(X86CPU *cpu, unsigned cls, unsigned kind, uint64_t lin, unsigned len, X86Xlat x[2])
{
    unsigned first = MIN(len, 4096 - (lin & 0xfff));

    x86_xlat(cpu, cls, kind, lin, &x[0]);
    if (first < len) {
        x86_xlat(cpu, cls, kind, mask_linear(cpu->st, lin + first), &x[1]);
    }
    return first;
}

static void range_read(X86CPU *cpu, unsigned cls, uint64_t lin, void *buf, unsigned len)
{
    X86Xlat x[2];
    unsigned first = xlat_range(cpu, cls, TLB_READ, lin, len, x);

    x86_watch(cpu, TLB_READ, lin, len);
    piece_read(cpu, &x[0], buf, first);
    if (first < len) {
        piece_read(cpu, &x[1], (uint8_t *)buf + first, len - first);
    }
}

static void range_write(X86CPU *cpu, unsigned cls, uint64_t lin, const void *buf, unsigned len)
{
    X86Xlat x[2];
    unsigned first = xlat_range(cpu, cls, TLB_WRITE, lin, len, x);

    x86_watch(cpu, TLB_WRITE, lin, len);
    piece_write(cpu, &x[0], buf, first);
    if (first < len) {
        piece_write(cpu, &x[1], (const uint8_t *)buf + first, len - first);
    }
}

/* ---- scalar access ---- */
/* Guest memory holds them at any address; one host access each all the same, since other vCPUs look on. */
typedef uint16_t GuestU16 __attribute__((aligned(1), may_alias));
typedef uint32_t GuestU32 __attribute__((aligned(1), may_alias));
typedef uint64_t GuestU64 __attribute__((aligned(1), may_alias));

static uint64_t host_ld(const void *p, unsigned size)
{
    switch (size) {
    case 1: return *(const uint8_t *)p;
    case 2: return *(const volatile GuestU16 *)p;
    case 4: return *(const volatile GuestU32 *)p;
    default: return *(const volatile GuestU64 *)p;
    }
}

static void host_st(void *p, uint64_t v, unsigned size)
{
    switch (size) {
    case 1: *(volatile uint8_t *)p = v; break;
    case 2: *(volatile GuestU16 *)p = v; break;
    case 4: *(volatile GuestU32 *)p = v; break;
    default: *(volatile GuestU64 *)p = v; break;
    }
}

uint64_t x86_ld_class(X86CPU *cpu, unsigned cls, uint64_t lin, unsigned size)
{
    const void *hit = x86_tlb_hit(cpu->st->tlb[cls][TLB_READ], lin, size);
    X86Xlat x;
    uint64_t v = 0;

    if (hit) {
        return host_ld(hit, size);
    }
    if ((lin & 0xfff) > 4096 - size) {
        range_read(cpu, cls, lin, &v, size);
        return v;
    }
    x86_xlat(cpu, cls, TLB_READ, lin, &x);
    x86_watch(cpu, TLB_READ, lin, size);
    if (x.host) {
        return host_ld(x.host, size);
    }
    if (address_space_ld(x86_memory(cpu), x.gpa, &v, size) != MEM_OK) {
        v = ~0ull;
    }
    return size == 8 ? v : v & ((1ull << (size * 8)) - 1);
}

void x86_st_class(X86CPU *cpu, unsigned cls, uint64_t lin, uint64_t v, unsigned size)
{
    void *hit = x86_tlb_hit(cpu->st->tlb[cls][TLB_WRITE], lin, size);
    X86Xlat x;

    if (hit) {
        host_st(hit, v, size);
        return;
    }
    if ((lin & 0xfff) > 4096 - size) {
        range_write(cpu, cls, lin, &v, size);
        return;
    }
    x86_xlat(cpu, cls, TLB_WRITE, lin, &x);
    x86_watch(cpu, TLB_WRITE, lin, size);
    if (!x.host) {
        address_space_st(x86_memory(cpu), x.gpa, v, size);
        return;
    }
    host_st(x.host, v, size);
    if (x.notify) {
        x86_ram_written(cpu, x.ram_page, x.gpa & 0xfff, size);
    }
}

uint64_t x86_ld_slow(X86CPU *cpu, uint64_t lin, unsigned size)
{
    return x86_ld_class(cpu, cpu->st->tlb_class_now, lin, size);
}

void x86_st_slow(X86CPU *cpu, uint64_t lin, uint64_t v, unsigned size)
{
    x86_st_class(cpu, cpu->st->tlb_class_now, lin, v, size);
}

uint64_t x86_sys_ld(X86CPU *cpu, uint64_t linear, unsigned len)
{
    return x86_ld_class(cpu, TLB_KERNEL, linear, len);
}

void x86_sys_st(X86CPU *cpu, uint64_t linear, uint64_t v, unsigned len)
{
    x86_st_class(cpu, TLB_KERNEL, linear, v, len);
}

void x86_sys_probe_write(X86CPU *cpu, uint64_t linear, unsigned len)
{
    X86Xlat x[2];

    xlat_range(cpu, TLB_KERNEL, TLB_WRITE, linear, len, x);
}

void x86_ld_bytes(X86CPU *cpu, uint64_t linear, void *buf, unsigned len)
{
    const void *hit = len && len <= 4096 ? x86_tlb_hit(cpu->st->tlb_rd, linear, len) : NULL;

    if (hit) {
        memcpy(buf, hit, len);
    } else if (len) {
        range_read(cpu, cpu->st->tlb_class_now, linear, buf, len);
    }
}

void x86_st_bytes(X86CPU *cpu, uint64_t linear, const void *buf, unsigned len)
{
    void *hit = len && len <= 4096 ? x86_tlb_hit(cpu->st->tlb_wr, linear, len) : NULL;

    if (hit) {
        memcpy(hit, buf, len);
    } else if (len) {
        range_write(cpu, cpu->st->tlb_class_now, linear, buf, len);
    }
}

void x86_probe(X86CPU *cpu, uint64_t linear, unsigned len, bool write)
{
    X86Xlat x[2];

    if (len && !x86_tlb_hit(write ? cpu->st->tlb_wr : cpu->st->tlb_rd, linear, MIN(len, 4096))) {
        xlat_range(cpu, cpu->st->tlb_class_now, write ? TLB_WRITE : TLB_READ, linear, len, x);
    }
}

void *x86_host_slow(X86CPU *cpu, uint64_t lin, unsigned len, bool write)
{
    X86Xlat x;

    if (!len || (lin & 0xfff) + len > 4096) {
        x86_probe(cpu, lin, len, write);
        return NULL;
    }
    x86_xlat(cpu, cpu->st->tlb_class_now, write ? TLB_WRITE : TLB_READ, lin, &x);
    if (G_UNLIKELY(cpu->watching) && x86_watch_page(cpu, write ? TLB_WRITE : TLB_READ, lin)) {
        return NULL;
    }
    return x.notify ? NULL : x.host;
}

/* ---- segmentation ---- */
G_NORETURN static void linear_fault(X86CPU *cpu, int seg)
{
    x86_raise_err(cpu, seg == SEG_SS ? EXCP_SS : EXCP_GP, 0);
}

/* Limit and type of a protected-mode data access (SDM 5.3, 5.5). */
static bool segment_allows(const X86State *st, const X86Segment *s, uint32_t offset, unsigned size, bool write)
{
    uint64_t last = (uint64_t)offset + (size ? size - 1 : 0);

    if ((st->mode & MODE_PE) && !(st->mode & MODE_VM)) {
        if (s->unusable || !(s->attr & DESC_P)) {
            return false;
        }
        if (s->attr & DESC_CODE ? write || !(s->attr & DESC_R) : write && !(s->attr & DESC_W)) {
            return false;
        }
    }
    if ((s->attr & (DESC_CODE | DESC_E)) == DESC_E) {       /* expand down */
        return offset > s->limit && last <= (s->attr & DESC_B ? 0xffffffffull : 0xffffull);
    }
    return last <= s->limit;
}

/*
 * What an operand's address must be a multiple of (SDM vol. 3 table 6-7, by size). Above 8 bytes it is optional: AMD's
 * CPUs want 16, Intel's nothing.
 */
static unsigned alignment_of(const X86CPU *cpu, unsigned size)
{
    switch (size) {
    case 2: case 4: case 8: return size;
    case 10: return 8;                  /* 80-bit real or BCD */
    case 14: case 94: return 2;         /* x87 environment, state: 16-bit form */
    case 28: case 108: return 4;
    case 16: case 32: case 64: return x86_is_amd(cpu) ? 16 : 1;
    default: return 1;
    }
}

uint64_t x86_linear_slow(X86CPU *cpu, int seg, uint64_t offset, unsigned size, bool write)
{
    const X86State *st = cpu->st;
    const X86Segment *s = &st->seg[seg];
    uint64_t lin;

    if (st->mode & MODE_CS64) {
        lin = offset + (seg >= SEG_FS ? s->base : 0);
        lin = st->mode & MODE_LAM ? x86_lam(st, lin) : lin;
        if (!x86_canonical(st, lin)) {
            linear_fault(cpu, seg);
        }
    } else {
        if (!segment_allows(st, s, offset, size, write)) {
            linear_fault(cpu, seg);
        }
        lin = (uint32_t)(s->base + (uint32_t)offset);
    }
    if ((st->mode & MODE_AC) && (lin & (alignment_of(cpu, size) - 1))) {
        x86_probe(cpu, lin, size, write);               /* page faults come first */
        x86_raise_err(cpu, EXCP_AC, 0);
    }
    if (st->mode & MODE_WATCH) {
        x86_watch_data(cpu, lin, size, write);
    }
    return lin;
}

/* ---- LOCK on what has no plain host address ---- */
void x86_atomic_begin(X86CPU *cpu)
{
    vcpu_exclusive_begin(&cpu->vcpu);
    cpu->atomic_held = true;
}

void x86_atomic_end(X86CPU *cpu)
{
    cpu->atomic_held = false;
    vcpu_exclusive_end(&cpu->vcpu);
}

/* ---- ports (SDM vol. 1 ch. 19) ---- */
void x86_io_check(X86CPU *cpu, uint16_t port, unsigned size)
{
    X86State *st = cpu->st;
    uint32_t map, bits, mask = ((1u << size) - 1) << (port & 7);

    if (!(st->mode & MODE_PE)) {
        return;
    }
    if (!(st->mode & MODE_VM) && x86_cpl(st) <= (st->rflags & FL_IOPL) >> 12) {
        return;
    }
    if (st->tr.unusable || !(st->tr.attr & DESC_P) || ((st->tr.attr >> 8) & 0xd) != 9 || st->tr.limit < 103) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    map = (uint16_t)x86_sys_ld(cpu, st->tr.base + 0x66, 2) + port / 8;
    if (map + 1 > st->tr.limit) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    bits = x86_sys_ld(cpu, st->tr.base + map, 2);
    if (bits & mask) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

uint32_t x86_io_in(X86CPU *cpu, uint16_t port, unsigned size)
{
    uint64_t v;

    if (cpu->st->mode & MODE_IOBP) {
        x86_watch_port(cpu, port, size);
    }
    if (address_space_ld(cpu->vcpu.io, port, &v, size) != MEM_OK) {
        v = ~0ull;
    }
    return size == 4 ? v : v & ((1u << (size * 8)) - 1);
}

void x86_io_out(X86CPU *cpu, uint16_t port, unsigned size, uint32_t v)
{
    if (cpu->st->mode & MODE_IOBP) {
        x86_watch_port(cpu, port, size);
    }
    address_space_st(cpu->vcpu.io, port, v, size);
}
