/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading one value that a person wrote, with the words for when it is wrong; see util/values.h. */
#include "util/values.h"

#include "util/units.h"

bool value_parse_bool(const char *name, const char *text, bool *out, Error **errp)
{
    bool value;

    if (!parse_bool(text, &value)) {
        error_set(errp, "Parameter '%s' expects 'on' or 'off', not '%s'", name, text);
        return false;
    }
    *out = value;
    return true;
}

bool value_parse_uint(const char *name, const char *text, uint64_t *out, Error **errp)
{
    uint64_t value;
    ParseResult result = parse_uint(text, &value);

    if (result != PARSE_OK) {
        error_set(errp, "Parameter '%s' expects a whole number from 0 up%s, not '%s'", name,
                  result == PARSE_RANGE ? " and below 2^64" : "", text);
        return false;
    }
    *out = value;
    return true;
}

bool value_parse_int(const char *name, const char *text, int64_t *out, Error **errp)
{
    int64_t value;
    ParseResult result = parse_int(text, &value);

    if (result != PARSE_OK) {
        error_set(errp, "Parameter '%s' expects a whole number%s, not '%s'", name,
                  result == PARSE_RANGE ? " of 64 bits" : "", text);
        return false;
    }
    *out = value;
    return true;
}

bool value_parse_size(const char *name, const char *text, uint64_t unit, uint64_t *out,
                      Error **errp)
{
    uint64_t value;

    switch (parse_size(text, unit, &value)) {
    case PARSE_OK:
        *out = value;
        return true;
    case PARSE_RANGE:
        error_set(errp, "Value '%s' of parameter '%s' is out of range (2^64 bytes and more)", text,
                  name);
        return false;
    default:
        error_set(errp, "Parameter '%s' expects a size, not '%s'", name, text);
        error_hint(errp, "A size is a number below 2^64, which may end in k, M, G, T, P or E"
                   " (powers of 1024).");
        return false;
    }
}
