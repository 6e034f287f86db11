/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System management mode on q35 (SDM vol. 3 ch. 30, APM vol. 2 ch. 10; ICH9 datasheet): SMI by a write to
 * port B2h, the state an SMI handler starts in, the save area (AMD64 layout), changes that RSM takes over,
 * SMBASE relocation, SMRAM open, closed, locked.
 */
#include "bare.h"

enum { SMBASE = 0x30000, NEW_BASE = 0xa0000, NOTES = 0x46000, SMRAMC = 0x9d };

/* Notes: 0 CS, 4 CR0, 8 DR7, c count, 10 revision, 14 CR4, 18 EFER; RCX becomes 5a5ah, SMBASE A0000h. */
__asm__(".pushsection .text\n.code16\n"
        "smm_handler: movw %cs, %ax; addr32 movl %eax, 0x46000; movl %cr0, %eax; addr32 movl %eax, 0x46004;"
        "movl %dr7, %eax; addr32 movl %eax, 0x46008; addr32 incl 0x4600c; movl %cs:0xfefc, %eax;"
        "addr32 movl %eax, 0x46010; movl %cr4, %eax; addr32 movl %eax, 0x46014; movl $0xc0000080, %ecx; rdmsr;"
        "addr32 movl %eax, 0x46018; movl $0x5a5a, %cs:0xfff0; movl $0xa0000, %cs:0xff00; rsm\n"
        "smm_handler_end: .code64\n.popsection");
extern const u8 smm_handler[], smm_handler_end[];

static u32 pci_get(u32 devfn, u32 reg)
{
    outl(0xcf8, 0x80000000u | devfn << 8 | (reg & ~3u));
    return inl(0xcfc) >> (reg & 3) * 8;
}

static void pci_set8(u32 devfn, u32 reg, u8 v)
{
    outl(0xcf8, 0x80000000u | devfn << 8 | (reg & ~3u));
    outb(0xcfc + (reg & 3), v);
}

static u32 saved(u32 base, u32 offset)
{
    return *(volatile u32 *)(ulong)(base + offset);
}

#define SMI "movl $0x1234, %ebx; xorl %ecx, %ecx; outb %al, $0xb2; movl $2000000, %edx; 1: pause;" \
    "cmpl $0x5a5a, %ecx; je 2f; decl %edx; jnz 1b; 2:"

static void first_smi(void)
{
    memcpy((void *)(SMBASE + 0x8000), smm_handler, smm_handler_end - smm_handler);
    start_kernel();
    start.flags |= FL_CF;
    T("smi-and-rsm", SMI, "ok cx=5a5a bx=1234 cs=8 if=0");
    check_num("handler-cs", saved(NOTES, 0) & 0xffff, SMBASE >> 4);
    check_num("handler-cr0", saved(NOTES, 4) & 0x8000000d, 0);
    check_num("handler-cr4", saved(NOTES, 0x14), 0);
    check_num("handler-efer", saved(NOTES, 0x18), 0);
    check_num("handler-dr7", saved(NOTES, 8), 0x400);
    check_num("handler-ran-once", saved(NOTES, 0xc), 1);
    check_num("revision", saved(NOTES, 0x10), 0x20064);
    check_num("saved-rbx", saved(SMBASE, 0xffe0), 0x1234);
    check_num("saved-cr3", saved(SMBASE, 0xff50), cr3_get());
    check_num("saved-cr0", saved(SMBASE, 0xff58), cr0_get());
    check_num("saved-cr4", saved(SMBASE, 0xff48), cr4_get());
    check_num("saved-efer", saved(SMBASE, 0xfed0), msr_get(MSR_EFER));
    check_num("saved-rsp", saved(SMBASE, 0xffd8), start.sp);
    check_num("saved-rip-is-in-the-snippet", saved(SMBASE, 0xff78) - start.ip < 64, 1);
    check_num("saved-rflags", saved(SMBASE, 0xff70) & 2, 2);
    check_num("saved-dr7", saved(SMBASE, 0xff60), 0x400);
}

static void smram(void)
{
    const volatile u32 *at = (const volatile u32 *)(ulong)(NEW_BASE + 0x8000);
    u32 code;

    memcpy(&code, smm_handler, 4);
    pci_set8(0, SMRAMC, 0x4a);
    memcpy((void *)(NEW_BASE + 0x8000), smm_handler, smm_handler_end - smm_handler);
    check_num("smram-open", *at, code);
    pci_set8(0, SMRAMC, 0x0a);
    check_num("smram-closed", *at != code, 1);
    start_kernel();
    T("smi-at-new-base", SMI, "ok cx=5a5a");
    check_num("new-base-cs", saved(NOTES, 0) & 0xffff, NEW_BASE >> 4);
    check_num("new-base-count", saved(NOTES, 0xc), 2);
    start_user();
    start.flags |= FL_IOPL;
    T("smi-from-user", SMI, "ok cx=5a5a cs=1b");
    start.cs = UCS32;
    T32("smi-from-compat", SMI, "ok cx=5a5a cs=63");
    start_kernel();
    T("rsm-outside", "rsm", "#UD");
    pci_set8(0, SMRAMC, 0x4a);
    check_num("saved-cpl3-cs", *(volatile u16 *)(NEW_BASE + 0xfe10), UCS32);
    pci_set8(0, SMRAMC, 0x0a);
    T("smi-before-trap", "pushfq; orl $0x100, (%rsp); popfq; outb %al, $0xb2; nop; nop", "#DB tf=1 ip=b");
    pci_set8(0, SMRAMC, 0x4a);
    check_num("smi-before-trap-rip", *(volatile u32 *)(NEW_BASE + 0xff78) - start.ip, 0xb);
    pci_set8(0, SMRAMC, 0x1a);
    check_num("locked", pci_get(0, SMRAMC) & 0xff, 0x1a);
    pci_set8(0, SMRAMC, 0x4a);
    check_num("lock-holds", pci_get(0, SMRAMC) & 0xff, 0x1a);
    check_num("locked-closed", *at != code, 1);
}

void smm_group(void);
void smm_group(void)
{
    u32 pmbase = 0x600, smi_en;

    for (u32 i = 0; i < 8; i++) {
        ((volatile u32 *)NOTES)[i] = 0;
    }
    outl(0xcf8, 0x8000f840u);
    outl(0xcfc, pmbase | 1);
    pci_set8(0xf8, 0x44, 0x80);
    smi_en = inl(pmbase + 0x30);
    outl(pmbase + 0x30, smi_en | 0x21);
    check_num("smi-enabled", inl(pmbase + 0x30) & 0x21, 0x21);
    first_smi();
    smram();
    desc_init();
}
