/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output, and the comparison of an outcome with its text (the language is in bare.h). */
#include "bare.h"

/* The runner writes the groups to run here (empty: all), the mode's quirks stay with the groups. */
__attribute__((used, section(".data"))) static volatile char filter[64] = "BARE-FILTER:";
static const char *group_name;
static u32 bad, good;

static const char *const vector_names[] = {
    "#DE", "#DB", "NMI", "#BP", "#OF", "#BR", "#UD", "#NM", "#DF", "#9", "#TS", "#NP", "#SS", "#GP", "#PF", "#15",
      "#MF",
    "#AC", "#MC", "#XM", "#VE", "#CP",
};

typedef struct Field {
    const char *key;
    u16 offset;
    u8 shift;
    u64 mask;
} Field;
#define F(name) offsetof(Rec, name)
#define ALL (~0ull)
static const Field fields[] = {
    { "cr2", F(cr2), 0, ALL }, { "w", F(w), 0, ALL }, { "ip", F(rel), 0, ALL }, { "rip", F(ip), 0, ALL },
    { "cs", F(cs), 0, 0xffff },
    { "sp", F(sp), 0, ALL }, { "dsp", F(dsp), 0, ALL }, { "ss", F(ss), 0, 0xffff }, { "ds", F(ds), 0, 0xffff },
    { "es", F(es), 0, 0xffff }, { "fs", F(fs), 0, 0xffff }, { "gs", F(gs), 0, 0xffff }, { "fl", F(flags), 0, ALL },
    { "cf", F(flags), 0, 1 }, { "pf", F(flags), 2, 1 }, { "af", F(flags), 4, 1 }, { "zf", F(flags), 6, 1 },
    { "sf", F(flags), 7, 1 }, { "tf", F(flags), 8, 1 }, { "if", F(flags), 9, 1 }, { "df", F(flags), 10, 1 },
    { "of", F(flags), 11, 1 }, { "iopl", F(flags), 12, 3 }, { "nt", F(flags), 14, 1 }, { "rf", F(flags), 16, 1 },
    { "vm", F(flags), 17, 1 }, { "ac", F(flags), 18, 1 }, { "vif", F(flags), 19, 1 }, { "vip", F(flags), 20, 1 },
    { "id", F(flags), 21, 1 }, { "dr6", F(dr6), 0, ALL }, { "cpl0sp", F(cpl0_sp), 0, ALL },
    { "ax", F(regs[AX]), 0, ALL }, { "cx", F(regs[CX]), 0, ALL }, { "dx", F(regs[DX]), 0, ALL },
    { "bx", F(regs[BX]), 0, ALL }, { "bp", F(regs[BP]), 0, ALL }, { "si", F(regs[SI]), 0, ALL },
    { "di", F(regs[DI]), 0, ALL }, { "al", F(regs[AX]), 0, 0xff }, { "ah", F(regs[AX]), 8, 0xff },
    { "ax16", F(regs[AX]), 0, 0xffff }, { "cx16", F(regs[CX]), 0, 0xffff }, { "dx16", F(regs[DX]), 0, 0xffff },
    { "sp16", F(sp), 0, 0xffff },
#ifdef __x86_64__
    { "r8", F(regs[8]), 0, ALL }, { "r9", F(regs[9]), 0, ALL }, { "r10", F(regs[10]), 0, ALL },
    { "r11", F(regs[11]), 0, ALL }, { "r12", F(regs[12]), 0, ALL }, { "r13", F(regs[13]), 0, ALL },
    { "r14", F(regs[14]), 0, ALL }, { "r15", F(regs[15]), 0, ALL },
#endif
};

void *memset(void *p, int c, size_t n)
{
    void *start_of = p;

    __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
    return start_of;
}

void *memcpy(void *d, const void *s, size_t n)
{
    void *start_of = d;

    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    return start_of;
}

static bool same(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static size_t length(const char *s)
{
    size_t n = 0;

    while (s[n]) {
        n++;
    }
    return n;
}

void print(const char *s)
{
    while (*s) {
        outb(0xe9, *s++);
    }
}

static char *put_text(char *p, const char *s)
{
    while (*s) {
        *p++ = *s++;
    }
    *p = 0;
    return p;
}

static char *put_hex(char *p, u64 v)
{
    int shift = 60;

    while (shift && !(v >> shift)) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        *p++ = "0123456789abcdef"[v >> shift & 15];
    }
    *p = 0;
    return p;
}

void print_hex(u64 v)
{
    char buf[20];

    put_hex(buf, v);
    print(buf);
}

