/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of -d and -D (see util/log.h): a mask of items, and a stream that is stderr unless -D names a file.
 * The mask and the stream are process-wide host policy, like the trace switches.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"
#include "util/trace.h"

static const struct LogItem {
    const char *name;
    unsigned bit;
    const char *help;
} log_items[] = {
    { "out_asm", LOG_OUT_ASM, "host code of each translated block" },
    { "in_asm", LOG_IN_ASM, "guest code of each block when it is decoded" },
    { "op", LOG_OP, "accepted; there is no intermediate code" },
    { "op_opt", LOG_OP_OPT, "accepted; there is no intermediate code" },
    { "op_ind", LOG_OP_IND, "accepted; there is no intermediate code" },
    { "int", LOG_INT, "interrupts and exceptions, one line each" },
    { "exec", LOG_EXEC, "each block when it is entered" },
    { "cpu", LOG_CPU, "registers before each block" },
    { "fpu", LOG_FPU, "adds x87 and vector registers to 'cpu'" },
    { "mmu", LOG_MMU, "page walks that fail" },
    { "pcall", LOG_PCALL, "far calls, returns and privilege changes" },
    { "cpu_reset", LOG_RESET, "CPU state at each reset" },
    { "unimp", LOG_UNIMP, "what the guest asked for and is not implemented" },
    { "guest_errors", LOG_GUEST_ERROR, "what the guest does against the specification" },
    { "page", LOG_PAGE, "accepted; concerns user-mode emulation" },
    { "nochain", LOG_NOCHAIN, "do not link blocks, so that 'exec' is complete" },
    { "strace", LOG_STRACE, "accepted; concerns user-mode emulation" },
    { "tid", LOG_TID, "one log file for each thread (with %d in -D)" },
    { "vpu", LOG_VPU, "same as 'fpu'" },
};

_Atomic unsigned log_mask_now;
static FILE *log_stream;

void log_printf(const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    fputs(line, log_stream ? log_stream : stderr);
    if (log_stream) {
        fflush(log_stream);
    }
}

static void log_print_help(void)
{
    printf("Log items (comma separated):\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(log_items); i++) {
        printf("%-15s %s\n", log_items[i].name, log_items[i].help);
    }
    printf("%-15s %s\n", "trace:PATTERN", "trace events (trace:help lists them)");
}

static unsigned log_item_bit(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(log_items); i++) {
        if (!strcmp(log_items[i].name, name)) {
            return log_items[i].bit;
        }
    }
    return strcmp(name, "all") ? 0 : ~0u;
}

bool log_configure(const char *items, Error **errp)
{
    g_auto(GStrv) names = g_strsplit(items, ",", 0);
    unsigned mask = 0;

    for (char **n = names; *n; n++) {
        unsigned bit = log_item_bit(*n);

        if (!strcmp(*n, "help") || !strcmp(*n, "?")) {
            log_print_help();
            return false;
        }
        if (!strcmp(*n, "trace:help")) {
            trace_print_help();
            return false;
        }
        if (!strncmp(*n, "trace:", 6)) {
            trace_enable_reported(*n + 6);
        } else if (!bit && strcmp(*n, "none")) {
            error_set(errp, "-d: '%s' is no log item (see -d help)", *n);
            return false;
        }
        mask |= bit;
    }
    atomic_store(&log_mask_now, mask);
    return true;
}

bool log_file(const char *path, Error **errp)
{
    g_autofree char *name = NULL;
    FILE *f = NULL;

    if (path) {
        const char *pid = strstr(path, "%d");

        name = pid ? g_strdup_printf("%.*s%d%s", (int)(pid - path), path, (int)getpid(), pid + 2) : g_strdup(path);
        f = fopen(name, "w");
        if (!f) {
            error_set_errno(errp, errno, "-D: cannot open '%s'", name);
            return false;
        }
    }
    if (log_stream) {
        fclose(log_stream);
    }
    log_stream = f;
    return true;
}
