/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See x86-harness.h. */
#include <string.h>
#include <time.h>

#include "accel/accel.h"
#include "system/loop.h"
#include "target/i386/cpuid.h"
#include "target/i386/mmu.h"
#include "x86-harness.h"

static MemoryRegion root, ram, io_root;
static AddressSpace mem, io;
static const char *accel_options = "tcg";

uint8_t *harness_ram(void)
{
    return memory_region_ram_ptr(&ram);
}

static void make_memory(void)
{
    if (!root.size) {
        memory_region_init(&root, NULL, "root", MEMORY_SIZE_ALL);
        memory_region_init_ram(&ram, NULL, "ram", HARNESS_RAM, NULL);
        memory_region_add(&root, 0, &ram, 0);
        address_space_init(&mem, &root, "memory");
        memory_region_init(&io_root, NULL, "io", 65536);
        address_space_init(&io, &io_root, "io");
    }
}

void harness_accel(const char *options)
{
    accel_options = options;
}

static void accel_init(const AccelOps *accel)
{
    g_auto(GStrv) words = g_strsplit(accel_options, ",", 8);
    AccelProp props[8];
    int n = 0;

    g_assert_cmpstr(words[0], ==, "tcg");
    for (char **w = words + 1; *w; w++) {
        char *value = strchr(*w, '=');

        g_assert(value);
        *value++ = 0;
        props[n++] = (AccelProp) { *w, value };
    }
    g_assert(accel->init(props, n, NULL));
}

static X86CPU *make_cpu(const char *cpu_string, const AccelOps *accel)
{
    X86CpuModel *model;
    X86CPU *cpu;
    g_autofree char *type = NULL;

    machine_lock();
    make_memory();
    if (accel) {
        accel_init(accel);
    }
    model = x86_model_parse(cpu_string, NULL, NULL);
    g_assert(model);
    type = g_strconcat(model->name, "-x86_64-cpu", NULL);
    cpu = (X86CPU *)object_new(type);
    cpu->model = model;
    cpu->vcpu.mem = &mem;
    cpu->vcpu.io = &io;
    g_assert(object_realize((Object *)cpu, NULL));
    if (accel) {
        accel->vcpu_init(&cpu->vcpu, NULL);
    }
    machine_unlock();
    return cpu;
}

X86CPU *harness_cpu(const char *cpu_string)
{
    return make_cpu(cpu_string, accel_find("tcg"));
}

X86CPU *harness_cpu_alone(const char *cpu_string)
{
    return make_cpu(cpu_string, NULL);
}

static void put64(uint64_t gpa, uint64_t v)
{
    memcpy(harness_ram() + gpa, &v, 8);
}

/*
 * Handlers: a stub per vector at 0x9000 + 32 * n: push a zero error where the CPU pushes none, push the vector, jump
 * to the common part, which records and halts.
 */
static void make_handlers(void)
{
    static const uint8_t common[] = {
        0x48, 0xff, 0x04, 0x25, 0x00, 0x80, 0x00, 0x00,             /* inc qword [0x8000] */
        0x8f, 0x04, 0x25, 0x08, 0x80, 0x00, 0x00,                   /* pop [0x8008]: vector */
        0x8f, 0x04, 0x25, 0x10, 0x80, 0x00, 0x00,                   /* pop [0x8010]: error */
        0x8f, 0x04, 0x25, 0x18, 0x80, 0x00, 0x00,                   /* pop [0x8018]: rip */
        0x8f, 0x04, 0x25, 0x20, 0x80, 0x00, 0x00,                   /* pop [0x8020]: cs */
        0x0f, 0x20, 0xd0,                                           /* mov rax, cr2 */
        0x48, 0x89, 0x04, 0x25, 0x28, 0x80, 0x00, 0x00,             /* mov [0x8028], rax */
        0x8f, 0x04, 0x25, 0x30, 0x80, 0x00, 0x00,                   /* pop [0x8030]: flags */
        0xf4, 0xeb, 0xfd,                                           /* hlt; jmp hlt */
    };
    uint8_t *r = harness_ram();

    memcpy(r + 0xb000, common, sizeof(common));
    for (int v = 0; v < 64; v++) {
        uint32_t at = 0x9000 + v * 32;
        uint8_t *p = r + at;
        int32_t rel;
        bool error = v == 8 || (v >= 10 && v <= 14) || v == 17;

        if (!error) {
            *p++ = 0x6a;
            *p++ = 0;
        }
        *p++ = 0x6a;
        *p++ = v;
        *p++ = 0xe9;
        rel = 0xb000 - (int32_t)(p + 4 - r);
        memcpy(p, &rel, 4);
        put64(H_IDT + v * 16, (uint64_t)(at & 0xffff) | H_CS64 << 16 | 0xee00ull << 32);
        put64(H_IDT + v * 16 + 8, 0);
    }
}

/* The same for 32-bit gates, through SS: DS is null after virtual-8086 mode. */
static void make_handlers32(void)
{
    static const uint8_t common[] = {
        0x36, 0xff, 0x05, 0x00, 0x80, 0x00, 0x00, 0x36, 0x8f, 0x05, 0x08, 0x80, 0x00, 0x00,
        0x36, 0x8f, 0x05, 0x10, 0x80, 0x00, 0x00, 0x36, 0x8f, 0x05, 0x18, 0x80, 0x00, 0x00,
        0x36, 0x8f, 0x05, 0x20, 0x80, 0x00, 0x00, 0x36, 0x8f, 0x05, 0x30, 0x80, 0x00, 0x00,
        0x0f, 0x20, 0xd0, 0x36, 0xa3, 0x28, 0x80, 0x00, 0x00, 0xf4, 0xeb, 0xfd,
    };

    make_handlers();
    memcpy(harness_ram() + 0xb000, common, sizeof(common));
    for (int v = 0; v < 64; v++) {
        put64(H_IDT + v * 8, (uint64_t)(0x9000 + v * 32) | 8 << 16 | 0x8e00ull << 32);
    }
}

