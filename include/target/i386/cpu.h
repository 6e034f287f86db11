/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest CPU's architectural state: one truth for every accelerator (SDM vol. 3 ch. 2, APM vol. 2 ch. 1).
 *
 * X86State lies in a mapping of its own per vCPU: [guard page | accelerator's | X86State with TLB | accelerator's]; the
 * translator runs with rsp at it, so hot fields come first. X86CPU is the device; cpu->st points to the state.
 * RFLAGS is raw (all bits in place) at every instruction boundary. Segment registers keep the hidden part.
 * Vector and x87 state is in XSAVE standard layout (offsets below), bound by XSTATE_BV.
 * Owner: the vCPU's thread; others only while it is stopped (or by vcpu_run_sync).
 */
#ifndef CLEAT_TARGET_I386_CPU_H
#define CLEAT_TARGET_I386_CPU_H

#include <setjmp.h>

#include "system/cpus.h"

enum { R_RAX, R_RCX, R_RDX, R_RBX, R_RSP, R_RBP, R_RSI, R_RDI,
       R_R8, R_R9, R_R10, R_R11, R_R12, R_R13, R_R14, R_R15 };
enum { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_COUNT };

typedef struct X86CPU X86CPU;
#define MONITOR_LINE 64                 /* bytes that MONITOR watches, aligned */

/* RFLAGS */
enum {
    FL_CF = 1 << 0, FL_1 = 1 << 1, FL_PF = 1 << 2, FL_AF = 1 << 4, FL_ZF = 1 << 6, FL_SF = 1 << 7,
    FL_TF = 1 << 8, FL_IF = 1 << 9, FL_DF = 1 << 10, FL_OF = 1 << 11, FL_IOPL = 3 << 12,
    FL_NT = 1 << 14, FL_RF = 1 << 16, FL_VM = 1 << 17, FL_AC = 1 << 18, FL_VIF = 1 << 19,
    FL_VIP = 1 << 20, FL_ID = 1 << 21,
    FL_ARITH = FL_CF | FL_PF | FL_AF | FL_ZF | FL_SF | FL_OF,
};

/* CR0, CR4, EFER (SDM 2.5, 2.2.1) */
#define CR0_PE (1u << 0)
#define CR0_MP (1u << 1)
#define CR0_EM (1u << 2)
#define CR0_TS (1u << 3)
#define CR0_ET (1u << 4)
#define CR0_NE (1u << 5)
#define CR0_WP (1u << 16)
#define CR0_AM (1u << 18)
#define CR0_NW (1u << 29)
#define CR0_CD (1u << 30)
#define CR0_PG (1u << 31)
#define CR4_VME (1u << 0)
#define CR4_PVI (1u << 1)
#define CR4_TSD (1u << 2)
#define CR4_DE (1u << 3)
#define CR4_PSE (1u << 4)
#define CR4_PAE (1u << 5)
#define CR4_MCE (1u << 6)
#define CR4_PGE (1u << 7)
#define CR4_PCE (1u << 8)
#define CR4_OSFXSR (1u << 9)
#define CR4_OSXMMEXCPT (1u << 10)
#define CR4_UMIP (1u << 11)
#define CR4_LA57 (1u << 12)
#define CR4_FSGSBASE (1u << 16)
#define CR4_PCIDE (1u << 17)
#define CR4_OSXSAVE (1u << 18)
#define CR4_SMEP (1u << 20)
#define CR4_SMAP (1u << 21)
#define CR4_PKE (1u << 22)
#define CR4_PKS (1u << 24)
#define CR4_LAM_SUP (1u << 28)
#define CR3_LAM_U57 (1ull << 61)
#define CR3_LAM_U48 (1ull << 62)
#define EFER_SCE (1u << 0)
#define EFER_LME (1u << 8)
#define EFER_LMA (1u << 10)
#define EFER_NXE (1u << 11)
#define EFER_SVME (1u << 12)
#define EFER_FFXSR (1u << 14)

