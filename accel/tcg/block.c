/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoded blocks: runs of instructions inside one page, kept per vCPU and found by host address and mode.
 *
 * A block ends at a row marked so, at a repeated string instruction, at its page's end or after BLOCK_INSNS.
 * A block is stale when its page's generation has moved. An instruction that straddles pages, or lies outside RAM and
 * ROM, is decoded each time (`odd`).
 * The vCPU's thread only. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>
#include <sys/mman.h>

#include "accel/tcg/xl.h"
#include "trace-accel_tcg.h"
#include "target/i386/mmu.h"

#define CHUNK_BYTES (256u << 10)

/* ---- the table ---- */
static Block **bucket_of(struct X86BlockCache *bc, const uint8_t *host)
{
    return &bc->bucket[(uint64_t)(uintptr_t)host * 0x9e3779b97f4a7c15ull >> (64 - bc->bits)];
}

/* Four times as many chains, when they hold two blocks on average. */
static void table_grow(struct X86BlockCache *bc)
{
    Block **old = bc->bucket;
    unsigned n = 1u << bc->bits;

    if (bc->blocks < 2 * n || bc->bits >= BLOCK_BITS_MAX) {
        return;
    }
    bc->bits = MIN(bc->bits + 2, BLOCK_BITS_MAX);
    bc->bucket = g_new0(Block *, 1u << bc->bits);
    for (unsigned i = 0; i < n; i++) {
        for (Block *b = old[i], *next; b; b = next) {
            Block **to = bucket_of(bc, b->host);

            next = b->hash_next;
            b->hash_next = *to;
            *to = b;
        }
    }
    g_free(old);
}

/* ---- storage ---- */
struct X86BlockCache *block_cache_new(X86CPU *cpu)
{
    struct X86BlockCache *bc = g_new0(struct X86BlockCache, 1);

    bc->cpu = cpu;
    bc->chunks = g_ptr_array_new();
    bc->bits = BLOCK_BITS_MIN;
    bc->bucket = g_new0(Block *, 1u << bc->bits);
    bc->odd = g_aligned_alloc0(1, sizeof(Block) + sizeof(Insn), 64);
    bc->limit = tcg_config()->tb_size;
    return bc;
}

void block_cache_flush(struct X86BlockCache *bc)
{
    if (bc->xl) {
        xl_cpu_flush(bc->cpu);
    }
    memset(bc->jump, 0, sizeof(bc->jump));
    memset(bc->bucket, 0, sizeof(Block *) << bc->bits);
    bc->blocks = 0;
    bc->chunk = NULL;
    bc->chunk_used = 0;
    bc->total = 0;
}

void block_cache_free(struct X86BlockCache *bc)
{
    for (unsigned i = 0; i < bc->chunks->len; i++) {
        munmap(bc->chunks->pdata[i], CHUNK_BYTES);
    }
    g_ptr_array_free(bc->chunks, TRUE);
    g_aligned_free(bc->odd);
    g_free(bc->bucket);
    g_free(bc);
}

/* The next chunk: one already mapped, or a new one; when there is none to be had, all blocks go and the first is
 * reused. */
static bool next_chunk(struct X86BlockCache *bc)
{
    size_t index = bc->total / CHUNK_BYTES;
    void *p;

    if (bc->total + CHUNK_BYTES > bc->limit && bc->chunks->len) {
        block_cache_flush(bc);
        index = 0;
    }
    if (index >= bc->chunks->len) {
        p = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            block_cache_flush(bc);
            index = 0;
            if (!bc->chunks->len) {
                return false;
            }
        } else {
            g_ptr_array_add(bc->chunks, p);
        }
    }
    bc->chunk = bc->chunks->pdata[index];
    bc->chunk_used = 0;
    bc->total += CHUNK_BYTES;
    return true;
}

static Block *block_alloc(struct X86BlockCache *bc, unsigned count)
{
    size_t bytes = sizeof(Block) + count * sizeof(Insn);
    Block *b;

    if ((!bc->chunk || bc->chunk_used + bytes > CHUNK_BYTES) && !next_chunk(bc)) {
        return NULL;
    }
    b = (Block *)(bc->chunk + bc->chunk_used);
    bc->chunk_used += bytes;
    return b;
}

/* ---- odd blocks ---- */
static Block *odd_block(X86CPU *cpu, uint64_t lin)
{
    Block *b = cpu->blocks->odd;

    x86_fetch_insn(cpu, lin, &b->insns[0]);
    b->host = NULL;
    b->count = 1;
    b->bytes = b->insns[0].length;
    return b;
}

