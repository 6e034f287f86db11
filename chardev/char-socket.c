/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket: a stream over unix or TCP sockets, as server or client, with telnet's negotiation (RFC 854) where asked for.
 *
 * One peer at a time. A server listens again when its peer has gone; a client with reconnect= tries again after that
 * many seconds. Output while nobody is connected is dropped, as on a real line. Descriptors that come with a message
 * (SCM_RIGHTS) are kept for the front end. Main loop thread or machine lock. Test: tests/unit/test-char.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "chardev/char-int.h"
#include "system/loop.h"

#define FDS_MAX 16
#define READ_MAX 4096

enum { IAC = 255, TELNET_SB = 250, TELNET_SE = 240, TELNET_BREAK = 243, TELNET_WILL = 251, TELNET_DO = 253 };
#define LOOK_NS 200000000ll     /* how often a peer that is not read from is looked at */

typedef struct SocketChardev {
    Chardev chr;
    /* config */
    bool server, telnet, nodelay, is_unix, abstract, tight;
    char *path, *host, *port;
    int family;                     /* AF_UNSPEC: any */
    int port_range;                 /* a server may take one of so many ports after `port` */
    int reconnect_ms;
    /* state */
    int listen_fd, fd;              /* -1: none */
    int connecting_fd;              /* a client's, not there yet; -1: none */
    bool half_iac;                  /* the first of two IAC bytes went out */
    bool reading, want_write;       /* what the loop watches */
    int telnet_state;               /* bytes of a command still to skip; -1: in a subnegotiation */
    int fds[FDS_MAX], n_fds;        /* received, not yet taken */
    Timer reconnect;
    Timer look;                     /* runs while the peer is not read from: has it gone? */
} SocketChardev;

static void socket_on_read(void *opaque);
static void socket_on_write(void *opaque);
static void socket_on_connection(void *opaque);

static void socket_update(SocketChardev *s)
{
    if (s->fd >= 0) {
        loop_set_fd(loop_main(), s->fd, s->reading ? socket_on_read : NULL, s->want_write ? socket_on_write : NULL, s);
    }
    if (s->fd >= 0 && !s->reading) {
        timer_mod(&s->look, clock_ns(CLOCK_REAL) + LOOK_NS);
    }
}

static void socket_label(SocketChardev *s, bool connected)
{
    const char *kind = s->is_unix ? "unix" : s->telnet ? "telnet" : "tcp";
    g_autofree char *where = s->is_unix ? g_strdup(s->path ? s->path : "") : g_strdup_printf("%s:%s", s->host, s->port);

    g_free(s->chr.label);
    s->chr.label = g_strdup_printf("%s%s:%s%s", connected ? "" : "disconnected:", kind, where,
                                   s->server ? ",server=on" : "");
}

/* ---- addresses ---- */

static bool unix_address(const SocketChardev *s, struct sockaddr_un *un, socklen_t *len, Error **errp)
{
    size_t n = strlen(s->path) + (s->abstract ? 1 : 0);

    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    if (n >= sizeof(un->sun_path)) {
        error_set(errp, "UNIX socket path '%s' is too long (at most %zu characters)", s->path,
                  sizeof(un->sun_path) - 1);
        return false;
    }
    memcpy(un->sun_path + (s->abstract ? 1 : 0), s->path, strlen(s->path));
    *len = s->abstract && s->tight ? offsetof(struct sockaddr_un, sun_path) + n : sizeof(*un);
    return true;
}

static struct addrinfo *inet_addresses(const SocketChardev *s, Error **errp)
{
    struct addrinfo hints = { .ai_family = s->family, .ai_socktype = SOCK_STREAM,
                              .ai_flags = s->server ? AI_PASSIVE : 0 }, *list = NULL;
    int ret = getaddrinfo(*s->host ? s->host : NULL, *s->port ? s->port : NULL, &hints, &list);

    if (ret) {
        error_set(errp, "address resolution failed for %s:%s: %s", s->host, s->port, gai_strerror(ret));
        return NULL;
    }
    return list;
}

static void inet_set_port(struct addrinfo *a, int port)
{
    if (a->ai_family == AF_INET6) {
        ((struct sockaddr_in6 *)a->ai_addr)->sin6_port = htons(port);
    } else {
        ((struct sockaddr_in *)a->ai_addr)->sin_port = htons(port);
    }
}

static int inet_port(const struct addrinfo *a)
{
    return ntohs(a->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)a->ai_addr)->sin6_port
                                          : ((struct sockaddr_in *)a->ai_addr)->sin_port);
}

