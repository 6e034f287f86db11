/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The qtest protocol: a test drives the machine's buses instead of a CPU. Lines of text in, lines of text out, as
 * libqtest speaks it. Main loop thread, machine lock. Test: tests/unit/test-qtest.c, tests/qtest/.
 */
#ifndef CLEAT_ACCEL_QTEST_H
#define CLEAT_ACCEL_QTEST_H

#include "util/error.h"

typedef struct QTest QTest;

/* A session whose answers go to send(); one whole line at a time, with its newline. */
QTest *qtest_new(void (*send)(void *opaque, const char *line), void *opaque);
void qtest_free(QTest *q);
/* Bytes from the other end; each complete line is carried out. */
void qtest_feed(QTest *q, const char *bytes, size_t len);
/* NULL: stderr; "none": no log; else a file that is created. */
bool qtest_log_to(QTest *q, const char *path, Error **errp);

/* -qtest SPEC -qtest-log PATH: a session on a chardev. */
bool qtest_server_start(const char *chardev, const char *log_path, Error **errp);
/* -accel qtest is in use: virtual time is the test's. */
bool qtest_enabled(void);

#endif
