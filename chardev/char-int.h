/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the character-device core (char.c, char-mux.c) and its back ends; nobody outside chardev/ includes this.
 *
 * A back end is a file that ends in a ChardevOps and CHARDEV_REGISTER(). It calls chr_room() before it reads and
 * chr_deliver() with what it read; the core calls its hooks. Main loop thread or machine lock.
 */
#ifndef CLEAT_CHARDEV_CHAR_INT_H
#define CLEAT_CHARDEV_CHAR_INT_H

#include "chardev/char.h"
#include "util/keyval.h"

typedef struct ChardevOps {
    const char *name;
    const char *alias;                          /* an older name, or NULL */
    const char *desc;
    const KeyRow *keys;                         /* besides the common ones */
    size_t size;                                /* of the instance, whose first member is a Chardev */
    bool (*open)(Chardev *chr, const KeyVals *kv, Error **errp);
    void (*close)(Chardev *chr);
    /* Takes what it can without blocking: bytes, 0 for "later", -1 when nobody is at the other end. */
    int (*write)(Chardev *chr, const uint8_t *buf, int len);
    void (*want_write)(Chardev *chr);           /* call chr_writable() once it can take more; NULL: it always can */
    void (*accept_input)(Chardev *chr);         /* the front end has room again; NULL: nothing to do */
    bool (*wait_ready)(Chardev *chr, int ms);   /* blocks until it can take more, or ms went by; NULL: at once */
} ChardevOps;

#define MUX_MAX 4
#define MUX_QUEUE 512
/* Input for one front end. */
typedef struct MuxQueue {
    uint8_t data[MUX_QUEUE];
    unsigned head, count;
} MuxQueue;

struct Chardev {
    const ChardevOps *ops;
    char *id, *label;                           /* label: "disconnected:unix:..." for query-chardev */
    CharFrontend *fe[MUX_MAX];                  /* attached front ends; one unless mux */
    int n_fe;
    bool opened;                                /* somebody is at the other end */
    int log_fd;                                 /* -1: none */
    Chardev *next;
    /* mux */
    bool mux;
    int focus;
    bool escaped;                               /* the escape character was the last byte */
    bool timestamps, line_start;
    int64_t timestamp_base;
    MuxQueue queue[MUX_MAX];
    uint8_t held[MUX_QUEUE];                    /* input from the place where the queue in focus was full */
    int n_held;
};

#define CHARDEV_REGISTER(ops) \
    static void __attribute__((constructor)) ops##_register(void) { chardev_ops_register(&ops); }
void chardev_ops_register(const ChardevOps *ops);

/* For back ends. */
int chr_room(Chardev *chr);                     /* bytes that chr_deliver() may bring now */
void chr_deliver(Chardev *chr, const uint8_t *buf, int len);
void chr_set_open(Chardev *chr, bool open);     /* tells the front ends when it changes */
void chr_writable(Chardev *chr);
void chr_break(Chardev *chr);                   /* the line was held low: to the front end in focus */

/* char-mux.c */
int mux_room(Chardev *chr);
void mux_deliver(Chardev *chr, const uint8_t *buf, int len);
void mux_accept_input(Chardev *chr, CharFrontend *fe);
void mux_set_focus(Chardev *chr, int focus);
/* Text with time stamps put in where a line starts; NULL: as it is. Caller frees. */
GString *mux_stamp(Chardev *chr, const uint8_t *buf, int len);

/* What the file-descriptor back ends share (char-fd.c). */
typedef struct FdChardev {
    Chardev chr;
    int in_fd, out_fd;                          /* -1: none; may be equal */
    bool reading, want_write;                   /* derived: what the loop watches */
    bool keep_open;                             /* stdio: the descriptors are the process's */
    void (*on_end)(struct FdChardev *c);        /* the end of input is only a peer's; NULL: for good */
} FdChardev;
void fd_chardev_start(FdChardev *c);
void fd_chardev_close(Chardev *chr);
int fd_chardev_write(Chardev *chr, const uint8_t *buf, int len);
void fd_chardev_want_write(Chardev *chr);
void fd_chardev_accept_input(Chardev *chr);
bool fd_chardev_wait_ready(Chardev *chr, int ms);

#endif
