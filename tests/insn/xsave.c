/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XSAVE family's image in the window: the host's standard format has other offsets than ours (CPUID leaf 0xd
 * tells each guest), the compacted format is the same everywhere. See insn-test.h.
 */
#include <string.h>

#include "insn-test.h"

typedef struct Part {
    uint8_t component;
    uint16_t offset, size;          /* ours, standard format */
} Part;
static const Part parts[] = { { 2, 576, 256 }, { 5, 1088, 64 }, { 6, 1152, 512 }, { 7, 1664, 1024 } };
enum { HEADER = 512, EXTENDED = 576, IMAGE = 2688 };

bool is_xsave(const Insn *i)
{
    const char *name = x86_mnemonic(i);

    return g_str_has_prefix(name, "xsave") || g_str_has_prefix(name, "xrstor");
}

/* The image in a window of ours; NULL when it is not there or not in standard format. */
static uint8_t *image_at(const InsnCase *c, uint8_t *window)
{
    uint64_t compact;

    if (!c->xsave || c->target - DATA_AT > DATA_RW - IMAGE || (c->target & 63)) {
        return NULL;
    }
    memcpy(&compact, window + (c->target - DATA_AT) + HEADER + 8, 8);
    if (!strcmp(x86_mnemonic(&c->insn[0]), "xsavec") ||
        (g_str_has_prefix(x86_mnemonic(&c->insn[0]), "xrstor") && compact >> 63)) {
        return NULL;
    }
    return window + (c->target - DATA_AT);
}

/* Bytes that belong to no component where they go to are those of the area that comes. */
static void image_move(uint8_t *image, bool to_host)
{
    uint8_t old[IMAGE];

    memcpy(old, image, IMAGE);
    for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
        unsigned host = native_xsave_offset(parts[n].component);

        if (host && host + parts[n].size <= IMAGE) {
            memcpy(image + (to_host ? host : parts[n].offset), old + (to_host ? parts[n].offset : host), parts[n].size);
        }
    }
}

void xsave_to_native(const InsnCase *c, uint8_t *window)
{
    uint8_t *image = image_at(c, window);

    if (image) {
        image_move(image, true);
    }
}

void xsave_from_native(const InsnCase *c, uint8_t *window)
{
    uint8_t *image = image_at(c, window), was[IMAGE];

    if (image) {
        memcpy(was, window_start + (c->target - DATA_AT), IMAGE);
        image_move(image, false);
        /* What is between the components: as it was, if the host left its own such bytes alone. */
        for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
            unsigned end = parts[n].offset + parts[n].size, next = n + 1 < G_N_ELEMENTS(parts) ? parts[n + 1].offset
                                                                                               : IMAGE;
            memcpy(image + end, was + end, next - end);
        }
    }
}

static bool is_initial(const X86XSave *xs, const Part *p)
{
    const uint8_t *v = (const uint8_t *)xs + p->offset;

    return !v[0] && !memcmp(v, v + 1, p->size - 1);
}

static bool x87_initial(const X86XSave *xs)
{
    static const Part all = { 0, offsetof(X86XSave, st), 128 };

    return xs->fcw == 0x37f && !xs->fsw && !xs->ftw && !xs->fop && !xs->fip && !xs->fdp && is_initial(xs, &all);
}

static unsigned compact_offset(uint64_t bv, size_t part)
{
    unsigned at = EXTENDED;

    for (size_t n = 0; n < part; n++) {
        at += bv >> parts[n].component & 1 ? parts[n].size : 0;
    }
    return at;
}

void xsave_tame(const InsnCase *c, uint8_t *native, const uint8_t *guest)
{
    const X86XSave *xs = &c->start.xs;
    static const Part sse = { 1, offsetof(X86XSave, xmm), 256 };
    uint64_t a, b, differ, compact;
    unsigned at = c->target - DATA_AT;

    if (!c->xsave || g_str_has_prefix(x86_mnemonic(&c->insn[0]), "xrstor") || at > DATA_RW - IMAGE) {
        return;
    }
    memcpy(&a, native + at + HEADER, 8);
    memcpy(&b, guest + at + HEADER, 8);
    memcpy(&compact, guest + at + HEADER + 8, 8);
    differ = a ^ b;
    if ((differ & XFEATURE_X87) && x87_initial(xs)) {
        memcpy(native + at, guest + at, 24);
        memcpy(native + at + 32, guest + at + 32, 128);
        a ^= XFEATURE_X87;
    }
    if ((differ & XFEATURE_SSE) && is_initial(xs, &sse)) {
        memcpy(native + at + 160, guest + at + 160, 256);
        a ^= XFEATURE_SSE;
    }
    for (size_t n = 0; n < G_N_ELEMENTS(parts); n++) {
        if ((differ >> parts[n].component & 1) && is_initial(xs, &parts[n])) {
            unsigned off = at + (compact >> 63 ? compact_offset(compact, n) : parts[n].offset);

            memcpy(native + off, guest + off, parts[n].size);
            a ^= 1ull << parts[n].component;
        }
    }
    memcpy(native + at + HEADER, &a, 8);
}
