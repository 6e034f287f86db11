/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Back ends over file descriptors: stdio, file, pipe, pty, null, ringbuf's plain cousin; and what they share.
 *
 * Descriptors are left blocking (O_NONBLOCK would be shared with whoever else has the terminal open): a write follows
 * a poll() and is no longer than what then goes out without blocking. Main loop thread or machine lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "chardev/char-int.h"
#include "system/loop.h"
#include "util/fdset.h"

#define READ_MAX 4096
#define WRITE_MAX 512               /* PIPE_BUF is the least that POLLOUT promises on a pipe; a tty takes this too */

static void fd_on_read(void *opaque);
static void fd_on_write(void *opaque);

static void fd_update(FdChardev *c)
{
    if (c->in_fd == c->out_fd) {
        if (c->in_fd >= 0) {
            loop_set_fd(loop_main(), c->in_fd, c->reading ? fd_on_read : NULL, c->want_write ? fd_on_write : NULL, c);
        }
        return;
    }
    if (c->in_fd >= 0) {
        loop_set_fd(loop_main(), c->in_fd, c->reading ? fd_on_read : NULL, NULL, c);
    }
    if (c->out_fd >= 0) {
        loop_set_fd(loop_main(), c->out_fd, NULL, c->want_write ? fd_on_write : NULL, c);
    }
}

static void fd_stop_reading(FdChardev *c)
{
    c->reading = false;
    fd_update(c);
}

static void fd_on_read(void *opaque)
{
    FdChardev *c = opaque;
    uint8_t buf[READ_MAX];
    int room = MIN(chr_room(&c->chr), READ_MAX);
    ssize_t n;

    if (room <= 0) {
        fd_stop_reading(c);         /* accept_input starts again */
        return;
    }
    n = read(c->in_fd, buf, room);
    if (n > 0) {
        chr_deliver(&c->chr, buf, n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        fd_stop_reading(c);         /* end of input: output goes on */
        if (c->on_end) {
            c->on_end(c);
            return;
        }
        if (!c->keep_open && c->in_fd != c->out_fd) {
            close(c->in_fd);
        }
        c->in_fd = -1;
    }
}

static void fd_on_write(void *opaque)
{
    FdChardev *c = opaque;

    c->want_write = false;
    fd_update(c);
    chr_writable(&c->chr);
}

void fd_chardev_start(FdChardev *c)
{
    chr_set_open(&c->chr, true);
}

void fd_chardev_close(Chardev *chr)
{
    FdChardev *c = (FdChardev *)chr;

    c->reading = c->want_write = false;
    fd_update(c);
    if (c->keep_open) {
        return;
    }
    if (c->in_fd >= 0) {
        close(c->in_fd);
    }
    if (c->out_fd >= 0 && c->out_fd != c->in_fd) {
        close(c->out_fd);
    }
}

static bool fd_ready(int fd, short events, int ms)
{
    struct pollfd p = { .fd = fd, .events = events };

    return poll(&p, 1, ms) > 0;
}

int fd_chardev_write(Chardev *chr, const uint8_t *buf, int len)
{
    FdChardev *c = (FdChardev *)chr;
    int done = 0;

    if (c->out_fd < 0) {
        return -1;
    }
    while (done < len && fd_ready(c->out_fd, POLLOUT, 0)) {
        ssize_t n = write(c->out_fd, buf + done, MIN(len - done, WRITE_MAX));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return done ? done : errno == EAGAIN ? 0 : -1;
        }
        done += n;
    }
    return done;
}

void fd_chardev_want_write(Chardev *chr)
{
    FdChardev *c = (FdChardev *)chr;

    if (c->out_fd < 0) {
        chr_writable(chr);
        return;
    }
    c->want_write = true;
    fd_update(c);
}

void fd_chardev_accept_input(Chardev *chr)
{
    FdChardev *c = (FdChardev *)chr;

    if (c->in_fd >= 0 && !c->reading && chr_room(chr) > 0) {
        c->reading = true;
        fd_update(c);
    }
}

bool fd_chardev_wait_ready(Chardev *chr, int ms)
{
    FdChardev *c = (FdChardev *)chr;

    return c->out_fd >= 0 && fd_ready(c->out_fd, POLLOUT, ms);
}

/* The hooks that all have, and those that some replace. */
#define FD_COMMON .want_write = fd_chardev_want_write, .wait_ready = fd_chardev_wait_ready
#define FD_HOOKS                                                                            \
    FD_COMMON, .size = sizeof(FdChardev), .close = fd_chardev_close,                        \
    .write = fd_chardev_write, .accept_input = fd_chardev_accept_input

/* ---- null ---- */

static bool null_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    chr->opened = false;
    return true;
}

static const ChardevOps null_ops = { .name = "null", .desc = "swallows output, has no input", .open = null_open };
CHARDEV_REGISTER(null_ops)