/* True with the socket bound and listening, at the first free port of the range. */
static bool inet_bind(const SocketChardev *s, int fd, struct addrinfo *a)
{
    int one = 1, first = inet_port(a);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    for (int port = first; port <= MIN(first + s->port_range, 65535); port++) {
        inet_set_port(a, port);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 1) == 0) {
            return true;
        }
        if (errno != EADDRINUSE) {
            break;
        }
    }
    return false;
}

/* flags: SOCK_NONBLOCK for a connection that may take its time. */
static int inet_open(const SocketChardev *s, int flags, Error **errp)
{
    struct addrinfo *list = inet_addresses(s, errp);
    int fd = -1, err = EADDRNOTAVAIL;

    for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | flags, a->ai_protocol);
        if (fd < 0) {
            err = errno;
            continue;
        }
        if (s->server ? !inet_bind(s, fd, a) : connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS) {
            err = errno;
            close(fd);
            fd = -1;
        }
    }
    if (list && fd < 0) {
        error_set_errno(errp, err, s->server ? "Failed to bind socket to %s:%s" : "Failed to connect to '%s:%s'",
                        s->host,
                        s->port);
    }
    if (list) {
        freeaddrinfo(list);
    }
    return fd;
}

static int unix_open(const SocketChardev *s, Error **errp)
{
    struct sockaddr_un un;
    socklen_t len;
    int fd;

    if (!unix_address(s, &un, &len, errp)) {
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        error_set_errno(errp, errno, "Failed to create a UNIX socket");
        return -1;
    }
    if (s->server && !s->abstract) {
        unlink(s->path);
    }
    if (s->server ? bind(fd, (struct sockaddr *)&un, len) < 0 || listen(fd, 1) < 0
                  : connect(fd, (struct sockaddr *)&un, len) < 0) {
        error_set_errno(errp, errno, s->server ? "Failed to bind socket to %s" : "Failed to connect to '%s'", s->path);
        close(fd);
        return -1;
    }
    return fd;
}

/* port=0 and to= leave it to the host: the label tells. */
static void inet_learn_port(SocketChardev *s)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char port[NI_MAXSERV];

    if (!s->is_unix && getsockname(s->listen_fd, (struct sockaddr *)&addr, &len) == 0
        && getnameinfo((struct sockaddr *)&addr, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV) == 0) {
        g_free(s->port);
        s->port = g_strdup(port);
        socket_label(s, false);
    }
}

static int socket_open_address(const SocketChardev *s, int flags, Error **errp)
{
    return s->is_unix ? unix_open(s, errp) : inet_open(s, flags, errp);
}

/* ---- connection and its end ---- */

static void socket_connected(SocketChardev *s, int fd)
{
    static const uint8_t hello[] = { IAC, TELNET_WILL, 1, IAC, TELNET_WILL, 3, IAC, TELNET_WILL, 0, IAC, TELNET_DO, 0 };
    int one = 1;

    s->fd = fd;
    s->telnet_state = 0;
    s->half_iac = false;
    if (!s->is_unix && s->nodelay) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    if (s->telnet && send(fd, hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        warn_report("chardev '%s': telnet greeting: %s", s->chr.id, strerror(errno));
    }
    if (s->listen_fd >= 0) {
        loop_set_fd(loop_main(), s->listen_fd, NULL, NULL, s);
    }
    socket_label(s, true);
    s->reading = true;
    socket_update(s);
    chr_set_open(&s->chr, true);
}

static void socket_drop_fds(SocketChardev *s)
{
    while (s->n_fds) {
        close(s->fds[--s->n_fds]);
    }
}

static void socket_try_later(SocketChardev *s);

static void socket_disconnect(SocketChardev *s)
{
    if (s->fd < 0) {
        return;
    }
    loop_set_fd(loop_main(), s->fd, NULL, NULL, s);
    close(s->fd);
    s->fd = -1;
    s->reading = s->want_write = false;
    timer_del(&s->look);
    socket_drop_fds(s);
    socket_label(s, false);
    chr_set_open(&s->chr, false);
    chr_writable(&s->chr);          /* whoever waits for room finds nobody there */
    if (s->listen_fd >= 0) {
        loop_set_fd(loop_main(), s->listen_fd, socket_on_connection, NULL, s);
    } else if (s->reconnect_ms) {
        socket_try_later(s);
    }
}

static void socket_on_connection(void *opaque)
{
    SocketChardev *s = opaque;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0) {
        socket_connected(s, fd);
    }
}

static void socket_try_later(SocketChardev *s)
{
    timer_mod(&s->reconnect, clock_ns(CLOCK_REAL) + s->reconnect_ms * 1000000ll);
}

