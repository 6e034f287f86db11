/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading one value that a person wrote: util/units.h with words for what is wrong.
 *
 * Every function names `name` (the parameter) and the text in its error, takes the whole text or
 * nothing, and leaves *out alone when it fails. Pure functions; any thread.
 * Test: tests/unit/test-keyval.c.
 */
#ifndef CLEAT_UTIL_VALUES_H
#define CLEAT_UTIL_VALUES_H

#include <stdint.h>

#include "util/error.h"

/* on, yes, true, y / off, no, false, n (lower case). */
bool value_parse_bool(const char *name, const char *text, bool *out, Error **errp);
/* Decimal, 0x hexadecimal or 0 octal; in [0, 2^64) or the int64_t range. */
bool value_parse_uint(const char *name, const char *text, uint64_t *out, Error **errp);
bool value_parse_int(const char *name, const char *text, int64_t *out, Error **errp);
/*
 * Bytes: a number, maybe with a fraction ("1.5G"), and a suffix of B K M G T P E (powers of 1024,
 * either case). A bare number is multiplied by `unit` (1, or 1 MiB for -m). 0x numbers take no suffix.
 */
bool value_parse_size(const char *name, const char *text, uint64_t unit, uint64_t *out,
                      Error **errp);

#endif