/* Exception vectors (SDM table 6-1) */
enum { EXCP_DE = 0, EXCP_DB = 1, EXCP_NMI = 2, EXCP_BP = 3, EXCP_OF = 4, EXCP_BR = 5, EXCP_UD = 6, EXCP_NM = 7,
       EXCP_DF = 8, EXCP_TS = 10, EXCP_NP = 11, EXCP_SS = 12, EXCP_GP = 13, EXCP_PF = 14, EXCP_MF = 16,
       EXCP_AC = 17, EXCP_MC = 18, EXCP_XM = 19 };

/* A segment register with its hidden part. attr is the descriptor's second dword, bits 8..23 in place. */
typedef struct X86Segment {
    uint64_t base;
    uint32_t limit;                 /* in bytes, scaled by G */
    uint32_t attr;                  /* type 8-11, S 12, DPL 13-14, P 15, AVL 20, L 21, D/B 22, G 23; 0: null */
    uint16_t selector;
    bool unusable;                  /* null-loaded (KVM's word); attr is 0 then, except SS DPL in 64-bit mode */
} X86Segment;
enum { DESC_A = 1 << 8, DESC_W = 1 << 9, DESC_R = 1 << 9, DESC_E = 1 << 10, DESC_C = 1 << 10, DESC_CODE = 1 << 11,
       DESC_S = 1 << 12, DESC_DPL_SHIFT = 13, DESC_P = 1 << 15, DESC_AVL = 1 << 20, DESC_L = 1 << 21,
       DESC_B = 1 << 22, DESC_G = 1 << 23 };

typedef struct X86Table {
    uint64_t base;
    uint32_t limit;
} X86Table;

/* XSAVE standard layout (SDM vol. 1 ch. 13): component offsets as Intel CPUs report them; CPUID leaf 0xd agrees. */
typedef struct X86XSave {
    uint16_t fcw, fsw;
    uint8_t ftw, rsvd1;             /* abridged tag: bit n set = register n (physical) not empty */
    uint16_t fop;
    uint64_t fip, fdp;
    uint32_t mxcsr, mxcsr_mask;
    uint8_t st[8][16];              /* ST(0).. in stack order, as FXSAVE */
    uint8_t xmm[16][16];
    uint8_t rsvd2[96];
    uint64_t xstate_bv, xcomp_bv;
    uint8_t rsvd3[48];
    uint8_t ymmh[16][16];           /* 576: component 2 */
    uint8_t gap[256];               /* 832: was MPX 960/1024 */
    uint64_t k[8];                  /* 1088: component 5, opmask */
    uint8_t zmmh[16][32];           /* 1152: component 6 */
    uint8_t hi16[16][64];           /* 1664: component 7 */
    uint64_t pkru;                  /* 2688: component 9 */
    uint8_t pad[56];
} __attribute__((aligned(64))) X86XSave;
_Static_assert(__builtin_offsetof(X86XSave, ymmh) == 576, "XSAVE layout");
_Static_assert(__builtin_offsetof(X86XSave, k) == 1088, "XSAVE layout");
_Static_assert(__builtin_offsetof(X86XSave, zmmh) == 1152, "XSAVE layout");
_Static_assert(__builtin_offsetof(X86XSave, hi16) == 1664, "XSAVE layout");
_Static_assert(__builtin_offsetof(X86XSave, pkru) == 2688, "XSAVE layout");
enum { XFEATURE_X87 = 1 << 0, XFEATURE_SSE = 1 << 1, XFEATURE_AVX = 1 << 2, XFEATURE_OPMASK = 1 << 5,
       XFEATURE_ZMMH = 1 << 6, XFEATURE_HI16 = 1 << 7, XFEATURE_PKRU = 1 << 9 };

/*
 * Mode bits: what decoding and access checks depend on, derived from the registers by
 * x86_update_mode() whenever one of them changes. A block's key.
 */
