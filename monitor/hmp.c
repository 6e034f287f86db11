/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMP, the monitor for people: a prompt with a line editor (arrows, history, Tab, Ctrl-A/E/U/K/W/C/L).
 * It greets when somebody is there to see it: at once on a chardev of its own, on a shared one (mux)
 * when it first comes into focus. What commands do is in hmp-cmds.c.
 * Main loop thread, machine lock. Test: tests/monitor/hmp.py.
 */
#include <string.h>

#include "monitor/monitor-int.h"
#include "system/cleat-version.h"
#include "system/loop.h"

enum { LINE_MAX_BYTES = 4095, HISTORY_MAX = 64 };
#define PROMPT "(qemu) "

typedef enum EscapeState { ESCAPE_NONE, ESCAPE_SEEN, ESCAPE_CSI } EscapeState;

struct HmpSession {
    Monitor *mon;
    bool focus;                 /* output would be seen, input is ours */
    bool open, greeted;
    BottomHalf *greeter;        /* after all front ends of a mux have been attached */
    GString *line;
    size_t cursor;              /* bytes from the start of line */
    GPtrArray *history;         /* of char *, oldest first */
    guint history_at;           /* == history->len: the line being typed */
    EscapeState escape;
    uint8_t csi_arg;            /* the digit in ESC [ 3 ~ */
};

static void hmp_puts(HmpSession *s, const char *text)
{
    g_autoptr(GString) out = g_string_new(NULL);

    for (; *text; text++) {
        g_string_append(out, *text == '\n' ? "\r\n" : (char[]){ *text, 0 });
    }
    monitor_write(s->mon, out->str, out->len);
}

/* The prompt and the line afresh, cursor in its place. */
static void hmp_redraw(HmpSession *s)
{
    g_autoptr(GString) out = g_string_new("\r" PROMPT);

    g_string_append(out, s->line->str);
    g_string_append(out, "\033[K");
    if (s->cursor < s->line->len) {
        g_string_append_printf(out, "\033[%zuD", s->line->len - s->cursor);
    }
    monitor_write(s->mon, out->str, out->len);
}

static void hmp_line_reset(HmpSession *s)
{
    g_string_truncate(s->line, 0);
    s->cursor = 0;
    s->history_at = s->history->len;
    s->escape = ESCAPE_NONE;
}

static void hmp_greet(void *opaque)
{
    HmpSession *s = opaque;

    if (!s->open || !s->focus || s->greeted) {
        return;
    }
    s->greeted = true;
    hmp_puts(s, "QEMU " CLEAT_QEMU_VERSION " monitor - type 'help' for more information\n" PROMPT);
}

HmpSession *hmp_session_new(Monitor *mon)
{
    HmpSession *s = g_new0(HmpSession, 1);

    s->mon = mon;
    s->focus = true;
    s->line = g_string_new(NULL);
    s->history = g_ptr_array_new_with_free_func(g_free);
    s->greeter = bh_new(loop_main(), hmp_greet, s);
    return s;
}

void hmp_session_free(HmpSession *s)
{
    if (s) {
        bh_free(s->greeter);
        g_string_free(s->line, TRUE);
        g_ptr_array_free(s->history, TRUE);
        g_free(s);
    }
}

void hmp_session_event(HmpSession *s, CharEvent ev)
{
    switch (ev) {
    case CHAR_EVENT_OPENED:
        s->open = true;
        s->greeted = false;
        hmp_line_reset(s);
        bh_schedule(s->greeter);
        break;
    case CHAR_EVENT_CLOSED:
        s->open = false;
        break;
    case CHAR_EVENT_MUX_IN:
        s->focus = true;
        if (s->greeted) {
            hmp_redraw(s);
        } else {
            bh_schedule(s->greeter);
        }
        break;
    case CHAR_EVENT_MUX_OUT:
        if (s->greeted && s->focus) {
            hmp_puts(s, "\n");
        }
        s->focus = false;
        break;
    default:
        break;
    }
}

static void hmp_history_add(HmpSession *s, const char *line)
{
    if (!*line || (s->history->len
                   && !strcmp(g_ptr_array_index(s->history, s->history->len - 1), line))) {
        return;
    }
    if (s->history->len == HISTORY_MAX) {
        g_ptr_array_remove_index(s->history, 0);
    }
    g_ptr_array_add(s->history, g_strdup(line));
}

static void hmp_enter(HmpSession *s)
{
    g_autofree char *line = g_strdup(s->line->str);
    g_autoptr(GString) out = g_string_new(NULL);

    hmp_puts(s, "\n");
    hmp_history_add(s, line);
    hmp_line_reset(s);
    hmp_run_line(line, out);
    hmp_puts(s, out->str);
    hmp_puts(s, PROMPT);
}

