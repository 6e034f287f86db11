/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct boot of Linux through the 64-bit and 32-bit boot protocols (Documentation/arch/x86/boot.rst), of ELF kernels
 * through PVH (Xen's docs/misc/pvh.pandoc, public/arch-x86/hvm/start_info.h), and of multiboot kernels (multiboot.c).
 *
 * Contract and low-memory map in include/hw/i386/directboot.h.
 */
#include "hw/i386/multiboot.h"

#include <string.h>

#define GDT_ADDR 0x500
#define BOOT_PARAMS_ADDR 0x7000
#define PVH_INFO_ADDR 0x8000
#define PAGE_TABLES_ADDR 0x9000     /* PML4, PDPT, four PDs */
#define CMDLINE_ADDR 0x20000
#define STACK_TOP 0x1fff0
#define RESET_VECTOR 0xffff0
/* boot_params (zero page) offsets */
#define BP_ACPI_RSDP 0x070
#define BP_E820_ENTRIES 0x1e8
#define BP_SETUP_HEADER 0x1f1
#define BP_TYPE_OF_LOADER 0x210
#define BP_LOADFLAGS 0x211
#define BP_RAMDISK_IMAGE 0x218
#define BP_RAMDISK_SIZE 0x21c
#define BP_CMD_LINE_PTR 0x228
#define BP_E820_TABLE 0x2d0
#define BP_E820_MAX 128

void e820_add(DirectBoot *b, uint64_t addr, uint64_t size, E820Type type)
{
    if (size && b->n_e820 < E820_MAX) {
        b->e820[b->n_e820++] = (E820Entry) { addr, size, type };
    }
}

/* ---- files beside the kernel ---- */

static BootModule *module_add(DirectBoot *b, const char *file, const char *what, Error **errp)
{
    BootModule m = { 0 };

    m.data = map_file(file, what, &m.len, errp);
    if (!m.data) {
        return NULL;
    }
    b->module = g_renew(BootModule, b->module, b->n_module + 1);
    b->module[b->n_module] = m;
    return &b->module[b->n_module++];
}

/* The initrd goes as high as kernel and protocol allow, on a page. */
static bool initrd_take(DirectBoot *b, const char *file, hwaddr low_end, Error **errp)
{
    hwaddr top = MIN(low_end, b->kernel->initrd_max + 1);
    BootModule *m = module_add(b, file, "initrd", errp);

    if (!m) {
        return false;
    }
    if (m->len > top || ((top - m->len) & ~0xfffull) < b->kernel->end) {
        error_set(errp, "the initrd (%zu bytes) and the kernel do not fit into the guest's memory below 0x%llx", m->len,
                  (unsigned long long)top);
        return false;
    }
    m->addr = (top - m->len) & ~0xfffull;
    return true;
}

/* Up to the next single comma; two commas stand for one. */
static char *list_word(const char **at)
{
    GString *word = g_string_new(NULL);
    const char *p = *at;

    for (; *p && (*p != ',' || p[1] == ','); p++) {
        p += *p == ',';
        g_string_append_c(word, *p);
    }
    *at = *p ? p + 1 : p;
    return g_string_free(word, FALSE);
}

/* Multiboot's modules follow the kernel, each on a page. */
static bool modules_take(DirectBoot *b, const char *list, hwaddr low_end, Error **errp)
{
    hwaddr next = b->kernel->end;
    size_t args = 0;

    while (*list) {
        g_autofree char *word = list_word(&list);
        g_autofree char *file = g_strndup(g_strchug(word), strcspn(word, " "));
        BootModule *m = module_add(b, file, "module", errp);

        if (!m) {
            return false;
        }
        m->args = g_steal_pointer(&word);
        m->addr = (next + 0xfff) & ~0xfffull;
        next = m->addr + m->len;
        args += strlen(m->args) + 1;
        if (next > low_end) {
            error_set(errp, "module '%s' (%zu bytes) does not fit into the guest's memory behind the kernel", file,
                      m->len);
            return false;
        }
        if (b->n_module > MULTIBOOT_MODULES_MAX || args > MULTIBOOT_ARGS_MAX) {
            error_set(errp, "-initrd names too many modules: at most %d, with %d bytes of arguments in all",
                      MULTIBOOT_MODULES_MAX, MULTIBOOT_ARGS_MAX);
            return false;
        }
    }
    return true;
}

/* A multiboot kernel finds its own name before what -append says. */
static char *command_line(const KernelImage *k, const char *kernel, const char *append)
{
    append = append ? append : "";
    return k->entry_kind == KERNEL_ENTRY_MULTIBOOT ? g_strdup_printf("%s %s", kernel, append) : g_strdup(append);
}

DirectBoot *directboot_prepare(const char *kernel, const char *initrd, const char *append, hwaddr low_end, Error **errp)
{
    DirectBoot *b = g_new0(DirectBoot, 1);
    bool ok = true;

    b->kernel = kernel_open(kernel, errp);
    if (!b->kernel) {
        goto fail;
    }
    if (b->kernel->end > low_end || b->kernel->start < 0x100000) {
        error_set(errp, "kernel '%s' does not fit into the guest's memory: it needs 0x%llx to 0x%llx", kernel,
                  (unsigned long long)b->kernel->start, (unsigned long long)b->kernel->end);
        goto fail;
    }
    b->cmdline = command_line(b->kernel, kernel, append);
    if (strlen(b->cmdline) > b->kernel->cmdline_max) {
        error_set(errp, "the kernel command line has %zu characters, and this kernel takes %u", strlen(b->cmdline),
                  b->kernel->cmdline_max);
        goto fail;
    }
    if (initrd) {
        ok = b->kernel->entry_kind == KERNEL_ENTRY_MULTIBOOT ? modules_take(b, initrd, low_end, errp)
                                                             : initrd_take(b, initrd, low_end, errp);
    }
    if (ok) {
        return b;
    }
fail:
    directboot_free(b);
    return NULL;
}

void directboot_free(DirectBoot *b)
{
    if (b) {
        kernel_free(b->kernel);
        for (int i = 0; i < b->n_module; i++) {
            unmap_file(b->module[i].data, b->module[i].len);
            g_free(b->module[i].args);
        }
        g_free(b->module);
        g_free(b->cmdline);
        g_free(b);
    }
}

/* ---- what the kernel is told ---- */

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = v >> 8 * i;
    }
}