/* A connection stands, or has failed. */
static void socket_on_outcome(void *opaque)
{
    SocketChardev *s = opaque;
    int fd = s->connecting_fd, err = 0;
    socklen_t len = sizeof(err);

    s->connecting_fd = -1;
    loop_set_fd(loop_main(), fd, NULL, NULL, s);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err) {
        close(fd);
        socket_try_later(s);
    } else {
        socket_connected(s, fd);
    }
}

/* The guest runs meanwhile: a far host that does not answer must not stop it. */
static void socket_reconnect(void *opaque)
{
    SocketChardev *s = opaque;

    s->connecting_fd = socket_open_address(s, SOCK_NONBLOCK, NULL);
    if (s->connecting_fd >= 0) {
        loop_set_fd(loop_main(), s->connecting_fd, NULL, socket_on_outcome, s);
    } else {
        socket_try_later(s);
    }
}

/*
 * The front end takes no input, so the peer's going is not seen by reading. What it has sent stays for the front
 * end, until somebody else wants the place.
 */
static void socket_look(void *opaque)
{
    SocketChardev *s = opaque;
    struct pollfd peer = { .fd = s->fd }, next = { .fd = s->listen_fd, .events = POLLIN };
    int unread = 0;

    if (s->fd < 0 || s->reading) {
        return;
    }
    if (poll(&peer, 1, 0) > 0 && (peer.revents & (POLLHUP | POLLERR))
        && ((ioctl(s->fd, FIONREAD, &unread) == 0 && !unread) || poll(&next, 1, 0) > 0)) {
        socket_disconnect(s);
    } else {
        timer_mod(&s->look, clock_ns(CLOCK_REAL) + LOOK_NS);
    }
}

/* ---- traffic ---- */

static void telnet_command(SocketChardev *s, uint8_t c)
{
    s->telnet_state = c == TELNET_SB ? -1 : c >= TELNET_WILL ? 2 : 0;
    if (c == TELNET_BREAK) {
        chr_break(&s->chr);
    }
}

/* Takes telnet commands out of buf in place; the bytes left. */
static int telnet_filter(SocketChardev *s, uint8_t *buf, int len)
{
    int out = 0;

    for (int i = 0; i < len; i++) {
        uint8_t c = buf[i];

        if (s->telnet_state == 0) {
            if (c == IAC) {
                s->telnet_state = 1;
            } else {
                buf[out++] = c;
            }
        } else if (s->telnet_state == 1) {
            if (c == IAC) {
                buf[out++] = c;
                s->telnet_state = 0;
            } else {
                telnet_command(s, c);
            }
        } else if (s->telnet_state == 2 || c == TELNET_SE) {
            s->telnet_state = 0;
        }
    }
    return out;
}

static void take_fds(SocketChardev *s, struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        bool fds = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
        int n = fds ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

        for (int i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (s->n_fds < FDS_MAX) {
                s->fds[s->n_fds++] = fd;
            } else {
                close(fd);
            }
        }
    }
}

static void socket_on_read(void *opaque)
{
    SocketChardev *s = opaque;
    uint8_t buf[READ_MAX];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
    } control;
    int room = MIN(chr_room(&s->chr), READ_MAX);
    struct iovec iov = { buf, MAX(room, 0) };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
                          .msg_control = &control, .msg_controllen = sizeof(control) };
    ssize_t n;

    if (room <= 0) {
        s->reading = false;         /* accept_input starts again */
        socket_update(s);
        return;
    }
    n = recvmsg(s->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n > 0) {
        take_fds(s, &msg);
        n = s->telnet ? telnet_filter(s, buf, n) : n;
        if (n) {
            chr_deliver(&s->chr, buf, n);
        }
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        socket_disconnect(s);
    }
}

static void socket_on_write(void *opaque)
{
    SocketChardev *s = opaque;

    s->want_write = false;
    socket_update(s);
    chr_writable(&s->chr);
}

static int socket_send(SocketChardev *s, const uint8_t *buf, int len)
{
    ssize_t n = send(s->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n >= 0) {
        return n;
    }
    return errno == EAGAIN || errno == EINTR ? 0 : -1;   /* the end is seen by the reader */
}

/* A byte 255 goes out twice; 1 once both have gone. */
static int telnet_send_iac(SocketChardev *s)
{
    static const uint8_t pair[2] = { IAC, IAC };
    int want = s->half_iac ? 1 : 2, n = socket_send(s, pair, want);

    if (n > 0) {
        s->half_iac = n < want;
    }
    return n == want ? 1 : MIN(n, 0);
}

