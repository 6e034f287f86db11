/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Character devices: the host end of a serial port, monitor or console.
 *
 * A back end (Chardev: stdio, socket, ...) is created by id from -chardev; a front end (a device or monitor) attaches
 * a CharFrontend to it. Back ends call the front end on the main loop; writes may come from any thread that holds the
 * machine lock.
 * Test: tests/unit/test-char.c.
 */
#ifndef CLEAT_CHARDEV_CHAR_H
#define CLEAT_CHARDEV_CHAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/qdev.h"

typedef struct Chardev Chardev;
typedef struct CharFrontend CharFrontend;
typedef enum CharEvent {
    CHAR_EVENT_OPENED, CHAR_EVENT_CLOSED, CHAR_EVENT_BREAK, CHAR_EVENT_MUX_IN, CHAR_EVENT_MUX_OUT
} CharEvent;

struct CharFrontend {                   /* embedded in the device; filled by char_attach */
    Chardev *chr;                       /* NULL: not connected (writes vanish) */
    int mux_tag;
    int (*can_receive)(void *opaque);   /* bytes it can take now */
    void (*receive)(void *opaque, const uint8_t *buf, int len);
    void (*event)(void *opaque, CharEvent ev);
    void *opaque;
    struct CharWatch *watch;            /* who waits for room, or NULL */
};

/* -chardev with its properties (backend= and id= among them); NULL with an error. */
Chardev *chardev_new_from_props(const char *backend, const char *id, const PropPair *props, int n, Error **errp);
/* -serial/-monitor/... short forms: "stdio", "mon:stdio", "unix:x,server,nowait", "chardev:ID", ... ; "none": *none
 * = true, NULL. */
Chardev *chardev_new_legacy(const char *label, const char *text, bool *none, Error **errp);
Chardev *chardev_find(const char *id);
const char *chardev_id(const Chardev *chr);
/* Closes one that has no front end any more. */
void chardev_remove(Chardev *chr);
void chardev_print_help(void);
/* Names of the back ends, i from 0; NULL after the last (QMP query-chardev-backends). */
const char *chardev_backend_name(int i);
/* Calls fn for each, newest first (QMP query-chardev): label describes the back end ("unix:path,server=on"). */
void chardev_foreach(void (*fn)(const Chardev *chr, const char *label, bool frontend_open, void *opaque), void *opaque);
/* QMP ringbuf-read and ringbuf-write; NULL or false with an error when id is no ringbuf. Caller frees the bytes. */
GByteArray *chardev_ringbuf_read(const char *id, size_t max, Error **errp);
bool chardev_ringbuf_write(const char *id, const uint8_t *data, size_t len, Error **errp);
/* Closes all and restores the terminal; at exit. Idempotent. */
void chardev_cleanup(void);
void chardev_set_escape(int ascii);     /* -echr */

/* A chardev takes one front end unless it is mux=on. */
bool char_attach(CharFrontend *fe, Chardev *chr, Error **errp);
void char_set_handlers(CharFrontend *fe, int (*can_receive)(void *), void (*receive)(void *, const uint8_t *, int),
                       void (*event)(void *, CharEvent), void *opaque);
void char_detach(CharFrontend *fe);
bool char_connected(const CharFrontend *fe);
/* Writes what it can without blocking; returns bytes taken (0: try later) or -1 when nobody is there. */
int char_write(CharFrontend *fe, const void *buf, int len);
/* Blocks (bounded) until all is written; for monitors and debug consoles. */
int char_write_all(CharFrontend *fe, const void *buf, int len);
/* Calls fn once when more can be written; main loop. One at a time. */
void char_watch_writable(CharFrontend *fe, void (*fn)(void *opaque), void *opaque);
/* The front end can take bytes again: the back end resumes reading. */
void char_accept_input(CharFrontend *fe);
int char_ioctl_serial_params(CharFrontend *fe, int baud, int parity, int data_bits, int stop_bits);
/* File descriptors that came with the last message (SCM_RIGHTS); count returned; caller owns. */
int char_get_msgfds(CharFrontend *fe, int *fds, int max);

#endif
