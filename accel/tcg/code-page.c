/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of RAM hold decoded code, and what a write to them does.
 *
 * A page becomes a code page when a vCPU decodes from it: DIRTY_CODE is cleared and every vCPU's write translations
 * of it go, with all other vCPUs held, so that no store that passed its check earlier can still be in flight. From
 * then on writers call code_page_written(). The code lock (a leaf) guards records; generations are read without it.
 * Any thread. Test: tests/unit/test-x86cpu.c.
 */
#include <glib.h>

#include "accel/tcg/tcg-internal.h"

/* One for the process, as the RAM address space is. */
static struct {
    pthread_mutex_t lock;
    GHashTable *pages;              /* ram_page -> CodePage */
} code = { .lock = PTHREAD_MUTEX_INITIALIZER };

void code_pages_init(void)
{
    if (!code.pages) {
        code.pages = g_hash_table_new(g_direct_hash, g_direct_equal);
    }
}

static CodePage *page_record(uint64_t ram_page)
{
    CodePage *p = g_hash_table_lookup(code.pages, (gpointer)(uintptr_t)ram_page);

    if (!p) {
        p = g_new0(CodePage, 1);
        p->ram_page = ram_page;
        g_hash_table_insert(code.pages, (gpointer)(uintptr_t)ram_page, p);
    }
    return p;
}

CodePage *code_page_protect(X86CPU *cpu, uint64_t ram_page, uint8_t *host_page)
{
    bool others = vcpu_count() > 1, fresh;
    CodePage *p;

    pthread_mutex_lock(&code.lock);
    p = page_record(ram_page);
    fresh = ram_dirty_get(ram_page) & DIRTY_CODE;
    pthread_mutex_unlock(&code.lock);
    if (!fresh) {
        return p;
    }
    if (others) {
        vcpu_exclusive_begin(&cpu->vcpu);
    }
    pthread_mutex_lock(&code.lock);
    atomic_fetch_and(&ram_dirty_map[ram_page], (uint8_t)~DIRTY_CODE);
    pthread_mutex_unlock(&code.lock);
    for (int i = 0; i < vcpu_count(); i++) {
        x86_tlb_protect(X86_CPU(vcpu_get(i))->st, host_page);
    }
    if (others) {
        vcpu_exclusive_end(&cpu->vcpu);
    } else {
        x86_tlb_protect(cpu->st, host_page);
    }
    return p;
}

static uint64_t granule_mask(unsigned offset, unsigned len)
{
    unsigned first = offset / 64, last = (offset + len - 1) / 64;

    return (last == 63 ? ~0ull : (1ull << (last + 1)) - 1) & ~((1ull << first) - 1);
}

bool code_page_mark(CodePage *p, uint32_t gen, unsigned offset, unsigned len)
{
    bool ok;

    pthread_mutex_lock(&code.lock);
    ok = p->gen == gen && !(ram_dirty_get(p->ram_page) & DIRTY_CODE);
    if (ok) {
        p->granules |= granule_mask(offset, len);
    }
    pthread_mutex_unlock(&code.lock);
    return ok;
}

bool code_page_written(uint64_t ram_page, unsigned offset, unsigned len)
{
    CodePage *p;
    bool hit = false;

    if (!len) {
        return false;
    }
    pthread_mutex_lock(&code.lock);
    p = g_hash_table_lookup(code.pages, (gpointer)(uintptr_t)ram_page);
    if (!p) {
        atomic_fetch_or(&ram_dirty_map[ram_page], DIRTY_CODE);
    } else if (p->granules & granule_mask(offset, len)) {
        hit = true;
        atomic_fetch_add(&p->gen, 1);
        p->granules = 0;
        atomic_fetch_or(&ram_dirty_map[ram_page], DIRTY_CODE);
    }
    pthread_mutex_unlock(&code.lock);
    return hit;
}