enum {
    MODE_CS64 = 1 << 0,             /* 64-bit code */
    MODE_CS32 = 1 << 1,             /* CS.D: 32-bit default operand and address size */
    MODE_SS32 = 1 << 2,             /* SS.B: 32-bit stack (64-bit code: stack is 64-bit) */
    MODE_PE = 1 << 3,
    MODE_VM = 1 << 4,               /* virtual-8086 */
    MODE_LMA = 1 << 5,
    MODE_CPL_SHIFT = 6, MODE_CPL = 3 << 6,
    MODE_ADDSEG = 1 << 8,           /* some of DS, ES, SS has a base or a limit: flat shortcut is off */
    MODE_TF = 1 << 9,
    MODE_EM = 1 << 10, MODE_MP = 1 << 11, MODE_TS = 1 << 12,
    MODE_OSFXSR = 1 << 13, MODE_OSXSAVE = 1 << 14, MODE_AVX = 1 << 15, MODE_AVX512 = 1 << 16,
    MODE_AC = 1 << 17,              /* alignment checks are on (CPL 3, CR0.AM, RFLAGS.AC) */
    MODE_SMAP_OFF = 1 << 18,        /* RFLAGS.AC with CR4.SMAP: supervisor data may touch user pages */
    MODE_IOBP = 1 << 19,            /* some debug register is enabled */
    MODE_DEBUG = 1 << 20,           /* the debugger has breakpoints or steps this vCPU: look between instructions */
    MODE_WATCH = 1 << 21,           /* a debug register watches data */
    MODE_LAM = 1 << 22,             /* 64-bit code whose data addresses have bits that are masked */
};

/* Software TLB: a direct-mapped table per access kind; an entry matches when tag == page address. */
#define X86_TLB_BITS 10
#define X86_TLB_SIZE (1u << X86_TLB_BITS)
typedef struct X86TlbEntry {
    uint64_t tag;                   /* linear page address; an empty entry's tag has index bits unlike its place */
    uint64_t host;                  /* the page's host address (RAM only) */
} X86TlbEntry;
typedef struct X86TlbSide {         /* cold part, same index: also for pages that have no fast entry */
    uint64_t lin;                   /* linear page address | TLBS_* */
    uint64_t gpa;                   /* guest physical page */
} X86TlbSide;
enum { TLBS_VALID = 1, TLBS_GLOBAL = 2, TLBS_LARGE = 4 };
/* Guest physical page -> host, for page walks and TLB fills; emptied with the TLB's memory flush. */
#define X86_PHYS_SIZE 64u
typedef struct X86PhysPage {
    uint64_t gpa;                   /* page address | 1 when valid */
    uint8_t *host;                  /* NULL: not RAM or ROM */
    uint64_t ram_page;              /* of RAM: index into the dirty map */
    bool readonly, ram;
} X86PhysPage;
enum { TLB_READ, TLB_WRITE, TLB_CODE, TLB_KINDS };
/* One set for supervisor, one for user accesses; SMAP with AC clear has its own so that a stac costs no flush. */
enum { TLB_USER, TLB_KERNEL, TLB_KERNEL_AC, TLB_CLASSES };

/* Pending events that other threads set (bits of X86State.pending), each with vcpu_kick(). */
enum { PENDING_INTR = 1 << 0,       /* 8259 INTR line is up (through LINT0 or without a local APIC) */
       PENDING_APIC = 1 << 1,       /* the local APIC has something to look at */
       PENDING_NMI = 1 << 2, PENDING_SMI = 1 << 3, PENDING_INIT = 1 << 4, PENDING_SIPI = 1 << 5,
       PENDING_MCE = 1 << 6, PENDING_RESET = 1 << 7, PENDING_FLUSH = 1 << 8 /* TLB flush asked by another thread */ };