/* ---- decoding into the cache ---- */
static unsigned decode_run(X86CPU *cpu, const uint8_t *bytes, unsigned offset, unsigned avail, Insn *out,
                           unsigned *used)
{
    unsigned n = 0, at = 0;
    bool more, end = false;

    while (n < BLOCK_INSNS && !end && at < avail) {
        end = x86_decode_for(cpu, bytes + at, avail - at, &out[n], &more);
        if (more) {
            break;
        }
        out[n].page_offset = offset + at;
        at += out[n++].length;
    }
    *used = MIN(at, avail);
    return n;
}

static Block *publish(struct X86BlockCache *bc, const uint8_t *host, uint32_t mode, unsigned cls, const Insn *insns,
                      unsigned n)
{
    Block *b = block_alloc(bc, n), **bucket;

    if (!b) {
        return NULL;
    }
    table_grow(bc);
    bc->blocks++;
    bucket = bucket_of(bc, host);
    b->host = host;
    b->mode = mode & BLOCK_MODE;
    b->cls = cls;
    b->hits = 0;
    b->tried = false;
    b->native = 0;
    b->count = n;
    memcpy(b->insns, insns, n * sizeof(Insn));
    b->hash_next = *bucket;
    *bucket = b;
    return b;
}

/* For lists of what tests reach: the row of each instruction that enters the cache. */
static void trace_rows(const Insn *insns, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        if (insns[k].op) {
            trace_tcg_row(x86_mnemonic(&insns[k]), x86_row(&insns[k])->line);
        }
    }
}

static Block *decode_block(X86CPU *cpu, const X86Xlat *x, uint64_t lin)
{
    uint8_t copy[1024];
    unsigned offset = lin & 0xfff, avail = MIN(4096 - offset, sizeof(copy)), n, used;
    uint8_t *host = x->host;
    Insn insns[BLOCK_INSNS];
    CodePage *page = NULL;
    uint32_t gen = 0;
    Block *b;

    do {
        if (x->ram) {
            page = code_page_protect(cpu, x->ram_page, host - offset);
            gen = page->gen;
        }
        memcpy(copy, host, avail);
        n = decode_run(cpu, copy, offset, avail, insns, &used);
        if (!n) {
            return odd_block(cpu, lin);
        }
    } while (page && (!code_page_mark(page, gen, offset, used) || memcmp(copy, host, used)));
    trace_rows(insns, n);
    b = publish(cpu->blocks, host, cpu->st->mode, cpu->st->tlb_class_now, insns, n);
    if (!b) {
        return odd_block(cpu, lin);
    }
    b->page = page;
    b->gen = gen;
    b->bytes = used;
    return b;
}

static bool block_is(const Block *b, const uint8_t *host, const X86State *st)
{
    return b->host == host && b->mode == (st->mode & BLOCK_MODE) && b->cls == st->tlb_class_now &&
           (!b->page || b->page->gen == b->gen);
}

static Block *block_find(X86CPU *cpu, uint64_t lin)
{
    struct X86BlockCache *bc = cpu->blocks;
    X86Xlat x;
    Block **p, *b;

    x86_fetch_check(cpu);
    x86_xlat(cpu, x86_code_class(cpu->st), TLB_CODE, lin, &x);
    if (!x.host) {
        return odd_block(cpu, lin);
    }
    p = bucket_of(bc, x.host);
    while ((b = *p)) {
        if (block_is(b, x.host, cpu->st)) {
            return b;
        }
        if (b->page && b->page->gen != b->gen) {
            *p = b->hash_next;                          /* stale: out of the chain */
            bc->blocks--;
        } else {
            p = &b->hash_next;
        }
    }
    return decode_block(cpu, &x, lin);
}

Block *block_lookup(X86CPU *cpu, const uint8_t *host)
{
    for (Block *b = *bucket_of(cpu->blocks, host); b; b = b->hash_next) {
        if (block_is(b, host, cpu->st)) {
            return b;
        }
    }
    return NULL;
}

Block *block_get(X86CPU *cpu)
{
    const X86State *st = cpu->st;
    uint64_t lin = x86_code_linear(st);
    const X86TlbEntry *e = &st->tlb_cd[x86_tlb_index(lin)];
    Block **jump = &cpu->blocks->jump[(lin ^ lin >> 12) % JUMP_CACHE], *b = *jump;

    if (G_LIKELY(e->tag == (lin & ~0xfffull) && b &&
                 block_is(b, (const uint8_t *)(uintptr_t)(e->host + (lin & 0xfff)), st))) {
        return b;
    }
    b = block_find(cpu, lin);
    if (b->host) {
        *jump = b;
    }
    return b;
}
