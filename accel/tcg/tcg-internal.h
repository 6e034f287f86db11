/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software accelerator's parts: decoded blocks (block.c), pages of RAM that hold code (code-page.c),
 * and the run loop (exec.c). See docs/devel/translator.rst for the rules (T7: races of stores with decoding).
 */
#ifndef CLEAT_ACCEL_TCG_INTERNAL_H
#define CLEAT_ACCEL_TCG_INTERNAL_H

#include <pthread.h>

#include "accel/accel.h"
#include "target/i386/exec.h"
#include "target/i386/interp.h"
#include "target/i386/step.h"

/*
 * A page of RAM with decoded code. A write to one of its code granules (64 bytes) counts gen up, which makes every
 * block of the page stale on every vCPU, and sets DIRTY_CODE again. Never freed before the accelerator goes.
 */
typedef struct CodePage {
    uint64_t ram_page;
    _Atomic uint32_t gen;
    uint64_t granules;              /* bit n: bytes 64n..64n+63 hold decoded code; code lock */
} CodePage;

/* Mode bits that decoding and translation depend on. */
#define BLOCK_MODE (MODE_CS64 | MODE_CS32 | MODE_SS32 | MODE_PE | MODE_VM | MODE_LMA | MODE_ADDSEG | MODE_CPL \
    | MODE_EM | MODE_MP | MODE_TS | MODE_OSFXSR | MODE_OSXSAVE | MODE_AVX | MODE_AVX512 | MODE_SMAP_OFF)
#define BLOCK_INSNS 64u

typedef struct Block {
    const uint8_t *host;            /* first byte, in host memory: with mode, the key */
    uint32_t mode;                  /* & BLOCK_MODE */
    uint32_t gen;                   /* page->gen when decoded */
    const CodePage *page;           /* NULL: ROM */
    struct Block *hash_next;
    uint16_t count, bytes;
    uint8_t cls;                    /* TLB_*: of its data accesses */
    uint8_t hits;                   /* times it was interpreted, up to XL_HITS */
    bool tried;                     /* translation was */
    uint8_t entry_checked, entry_near;      /* offsets in native, see xl-block.c */
    uint8_t pad[15];
    uint64_t native;                /* translated code: far entry; 0: none */
    Insn insns[];
} Block;
_Static_assert(sizeof(Block) == 64, "instructions start on a cache line");

#define JUMP_CACHE 4096u
#define BLOCK_BITS_MIN 11u
#define BLOCK_BITS_MAX 18u
/* One vCPU's decoded blocks. Its thread only. */
struct X86BlockCache {
    X86CPU *cpu;
    const Insn *volatile end;       /* of the running block; NULL: leave it after this instruction */
    Block *running;
    Block *jump[JUMP_CACHE];        /* by linear address */
    Block **bucket;                 /* by host address: 1 << bits chains; doubles twice when chains grow long */
    unsigned bits, blocks;
    uint8_t *chunk;                 /* current arena chunk */
    size_t chunk_used, total, limit;
    GPtrArray *chunks;
    struct XlCpu *xl;               /* translations; NULL: none are made */
    Block *odd;                     /* storage for one uncached block: straddles a page, or is not in RAM */
};

typedef struct TcgConfig {
    bool one_insn;
    bool translate;
    size_t tb_size;                 /* bytes of decoded blocks per vCPU */
} TcgConfig;
const TcgConfig *tcg_config(void);

/* block.c */
struct X86BlockCache *block_cache_new(X86CPU *cpu);
void block_cache_free(struct X86BlockCache *bc);
void block_cache_flush(struct X86BlockCache *bc);
/* The block at rip, decoded if need be; raises fetch faults. Valid until the next call. */
Block *block_get(X86CPU *cpu);

/* The cached block of the present mode at a host address; NULL: none. */
Block *block_lookup(X86CPU *cpu, const uint8_t *host);

/* code-page.c */
void code_pages_init(void);
/* The page's record, write-protected on all vCPUs. vCPU thread, in an exec section. */
CodePage *code_page_protect(X86CPU *cpu, uint64_t ram_page, uint8_t *host_page);
/* Marks [offset, offset+len) as code if the page is still at generation gen; false: it changed, decode again. */
bool code_page_mark(CodePage *p, uint32_t gen, unsigned offset, unsigned len);
/* A write to a protected page happened. Any thread. True: it hit code. */
bool code_page_written(uint64_t ram_page, unsigned offset, unsigned len);

/* debug.c: the debugger's rows of the accelerator table, and what every new vCPU is told. */
bool tcg_debug_insert(VCpu *vcpu, const DebugPoint *p, Error **errp);
bool tcg_debug_remove(VCpu *vcpu, const DebugPoint *p);
void tcg_debug_step(VCpu *vcpu);
void tcg_debug_vcpu_init(X86CPU *cpu);
/*
 * MODE_DEBUG is set: looks at the block that comes next. Breakpoint at its start: true, debug_stop is filled. Else
 * *step says whether it must go instruction by instruction.
 */
bool tcg_debug_before(X86CPU *cpu, const Block *b, bool *step);
/* After an instruction or an event's delivery: true when this vCPU is to stop in the debugger. */
bool tcg_debug_after(X86CPU *cpu);

/* exec.c */
VCpuRunResult tcg_run(VCpu *vcpu);

#endif
