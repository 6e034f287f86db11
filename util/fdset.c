/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File descriptors that a manager passed in, in numbered sets; see include/util/fdset.h.
 * The list is the process's, as its descriptors are. Test: tests/unit/test-fdset.c.
 */
#include "util/fdset.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "util/units.h"

typedef struct FdEntry FdEntry;
struct FdEntry {
    int set, fd;
    char *opaque;
    FdEntry *next;
};

static FdEntry *fdset_list;         /* sorted by set */

bool fdset_add(int set, int fd, const char *opaque, Error **errp)
{
    int flags = fcntl(fd, F_GETFD);
    FdEntry *entry, **at = &fdset_list;

    if (flags < 0 || (flags & FD_CLOEXEC)) {
        error_set(errp, "file descriptor %d is %s", fd,
                  flags < 0 ? "not open" : "in use by this process itself");
        return false;
    }
    fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    entry = g_new0(FdEntry, 1);
    entry->set = set;
    entry->fd = fd;
    entry->opaque = g_strdup(opaque);
    while (*at && (*at)->set <= set) {
        at = &(*at)->next;
    }
    entry->next = *at;
    *at = entry;
    return true;
}

static int fdset_dup(int set, int flags, const char *path, Error **errp)
{
    bool found = false;

    for (const FdEntry *e = fdset_list; e; e = e->next) {
        int have, fd;

        if (e->set != set) {
            continue;
        }
        found = true;
        have = fcntl(e->fd, F_GETFL);
        if (have < 0 || (have & O_ACCMODE) != (flags & O_ACCMODE)) {
            continue;
        }
        fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            error_set_errno(errp, errno, "cannot duplicate a descriptor of '%s'", path);
        }
        return fd;
    }
    error_set(errp, found ? "'%s' has no descriptor with this access mode" : "there is no '%s'", path);
    return -1;
}

int fdset_open(const char *path, int flags, int mode, Error **errp)
{
    static const char prefix[] = "/dev/fdset/";
    uint64_t set;
    int fd;

    if (!strncmp(path, prefix, strlen(prefix))) {
        if (parse_uint(path + strlen(prefix), &set) != PARSE_OK || set > INT32_MAX) {
            error_set(errp, "'%s' is no descriptor set", path);
            return -1;
        }
        return fdset_dup(set, flags, path, errp);
    }
    fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0) {
        error_set_errno(errp, errno, "cannot open '%s'", path);
    }
    return fd;
}

void fdset_foreach(void (*fn)(int set, int fd, const char *opaque, void *user), void *user)
{
    for (const FdEntry *e = fdset_list; e; e = e->next) {
        fn(e->set, e->fd, e->opaque, user);
    }
}
