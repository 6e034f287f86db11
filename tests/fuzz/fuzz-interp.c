/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: decoder, interpreter, MMU, segments and event delivery on arbitrary bytes and an arbitrary machine.
 *
 * The input chooses a kind of machine (real mode to long mode, with descriptors and page tables that work), then
 * overwrites guest memory, registers, segments and tables as it likes, and gives the code. The guest may fault, shut
 * down or loop for ever; the process may not crash, and must come back when it is asked to: a timer asks after a few
 * milliseconds of CPU time. Only what no CPU can be in is put right first (settle).
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "accel/accel.h"
#include "system/runstate.h"
#include "target/i386/apic.h"
#include "target/i386/cpuid.h"
#include "target/i386/mmu.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RAM_SIZE = 256 << 10, MMIO_AT = RAM_SIZE, MMIO_SIZE = 0x10000, STEPS = 64, BUDGET_US = 2000 };
/* Guest physical layout. */
enum { GDT = 0x1000, IDT = 0x2000, LDT = 0x3000, TSS = 0x3800, CODE = 0x8000, HANDLER = 0x9000, STACK = 0x7000,
       PML5 = 0x10000, PML4 = 0x11000, PDPT = 0x12000, PD = 0x13000, PT = 0x14000, PD32 = 0x15000, PT32 = 0x16000,
       PDPT_PAE = 0x17000, TABLES_END = 0x18000 };

typedef struct Fuzz {
    X86CPU *cpu;
    const AccelOps *tcg;
    uint8_t *ram;
} Fuzz;
static Fuzz fuzz;

/* ---- the input ---- */

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

static uint64_t take(Input *in, unsigned n)
{
    uint64_t v = 0;

    n = MIN(n, in->left);
    memcpy(&v, in->p, n);
    in->p += n;
    in->left -= n;
    return v;
}

/* A value of any width, short ones often. */
static uint64_t take_value(Input *in)
{
    static const uint8_t widths[] = { 1, 2, 2, 4, 4, 8, 8, 8 };
    unsigned kind = take(in, 1);
    uint64_t v = take(in, widths[kind & 7]);

    return kind & 8 ? ~v : kind & 16 ? v << 12 : v;
}

/* ---- a machine that works ---- */

static void put(unsigned at, uint64_t v, unsigned size)
{
    memcpy(fuzz.ram + at, &v, size);
}

static void tables_gdt(void)
{
    static const uint64_t gdt[] = {
        0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff, 0x00cff3000000ffff, 0x00affb000000ffff,
        0x00cffb000000ffff, 0x00009b000000ffff, 0x000093000000ffff, 0x0000f3000000ffff, 0x0000fb000000ffff,
        0x0000890038000067, 0, 0x0000820030000fff, 0, 0x0000ec0000088000, 0, 0x00009f000000ffff,
        0x0000810038000067, 0x0000840000088000, 0x0040960000000fff,
    };

    memcpy(fuzz.ram + GDT, gdt, sizeof(gdt));
    memcpy(fuzz.ram + LDT, gdt, sizeof(gdt));
    put(TSS + 4, STACK, 8);
    put(TSS + 8, 0x10, 2);
    put(TSS + 0x66, 0x68, 2);
}

static void tables_idt(bool long_mode, bool real)
{
    for (unsigned v = 0; v < 256; v++) {
        uint64_t gate = (HANDLER & 0xffff) | (long_mode ? 0x08ull : 0x18ull) << 16 | 0xee00ull << 32;

        if (real) {
            put(4 * v, HANDLER, 4);
        } else {
            put(IDT + (long_mode ? 16 : 8) * v, gate, 8);
        }
    }
    fuzz.ram[HANDLER] = 0xf4;
}

static void tables_pages(void)
{
    put(PML5, PML4 | 7, 8);
    put(PML4, PDPT | 7, 8);
    put(PDPT, PD | 7, 8);
    put(PD, PT | 7, 8);
    put(PDPT_PAE, PD | 1, 8);
    put(PD32, PT32 | 7, 4);
    for (unsigned n = 0; n < 512; n++) {
        put(PT + 8 * n, n << 12 | 7, 8);
        put(PT32 + 4 * n, n << 12 | 7, 4);
    }
    put(PML4 + 8 * 511, PDPT | 7, 8);
    put(PDPT + 8 * 511, PD | 7, 8);
}