static void hmp_insert(HmpSession *s, const char *text)
{
    if (s->line->len + strlen(text) > LINE_MAX_BYTES) {
        return;
    }
    g_string_insert(s->line, s->cursor, text);
    s->cursor += strlen(text);
    if (s->cursor == s->line->len) {
        hmp_puts(s, text);          /* the common case needs no redraw */
    } else {
        hmp_redraw(s);
    }
}

/* Removes [from, to), the cursor ending up at from. */
static void hmp_erase(HmpSession *s, size_t from, size_t to)
{
    if (from < to && to <= s->line->len) {
        g_string_erase(s->line, from, to - from);
        s->cursor = from;
        hmp_redraw(s);
    }
}

static void hmp_erase_word(HmpSession *s)
{
    size_t from = s->cursor;

    while (from && s->line->str[from - 1] == ' ') {
        from--;
    }
    while (from && s->line->str[from - 1] != ' ') {
        from--;
    }
    hmp_erase(s, from, s->cursor);
}

static void hmp_history_move(HmpSession *s, int step)
{
    guint at = s->history_at + step;

    if (at > s->history->len) {         /* also below zero */
        return;
    }
    s->history_at = at;
    g_string_assign(s->line, at < s->history->len ? g_ptr_array_index(s->history, at) : "");
    s->cursor = s->line->len;
    hmp_redraw(s);
}

static void hmp_move(HmpSession *s, size_t to)
{
    if (to <= s->line->len) {
        s->cursor = to;
        hmp_redraw(s);
    }
}

/* Tab: completes the one command that fits, or lists those that do. */
static void hmp_tab(HmpSession *s)
{
    g_autofree const char **names = hmp_complete(s->line->str);
    g_autoptr(GString) list = g_string_new("\n");

    if (!names[0]) {
        return;
    }
    if (!names[1]) {
        g_autofree char *rest = g_strconcat(names[0] + s->line->len, " ", NULL);

        hmp_insert(s, rest);
        return;
    }
    for (int i = 0; names[i]; i++) {
        g_string_append_printf(list, "%s%s", names[i], names[i + 1] ? " " : "\n");
    }
    hmp_puts(s, list->str);
    hmp_redraw(s);
}

static void hmp_csi(HmpSession *s, uint8_t c)
{
    if (g_ascii_isdigit(c)) {
        s->csi_arg = c - '0';
        return;
    }
    s->escape = ESCAPE_NONE;
    switch (c) {
    case 'A':
        hmp_history_move(s, -1);
        break;
    case 'B':
        hmp_history_move(s, 1);
        break;
    case 'C':
        hmp_move(s, s->cursor + 1);
        break;
    case 'D':
        hmp_move(s, s->cursor - 1);
        break;
    case 'H':
        hmp_move(s, 0);
        break;
    case 'F':
        hmp_move(s, s->line->len);
        break;
    case '~':
        if (s->csi_arg == 3) {
            hmp_erase(s, s->cursor, s->cursor + 1);
        } else {
            hmp_move(s, s->csi_arg == 4 ? s->line->len : 0);
        }
        break;
    }
}

static void hmp_control(HmpSession *s, uint8_t c)
{
    switch (c) {
    case '\r':
    case '\n':
        hmp_enter(s);
        break;
    case '\t':
        hmp_tab(s);
        break;
    case 1:         /* Ctrl-A */
        hmp_move(s, 0);
        break;
    case 5:         /* Ctrl-E */
        hmp_move(s, s->line->len);
        break;
    case 4:         /* Ctrl-D */
        hmp_erase(s, s->cursor, s->cursor + 1);
        break;
    case 8:
    case 127:
        hmp_erase(s, s->cursor - 1, s->cursor);
        break;
    case 11:        /* Ctrl-K */
        hmp_erase(s, s->cursor, s->line->len);
        break;
    case 12:        /* Ctrl-L */
        hmp_puts(s, "\033[2J\033[H");
        hmp_redraw(s);
        break;
    case 3:         /* Ctrl-C */
    case 21:        /* Ctrl-U */
        hmp_erase(s, 0, s->line->len);
        break;
    case 23:        /* Ctrl-W */
        hmp_erase_word(s);
        break;
    case 14:        /* Ctrl-N */
        hmp_history_move(s, 1);
        break;
    case 16:        /* Ctrl-P */
        hmp_history_move(s, -1);
        break;
    case 27:
        s->escape = ESCAPE_SEEN;
        break;
    }
}

static void hmp_byte(HmpSession *s, uint8_t c)
{
    if (s->escape == ESCAPE_SEEN) {
        s->escape = c == '[' || c == 'O' ? ESCAPE_CSI : ESCAPE_NONE;
        s->csi_arg = 0;
    } else if (s->escape == ESCAPE_CSI) {
        hmp_csi(s, c);
    } else if (c < 32 || c == 127) {
        hmp_control(s, c);
    } else {
        hmp_insert(s, (char[]){ c, 0 });
    }
}

void hmp_session_receive(HmpSession *s, const uint8_t *buf, int len)
{
    for (int i = 0; i < len; i++) {
        hmp_byte(s, buf[i]);
    }
}