static int socket_write(Chardev *chr, const uint8_t *buf, int len)
{
    SocketChardev *s = (SocketChardev *)chr;
    const uint8_t *iac;

    if (s->fd < 0) {
        return -1;
    }
    iac = s->telnet ? memchr(buf, IAC, len) : NULL;
    return iac == buf ? telnet_send_iac(s) : socket_send(s, buf, iac ? iac - buf : len);
}

static void socket_want_write(Chardev *chr)
{
    SocketChardev *s = (SocketChardev *)chr;

    if (s->fd < 0) {
        chr_writable(chr);
        return;
    }
    s->want_write = true;
    socket_update(s);
}

static void socket_accept_input(Chardev *chr)
{
    SocketChardev *s = (SocketChardev *)chr;

    if (s->fd >= 0 && !s->reading && chr_room(chr) > 0) {
        s->reading = true;
        socket_update(s);
    }
}

static bool socket_wait_ready(Chardev *chr, int ms)
{
    struct pollfd p = { .fd = ((SocketChardev *)chr)->fd, .events = POLLOUT };

    return p.fd >= 0 && poll(&p, 1, ms) > 0;
}

/* ---- life ---- */

static void socket_close(Chardev *chr)
{
    SocketChardev *s = (SocketChardev *)chr;

    timer_del(&s->reconnect);
    timer_del(&s->look);
    if (s->connecting_fd >= 0) {
        loop_set_fd(loop_main(), s->connecting_fd, NULL, NULL, s);
        close(s->connecting_fd);
    }
    if (s->fd >= 0) {
        loop_set_fd(loop_main(), s->fd, NULL, NULL, s);
        close(s->fd);
    }
    if (s->listen_fd >= 0) {
        loop_set_fd(loop_main(), s->listen_fd, NULL, NULL, s);
        close(s->listen_fd);
        if (s->is_unix && !s->abstract && s->path) {
            unlink(s->path);
        }
    }
    socket_drop_fds(s);
    g_free(s->path);
    g_free(s->host);
    g_free(s->port);
}

static bool socket_listen(SocketChardev *s, bool wait, Error **errp)
{
    if (s->listen_fd < 0) {
        s->listen_fd = socket_open_address(s, 0, errp);
    }
    if (s->listen_fd < 0) {
        return false;
    }
    inet_learn_port(s);
    loop_set_fd(loop_main(), s->listen_fd, socket_on_connection, NULL, s);
    if (wait) {
        info_report("waiting for a connection on %s", s->chr.label);
        while (s->fd < 0) {
            struct pollfd p = { .fd = s->listen_fd, .events = POLLIN };

            if (poll(&p, 1, -1) > 0) {
                socket_on_connection(s);
            } else if (errno != EINTR) {
                break;
            }
        }
    }
    return true;
}

static bool socket_connect(SocketChardev *s, Error **errp)
{
    g_autoptr(Error) err = NULL;
    int fd = socket_open_address(s, 0, &err);

    if (fd >= 0) {
        socket_connected(s, fd);
    } else if (s->reconnect_ms) {
        socket_try_later(s);
    } else {
        error_propagate(errp, g_steal_pointer(&err));
        return false;
    }
    return true;
}