/* ---- stdio ---- */

/* The terminal's state before we changed it, and ours: there is one stdin. */
static struct {
    bool used, raw;
    struct termios before, ours;
    BottomHalf *continued;
} stdio_terminal;

static void stdio_restore(void)
{
    signal(SIGCONT, SIG_DFL);
    g_clear_pointer(&stdio_terminal.continued, bh_free);
    if (stdio_terminal.raw) {
        tcsetattr(STDIN_FILENO, TCSANOW, &stdio_terminal.before);
        stdio_terminal.raw = false;
    }
}

/* After Ctrl-Z the shell made the terminal its own again. */
static void stdio_raw_again(void *opaque)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &stdio_terminal.ours);
}

static void stdio_continued(int sig)
{
    bh_schedule(stdio_terminal.continued);
}

static void stdio_make_raw(bool signals)
{
    struct termios t;

    if (tcgetattr(STDIN_FILENO, &stdio_terminal.before) < 0) {
        return;
    }
    t = stdio_terminal.before;
    t.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    t.c_oflag |= OPOST;
    t.c_lflag &= ~(ECHO | ECHONL | ICANON | IEXTEN);
    if (!signals) {
        t.c_lflag &= ~ISIG;
    }
    t.c_cflag = (t.c_cflag & ~(CSIZE | PARENB)) | CS8;
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    stdio_terminal.ours = t;
    stdio_terminal.raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
    stdio_terminal.continued = bh_new(loop_main(), stdio_raw_again, NULL);
    signal(SIGCONT, stdio_continued);
}

/*
 * Where output goes. A terminal that is held (Ctrl-S) would block a write of any length, so it is opened
 * once more: that O_NONBLOCK is ours alone. -1: what standard output is can be used as it is.
 */
static int stdio_own_terminal(void)
{
    return isatty(STDOUT_FILENO) ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
}

static bool stdio_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    FdChardev *c = (FdChardev *)chr;
    int own;

    if (stdio_terminal.used) {
        error_set(errp, "chardev '%s': another chardev uses stdio already", chr->id);
        return false;
    }
    stdio_terminal.used = true;
    stdio_make_raw(keyvals_bool(kv, "signal", true));
    own = stdio_own_terminal();
    c->in_fd = STDIN_FILENO;
    c->out_fd = own >= 0 ? own : STDOUT_FILENO;
    c->keep_open = true;
    fd_chardev_start(c);
    return true;
}

static void stdio_close(Chardev *chr)
{
    int out_fd = ((FdChardev *)chr)->out_fd;

    fd_chardev_close(chr);
    if (out_fd > STDERR_FILENO) {
        close(out_fd);
    }
    stdio_restore();
    stdio_terminal.used = false;
}

static const KeyRow stdio_keys[] = { { .name = "signal", .type = KEY_BOOL }, { .name = NULL } };
static const ChardevOps stdio_ops = {
    .name = "stdio", .desc = "the emulator's standard input and output", .keys = stdio_keys, .open = stdio_open,
    FD_COMMON, .size = sizeof(FdChardev), .close = stdio_close, .write = fd_chardev_write,
    .accept_input = fd_chardev_accept_input,
};
CHARDEV_REGISTER(stdio_ops)

/* ---- file ---- */

static bool file_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    FdChardev *c = (FdChardev *)chr;
    const char *path = keyvals_get(kv, "path", NULL), *in = keyvals_get(kv, "input-path", NULL);
    bool append = keyvals_bool(kv, "append", false);

    if (!path) {
        error_set(errp, "chardev '%s': a file needs path=", chr->id);
        return false;
    }
    c->in_fd = -1;
    c->out_fd = fdset_open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666, errp);
    if (c->out_fd < 0) {
        return false;
    }
    if (in && (c->in_fd = fdset_open(in, O_RDONLY, 0, errp)) < 0) {
        close(c->out_fd);
        return false;
    }
    chr->label = g_strdup("file");
    fd_chardev_start(c);
    return true;
}

static const KeyRow file_keys[] = { { .name = "path" }, { .name = "input-path" },
                                    { .name = "append", .type = KEY_BOOL }, { .name = NULL } };
static const ChardevOps file_ops = { .name = "file", .desc = "output to a file", .keys = file_keys, .open = file_open,
                                     FD_HOOKS };
CHARDEV_REGISTER(file_ops)

/* ---- pipe: PATH.in and PATH.out, or one FIFO both ways ---- */

