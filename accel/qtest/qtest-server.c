/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -qtest: the qtest protocol on a chardev. Main thread at start, then main loop. Test: tests/qtest/. */
#include <string.h>

#include "accel/qtest.h"
#include "chardev/char.h"

typedef struct QTestServer {
    CharFrontend fe;
    QTest *session;
} QTestServer;

static void server_send(void *opaque, const char *line)
{
    QTestServer *s = opaque;

    char_write_all(&s->fe, line, strlen(line));
}

static int server_can_receive(void *opaque)
{
    return 4096;
}

static void server_receive(void *opaque, const uint8_t *buf, int len)
{
    QTestServer *s = opaque;

    qtest_feed(s->session, (const char *)buf, len);
}

bool qtest_server_start(const char *chardev, const char *log_path, Error **errp)
{
    QTestServer *s = g_new0(QTestServer, 1);   /* lives as long as the process */
    bool none = false;
    Chardev *chr = chardev_new_legacy("qtest", chardev, &none, errp);

    s->session = qtest_new(server_send, s);
    if (!chr) {
        if (none) {
            error_set(errp, "-qtest %s: the protocol needs a character device", chardev);
        }
        return false;
    }
    if (!qtest_log_to(s->session, log_path, errp) || !char_attach(&s->fe, chr, errp)) {
        return false;
    }
    char_set_handlers(&s->fe, server_can_receive, server_receive, NULL, s);
    return true;
}