enum { KIND_REAL, KIND_VM, KIND_PM16, KIND_PM32, KIND_PAGING, KIND_PAE, KIND_COMPAT, KIND_LONG, KINDS };

static void flat_segments(X86State *st, unsigned kind, unsigned cpl)
{
    uint32_t data = DESC_P | DESC_S | DESC_W | DESC_A | cpl << DESC_DPL_SHIFT;
    bool small = kind <= KIND_PM16;

    for (int n = 0; n < SEG_COUNT; n++) {
        st->seg[n] = (X86Segment) {
            .limit = small ? 0xffff : 0xffffffff, .selector = 0x10 | cpl, .attr = small ? data : data | DESC_G | DESC_B,
        };
    }
    st->seg[SEG_CS].attr |= DESC_CODE;
    st->seg[SEG_CS].selector = 0x18 | cpl;
    if (kind == KIND_LONG) {
        st->seg[SEG_CS].attr = (st->seg[SEG_CS].attr & ~DESC_B) | DESC_L;
        st->seg[SEG_CS].selector = 8 | cpl;
    }
}

static void machine_make(X86CPU *cpu, unsigned kind, unsigned cpl)
{
    X86State *st = cpu->st;
    bool lm = kind >= KIND_COMPAT, paging = kind == KIND_VM || kind >= KIND_PAGING;

    tables_idt(lm, kind == KIND_REAL);
    tables_gdt();
    tables_pages();
    flat_segments(st, kind, cpl);
    st->gdt = (X86Table) { GDT, 0xff };
    st->idt = (X86Table) { kind == KIND_REAL ? 0 : IDT, 0xfff };
    st->ldt = (X86Segment) { .base = LDT, .limit = 0xff, .attr = DESC_P | 2 << 8, .selector = 0x68 };
    st->tr = (X86Segment) { .base = TSS, .limit = 0x7ff, .attr = DESC_P | 11 << 8, .selector = 0x58 };
    st->cr0 = CR0_ET | CR0_NE | (kind == KIND_REAL ? 0 : CR0_PE) | (paging ? CR0_PG : 0);
    st->cr4 = CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_OSXSAVE | (kind >= KIND_PAE ? CR4_PAE : 0);
    st->efer = lm ? EFER_LME | EFER_LMA | EFER_SCE : 0;
    st->cr3 = lm ? PML4 : kind == KIND_PAE ? PDPT_PAE : PD32;
    st->rflags = FL_1 | (kind == KIND_VM ? FL_VM | FL_IOPL : 0);
    st->regs[R_RSP] = STACK;
    st->xcr0 = 0xe7;
}

/* ---- what the input changes ---- */

static void change_memory(Input *in)
{
    unsigned at = take(in, 3) % RAM_SIZE, len = take(in, 1) & 63;

    len = MIN(MIN(len, in->left), RAM_SIZE - at);
    memcpy(fuzz.ram + at, in->p, len);
    in->p += len;
    in->left -= len;
}

static void change_segment(Input *in, X86Segment *s)
{
    unsigned what = take(in, 1);

    if (what & 1) {
        s->base = take_value(in);
    }
    if (what & 2) {
        s->limit = take_value(in);
    }
    if (what & 4) {
        s->attr = take(in, 3) << 8 & 0xf0ff00;
    }
    if (what & 8) {
        s->selector = take(in, 2);
    }
}

static void change_control(Input *in, X86State *st)
{
    switch (take(in, 1) % 13) {
    case 0: st->cr0 ^= take_value(in) & 0xe005003f; break;
    case 1: st->cr4 ^= take_value(in) & (0x771fff | CR4_LAM_SUP); break;
    case 2: st->efer ^= take_value(in) & (EFER_SCE | EFER_LME | EFER_NXE); break;
    case 3: st->rflags ^= take_value(in) & 0x3f7fd5; break;
    case 4: st->cr3 = take_value(in); break;
    case 5: st->gdt = (X86Table) { take_value(in), take(in, 2) }; break;
    case 6: st->idt = (X86Table) { take_value(in), take(in, 2) }; break;
    case 7: st->xcr0 = (uint64_t[]) { 1, 3, 7, 0xe7 }[take(in, 1) & 3]; break;
    case 8: st->dr[take(in, 1) & 3] = take_value(in); break;
    case 9: st->dr[7] = take_value(in) & 0xffff2fff; break;
    case 10: st->xs.pkru = (uint32_t)take_value(in); break;
    case 11: x86_cpu_set_a20(fuzz.cpu, take(in, 1) & 1); break;
    default: st->ev.interrupt_shadow = take(in, 1) & 3; break;
    }
}

