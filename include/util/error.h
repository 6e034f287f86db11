/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors as values, and the process's voice on stderr.
 *
 * A function that may fail takes `Error **errp` last and returns bool (true is good) or a pointer
 * (NULL is bad). errp may be NULL when the caller does not care for the reason. A message is one
 * sentence without a full stop; it names the user's word and the value. Only main exits.
 * Thread-safe: an Error belongs to whoever holds it. Test: tests/unit/test-error.c.
 */
#ifndef CLEAT_UTIL_ERROR_H
#define CLEAT_UTIL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <glib.h>

/* QMP's error classes (what a management tool may switch on). */
typedef enum ErrorClass {
    ERROR_CLASS_GENERIC_ERROR,
    ERROR_CLASS_COMMAND_NOT_FOUND,
    ERROR_CLASS_DEVICE_NOT_ACTIVE,
    ERROR_CLASS_DEVICE_NOT_FOUND,
    ERROR_CLASS_KVM_MISSING_CAP,
} ErrorClass;

typedef struct Error Error;

void error_set(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
void error_set_class(Error **errp, ErrorClass cls, const char *fmt, ...) G_GNUC_PRINTF(3, 4);
/* Appends ": strerror(os_errno)". */
void error_set_errno(Error **errp, int os_errno, const char *fmt, ...) G_GNUC_PRINTF(3, 4);
/* Puts text before the message of *errp (no-op where errp or *errp is NULL). */
void error_prepend(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* A further line, printed after the message: what the user may do about it. */
void error_hint(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* Hands err over to *dst (frees it when dst is NULL or already set). Takes err. */
void error_propagate(Error **dst, Error *err);
void error_free(Error *err);
const char *error_text(const Error *err);
const char *error_hint_text(const Error *err);    /* NULL when there is none */
ErrorClass error_class(const Error *err);
const char *error_class_name(ErrorClass cls);     /* "GenericError" ... */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Error, error_free)

/*
 * Reports go to stderr as "PROGRAM: [LOCATION: ]MESSAGE", LOCATION being the command-line option
 * under work ("-device foo"), as set by error_location_set(); "warning: "/"info: " precede MESSAGE.
 * With -msg timestamp=on an ISO 8601 time, with guest-name=on the guest's name stand in front.
 * error_sink_set() diverts reports to the current monitor (per thread); NULL restores stderr.
 */
void error_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void warn_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void info_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void error_report_err(Error *err);                /* reports message and hint; takes err */
void warn_report_err(Error *err);
void error_location_set(const char *location);    /* borrowed string, or NULL */
void error_init(const char *argv0);
void error_msg_config(bool timestamp, bool guest_name, const char *name);
typedef void ErrorSink(void *opaque, const char *text);
void error_sink_set(ErrorSink *sink, void *opaque);

#endif
