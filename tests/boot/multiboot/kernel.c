/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A multiboot kernel that writes to the debug console (port e9h) what it was started with, resets the machine once, and
 * leaves by isa-debug-exit at f4h. FLAGS_TEXT: what its header asks for (build.sh).
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;

#define MARK (*(volatile u32 *)0x3000000)       /* in RAM that no loader writes: a reset keeps it */

__asm__(".section .head, \"ax\"\n"
        ".globl start, _start\n"
        "_start: jmp start\n"
        ".balign 4\n"
        "header: .long 0x1badb002, FLAGS, -(0x1badb002 + FLAGS)\n"
        ".long header, image_start, image_data_end, image_end, start\n"
        ".set FLAGS, " FLAGS_TEXT "\n"
        "start: mov $stack_top, %esp; push %ebx; push %eax; call kernel_main\n"
        ".text\n");

extern u8 image_end[];
static u8 in_bss[64];
static u32 in_data = 0x12345678;

static void out8(u16 port, u8 v) { __asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port)); }

static void text(const char *s)
{
    while (*s) {
        out8(0xe9, *s++);
    }
}

static void number(const char *name, u32 v)
{
    text(name);
    text(" ");
    for (int shift = 28; shift >= 0; shift -= 4) {
        out8(0xe9, "0123456789abcdef"[v >> shift & 15]);
    }
    text("\n");
}

/* A word of a command line begins with the file's name: what is before the last slash differs from run to run. */
static void command(const char *name, const char *line)
{
    const char *base = line;

    for (const char *p = line; *p && *p != ' '; p++) {
        base = *p == '/' ? p + 1 : base;
    }
    text(name);
    text(" [");
    text(base);
    text("]\n");
}

static void modules(const u32 *info)
{
    const u32 *m = (const u32 *)info[6];

    number("modules", info[5]);
    for (u32 n = 0; n < info[5]; n++, m += 4) {
        command("module", (const char *)m[2]);
        number(" bytes", m[1] - m[0]);
        number(" off its page", m[0] & 0xfff);
        number(" behind the kernel", m[0] >= (u32)image_end);
        number(" first byte", *(const u8 *)m[0]);
        number(" last byte", *(const u8 *)(m[1] - 1));
    }
}

/* RAM above 1 MiB by the map must reach as far as mem_upper says. */
static void memory(const u32 *info)
{
    const u8 *e = (const u8 *)info[12], *end = e + info[11];
    u32 found = 0;

    number("mem_lower", info[1]);
    for (; e < end; e += *(const u32 *)e + 4) {
        const u32 *f = (const u32 *)(e + 4);

        found |= f[0] == 0x100000 && f[1] == 0 && f[4] == 1 && f[2] / 1024 == info[2];
    }
    number("map and mem_upper agree", found);
    number("mem_upper fits", info[2] > 60 * 1024 && info[2] <= 63 * 1024);
}

static void processor(void)
{
    u32 cr0, flags;

    __asm__("mov %%cr0, %0; pushfl; popl %1" : "=r"(cr0), "=r"(flags));
    number("paging and protection", cr0 & 0x80000001);
    number("flags IF and VM", flags & 0x20200);
    *(volatile u32 *)0x200000 = 1;
    *(volatile u32 *)0x300000 = 2;
    number("A20", *(volatile u32 *)0x200000 == 1);
}

void kernel_main(u32 magic, const u32 *info);
void kernel_main(u32 magic, const u32 *info)
{
    u32 sum = 0;

    for (u32 i = 0; i < sizeof(in_bss); i++) {
        sum |= in_bss[i];
        in_bss[i] = 0xff;                       /* the next start must find zero again */
    }
    number("magic", magic);
    number("flags", info[0] & 0x24f);
    number("bss", sum);
    number("data", in_data);
    in_data = 1;
    command("command line", (const char *)info[4]);
    number("loader's name", *(const char *)info[16] != 0);
    processor();
    memory(info);
    modules(info);
    if (MARK != 0x600dcafe) {
        MARK = 0x600dcafe;
        text("reset\n");
        out8(0xcf9, 2);
        out8(0xcf9, 6);
        for (;;) {
            __asm__ volatile("hlt");
        }
    }
    text("end\n");
    out8(0xf4, 0x10);
}