typedef struct X86State {
    /* hot */
    uint64_t regs[16];
    uint64_t rip;
    uint64_t rflags;
    uint64_t zero;                  /* stays 0: what a missing base or index register reads (regs[INSN_NONE]) */
    uint32_t mode;                  /* MODE_* */
    uint32_t tlb_class_now;         /* TLB_* that data accesses use now */
    X86TlbEntry *tlb_rd, *tlb_wr, *tlb_cd;  /* the tables of the current class; derived by x86_update_mode() */
    X86Segment seg[SEG_COUNT];
    /* system */
    X86Segment ldt, tr;
    X86Table gdt, idt;
    uint64_t cr0, cr2, cr3, cr4, xcr0;
    uint64_t efer, star, lstar, cstar, fmask, kernel_gs_base, tsc_aux;
    uint64_t sysenter_cs, sysenter_esp, sysenter_eip;
    uint64_t pat, misc_enable, mtrr_def, mtrr_phys[16], mtrr_fixed[11];
    uint64_t mcg_cap, mcg_status, mcg_ctl, mc_banks[40];
    uint64_t tsc_offset;            /* guest TSC = host TSC (scaled) + offset */
    uint64_t tsc_adjust, tsc_deadline;
    uint64_t spec_ctrl, virt_ssbd, xss, arch_capabilities, smbase, smi_count, pkrs;
    uint64_t kvm_system_time, kvm_wall_clock, kvm_pv_eoi, kvm_async_pf, kvm_steal_time, kvm_poll_control;
    uint64_t dr[8];
    uint64_t dr6_pending;           /* data breakpoints that wait for the end of a MOV SS shadow */
    uint64_t pdpte[4];              /* PAE: loaded with CR3 */
    /* events, as KVM_GET_VCPU_EVENTS splits them */
    struct {
        bool exception_pending, exception_injected, exception_has_error, exception_has_payload;
        uint8_t exception_nr;
        uint32_t exception_error;
        uint64_t exception_payload;
        bool interrupt_injected, interrupt_soft;
        uint8_t interrupt_nr;
        uint8_t interrupt_shadow;   /* bit 0: MOV SS, bit 1: STI */
        bool nmi_injected, nmi_pending, nmi_masked;
        bool smm, smi_pending, smm_inside_nmi;
        uint32_t sipi_vector;
        bool triple_fault_pending;
    } ev;
    uint32_t mp_state;              /* MP_* */
    _Atomic uint32_t pending;       /* PENDING_*: set by any thread */
    _Atomic uint32_t ferr;          /* FERR_*: the x87 error pins; any thread */
    _Atomic uint64_t a20_mask;      /* what physical addresses keep: A20M# clears bit 20; any thread */
    X86XSave xs;
    uint64_t tsc_saved;             /* guest TSC when the state was saved: stands in for tsc_offset in streams */
    /* derived or accelerator scratch: not migrated */
    struct X86CPU *self;
    X86TlbEntry tlb[TLB_CLASSES][TLB_KINDS][X86_TLB_SIZE];
    X86TlbSide tlb_side[TLB_CLASSES][TLB_KINDS][X86_TLB_SIZE];
    uint64_t tlb_used[TLB_CLASSES][TLB_KINDS][X86_TLB_SIZE / 64];   /* entries to empty at a flush */
    uint64_t tlb_large_base[2], tlb_large_mask[2];  /* cover large pages in the TLB, by bit 63; mask 0: none */
    uint32_t tlb_generation;                    /* counts flushes: what caches of code addresses compare */
    X86PhysPage phys[X86_PHYS_SIZE];
} X86State;
enum { FERR_ASSERTED = 1, FERR_IGNNE = 2 };
enum { MP_RUNNABLE, MP_UNINITIALIZED, MP_INIT_RECEIVED, MP_HALTED, MP_SIPI_RECEIVED };

typedef struct X86CpuModel X86CpuModel;         /* the CPUID answer: target/i386/cpuid.h */
typedef struct X86Apic X86Apic;                 /* local APIC: include/target/i386/apic.h */

