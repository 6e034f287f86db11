/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, sizes and identifiers as people write them; see include/util/units.h. Pure functions. */
#include "util/units.h"

#include <ctype.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* Only a digit may start a number: strtoull alone would take blanks and signs. */
static bool starts_with_digit(const char *text)
{
    return isdigit((unsigned char)text[0]);
}

ParseResult parse_uint(const char *text, uint64_t *out)
{
    char *end;

    if (text[0] == '-' && starts_with_digit(text + 1)) {
        return PARSE_RANGE;
    }
    if (!starts_with_digit(text)) {
        return PARSE_BAD;
    }
    errno = 0;
    *out = strtoull(text, &end, 0);
    if (*end) {
        return PARSE_BAD;
    }
    return errno == ERANGE ? PARSE_RANGE : PARSE_OK;
}

ParseResult parse_int(const char *text, int64_t *out)
{
    char *end;

    if (!starts_with_digit(text + (text[0] == '-' || text[0] == '+'))) {
        return PARSE_BAD;
    }
    errno = 0;
    *out = strtoll(text, &end, 0);
    if (*end) {
        return PARSE_BAD;
    }
    return errno == ERANGE ? PARSE_RANGE : PARSE_OK;
}

/* Bytes of a suffix letter, 0 when it is none. */
static uint64_t suffix_unit(char c)
{
    static const char letters[] = "BKMGTPE";
    const char *at = c ? strchr(letters, toupper((unsigned char)c)) : NULL;

    return at ? UINT64_C(1) << (10 * (at - letters)) : 0;
}

static ParseResult scale_size(uint64_t whole, double fraction, uint64_t unit, uint64_t *out)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(whole, unit, &bytes) ||
        __builtin_add_overflow(bytes, (uint64_t)(fraction * unit), &bytes)) {
        return PARSE_RANGE;
    }
    *out = bytes;
    return PARSE_OK;
}

ParseResult parse_size(const char *text, uint64_t unit, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    double fraction = 0;
    uint64_t whole;
    char *end;

    if (text[0] == '-' && starts_with_digit(text + 1)) {
        return PARSE_RANGE;
    }
    if (!starts_with_digit(text)) {
        return PARSE_BAD;
    }
    errno = 0;
    whole = strtoull(text, &end, hex ? 16 : 10);
    if (errno == ERANGE) {
        return PARSE_RANGE;
    }
    if (*end == '.' && !hex) {
        fraction = g_ascii_strtod(end, &end);
    }
    if (*end) {
        unit = suffix_unit(*end);
        /* "0x20E" and "0x1B" are numbers, and a suffix on a hexadecimal number is refused as ambiguous. */
        if (!unit || end[1] || hex) {
            return PARSE_BAD;
        }
    }
    if (fraction > 0 && unit == 1) {
        return PARSE_BAD;
    }
    return scale_size(whole, fraction, unit, out);
}

bool parse_bool(const char *text, bool *out)
{
    static const char *const words[] = { "on", "off", "yes", "no", "true", "false", "y", "n" };

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strcmp(text, words[i])) {
            *out = !(i & 1);
            return true;
        }
    }
    return false;
}

static bool parse_hex_byte(const char *text, uint8_t *out)
{
    int hi = g_ascii_xdigit_value(text[0]);
    int lo = hi < 0 ? -1 : g_ascii_xdigit_value(text[1]);

    *out = (hi & 15) << 4 | (lo & 15);
    return lo >= 0;
}

bool parse_uuid(const char *text, uint8_t out[16])
{
    int at = 0;

    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            if (text[at++] != '-') {
                return false;
            }
        }
        if (!parse_hex_byte(text + at, &out[i])) {
            return false;
        }
        at += 2;
    }
    return text[at] == '\0';
}

bool parse_mac(const char *text, uint8_t out[6])
{
    char sep = strlen(text) == 17 ? text[2] : 0;

    if (sep != ':' && sep != '-') {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        if (!parse_hex_byte(text + 3 * i, &out[i]) || (i < 5 && text[3 * i + 2] != sep)) {
            return false;
        }
    }
    return true;
}

bool id_is_wellformed(const char *id)
{
    if (!g_ascii_isalpha(id[0])) {
        return false;
    }
    for (int i = 1; id[i]; i++) {
        if (!g_ascii_isalnum(id[i]) && !strchr("-._", id[i])) {
            return false;
        }
    }
    return true;
}

char *format_size(uint64_t bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    unsigned i = 0;
    double n = bytes;

    while (n >= 1024 && i + 1 < ARRAY_SIZE(names)) {
        n /= 1024;
        i++;
    }
    return g_strdup_printf("%.3g %s", n, names[i]);
}
