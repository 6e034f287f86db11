/* SPDX-License-Identifier: GPL-2.0-or-later */
/* os-win32.c under Windows or wine: each function of include/system/os.h does or refuses as it says. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "system/os.h"

struct Error {
    char text[512];
};

/* In place of util/error.c, which needs glib. */
void error_set(Error **errp, const char *fmt, ...)
{
    va_list ap;

    *errp = calloc(1, sizeof(**errp));
    va_start(ap, fmt);
    vsnprintf((*errp)->text, sizeof((*errp)->text), fmt, ap);
    va_end(ap);
}

static int failures;

static void check(int ok, const char *what)
{
    printf("%s: %s\n", ok ? "ok" : "FAIL", what);
    failures += !ok;
}

static void check_refusal(bool done, Error **err, const char *what)
{
    check(!done && *err && strstr((*err)->text, "Windows"), what);
    free(*err);
    *err = NULL;
}

static void check_pidfile(OsProcess *p)
{
    Error *err = NULL;
    unsigned long pid = 0;
    FILE *f;

    check(os_pidfile_create(p, "test-os-win32.pid", &err), "pid file is written");
    f = fopen("test-os-win32.pid", "r");
    check(f && fscanf(f, "%lu", &pid) == 1 && pid == GetCurrentProcessId(), "pid file has our pid");
    if (f) {
        fclose(f);
    }
}

int main(void)
{
    OsProcess *p = os_init();
    Error *err = NULL;
    OsUser user;
    int status;

    check(os_mlock(false) == -ENOSYS && os_mlock(true) == -ENOSYS, "locking memory is -ENOSYS");
    check_refusal(os_daemonize(p, &status, &err), &err, "daemonize is refused");
    check(os_daemonize_done(p, false, &err), "daemonize_done does nothing");
    check_refusal(os_user_parse("nobody", &user, &err), &err, "a user is refused");
    check_refusal(os_change_root("c:\\", &err), &err, "a root folder is refused");
    check_refusal(os_async_teardown(&err), &err, "async-teardown is refused");
    check_pidfile(p);
    os_fini(p);
    check(GetFileAttributesA("test-os-win32.pid") == INVALID_FILE_ATTRIBUTES, "pid file is removed");
    return failures != 0;
}
