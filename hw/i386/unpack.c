/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacking compressed kernel payloads with the host's libraries, which are loaded when one is needed: a start without
 * -kernel pays nothing. Each method is a row: magic, name, library, function.
 *
 * Contract in include/hw/i386/kernel.h. Input is untrusted: every result is bounded by max. Test:
 * tests/fuzz/fuzz-loader.c.
 */
#include <bzlib.h>
#include <gmodule.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>

#include "hw/i386/kernel.h"

typedef struct Unpacker Unpacker;
struct Unpacker {
    const char *name, *library, *symbol;
    uint8_t magic[6];
    unsigned magic_len;
    bool (*run)(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max);
};

#define CHUNK (1u << 20)

/* Room for one more chunk at the end of out, or NULL past max. */
static uint8_t *grow(GByteArray *out, size_t max)
{
    guint old = out->len;

    if (old + (size_t)CHUNK > max + CHUNK) {
        return NULL;
    }
    g_byte_array_set_size(out, old + CHUNK);
    return out->data + old;
}

static bool unpack_gzip(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max)
{
    int (*do_init)(z_stream *, int, const char *, int) = fn;
    int (*do_inflate)(z_stream *, int);
    int (*do_end)(z_stream *);
    z_stream z = { .next_in = (uint8_t *)in, .avail_in = len };
    int ret = Z_OK;

    if (!g_module_symbol(lib, "inflate", (gpointer *)&do_inflate) ||
        !g_module_symbol(lib, "inflateEnd", (gpointer *)&do_end) ||
        do_init(&z, 15 + 16, ZLIB_VERSION, sizeof(z)) != Z_OK) {
        return false;
    }
    while (ret == Z_OK) {
        z.next_out = grow(out, max);
        z.avail_out = CHUNK;
        if (!z.next_out) {
            break;
        }
        ret = do_inflate(&z, Z_NO_FLUSH);
        g_byte_array_set_size(out, out->len - z.avail_out);
    }
    do_end(&z);
    return ret == Z_STREAM_END;
}

static bool unpack_bzip2(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max)
{
    int (*do_init)(bz_stream *, int, int) = fn;
    int (*do_run)(bz_stream *);
    int (*do_end)(bz_stream *);
    bz_stream b = { .next_in = (char *)in, .avail_in = len };
    int ret = BZ_OK;

    if (!g_module_symbol(lib, "BZ2_bzDecompress", (gpointer *)&do_run) ||
        !g_module_symbol(lib, "BZ2_bzDecompressEnd", (gpointer *)&do_end) || do_init(&b, 0, 0) != BZ_OK) {
        return false;
    }
    while (ret == BZ_OK) {
        b.next_out = (char *)grow(out, max);
        b.avail_out = CHUNK;
        if (!b.next_out) {
            break;
        }
        ret = do_run(&b);
        g_byte_array_set_size(out, out->len - b.avail_out);
        if (ret == BZ_OK && !b.avail_in && b.avail_out) {
            break;              /* cut short */
        }
    }
    do_end(&b);
    return ret == BZ_STREAM_END;
}

static bool unpack_lzma(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max)
{
    lzma_ret (*do_init)(lzma_stream *, uint64_t, uint32_t) = fn;
    lzma_ret (*do_code)(lzma_stream *, lzma_action);
    void (*do_end)(lzma_stream *);
    lzma_stream s = LZMA_STREAM_INIT;
    lzma_ret ret = LZMA_OK;

    s.next_in = in;
    s.avail_in = len;
    if (!g_module_symbol(lib, "lzma_code", (gpointer *)&do_code) ||
        !g_module_symbol(lib, "lzma_end", (gpointer *)&do_end) || do_init(&s, 512u << 20, 0) != LZMA_OK) {
        return false;
    }
    while (ret == LZMA_OK) {
        s.next_out = grow(out, max);
        s.avail_out = CHUNK;
        if (!s.next_out) {
            break;
        }
        ret = do_code(&s, LZMA_FINISH);
        g_byte_array_set_size(out, out->len - s.avail_out);
    }
    do_end(&s);
    return ret == LZMA_STREAM_END;
}

