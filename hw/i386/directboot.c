/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct boot of Linux through the 64-bit boot protocol (Documentation/arch/x86/boot.rst, "64-bit Boot Protocol") and
 * of ELF kernels through PVH (Xen's docs/misc/pvh.pandoc, public/arch-x86/hvm/start_info.h).
 *
 * Contract and low-memory map in include/hw/i386/directboot.h.
 */
#include "hw/i386/directboot.h"

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

/* As high as kernel and protocol allow, on a page. */
static bool initrd_place(DirectBoot *b, hwaddr low_end, Error **errp)
{
    hwaddr top = MIN(low_end, b->kernel->initrd_max + 1);

    if (b->initrd_len > top || ((top - b->initrd_len) & ~0xfffull) < b->kernel->end) {
        error_set(errp, "the initrd (%zu bytes) and the kernel do not fit into the guest's memory below 0x%llx",
                  b->initrd_len, (unsigned long long)top);
        return false;
    }
    b->initrd_addr = (top - b->initrd_len) & ~0xfffull;
    return true;
}

DirectBoot *directboot_prepare(const char *kernel, const char *initrd, const char *append, hwaddr low_end, Error **errp)
{
    DirectBoot *b = g_new0(DirectBoot, 1);

    b->cmdline = g_strdup(append ? append : "");
    b->kernel = kernel_open(kernel, errp);
    if (!b->kernel) {
        goto fail;
    }
    if (b->kernel->end > low_end || b->kernel->start < 0x100000) {
        error_set(errp, "kernel '%s' does not fit into the guest's memory: it needs 0x%llx to 0x%llx", kernel,
                  (unsigned long long)b->kernel->start, (unsigned long long)b->kernel->end);
        goto fail;
    }
    if (strlen(b->cmdline) > b->kernel->cmdline_max) {
        error_set(errp, "the kernel command line has %zu characters, and this kernel takes %u", strlen(b->cmdline),
                  b->kernel->cmdline_max);
        goto fail;
    }
    if (initrd) {
        b->initrd = map_file(initrd, "initrd", &b->initrd_len, errp);
        if (!b->initrd || !initrd_place(b, low_end, errp)) {
            goto fail;
        }
    }
    return b;
fail:
    directboot_free(b);
    return NULL;
}

void directboot_free(DirectBoot *b)
{
    if (b) {
        kernel_free(b->kernel);
        unmap_file(b->initrd, b->initrd_len);
        g_free(b->cmdline);
        g_free(b);
    }
}

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
    put32(bp + BP_RAMDISK_IMAGE, b->initrd_addr);
    put32(bp + BP_RAMDISK_SIZE, b->initrd_len);
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
    put32(info + 12, b->initrd ? 1 : 0);
    put64(info + 16, PVH_INFO_ADDR + 56);
    put64(info + 24, CMDLINE_ADDR);
    put64(info + 32, b->rsdp);
    put64(info + 40, map);
    put32(info + 48, b->n_e820);
    put64(info + 56, b->initrd_addr);
    put64(info + 64, b->initrd_len);
    address_space_write(as, PVH_INFO_ADDR, info, sizeof(info));
    for (int i = 0; i < b->n_e820; i++) {
        uint8_t e[24] = { 0 };

        put64(e, b->e820[i].addr);
        put64(e + 8, b->e820[i].size);
        put32(e + 16, b->e820[i].type);
        address_space_write(as, map + 24 * i, e, sizeof(e));
    }
}

/* Flat segments where boot.rst wants them: 10h code, 18h data; 20h a 32-bit code segment for PVH. */
static const uint64_t boot_gdt[] = { 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff,
                                     0x00008b0000000067 };

static X86Segment flat_segment(unsigned selector)
{
    uint64_t d = boot_gdt[selector / 8];

    return (X86Segment) { .selector = selector, .limit = UINT32_MAX, .attr = d >> 32 & 0xf0ff00 };
}

static void cpu_set_flat(X86State *st, unsigned code)
{
    st->gdt = (X86Table) { GDT_ADDR, sizeof(boot_gdt) - 1 };
    st->idt = (X86Table) { 0, 0 };
    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = flat_segment(i == SEG_CS ? code : 0x18);
    }
    st->tr = (X86Segment) { .selector = 0x28, .limit = 0x67, .attr = DESC_P | 0xb << 8 };
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
    cpu_set_flat(st, 0x10);
    st->cr3 = PAGE_TABLES_ADDR;
    st->cr4 = CR4_PAE;
    st->efer = EFER_LME | EFER_LMA;
    st->cr0 = CR0_PE | CR0_ET | CR0_PG | CR0_NE;
    st->regs[R_RSI] = BOOT_PARAMS_ADDR;
    st->rip = b->kernel->entry;
}

static void cpu_enter_pvh(const DirectBoot *b, X86State *st)
{
    cpu_set_flat(st, 0x20);
    st->cr0 = CR0_PE | CR0_ET;
    st->cr4 = 0;
    st->efer = 0;
    st->regs[R_RBX] = PVH_INFO_ADDR;
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
    kernel_load(b->kernel, as);
    if (b->initrd) {
        address_space_write(as, b->initrd_addr, b->initrd, b->initrd_len);
    }
    address_space_write(as, CMDLINE_ADDR, b->cmdline, strlen(b->cmdline) + 1);
    address_space_write(as, GDT_ADDR, boot_gdt, sizeof(boot_gdt));
    reset_vector_write(as);
    if (b->kernel->entry_kind == KERNEL_ENTRY_LINUX64) {
        boot_params_write(b, as);
        cpu_enter_linux64(b, as, bsp->st);
    } else {
        pvh_info_write(b, as);
        cpu_enter_pvh(b, bsp->st);
    }
    x86_update_mode(bsp);
}