void harness_gdt_set(unsigned selector, uint64_t descriptor)
{
    put64(H_GDT + (selector & ~7u), descriptor);
}

void harness_protected_mode(X86CPU *cpu)
{
    static const uint64_t gdt[] = {
        0, 0x00cf9b000000ffff, 0x00cf93000000ffff, 0x00009b000000ffff, 0x00cff3000000ffff, 0x00cffb000000ffff,
        0x00008b0000000067 | (uint64_t)H_TSS << 16,
    };
    X86State *st = cpu->st;
    uint32_t data = DESC_P | DESC_S | DESC_W | DESC_A | DESC_G | DESC_B;

    memset(harness_ram(), 0, H_CODE + 0x10000);
    make_handlers32();
    memcpy(harness_ram() + H_GDT, gdt, sizeof(gdt));
    put64(H_TSS + 4, H_STACK0 | 0x10ull << 32);
    x86_cpu_reset(cpu);
    st->cr0 = CR0_PE | CR0_NE | CR0_ET;
    st->gdt = (X86Table) { H_GDT, 0xff };
    st->idt = (X86Table) { H_IDT, 64 * 8 - 1 };
    st->tr = (X86Segment) { .base = H_TSS, .limit = 0x67, .attr = DESC_P | 11 << 8, .selector = H_TR };
    st->ldt = (X86Segment) { .unusable = true };
    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = (X86Segment) { .limit = 0xffffffff, .attr = data, .selector = H_DS };
    }
    st->seg[SEG_CS].attr |= DESC_CODE;
    st->seg[SEG_CS].selector = 8;
    st->regs[R_RSP] = H_STACK;
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    ram_dirty_set(0, HARNESS_RAM >> 12);
}

static void make_tables(void)
{
    static const uint64_t gdt[] = {
        0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff, 0x00cff3000000ffff, 0x00affb000000ffff,
        0x0000890000000067 | (uint64_t)H_TSS << 16, 0,
    };

    memcpy(harness_ram() + H_GDT, gdt, sizeof(gdt));
    put64(H_TSS + 4, H_STACK0);
    put64(H_PML4, H_PDPT | 7);
    put64(H_PDPT, H_PD | 7);
    put64(H_PD, H_PT | 7);
    for (int i = 0; i < 512; i++) {
        put64(H_PT + i * 8, i * 4096ull | 7);
    }
    for (int i = 1; i < HARNESS_RAM >> 21; i++) {
        put64(H_PD + i * 8, (uint64_t)i << 21 | 0x87);
    }
}

void harness_long_mode(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t data = DESC_P | DESC_S | DESC_W | DESC_A | DESC_G | DESC_B;

    memset(harness_ram(), 0, H_CODE + 0x10000);
    make_handlers();
    make_tables();
    x86_cpu_reset(cpu);
    st->cr0 = CR0_PE | CR0_PG | CR0_NE | CR0_WP | CR0_ET | CR0_MP;
    st->cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PGE;
    st->cr3 = H_PML4;
    st->efer = EFER_LME | EFER_LMA | EFER_SCE | EFER_NXE;
    st->gdt = (X86Table) { H_GDT, 0x3f };
    st->idt = (X86Table) { H_IDT, 64 * 16 - 1 };
    st->tr = (X86Segment) { .base = H_TSS, .limit = 0x67, .attr = DESC_P | 11 << 8, .selector = H_TR };
    st->ldt = (X86Segment) { .unusable = true };
    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = (X86Segment) { .limit = 0xffffffff, .attr = data, .selector = H_DS };
    }
    st->seg[SEG_CS] = (X86Segment) { .limit = 0xffffffff, .selector = H_CS64,
                                     .attr = DESC_P | DESC_S | DESC_CODE | DESC_R | DESC_A | DESC_G | DESC_L };
    st->regs[R_RSP] = H_STACK;
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    ram_dirty_set(0, HARNESS_RAM >> 12);
}

bool harness_continue(X86CPU *cpu)
{
    const AccelOps *tcg = accel_find("tcg");
    int64_t end = clock_ns(CLOCK_REAL) + 1000000000;
    VCpuRunResult r;

    atomic_store(&cpu->vcpu.halted, false);
    do {
        vcpu_exec_begin(&cpu->vcpu);
        r = tcg->run(&cpu->vcpu);
        vcpu_exec_end(&cpu->vcpu);
    } while (r == VCPU_RUN_AGAIN && clock_ns(CLOCK_REAL) < end);
    return r == VCPU_RUN_HALTED;
}

bool harness_run_from(X86CPU *cpu, uint64_t rip)
{
    cpu->st->rip = rip;
    cpu->st->mp_state = MP_RUNNABLE;
    return harness_continue(cpu);
}

bool harness_run(X86CPU *cpu, const void *code, size_t len)
{
    memcpy(harness_ram() + H_CODE, code, len);
    ram_dirty_set(H_CODE >> 12, (len >> 12) + 1);
    return harness_run_from(cpu, H_CODE);
}

const HarnessFault *harness_fault(void)
{
    return (const HarnessFault *)(harness_ram() + H_FAULTS);
}