/* Hex, perhaps with a minus; stops at what is no digit. */
static u64 get_hex(const char *p)
{
    bool minus = *p == '-';
    u64 v = 0;

    for (p += minus; ; p++) {
        if (*p >= '0' && *p <= '9') {
            v = v * 16 + *p - '0';
        } else if (*p >= 'a' && *p <= 'f') {
            v = v * 16 + *p - 'a' + 10;
        } else {
            return minus ? -v : v;
        }
    }
}

void report(const char *name, bool ok, const char *got, const char *want)
{
    *(ok ? &good : &bad) += 1;
    print(ok ? "ok " : "FAIL ");
    print(group_name);
    print("/");
    print(name);
    if (!ok) {
        print(" got ");
        print(got);
        print(" want ");
        print(want);
    }
    print("\n");
}

void skip(const char *name, const char *why)
{
    print("skip ");
    print(group_name);
    print("/");
    print(name);
    print(" (");
    print(why);
    print(")\n");
}

static char *put_vector(char *p, bool with_error)
{
    if (rec.vec == END_VECTOR) {
        return put_text(p, "ok");
    }
    if (rec.vec < sizeof(vector_names) / sizeof(vector_names[0])) {
        p = put_text(p, vector_names[rec.vec]);
    } else {
        p = put_hex(put_text(p, "i"), rec.vec);
    }
    return with_error ? put_text(put_hex(put_text(p, "("), rec.err), ")") : p;
}

static const Field *field_find(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (length(fields[i].key) == n && same(fields[i].key, word, n)) {
            return &fields[i];
        }
    }
    print("BUG: no field ");
    print(word);
    print("\n");
    return &fields[0];
}

/* One " key=value" of the wanted text: append what is there; returns the next word. */
static const char *compare_field(const char *word, char **out, bool *ok)
{
    const char *eq = word, *end;
    const Field *f;
    u64 v;

    while (*eq && *eq != '=') {
        eq++;
    }
    end = eq;
    while (*end && *end != ' ') {
        end++;
    }
    f = field_find(word, eq - word);
    v = *(ulong *)((char *)&rec + f->offset) >> f->shift & f->mask;
    *ok = *ok && v == ((ulong)get_hex(eq + 1) & f->mask);
    *out = put_hex(put_text(put_text(put_text(*out, " "), f->key), "="), v);
    return end;
}

void check(const char *name, const char *want)
{
    char got[200], *p = got;
    const char *w = want;
    bool with_error = false, ok;

    while (*w && *w != ' ') {
        with_error |= *w++ == '(';
    }
    p = put_vector(got, with_error);
    ok = (size_t)(p - got) == (size_t)(w - want) && same(got, want, w - want);
    if (!ok && !with_error && rec.vec != END_VECTOR) {
        p = put_vector(got, true);
    }
    while (*w == ' ') {
        w = compare_field(w + 1, &p, &ok);
    }
    report(name, ok, got, want);
}

void check_num(const char *name, u64 got, u64 want)
{
    char a[20], b[20];

    put_hex(a, got);
    put_hex(b, want);
    report(name, got == want, a, b);
}

bool cpu_has(u32 leaf, u32 reg, u32 bit)
{
    Cpuid top = cpuid(leaf & 0x80000000, 0), r;

    if (top.a < leaf) {
        return false;
    }
    r = cpuid(leaf, 0);
    return (&r.a)[reg] >> bit & 1;
}

/* Words separated by commas; a word is a group's whole name. */
static bool group_wanted(const char *name)
{
    const char *list = (const char *)filter + 12;
    size_t n = length(name);

    if (!*list) {
        return true;
    }
    for (; *list; list++) {
        if (same(list, name, n) && (list[n] == ',' || !list[n])) {
            return true;
        }
        while (*list && *list != ',') {
            list++;
        }
        if (!*list) {
            break;
        }
    }
    return false;
}

void group_begin(const char *name)
{
    group_name = name;
}

void finish(void)
{
    print("end ");
    print_hex(good);
    print(" ");
    print_hex(bad);
    print("\n");
    outl(0xf4, 0x10);
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

void kernel_main(void);
void kernel_main(void)
{
    desc_init();
    print("groups");
    for (const Group *g = groups; g->name; g++) {
        print(" ");
        print(g->name);
    }
    print("\n");
    for (const Group *g = groups; g->name; g++) {
        if (group_wanted(g->name)) {
            group_begin(g->name);
            print("group ");
            print(g->name);
            print("\n");
            desc_init();
            start_kernel();
            g->run();
        }
    }
    finish();
}