static void put64(uint8_t *p, uint64_t v)
{
    put32(p, v);
    put32(p + 4, v >> 32);
}

static void boot_params_write(const DirectBoot *b, AddressSpace *as)
{
    uint8_t bp[4096] = { 0 };

    memcpy(bp + BP_SETUP_HEADER, b->kernel->setup_header, b->kernel->setup_header_len);
    bp[BP_TYPE_OF_LOADER] = 0xff;       /* no assigned loader number */
    bp[BP_LOADFLAGS] |= 1;              /* loaded high */
    put32(bp + BP_CMD_LINE_PTR, CMDLINE_ADDR);
    if (b->n_module) {
        put32(bp + BP_RAMDISK_IMAGE, b->module[0].addr);
        put32(bp + BP_RAMDISK_SIZE, b->module[0].len);
    }
    put64(bp + BP_ACPI_RSDP, b->rsdp);
    bp[BP_E820_ENTRIES] = MIN(b->n_e820, BP_E820_MAX);
    for (int i = 0; i < bp[BP_E820_ENTRIES]; i++) {
        uint8_t *e = bp + BP_E820_TABLE + 20 * i;

        put64(e, b->e820[i].addr);
        put64(e + 8, b->e820[i].size);
        put32(e + 16, b->e820[i].type);
    }
    address_space_write(as, BOOT_PARAMS_ADDR, bp, sizeof(bp));
}

/* hvm_start_info, one module (the initrd), memory map. */
static void pvh_info_write(const DirectBoot *b, AddressSpace *as)
{
    uint8_t info[56 + 32] = { 0 };
    hwaddr map = PVH_INFO_ADDR + sizeof(info);

    put32(info, 0x336ec578);            /* magic */
    put32(info + 4, 1);                 /* version */
    put32(info + 12, b->n_module);      /* at most one */
    put64(info + 16, PVH_INFO_ADDR + 56);
    put64(info + 24, CMDLINE_ADDR);
    put64(info + 32, b->rsdp);
    put64(info + 40, map);
    put32(info + 48, b->n_e820);
    if (b->n_module) {
        put64(info + 56, b->module[0].addr);
        put64(info + 64, b->module[0].len);
    }
    address_space_write(as, PVH_INFO_ADDR, info, sizeof(info));
    for (int i = 0; i < b->n_e820; i++) {
        uint8_t e[24] = { 0 };

        put64(e, b->e820[i].addr);
        put64(e + 8, b->e820[i].size);
        put32(e + 16, b->e820[i].type);
        address_space_write(as, map + 24 * i, e, sizeof(e));
    }
}

/* ---- the processor ---- */

/* Flat segments where boot.rst wants them: 10h code (of the kernel's mode), 18h data; then a busy TSS. */
#define CODE64 0x00af9b000000ffff
#define CODE32 0x00cf9b000000ffff
enum { SEL_CODE = 0x10, SEL_DATA = 0x18, SEL_TSS = 0x20 };

static X86Segment flat_segment(unsigned selector, uint64_t descriptor)
{
    return (X86Segment) { .selector = selector, .limit = UINT32_MAX, .attr = descriptor >> 32 & 0xf0ff00 };
}

