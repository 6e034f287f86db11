/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of gdb's remote protocol (gdb manual, "Remote Protocol: Overview"); contract in link.h.
 *
 * Left out: sending repeat counts. Test: tests/unit/test-gdb.c, tests/fuzz/fuzz-gdb.c.
 */
#include "gdbstub/link.h"

enum { INTERRUPT = 3, ESCAPE = '}', ESCAPE_BIT = 0x20 };

void gdb_link_init(GdbLink *link)
{
    link->in = g_string_new(NULL);
    link->last = g_string_new(NULL);
}

void gdb_link_fini(GdbLink *link)
{
    g_string_free(link->in, TRUE);
    g_string_free(link->last, TRUE);
}

void gdb_link_reset(GdbLink *link)
{
    link->no_ack = false;
    link->state = LINK_IDLE;
    g_string_truncate(link->in, 0);
    g_string_truncate(link->last, 0);
}

static void link_answer(GdbLink *link, char c)
{
    if (!link->no_ack) {
        link->send(link->opaque, &c, 1);
    }
}

static void data_begin(GdbLink *link)
{
    link->state = LINK_DATA;
    link->too_long = false;
    link->sum = 0;
    g_string_truncate(link->in, 0);
}

static void data_add(GdbLink *link, char c)
{
    if (link->in->len == GDB_PACKET_MAX) {
        link->too_long = true;
    } else {
        g_string_append_c(link->in, c);
    }
}

/* "*" and a count: the byte before it comes count more times. */
static void data_repeat(GdbLink *link, uint8_t c)
{
    if (c < 29 + 3 || c > 126 || !link->in->len) {
        link->too_long = true;      /* no count at all: the packet cannot be made out */
        return;
    }
    for (int i = 0; i < c - 29; i++) {
        data_add(link, link->in->str[link->in->len - 1]);
    }
}

static int hex_digit(uint8_t c)
{
    return g_ascii_isxdigit(c) ? g_ascii_xdigit_value(c) : -1;
}

static void frame_done(GdbLink *link)
{
    bool good = link->claimed == link->sum && !link->too_long;

    link->state = LINK_IDLE;
    if (link->claimed != link->sum) {
        link_answer(link, '-');
        return;
    }
    link_answer(link, '+');
    if (good) {
        link->packet(link->opaque, link->in->str, link->in->len);
    } else {
        gdb_link_send(link, "E22", 3);
    }
}

static void sum_byte(GdbLink *link, uint8_t c)
{
    int digit = hex_digit(c);

    if (digit < 0) {
        link->state = LINK_IDLE;
        link_answer(link, '-');
    } else if (link->state == LINK_SUM1) {
        link->claimed = digit << 4;
        link->state = LINK_SUM2;
    } else {
        link->claimed |= digit;
        frame_done(link);
    }
}

static void idle_byte(GdbLink *link, uint8_t c)
{
    if (c == '$') {
        data_begin(link);
    } else if (c == INTERRUPT) {
        link->interrupt(link->opaque);
    } else if (c == '-' && !link->no_ack && link->last->len) {
        link->send(link->opaque, link->last->str, link->last->len);
    }
}

static void data_byte(GdbLink *link, uint8_t c)
{
    if (c == '#' && link->state != LINK_ESCAPE) {
        link->state = LINK_SUM1;
        return;
    }
    if (c == '$' && link->state == LINK_DATA) {
        data_begin(link);           /* the one before it lost its end */
        return;
    }
    link->sum += c;
    if (link->state == LINK_ESCAPE) {
        data_add(link, c ^ ESCAPE_BIT);
        link->state = LINK_DATA;
    } else if (link->state == LINK_REPEAT) {
        data_repeat(link, c);
        link->state = LINK_DATA;
    } else if (c == ESCAPE) {
        link->state = LINK_ESCAPE;
    } else if (c == '*') {
        link->state = LINK_REPEAT;
    } else {
        data_add(link, c);
    }
}

void gdb_link_receive(GdbLink *link, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        switch (link->state) {
        case LINK_IDLE:
            idle_byte(link, bytes[i]);
            break;
        case LINK_SUM1:
        case LINK_SUM2:
            sum_byte(link, bytes[i]);
            break;
        default:
            data_byte(link, bytes[i]);
            break;
        }
    }
}

void gdb_link_send(GdbLink *link, const char *data, size_t len)
{
    GString *out = g_string_sized_new(len + 8);
    uint8_t sum = 0;

    g_string_append_c(out, '$');
    for (size_t i = 0; i < len; i++) {
        char c = data[i];

        if (c == '$' || c == '#' || c == ESCAPE || c == '*') {
            g_string_append_c(out, ESCAPE);
            sum += ESCAPE;
            c ^= ESCAPE_BIT;
        }
        g_string_append_c(out, c);
        sum += c;
    }
    g_string_append_printf(out, "#%02x", sum);
    link->send(link->opaque, out->str, out->len);
    g_string_free(link->last, TRUE);
    link->last = out;
}
