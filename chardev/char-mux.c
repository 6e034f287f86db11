/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several front ends on one back end (mux=on): output of all goes out, input goes to the one in focus, and the escape
 * character (-echr, Ctrl-A) followed by a letter commands the multiplexer.
 *
 * Input that its front end cannot take yet waits in that front end's queue, so that the escape is seen at once and
 * nothing is lost. Main loop thread. Test: tests/unit/test-char.c.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chardev/char-int.h"
#include "system/loop.h"
#include "system/runstate.h"

static int mux_escape_char = 1;     /* host policy: -echr */

void chardev_set_escape(int ascii)
{
    mux_escape_char = ascii;
}

static void mux_event(Chardev *chr, int n, CharEvent ev)
{
    if (n < chr->n_fe && chr->fe[n]->event) {
        chr->fe[n]->event(chr->fe[n]->opaque, ev);
    }
}

void mux_set_focus(Chardev *chr, int focus)
{
    if (focus != chr->focus) {
        mux_event(chr, chr->focus, CHAR_EVENT_MUX_OUT);
    }
    chr->focus = focus;
    mux_event(chr, focus, CHAR_EVENT_MUX_IN);
}

static void mux_print(Chardev *chr, const char *text)
{
    if (chr->n_fe) {
        char_write_all(chr->fe[0], text, strlen(text));
    }
}

static void mux_help(Chardev *chr)
{
    char key[8];
    g_autofree char *text = NULL;

    if (mux_escape_char > 0 && mux_escape_char < 27) {
        snprintf(key, sizeof(key), "C-%c", mux_escape_char - 1 + 'a');
    } else {
        snprintf(key, sizeof(key), "0x%02x", mux_escape_char);
    }
    text = g_strdup_printf("\r\n%s h    this help\r\n%s x    end the emulator\r\n"
                           "%s s    write disk data back to files\r\n"
                           "%s t    time stamps on or off\r\n%s b    send break\r\n"
                           "%s c    go to the next of console and monitor\r\n%s %s  send %s\r\n",
                           key, key, key, key, key, key, key, key, key);
    mux_print(chr, text);
}

static void mux_command(Chardev *chr, uint8_t c)
{
    switch (c) {
    case '?':
    case 'h':
        mux_help(chr);
        break;
    case 'x':
        mux_print(chr, "\r\nterminated by the escape key\r\n");
        system_shutdown_request(SHUTDOWN_HOST_UI);
        break;
    case 's':
        sync();
        break;
    case 'b':
        chr_break(chr);
        break;
    case 'c':
        if (chr->n_fe > 1) {
            mux_set_focus(chr, (chr->focus + 1) % chr->n_fe);
        }
        break;
    case 't':
        chr->timestamps = !chr->timestamps;
        chr->timestamp_base = clock_ns(CLOCK_REAL);
        chr->line_start = true;
        break;
    default:
        break;
    }
}

static bool queue_put(MuxQueue *q, uint8_t c)
{
    if (q->count == MUX_QUEUE) {
        return false;
    }
    q->data[(q->head + q->count++) % MUX_QUEUE] = c;
    return true;
}

/* Hands over what the front end can take. */
static void queue_drain(MuxQueue *q, CharFrontend *fe)
{
    while (q->count && fe->can_receive) {
        int n = MIN((int)q->count, fe->can_receive(fe->opaque));

        n = MIN(n, MUX_QUEUE - (int)q->head);
        if (n <= 0) {
            break;
        }
        q->count -= n;
        q->head = (q->head + n) % MUX_QUEUE;
        fe->receive(fe->opaque, q->data + (q->head + MUX_QUEUE - n) % MUX_QUEUE, n);
    }
}

int mux_room(Chardev *chr)
{
    return chr->n_fe && !chr->n_held ? MUX_QUEUE - (int)chr->queue[chr->focus].count : 0;
}

/* False: its front end's queue is full. */
static bool mux_take(Chardev *chr, uint8_t c)
{
    if (c == mux_escape_char && !chr->escaped) {
        chr->escaped = true;
    } else if (chr->escaped && c != mux_escape_char) {
        chr->escaped = false;
        mux_command(chr, c);
    } else if (!queue_put(&chr->queue[chr->focus], c)) {
        return false;
    } else {
        chr->escaped = false;
    }
    return true;
}

/* The bytes that were taken: all, or up to where a queue was full. */
static int mux_feed(Chardev *chr, const uint8_t *buf, int len)
{
    int n = 0;

    while (n < len) {
        if (mux_take(chr, buf[n])) {
            n++;
            continue;
        }
        queue_drain(&chr->queue[chr->focus], chr->fe[chr->focus]);
        if (chr->queue[chr->focus].count == MUX_QUEUE) {
            break;
        }
    }
    for (int i = 0; i < chr->n_fe; i++) {
        queue_drain(&chr->queue[i], chr->fe[i]);
    }
    return n;
}

/* No more than mux_room() said; so what a change of focus leaves over fits into held. */
void mux_deliver(Chardev *chr, const uint8_t *buf, int len)
{
    int n = mux_feed(chr, buf, len);

    chr->n_held = MIN(len - n, MUX_QUEUE);
    memcpy(chr->held, buf + n, chr->n_held);
}

void mux_accept_input(Chardev *chr, CharFrontend *fe)
{
    uint8_t held[MUX_QUEUE];
    int n = chr->n_held;

    queue_drain(&chr->queue[fe->mux_tag], fe);
    if (n && chr->queue[chr->focus].count < MUX_QUEUE) {
        memcpy(held, chr->held, n);
        chr->n_held = 0;
        mux_deliver(chr, held, n);
    }
}

GString *mux_stamp(Chardev *chr, const uint8_t *buf, int len)
{
    GString *s = g_string_new(NULL);

    for (int i = 0; i < len; i++) {
        if (chr->line_start) {
            int64_t ms = (clock_ns(CLOCK_REAL) - chr->timestamp_base) / 1000000;

            g_string_append_printf(s, "[%02d:%02d:%02d.%03d] ", (int)(ms / 3600000), (int)(ms / 60000 % 60),
                                   (int)(ms / 1000 % 60), (int)(ms % 1000));
        }
        g_string_append_c(s, buf[i]);
        chr->line_start = buf[i] == '\n';
    }
    return s;
}
