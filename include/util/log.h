/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of -d and -D: what the guest does, by item; nothing is printed for items that are off.
 *
 * Any thread; a line (one call) is written at once. log_configure: main thread, at start or from the monitor.
 */
#ifndef CLEAT_UTIL_LOG_H
#define CLEAT_UTIL_LOG_H

#include <stdatomic.h>

#include "util/error.h"

/* Items as -d names them. */
enum {
    LOG_OUT_ASM = 1 << 0, LOG_IN_ASM = 1 << 1, LOG_OP = 1 << 2, LOG_OP_OPT = 1 << 3, LOG_OP_IND = 1 << 4,
    LOG_INT = 1 << 5, LOG_EXEC = 1 << 6, LOG_CPU = 1 << 7, LOG_FPU = 1 << 8, LOG_MMU = 1 << 9, LOG_PCALL = 1 << 10,
    LOG_RESET = 1 << 11, LOG_UNIMP = 1 << 12, LOG_GUEST_ERROR = 1 << 13, LOG_PAGE = 1 << 14, LOG_NOCHAIN = 1 << 15,
    LOG_STRACE = 1 << 16, LOG_TID = 1 << 17, LOG_VPU = 1 << 18,
};

/* Items on; the one word that every log site tests. */
extern _Atomic unsigned log_mask_now;

static inline bool log_enabled(unsigned items)
{
    return atomic_load_explicit(&log_mask_now, memory_order_relaxed) & items;
}

void log_printf(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
#define log_mask(items, ...) do { if (log_enabled(items)) { log_printf(__VA_ARGS__); } } while (0)

/* -d "int,cpu_reset": sets the mask; "help" or an unknown item: false (help is printed on stdout, *errp unset). */
bool log_configure(const char *items, Error **errp);
/* -D FILE: "%d" becomes the process id; NULL: stderr. */
bool log_file(const char *path, Error **errp);

#endif