static bool pipe_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    FdChardev *c = (FdChardev *)chr;
    const char *path = keyvals_get(kv, "path", NULL);
    g_autofree char *in = g_strconcat(path ? path : "", ".in", NULL);
    g_autofree char *out = g_strconcat(path ? path : "", ".out", NULL);

    if (!path) {
        error_set(errp, "chardev '%s': a pipe needs path=", chr->id);
        return false;
    }
    c->in_fd = open(in, O_RDWR | O_CLOEXEC);
    c->out_fd = open(out, O_RDWR | O_CLOEXEC);
    if (c->in_fd < 0 || c->out_fd < 0) {
        if (c->in_fd >= 0) {
            close(c->in_fd);
        }
        if (c->out_fd >= 0) {
            close(c->out_fd);
        }
        c->in_fd = c->out_fd = fdset_open(path, O_RDWR, 0, errp);
        if (c->in_fd < 0) {
            return false;
        }
    }
    fd_chardev_start(c);
    return true;
}

static const KeyRow path_keys[] = { { .name = "path" }, { .name = NULL } };
static const ChardevOps pipe_ops = { .name = "pipe", .desc = "named pipes PATH.in and PATH.out", .keys = path_keys,
                                     .open = pipe_open, FD_HOOKS };
CHARDEV_REGISTER(pipe_ops)

/* ---- serial, parallel: a host device node ---- */

static bool host_device_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    FdChardev *c = (FdChardev *)chr;
    const char *path = keyvals_get(kv, "path", NULL);
    struct termios t;

    if (!path) {
        error_set(errp, "chardev '%s': a serial port needs path=", chr->id);
        return false;
    }
    c->in_fd = c->out_fd = fdset_open(path, O_RDWR | O_NOCTTY, 0, errp);
    if (c->in_fd < 0) {
        return false;
    }
    if (tcgetattr(c->in_fd, &t) == 0) {
        cfmakeraw(&t);
        tcsetattr(c->in_fd, TCSANOW, &t);
    }
    fd_chardev_start(c);
    return true;
}

static const ChardevOps serial_ops = { .name = "serial", .alias = "tty", .desc = "a serial port of the host",
                                       .keys = path_keys, .open = host_device_open, FD_HOOKS };
CHARDEV_REGISTER(serial_ops)

/* ---- pty: the far end comes and goes; looked for once a second while nobody is there ---- */

typedef struct PtyChardev {
    FdChardev fd;
    Timer timer;
} PtyChardev;

static void pty_check(void *opaque)
{
    PtyChardev *p = opaque;
    struct pollfd q = { .fd = p->fd.in_fd, .events = POLLIN };
    bool here = poll(&q, 1, 0) >= 0 && !(q.revents & POLLHUP);

    if (here != p->fd.chr.opened) {
        p->fd.reading = false;
        fd_update(&p->fd);
        chr_set_open(&p->fd.chr, here);
    }
    if (here) {
        fd_chardev_accept_input(&p->fd.chr);    /* also when one peer followed the other at once */
    }
    timer_mod(&p->timer, clock_ns(CLOCK_REAL) + (here ? 1000000000ll : 100000000ll));
}

static void pty_peer_left(FdChardev *c)
{
    chr_set_open(&c->chr, false);
    timer_mod(&((PtyChardev *)c)->timer, clock_ns(CLOCK_REAL) + 10000000);
}

static int pty_write(Chardev *chr, const uint8_t *buf, int len)
{
    return chr->opened ? fd_chardev_write(chr, buf, len) : -1;
}

static void pty_accept_input(Chardev *chr)
{
    if (chr->opened) {
        fd_chardev_accept_input(chr);
    }
}

static bool pty_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    PtyChardev *p = (PtyChardev *)chr;
    char name[128];
    int far_end;
    struct termios t;

    if (openpty(&p->fd.in_fd, &far_end, name, NULL, NULL) < 0) {
        error_set_errno(errp, errno, "Failed to create PTY");
        return false;
    }
    if (tcgetattr(far_end, &t) == 0) {
        cfmakeraw(&t);
        tcsetattr(far_end, TCSAFLUSH, &t);
    }
    close(far_end);
    fcntl(p->fd.in_fd, F_SETFD, FD_CLOEXEC);
    fcntl(p->fd.in_fd, F_SETFL, O_NONBLOCK);    /* ours alone */
    p->fd.out_fd = p->fd.in_fd;
    p->fd.on_end = pty_peer_left;
    chr->label = g_strdup_printf("pty:%s", name);
    info_report("char device redirected to %s (label %s)", name, chr->id);
    timer_init(&p->timer, CLOCK_REAL, pty_check, p);
    pty_check(p);
    return true;
}

static void pty_close(Chardev *chr)
{
    timer_del(&((PtyChardev *)chr)->timer);
    fd_chardev_close(chr);
}

static const ChardevOps pty_ops = {
    .name = "pty", .desc = "a pseudo-terminal of the host", .open = pty_open, FD_COMMON, .size = sizeof(PtyChardev),
    .close = pty_close, .write = pty_write, .accept_input = pty_accept_input,
};
CHARDEV_REGISTER(pty_ops)