struct X86CPU {
    VCpu vcpu;                      /* must be first */
    X86State *st;
    X86CpuModel *model;             /* features as the guest sees them; shared shape, per CPU apic id */
    AddressSpace *smm_mem;          /* memory in SMM (smm.h); NULL: vcpu.mem */
    uint32_t apic_id;
    int32_t socket_id, die_id, module_id, core_id, thread_id;
    X86Apic *apic;                  /* NULL: no local APIC */
    /* The 8259 pair, or what stands for it: returns the vector of an acknowledged INTR, or -1 (spurious). */
    int (*pic_ack)(void *opaque);
    void *pic_opaque;
    void (*ferr)(void *opaque, bool level);     /* FERR# to IRQ 13, may be NULL */
    void *ferr_opaque;
    sigjmp_buf *fault_jmp;          /* interpreter: where x86_raise() goes */
    struct X86BlockCache *blocks;   /* interpreter's decoded blocks */
    /* Software CPU: told about a write to a page of RAM that may hold decoded code. NULL: nobody decodes. */
    void (*code_written)(X86CPU *cpu, uint64_t ram_page, unsigned offset, unsigned len);
    /* The debugger, see debug.h. Changed while the vCPU is stopped. */
    const DebugPoint *debug_points; /* borrowed from the accelerator */
    unsigned n_debug_points;
    bool watching;                  /* some data access is watched: x86_watch() looks */
    void (*leave_block)(X86CPU *cpu);   /* software CPU: end the running block after this instruction. NULL: none */
    bool atomic_held;               /* between x86_atomic_begin and _end */
    bool delivering_ext;            /* an external event is being delivered: EXT bit of error codes */
    uint8_t debug_hits;             /* breakpoints that the running instruction met (DR6 bits 3:0) */
    bool step_trap;                 /* the running instruction began with TF and its trap still counts */
    unsigned phys_bits;             /* guest physical address width: model's, cached for page walks */
    uint64_t monitor_armed;         /* MONITOR's line, guest physical, + 1; 0: not armed */
    uint8_t monitor_line[MONITOR_LINE];     /* and what stood there */
    struct X86KvmPv *kvmpv;
    struct X86Native *native;       /* vector engine: host code of instructions seen (sem/native.h) */
};

/*
 * An accelerator's own memory right below and right behind each CPU's state, for CPUs made from now on; what is below
 * also takes the frames of signals that come while the stack pointer is at the state. Main thread, before any CPU.
 */
void x86_cpu_accel_area(size_t below, size_t behind);

#define X86_CPU(vcpu_ptr) ((X86CPU *)(vcpu_ptr))

static inline unsigned x86_cpl(const X86State *st)
{
    return (st->mode & MODE_CPL) >> MODE_CPL_SHIFT;
}

struct Machine;
/*
 * Makes and realizes CPU number index of the machine from its -cpu string (machine's default when not given).
 * pic_ack, ferr and APIC wiring are the board's to fill in afterwards. NULL with an error.
 */
X86CPU *x86_cpu_create(struct Machine *m, int index, uint32_t apic_id, Error **errp);
/* The APIC id of CPU number index under the machine's -smp: packed bit fields (SDM vol. 3 8.9.1). */
uint32_t x86_apic_id_from_index(const struct Machine *m, unsigned index);

/* Recomputes st->mode and tlb_class_now after a change to CS, SS, CR0, CR4, EFER, RFLAGS.{VM,TF,AC}, XCR0, DR7. */
void x86_update_mode(X86CPU *cpu);
/* Power-on or RESET# state, and INIT (SDM table 9-1). apic_bsp: bootstrap processor. */
void x86_cpu_reset(X86CPU *cpu);
void x86_cpu_init_signal(X86CPU *cpu);
/*
 * The board saw a write to port f0h: IGNNE# for a CPU that asserts FERR#, until its error is cleared (SDM vol. 1 D.2).
 * Any thread.
 */
void x86_cpu_ignore_fpu_error(X86CPU *cpu);
/* The board's A20 line: low, the CPU's accesses see bit 20 of physical addresses as 0. Not under KVM. Any thread. */
void x86_cpu_set_a20(X86CPU *cpu, bool level);
/* Set a PENDING_* bit and kick. Any thread. */
void x86_cpu_raise(X86CPU *cpu, uint32_t pending);
void x86_cpu_lower(X86CPU *cpu, uint32_t pending);
/* Is there an event that a halted CPU wakes for? */
bool x86_cpu_has_work(X86CPU *cpu);

#endif
