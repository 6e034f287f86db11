/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File descriptors that a manager passed in (-add-fd, QMP add-fd), in numbered sets: wherever a file
 * name is asked for, "/dev/fdset/N" stands for the descriptor of set N that has the right access mode.
 * Main thread or machine lock. Test: tests/unit/test-fdset.c.
 */
#ifndef CLEAT_UTIL_FDSET_H
#define CLEAT_UTIL_FDSET_H

#include "util/error.h"

/*
 * Takes fd (it becomes close-on-exec). Refused when fd is not open, or is one of this process's own
 * (those are close-on-exec already). opaque: free text, may be NULL.
 */
bool fdset_add(int set, int fd, const char *opaque, Error **errp);
/*
 * open(2) that knows /dev/fdset/N: a duplicate with the access mode of flags. A close-on-exec
 * descriptor, or -1 with an error that names the path. mode as in open(2).
 */
int fdset_open(const char *path, int flags, int mode, Error **errp);
/* Calls fn for each descriptor, sets in order of number (QMP query-fdsets). */
void fdset_foreach(void (*fn)(int set, int fd, const char *opaque, void *user), void *user);

#endif