/* fd=N: a socket that the manager opened; a listening one with server=on. */
static bool socket_adopt(SocketChardev *s, const char *text, bool wait, Error **errp)
{
    char *end;
    long fd = strtol(text, &end, 10);
    int listening = 0;
    socklen_t len = sizeof(listening);

    if (*end || end == text || fd < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0) {
        error_set(errp, "File descriptor '%s' is not a socket", text);
        return false;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    s->is_unix = true;
    if (listening) {
        s->listen_fd = fd;
        return socket_listen(s, wait, errp);
    }
    socket_connected(s, fd);
    return true;
}

static bool socket_config_inet(SocketChardev *s, const KeyVals *kv, Error **errp)
{
    bool v4 = keyvals_bool(kv, "ipv4", false), v6 = keyvals_bool(kv, "ipv6", false);
    bool no4 = keyvals_get(kv, "ipv4", NULL) && !v4, no6 = keyvals_get(kv, "ipv6", NULL) && !v6;
    uint64_t port = keyvals_uint(kv, "port", 0), to = keyvals_uint(kv, "to", 0);

    if (no4 && no6) {
        error_set(errp, "'ipv4' and 'ipv6' of a socket chardev cannot both be off");
        return false;
    }
    s->family = no6 || (v4 && !v6) ? AF_INET : no4 || (v6 && !v4) ? AF_INET6 : AF_UNSPEC;
    if (keyvals_get(kv, "to", NULL) && (to < port || to > 65535 || !s->server)) {
        error_set(errp, "'to=%s' of a socket chardev needs a server, and a number from 'port' to 65535",
                  keyvals_get(kv, "to", NULL));
        return false;
    }
    s->port_range = to ? to - port : 0;
    return true;
}

static bool socket_config(SocketChardev *s, const KeyVals *kv, Error **errp)
{
    const char *path = keyvals_get(kv, "path", NULL), *host = keyvals_get(kv, "host", NULL);
    const char *port = keyvals_get(kv, "port", NULL), *fd = keyvals_get(kv, "fd", NULL);

    s->server = keyvals_bool(kv, "server", false);
    s->telnet = keyvals_bool(kv, "telnet", false);
    s->nodelay = keyvals_bool(kv, "nodelay", !keyvals_bool(kv, "delay", true));
    s->abstract = keyvals_bool(kv, "abstract", false);
    s->tight = keyvals_bool(kv, "tight", true);
    s->reconnect_ms = keyvals_uint(kv, "reconnect-ms", keyvals_uint(kv, "reconnect", 0) * 1000);
    if (!socket_config_inet(s, kv, errp)) {
        return false;
    }
    if (!!path + (host || port) + !!fd > 1 || (!path && !fd && !port)) {
        error_set(errp, path || fd ? "'path', 'host' and 'port', and 'fd' of a socket chardev exclude each other"
                                   : "a socket chardev needs 'path', 'port' or 'fd'");
        return false;
    }
    if (s->server && s->reconnect_ms) {
        error_set(errp, "'reconnect' of a socket chardev is for clients, not with server=on");
        return false;
    }
    if (!s->server && keyvals_get(kv, "wait", NULL)) {
        error_set(errp, "'wait' of a socket chardev needs server=on");
        return false;
    }
    s->is_unix = path != NULL;
    s->path = g_strdup(path);
    s->host = g_strdup(host ? host : "");
    s->port = g_strdup(port ? port : "");
    return true;
}

static bool socket_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    SocketChardev *s = (SocketChardev *)chr;
    const char *fd = keyvals_get(kv, "fd", NULL);
    bool wait, ok;

    s->fd = s->listen_fd = s->connecting_fd = -1;
    timer_init(&s->look, CLOCK_REAL, socket_look, s);
    timer_init(&s->reconnect, CLOCK_REAL, socket_reconnect, s);
    ok = socket_config(s, kv, errp);
    if (ok) {
        wait = keyvals_bool(kv, "wait", s->server);
        socket_label(s, false);
        ok = fd ? socket_adopt(s, fd, wait, errp) : s->server ? socket_listen(s, wait, errp) : socket_connect(s, errp);
    }
    if (!ok) {
        socket_close(chr);
    }
    return ok;
}

static const KeyRow socket_keys[] = {
    { .name = "path" }, { .name = "host" }, { .name = "port" }, { .name = "fd" },
    { .name = "to", .type = KEY_UINT }, { .name = "ipv4", .type = KEY_BOOL }, { .name = "ipv6", .type = KEY_BOOL },
    { .name = "server", .type = KEY_BOOL }, { .name = "wait", .type = KEY_BOOL },
    { .name = "telnet", .type = KEY_BOOL }, { .name = "nodelay", .type = KEY_BOOL },
    { .name = "delay", .type = KEY_BOOL }, { .name = "abstract", .type = KEY_BOOL },
    { .name = "tight", .type = KEY_BOOL }, { .name = "reconnect", .type = KEY_UINT },
    { .name = "reconnect-ms", .type = KEY_UINT }, { .name = NULL }
};
static const ChardevOps socket_ops = {
    .name = "socket", .desc = "a unix or TCP stream socket", .keys = socket_keys, .size = sizeof(SocketChardev),
    .open = socket_open, .close = socket_close, .write = socket_write, .want_write = socket_want_write,
    .accept_input = socket_accept_input, .wait_ready = socket_wait_ready,
};
CHARDEV_REGISTER(socket_ops)

int char_get_msgfds(CharFrontend *fe, int *fds, int max)
{
    SocketChardev *s = (SocketChardev *)fe->chr;
    int n;

    if (!fe->chr || fe->chr->ops != &socket_ops) {
        return 0;
    }
    n = MIN(max, s->n_fds);
    memcpy(fds, s->fds, n * sizeof(int));
    s->n_fds -= n;
    memmove(s->fds, s->fds + n, s->n_fds * sizeof(int));
    return n;
}