static void change_vector(Input *in, X86XSave *xs)
{
    switch (take(in, 1) % 6) {
    case 0: xs->fcw = take(in, 2); break;
    case 1: xs->fsw = take(in, 2); break;
    case 2: xs->ftw = take(in, 1); break;
    case 3: xs->mxcsr = take(in, 3) & x86_mxcsr_mask(fuzz.cpu); break;
    case 4: memset(xs->xmm, take(in, 1), sizeof(xs->xmm)); break;
    default: xs->k[take(in, 1) & 7] = take_value(in); break;
    }
}

static void change(Input *in, X86CPU *cpu)
{
    X86State *st = cpu->st;
    unsigned what = take(in, 1);

    switch (what & 7) {
    case 0: case 1: change_memory(in); break;
    case 2: case 3: st->regs[what >> 4] = take_value(in); break;
    case 4: change_segment(in, what >> 4 < SEG_COUNT ? &st->seg[what >> 4] : what & 16 ? &st->ldt : &st->tr); break;
    case 5: change_control(in, st); break;
    case 6: change_vector(in, &st->xs); break;
    default:
        atomic_fetch_or(&st->pending, what & 16 ? PENDING_NMI : what & 32 ? PENDING_INTR : PENDING_SMI);
        break;
    }
}

/* ---- rules that hold on every CPU ---- */

static void settle_x87(X86XSave *xs)
{
    xs->fcw = (xs->fcw & 0x1f7f) | 0x40;
    xs->fsw = xs->fsw & ~xs->fcw & 0x3f ? xs->fsw | 0x8080 : xs->fsw & ~0x8080;
    xs->mxcsr_mask = x86_mxcsr_mask(fuzz.cpu);
}

static void settle_virtual(X86State *st)
{
    for (int n = 0; n < SEG_COUNT; n++) {
        st->seg[n].base = (uint32_t)st->seg[n].selector << 4;
        st->seg[n].limit = 0xffff;
        st->seg[n].attr = DESC_P | DESC_S | DESC_W | DESC_A | 3 << DESC_DPL_SHIFT;
        st->seg[n].unusable = false;
    }
}

/* Control registers as MOV to CR and WRMSR would let them become; CS with a type that code can have. */
static void settle(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t *cs = &st->seg[SEG_CS].attr;

    if (st->cr0 & CR0_PG) {
        st->cr0 |= CR0_PE;
    }
    if ((st->efer & EFER_LME) && (st->cr0 & CR0_PG)) {
        st->efer |= EFER_LMA;
        st->cr4 |= CR4_PAE;
        st->rflags &= ~(uint64_t)FL_VM;
    } else {
        st->efer &= ~(uint64_t)EFER_LMA;
        st->cr4 &= ~(uint64_t)(CR4_PCIDE | CR4_LA57);
        *cs &= ~DESC_L;
    }
    if ((*cs & DESC_L) && (*cs & DESC_B)) {
        *cs &= ~DESC_B;
    }
    *cs |= DESC_P | DESC_S | DESC_CODE;
    st->seg[SEG_SS].attr = (st->seg[SEG_SS].attr & ~(3u << DESC_DPL_SHIFT)) | (*cs & 3u << DESC_DPL_SHIFT);
    st->rflags = (st->rflags & 0x3f7fd5) | FL_1;
    if (!(st->cr0 & CR0_PE)) {
        st->rflags &= ~(uint64_t)FL_VM;
    }
    if (st->rflags & FL_VM) {
        settle_virtual(st);
    }
    settle_x87(&st->xs);
    st->xs.xstate_bv = 0x2e7;
    if ((st->cr0 & CR0_PG) && (st->cr4 & CR4_PAE) && !(st->efer & EFER_LMA)) {
        x86_load_pdptes(cpu, st->cr3);
    }
}

/* ---- running ---- */

static void budget_end(int sig)
{
    atomic_store(&fuzz.cpu->vcpu.stop, true);
    atomic_store(&fuzz.cpu->vcpu.exit_request, 1);
}

