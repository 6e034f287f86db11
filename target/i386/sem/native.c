/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The per-vCPU cache of native stubs; contract in native.h.
 *
 * Lookup: a direct-mapped table over a hash of the encoding's key, and behind it a hash table of
 * all stubs, so that two encodings that share a place cost no new code. Stubs are packed into
 * chunks; only the one being filled has a writable view. When the cache is full it starts over:
 * no stub is running then, since its only user asks.
 */
#include "target/i386/sem/native.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLE_SIZE 4096u
#define CHUNK_SIZE (64u << 10)
#define CHUNKS_MAX 64
#define STUB_MAX 512u

struct X86Native {
    struct {
        NativeKey key;
        NativeStub *stub;       /* NULL: free */
    } table[TABLE_SIZE];
    GHashTable *all;            /* NativeKey -> NativeStub *: every stub there is */
    uint8_t *chunk[CHUNKS_MAX];
    int n_chunks;
    uint8_t *writable;          /* the last chunk's other view; NULL: none */
    unsigned used;              /* bytes of the last chunk */
};

static NativeKey key_of(const Insn *i)
{
    return (NativeKey) {
        .op = i->op, .prefixes = i->prefixes & (INSN_W | INSN_Z | INSN_B), .reg = i->reg,
        .rm = x86_is_mem(i) ? 0 : i->rm,
        .vvvv = i->vvvv, .reg4 = i->reg4, .imm = i->imm, .imm2 = i->imm2, .mask = i->mask, .rc = i->rc, .ll = i->ll,
        .is_mem = x86_is_mem(i), .code64 = !!(i->prefixes & INSN_CODE64), .opcode = i->opcode,
    };
}

static unsigned key_hash(const NativeKey *k)
{
    uint64_t w[2];

    memcpy(w, k, sizeof(w));
    w[0] = (w[0] ^ w[1] * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return w[0] >> 32;
}

static guint key_hash_all(gconstpointer key)
{
    return key_hash(key);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(NativeKey));
}

static X86Native *native_new(void)
{
    X86Native *n = g_new0(X86Native, 1);

    n->all = g_hash_table_new_full(key_hash_all, key_equal, g_free, NULL);
    return n;
}

/* The last chunk gets no more stubs: its writable view goes. */
static void native_close_chunk(X86Native *n)
{
    if (n->writable) {
        munmap(n->writable, CHUNK_SIZE);
        n->writable = NULL;
    }
}

static void native_drop_chunks(X86Native *n)
{
    native_close_chunk(n);
    for (int i = 0; i < n->n_chunks; i++) {
        munmap(n->chunk[i], CHUNK_SIZE);
    }
    n->n_chunks = 0;
}

static bool native_open_chunk(X86Native *n)
{
    int fd;

    if (n->n_chunks == CHUNKS_MAX) {
        memset(n->table, 0, sizeof(n->table));
        g_hash_table_remove_all(n->all);
        native_drop_chunks(n);
    }
    native_close_chunk(n);
    fd = memfd_create("native", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, CHUNK_SIZE) == 0) {
        void *x = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
        void *w = x == MAP_FAILED ? MAP_FAILED : mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (w != MAP_FAILED) {
            n->chunk[n->n_chunks++] = x;
            n->writable = w;
            n->used = 0;
        } else if (x != MAP_FAILED) {
            munmap(x, CHUNK_SIZE);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return n->writable;
}

static NativeStub *native_make(X86Native *n, const Insn *i)
{
    NativeBuf b = { 0 };
    uint8_t *at;

    if ((!n->writable || n->used + STUB_MAX > CHUNK_SIZE) && !native_open_chunk(n)) {
        return NULL;
    }
    at = n->writable + n->used;
    b = (NativeBuf) { at, at + STUB_MAX, false };
    if (x86_row(i)->xlat == XLAT_X87) {
        native_emit_x87(&b, i);
    } else {
        native_emit_vec(&b, i);
    }
    if (b.full) {
        return NULL;
    }
    at = n->chunk[n->n_chunks - 1] + n->used;
    n->used += (b.p - n->writable - n->used + 15) & ~15u;
    return (NativeStub *)(uintptr_t)at;
}

NativeStub *native_stub(X86CPU *cpu, const Insn *i)
{
    NativeKey key = key_of(i);
    unsigned h = key_hash(&key) & (TABLE_SIZE - 1);
    X86Native *n = cpu->native;

    if (G_UNLIKELY(!n)) {
        n = cpu->native = native_new();
    }
    if (G_UNLIKELY(!n->table[h].stub || memcmp(&n->table[h].key, &key, sizeof(key)))) {
        NativeStub *stub = (NativeStub *)(uintptr_t)g_hash_table_lookup(n->all, &key);

        if (!stub) {
            stub = native_make(n, i);
            if (!stub) {
                return NULL;
            }
            g_hash_table_insert(n->all, g_memdup2(&key, sizeof(key)), (void *)(uintptr_t)stub);
        }
        n->table[h].key = key;
        n->table[h].stub = stub;
    }
    return n->table[h].stub;
}

void x86_native_free(X86CPU *cpu)
{
    X86Native *n = cpu->native;

    if (n) {
        native_drop_chunks(n);
        g_hash_table_destroy(n->all);
        g_free(n);
        cpu->native = NULL;
    }
}
