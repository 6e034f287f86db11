/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes as people write them: "64", "64K", "1.5G", "0x1000". Pure functions, any thread.
 * Test: tests/unit/test-rcu.c.
 */
#ifndef CLEAT_UTIL_UNITS_H
#define CLEAT_UTIL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define KiB (UINT64_C(1) << 10)
#define MiB (UINT64_C(1) << 20)
#define GiB (UINT64_C(1) << 30)
#define TiB (UINT64_C(1) << 40)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALIGN_DOWN(n, a) ((n) & ~((uint64_t)(a) - 1))
#define ALIGN_UP(n, a) ALIGN_DOWN((n) + ((uint64_t)(a) - 1), a)
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

static inline bool is_power_of_2(uint64_t n)
{
    return n && !(n & (n - 1));
}

typedef enum ParseResult { PARSE_OK, PARSE_BAD, PARSE_RANGE } ParseResult;

/*
 * The whole of `text` as a size in bytes; a bare number counts in `unit` bytes (1: bytes, MiB: for
 * -m). Suffixes B K M G T P E in either case; a decimal fraction may stand before a suffix or unit
 * > 1.
 */
ParseResult parse_size(const char *text, uint64_t unit, uint64_t *out);
/* Unsigned: decimal, 0x hexadecimal or 0 octal, the whole text; "-1" is PARSE_RANGE. */
ParseResult parse_uint(const char *text, uint64_t *out);
ParseResult parse_int(const char *text, int64_t *out);
/* on/off, yes/no, true/false, y/n. */
bool parse_bool(const char *text, bool *out);
/* "12345678-1234-1234-1234-123456789abc" to 16 bytes in text order. */
bool parse_uuid(const char *text, uint8_t out[16]);
/* "52:54:00:12:34:56", also with '-'. */
bool parse_mac(const char *text, uint8_t out[6]);
/* An id: a letter, then letters, digits, '-', '.', '_'. */
bool id_is_wellformed(const char *id);
/* "1.5 GiB" for people; caller frees. */
char *format_size(uint64_t bytes);

#endif