static void cpu_set_flat(AddressSpace *as, X86State *st, uint64_t code)
{
    const uint64_t gdt[] = { 0, 0, code, 0x00cf93000000ffff, 0x00008b0000000067 };

    address_space_write(as, GDT_ADDR, gdt, sizeof(gdt));
    st->gdt = (X86Table) { GDT_ADDR, sizeof(gdt) - 1 };
    st->idt = (X86Table) { 0, 0 };
    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = i == SEG_CS ? flat_segment(SEL_CODE, code) : flat_segment(SEL_DATA, gdt[SEL_DATA / 8]);
    }
    st->tr = (X86Segment) { .selector = SEL_TSS, .limit = 0x67, .attr = DESC_P | 0xb << 8 };
    st->rflags = FL_1;
    memset(st->regs, 0, sizeof(st->regs));
    st->regs[R_RSP] = STACK_TOP;
    st->mp_state = MP_RUNNABLE;
}

/* Identity map of the first 4 GiB in 2 MiB pages. */
static void page_tables_write(AddressSpace *as)
{
    const hwaddr pml4 = PAGE_TABLES_ADDR, pdpt = pml4 + 0x1000, pd = pdpt + 0x1000;

    address_space_set(as, pml4, 0, 0x2000);
    address_space_st(as, pml4, pdpt | 3, 8);
    for (int i = 0; i < 4; i++) {
        address_space_st(as, pdpt + 8 * i, (pd + 0x1000 * i) | 3, 8);
    }
    for (uint64_t i = 0; i < 2048; i++) {
        address_space_st(as, pd + 8 * i, i << 21 | 0x83, 8);
    }
}

static void cpu_enter_linux64(const DirectBoot *b, AddressSpace *as, X86State *st)
{
    page_tables_write(as);
    cpu_set_flat(as, st, CODE64);
    st->cr3 = PAGE_TABLES_ADDR;
    st->cr4 = CR4_PAE;
    st->efer = EFER_LME | EFER_LMA;
    st->cr0 = CR0_PE | CR0_ET | CR0_PG | CR0_NE;
    st->regs[R_RSI] = BOOT_PARAMS_ADDR;
    st->rip = b->kernel->entry;
}

/* Protected mode without paging, as PVH, multiboot and Linux's 32-bit entry want it. */
static void cpu_enter_32(const DirectBoot *b, AddressSpace *as, X86State *st)
{
    cpu_set_flat(as, st, CODE32);
    st->cr0 = CR0_PE | CR0_ET;
    st->cr4 = 0;
    st->efer = 0;
    st->rip = b->kernel->entry;
}

/*
 * A kernel may ask firmware for a reboot by a jump to f000:fff0 in real mode: Linux does on a hardware-reduced machine
 * (it takes that for one with EFI), and with reboot=bios. Here that jump ends in a shutdown, by which a PC resets.
 */
static void reset_vector_write(AddressSpace *as)
{
    static const uint8_t code[16] = {
        0x2e, 0x0f, 0x01, 0x1e, 0xf8, 0xff,     /* lidt cs:[fff8h]: no vectors */
        0xcc,                                   /* int3 */
        0xf4,
    };

    address_space_write(as, RESET_VECTOR, code, sizeof(code));
}

void directboot_run(DirectBoot *b, AddressSpace *as, X86CPU *bsp)
{
    X86State *st = bsp->st;

    kernel_load(b->kernel, as);
    for (int i = 0; i < b->n_module; i++) {
        address_space_write(as, b->module[i].addr, b->module[i].data, b->module[i].len);
    }
    address_space_write(as, CMDLINE_ADDR, b->cmdline, strlen(b->cmdline) + 1);
    reset_vector_write(as);
    switch (b->kernel->entry_kind) {
    case KERNEL_ENTRY_LINUX64:
        boot_params_write(b, as);
        cpu_enter_linux64(b, as, st);
        break;
    case KERNEL_ENTRY_LINUX32:
        boot_params_write(b, as);
        cpu_enter_32(b, as, st);
        st->regs[R_RSI] = BOOT_PARAMS_ADDR;
        break;
    case KERNEL_ENTRY_PVH:
        pvh_info_write(b, as);
        cpu_enter_32(b, as, st);
        st->regs[R_RBX] = PVH_INFO_ADDR;
        break;
    case KERNEL_ENTRY_MULTIBOOT:
        multiboot_info_write(b, as, CMDLINE_ADDR);
        cpu_enter_32(b, as, st);
        st->regs[R_RAX] = MULTIBOOT_BOOTLOADER_MAGIC;
        st->regs[R_RBX] = MULTIBOOT_INFO_ADDR;
        break;
    }
    x86_update_mode(bsp);
}
