/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host OS as the process sees it: os-posix.c and os-win32.c implement this one header.
 *
 * Order at start-up: os_init, (os_daemonize), os_pidfile_create, os_mlock, ... the machine is built ...,
 * os_change_root, os_become_user, os_daemonize_done. Main thread only, except where noted.
 * Where a system lacks something, its function fails with a sentence that says so.
 * Tests: tests/cli/cli-process.py, tests/win32/.
 */
#ifndef CLEAT_SYSTEM_OS_H
#define CLEAT_SYSTEM_OS_H

#include <stdbool.h>

#include "util/error.h"

/* Explicit stacks of threads: small, since every stack is locked under mem-lock=on. */
enum { OS_THREAD_STACK = 256 * 1024 };

/* What the process keeps between these calls. */
typedef struct OsProcess OsProcess;

/*
 * First thing in main: one malloc arena that gives memory back, small thread stacks, as many open
 * files as the host allows, no death by SIGPIPE.
 */
OsProcess *os_init(void);
/* Removes the pid file. At the end; p may be NULL. */
void os_fini(OsProcess *p);

/*
 * Locks all present and future pages of the process: at once, or (on_fault) once each is touched.
 * 0, or a negative errno; -ENOSYS where the system cannot.
 */
int os_mlock(bool on_fault);

/*
 * Goes on in the background. Returns in two processes: in the parent *parent_status is >= 0 when the
 * child has come up (0) or failed (1), and the caller ends with that status; in the child it is -1.
 * Messages of the child reach the parent's terminal until os_daemonize_done().
 */
bool os_daemonize(OsProcess *p, int *parent_status, Error **errp);
/* Lets the parent go, and the terminal (standard error stays where it leads to a log). No-op unless daemonized. */
bool os_daemonize_done(OsProcess *p, bool keep_stderr, Error **errp);

/* Writes and locks it; refused while another process holds it. Removed by os_fini(). */
bool os_pidfile_create(OsProcess *p, const char *path, Error **errp);

/* -run-with: a user's name, or UID:GID. */
typedef struct OsUser {
    unsigned uid, gid;
    const char *name;       /* borrowed; NULL: given by numbers (supplementary groups are dropped) */
} OsUser;
bool os_user_parse(const char *text, OsUser *user, Error **errp);
bool os_become_user(const OsUser *user, Error **errp);
bool os_change_root(const char *dir, Error **errp);
/*
 * Starts a helper process that shares this one's memory and outlives it for a moment, so that the
 * end of this process does not wait for its memory to be given back.
 */
bool os_async_teardown(Error **errp);

void os_set_process_name(const char *name);         /* the host shows 15 bytes of it */
/* Names the calling thread in the host's lists (any thread). */
void os_set_thread_name(const char *name);

/* fn(signal, sender's pid) on SIGINT, SIGTERM and SIGHUP, in signal context. */
typedef void OsSignalFn(int sig, int pid);
void os_catch_signals(OsSignalFn *fn);
/* The name of a process, for "terminating on signal"; free(). NULL when unknown. */
char *os_process_name_of(int pid);

#endif