static void budget_start(void)
{
    struct itimerval t = { .it_value = { 0, BUDGET_US } };

    setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static bool run_once(X86CPU *cpu)
{
    VCpuRunResult r;

    cpu->vcpu.debug_stop.why = DEBUG_WHY_NONE;
    vcpu_exec_begin(&cpu->vcpu);
    r = fuzz.tcg->run(&cpu->vcpu);
    vcpu_exec_end(&cpu->vcpu);
    return r == VCPU_RUN_DEBUG && !atomic_load(&cpu->vcpu.stop);
}

static void cpu_fresh(X86CPU *cpu)
{
    machine_lock();
    x86_cpu_reset(cpu);
    machine_unlock();
    atomic_store(&cpu->st->pending, 0);
    atomic_store(&cpu->vcpu.exit_request, 0);
    atomic_store(&cpu->vcpu.stop, false);
    atomic_store(&cpu->vcpu.halted, false);
    memset(fuzz.ram, 0, TABLES_END);
    memset(fuzz.ram + TABLES_END, 0xf4, RAM_SIZE - TABLES_END);     /* HLT: what runs astray comes to an end */
    memset(fuzz.ram + CODE, 0xf4, HANDLER - CODE);
    ram_dirty_set(0, RAM_SIZE >> 12);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = { data, size };
    X86CPU *cpu = fuzz.cpu;
    X86State *st = cpu->st;
    unsigned head = take(&in, 1), changes = take(&in, 1) & 31, kind = head & 7, at;

    cpu_fresh(cpu);
    machine_make(cpu, kind, kind == KIND_VM || (head & 8) ? 3 : 0);
    st->rip = CODE;
    while (changes-- && in.left) {
        change(&in, cpu);
    }
    settle(cpu);
    at = ((uint32_t)st->seg[SEG_CS].base + (uint32_t)st->rip) % (RAM_SIZE - 64);
    memcpy(fuzz.ram + at, in.p, MIN(in.left, RAM_SIZE - at));
    st->mp_state = MP_RUNNABLE;
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    cpu->vcpu.debug_step = head & 16 ? DEBUG_STEP_ON : 0;
    fuzz.tcg->debug_step(&cpu->vcpu);
    budget_start();
    for (int n = 0; n < STEPS && run_once(cpu); n++) {
    }
    return 0;
}

/* ---- set-up ---- */

static uint64_t pattern_read(void *opaque, hwaddr offset, unsigned size)
{
    return offset * 0x0101010101010101ull;
}

static void pattern_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
}

static void memory_make(AddressSpace *mem, AddressSpace *io)
{
    static const MemoryRegionOps ops = { .read = pattern_read, .write = pattern_write };
    static MemoryRegion root, ram, mmio, ports, port;

    memory_region_init(&root, NULL, "root", MEMORY_SIZE_ALL);
    memory_region_init_ram(&ram, NULL, "ram", RAM_SIZE, NULL);
    memory_region_init_io(&mmio, NULL, &ops, NULL, "mmio", MMIO_SIZE);
    memory_region_add(&root, 0, &ram, 0);
    memory_region_add(&root, MMIO_AT, &mmio, 0);
    address_space_init(mem, &root, "memory");
    memory_region_init(&ports, NULL, "io", 65536);
    memory_region_init_io(&port, NULL, &ops, NULL, "port", 256);
    memory_region_add(&ports, 0, &port, 0);
    address_space_init(io, &ports, "io");
    fuzz.ram = memory_region_ram_ptr(&ram);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static AddressSpace mem, io;
    struct sigaction sa = { .sa_handler = budget_end };
    X86CPU *cpu;

    fuzz.tcg = accel_find("tcg");
    machine_lock();
    memory_make(&mem, &io);
    fuzz.tcg->init(NULL, 0, NULL);
    cpu = fuzz.cpu = (X86CPU *)object_new("max-x86_64-cpu");
    cpu->model = x86_model_parse("max", NULL, NULL);
    cpu->vcpu.mem = &mem;
    cpu->vcpu.io = &io;
    if (!object_realize((Object *)cpu, NULL) || !fuzz.tcg->vcpu_init(&cpu->vcpu, NULL)) {
        return 1;
    }
    machine_unlock();
    sigaction(SIGVTALRM, &sa, NULL);
    return 0;
}