/* Linux uses LZ4's "legacy" frames: magic, then {LE32 packed size, block of up to 8 MiB}. */
static bool unpack_lz4(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max)
{
    int (*do_block)(const char *, char *, int, int) = fn;
    const unsigned block = 8u << 20;
    size_t at = 4;

    while (at + 4 <= len) {
        uint32_t packed = in[at] | in[at + 1] << 8 | in[at + 2] << 16 | (uint32_t)in[at + 3] << 24;
        guint old = out->len;
        int got;

        at += 4;
        if (packed > len - at) {
            return old > 0;     /* the payload's own size word follows the last block */
        }
        if (old + (size_t)block > max + block) {
            return false;
        }
        g_byte_array_set_size(out, old + block);
        got = do_block((const char *)in + at, (char *)out->data + old, packed, block);
        if (got < 0) {
            return false;
        }
        g_byte_array_set_size(out, old + got);
        at += packed;
    }
    return out->len > 0;
}

typedef struct ZstdBuf { void *p; size_t size, pos; } ZstdBuf;

static bool unpack_zstd(gpointer fn, GModule *lib, const uint8_t *in, size_t len, GByteArray *out, size_t max)
{
    void *(*do_create)(void) = fn;
    size_t (*do_run)(void *, ZstdBuf *, ZstdBuf *);
    unsigned (*is_error)(size_t);
    size_t (*do_free)(void *);
    ZstdBuf src = { (void *)in, len, 0 };
    void *stream;
    size_t ret = 1;

    if (!g_module_symbol(lib, "ZSTD_decompressStream", (gpointer *)&do_run) ||
        !g_module_symbol(lib, "ZSTD_isError", (gpointer *)&is_error) ||
        !g_module_symbol(lib, "ZSTD_freeDStream", (gpointer *)&do_free) || !(stream = do_create())) {
        return false;
    }
    while (ret && !is_error(ret)) {
        ZstdBuf dst = { grow(out, max), CHUNK, 0 };

        if (!dst.p) {
            break;
        }
        ret = do_run(stream, &dst, &src);
        g_byte_array_set_size(out, out->len - (CHUNK - dst.pos));
        if (ret && src.pos == src.size && dst.pos < CHUNK) {
            break;              /* cut short */
        }
    }
    do_free(stream);
    return ret == 0;
}

static const Unpacker unpackers[] = {
    { "gzip", "libz.so.1", "inflateInit2_", { 0x1f, 0x8b }, 2, unpack_gzip },
    { "bzip2", "libbz2.so.1.0", "BZ2_bzDecompressInit", { 'B', 'Z', 'h' }, 3, unpack_bzip2 },
    { "xz", "liblzma.so.5", "lzma_auto_decoder", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, unpack_lzma },
    { "lzma", "liblzma.so.5", "lzma_auto_decoder", { 0x5d, 0, 0 }, 3, unpack_lzma },
    { "lz4", "liblz4.so.1", "LZ4_decompress_safe", { 0x02, 0x21, 0x4c, 0x18 }, 4, unpack_lz4 },
    { "zstd", "libzstd.so.1", "ZSTD_createDStream", { 0x28, 0xb5, 0x2f, 0xfd }, 4, unpack_zstd },
};

static bool unpacker_run(const Unpacker *u, const uint8_t *data, size_t len, size_t max, GByteArray *out, Error **errp)
{
    GModule *lib = g_module_open(u->library, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
    gpointer fn;
    bool ok;

    if (!lib || !g_module_symbol(lib, u->symbol, &fn)) {
        error_set(errp, "unpacking %s data needs the library %s, which this host lacks", u->name, u->library);
        if (lib) {
            g_module_close(lib);
        }
        return false;
    }
    ok = u->run(fn, lib, data, len, out, max) && out->len <= max;
    g_module_close(lib);
    if (!ok) {
        error_set(errp, "the %s data is damaged, or larger than %zu bytes when unpacked", u->name, max);
    }
    return ok;
}

uint8_t *unpack(const uint8_t *data, size_t len, size_t max, size_t *out_len, Error **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(unpackers); i++) {
        const Unpacker *u = &unpackers[i];
        GByteArray *out;

        if (len < u->magic_len || memcmp(data, u->magic, u->magic_len)) {
            continue;
        }
        out = g_byte_array_new();
        if (!unpacker_run(u, data, len, max, out, errp)) {
            g_byte_array_free(out, TRUE);
            return NULL;
        }
        *out_len = out->len;
        return g_byte_array_free(out, FALSE);
    }
    error_set(errp, "no known compression method");
    return NULL;
}
