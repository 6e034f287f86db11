/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One vCPU's translated code: chunks of memory, and the way back from a host address.
 *
 * A chunk is a memfd mapped executable; only the chunk being filled has a writable view (W^X), which goes when the
 * next is opened. Links are data (XlTables.link), so code is never changed. Full: everything is dropped. The vCPU's
 * thread only; xl_code_find() also in its signal handlers. Test: tests/insn.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accel/tcg/xl.h"

#define XL_CHUNK (256u << 10)

struct XlCpu *xl_cpu_new(X86CPU *cpu)
{
    struct XlCpu *xc = g_new0(struct XlCpu, 1);
    XlHot *hot = xl_hot(cpu->st);

    xc->chunks = g_ptr_array_new();
    xc->bind = -1;
    hot->slow = (uintptr_t)xl_asm_slow;
    hot->end_insn = (uintptr_t)xl_asm_end;
    hot->exit_rip = (uintptr_t)xl_asm_exit_rip;
    hot->exit_link = (uintptr_t)xl_asm_exit_link;
    hot->vec_up = (uintptr_t)xl_asm_vec_up;
    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        xl_tables(cpu->st)->jump[c][0].rip = ~0ull;
    }
    return xc;
}

static void close_view(struct XlCpu *xc)
{
    if (xc->writable) {
        munmap(xc->writable, XL_CHUNK);
        xc->writable = NULL;
    }
}

static void free_chunk(XlChunk *c)
{
    munmap(c->exec, XL_CHUNK);
    g_array_free(c->codes, TRUE);
    g_array_free(c->starts, TRUE);
    g_free(c);
}

static void drop_chunks(struct XlCpu *xc)
{
    close_view(xc);
    for (unsigned n = 0; n < xc->chunks->len; n++) {
        free_chunk(xc->chunks->pdata[n]);
    }
    g_ptr_array_set_size(xc->chunks, 0);
    xc->used = 0;
}

void xl_cpu_free(X86CPU *cpu)
{
    struct XlCpu *xc = cpu->blocks->xl;

    if (xc) {
        drop_chunks(xc);
        g_ptr_array_free(xc->chunks, TRUE);
        g_free(xc);
        cpu->blocks->xl = NULL;
    }
}

void xl_jumps_flush(X86CPU *cpu, unsigned cls)
{
    struct XlCpu *xc = cpu->blocks->xl;
    XlJump *jump = xl_tables(cpu->st)->jump[cls];

    for (unsigned w = 0; w < XL_JUMPS / 64; w++) {
        for (uint64_t bits = xc->jump_used[cls][w]; bits; bits &= bits - 1) {
            unsigned n = w * 64 + __builtin_ctzll(bits);

            jump[n].rip = n ? 0 : ~0ull;
        }
        xc->jump_used[cls][w] = 0;
    }
}

void xl_cpu_flush(X86CPU *cpu)
{
    struct XlCpu *xc = cpu->blocks->xl;

    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        xl_jumps_flush(cpu, c);
    }
    drop_chunks(xc);
    xc->links = 0;
    xc->bind = -1;
    xc->full = false;
    xc->stats.flushes++;
}

static bool open_chunk(struct XlCpu *xc)
{
    int fd = memfd_create("translated", MFD_CLOEXEC);
    void *x = MAP_FAILED, *w = MAP_FAILED;

    close_view(xc);
    if (fd >= 0 && ftruncate(fd, XL_CHUNK) == 0) {
        x = mmap(NULL, XL_CHUNK, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
        w = x == MAP_FAILED ? MAP_FAILED : mmap(NULL, XL_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (w == MAP_FAILED) {
        if (x != MAP_FAILED) {
            munmap(x, XL_CHUNK);
        }
        return false;
    }
    madvise(x, XL_CHUNK, MADV_DONTFORK);                /* the process does not fork guests */
    madvise(w, XL_CHUNK, MADV_DONTFORK);
    XlChunk *c = g_new0(XlChunk, 1);

    c->exec = x;
    c->codes = g_array_new(FALSE, FALSE, sizeof(XlCode));
    c->starts = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    g_ptr_array_add(xc->chunks, c);
    xc->writable = w;
    xc->used = 0;
    return true;
}

static XlChunk *last_chunk(struct XlCpu *xc)
{
    return xc->chunks->pdata[xc->chunks->len - 1];
}

uint8_t *xl_code_begin(struct XlCpu *xc, size_t max, uint8_t **exec)
{
    if (!xc->writable || xc->used + max > XL_CHUNK) {
        if ((size_t)xc->chunks->len * XL_CHUNK >= tcg_config()->tb_size || !open_chunk(xc)) {
            xc->full = true;
            return NULL;
        }
    }
    *exec = last_chunk(xc)->exec + xc->used;
    return xc->writable + xc->used;
}

void xl_code_end(struct XlCpu *xc, size_t bytes, Block *b, const uint16_t *starts)
{
    XlCode code = { xc->used, bytes, b, last_chunk(xc)->starts->len };

    g_array_append_val(last_chunk(xc)->codes, code);
    g_array_append_vals(last_chunk(xc)->starts, starts, b->count);
    xc->used = (xc->used + bytes + 15) & ~15ul;
    xc->stats.blocks++;
    xc->stats.insns += b->count;
    xc->stats.code_bytes += bytes;
    xc->stats.guest_bytes += b->bytes;
}

static const XlCode *code_in(const XlChunk *c, uint32_t offset)
{
    const XlCode *codes = (const XlCode *)c->codes->data;
    unsigned lo = 0, hi = c->codes->len;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;

        if (codes[mid].offset + codes[mid].bytes <= offset) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < c->codes->len && codes[lo].offset <= offset ? &codes[lo] : NULL;
}

const Insn *xl_code_find(struct XlCpu *xc, uint64_t pc)
{
    for (unsigned n = 0; n < xc->chunks->len; n++) {
        const XlChunk *c = xc->chunks->pdata[n];
        uint64_t offset = pc - (uintptr_t)c->exec;
        const XlCode *code = offset < XL_CHUNK ? code_in(c, offset) : NULL;

        if (code) {
            const uint16_t *starts = (const uint16_t *)c->starts->data + code->starts;

            for (unsigned k = code->block->count; k-- > 0;) {
                if (offset - code->offset >= starts[k]) {
                    return &code->block->insns[k];
                }
            }
        }
    }
    return NULL;
}
