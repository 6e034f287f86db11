/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors as values, and reports on stderr; see include/util/error.h for the contract.
 * The reporting state (program name, message decorations) is process-wide host policy, set once
 * at start-up; the location and the sink are per thread. Test: tests/unit/test-error.c.
 */
#include "util/error.h"

#include <stdio.h>
#include <string.h>

struct Error {
    ErrorClass cls;
    char *text;
    char *hint;
};

static struct {
    const char *program;
    bool timestamp;
    bool guest_name;
    const char *name;
} report_policy;

static __thread const char *report_location;
static __thread ErrorSink *report_sink;
static __thread void *report_sink_opaque;

static void error_setv(Error **errp, ErrorClass cls, const char *suffix, const char *fmt, va_list ap)
{
    Error *err;

    if (!errp || *errp) {
        return;
    }
    err = g_new0(Error, 1);
    err->cls = cls;
    err->text = g_strdup_vprintf(fmt, ap);
    if (suffix) {
        char *joined = g_strconcat(err->text, ": ", suffix, NULL);

        g_free(err->text);
        err->text = joined;
    }
    *errp = err;
}

void error_set(Error **errp, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, ERROR_CLASS_GENERIC_ERROR, NULL, fmt, ap);
    va_end(ap);
}

void error_set_class(Error **errp, ErrorClass cls, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, cls, NULL, fmt, ap);
    va_end(ap);
}

void error_set_errno(Error **errp, int os_errno, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, ERROR_CLASS_GENERIC_ERROR, g_strerror(os_errno), fmt, ap);
    va_end(ap);
}

void error_prepend(Error **errp, const char *fmt, ...)
{
    g_autofree char *front = NULL;
    char *joined;
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    va_start(ap, fmt);
    front = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    joined = g_strconcat(front, (*errp)->text, NULL);
    g_free((*errp)->text);
    (*errp)->text = joined;
}

void error_hint(Error **errp, const char *fmt, ...)
{
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    va_start(ap, fmt);
    g_free((*errp)->hint);
    (*errp)->hint = g_strdup_vprintf(fmt, ap);
    va_end(ap);
}

void error_propagate(Error **dst, Error *err)
{
    if (dst && !*dst) {
        *dst = err;
    } else {
        error_free(err);
    }
}

void error_free(Error *err)
{
    if (err) {
        g_free(err->text);
        g_free(err->hint);
        g_free(err);
    }
}

const char *error_text(const Error *err)
{
    return err->text;
}

const char *error_hint_text(const Error *err)
{
    return err->hint;
}

ErrorClass error_class(const Error *err)
{
    return err->cls;
}

const char *error_class_name(ErrorClass cls)
{
    static const char *const names[] = {
        [ERROR_CLASS_GENERIC_ERROR] = "GenericError",
        [ERROR_CLASS_COMMAND_NOT_FOUND] = "CommandNotFound",
        [ERROR_CLASS_DEVICE_NOT_ACTIVE] = "DeviceNotActive",
        [ERROR_CLASS_DEVICE_NOT_FOUND] = "DeviceNotFound",
        [ERROR_CLASS_KVM_MISSING_CAP] = "KVMMissingCap",
    };

    return names[cls];
}

static void report_decorate(GString *line)
{
    if (report_policy.timestamp) {
        g_autoptr(GDateTime) now = g_date_time_new_now_utc();
        g_autofree char *stamp = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

        g_string_append_printf(line, "%s.%06dZ ", stamp, g_date_time_get_microsecond(now));
    }
    if (report_policy.guest_name && report_policy.name) {
        g_string_append_printf(line, "%s ", report_policy.name);
    }
}

static void report_emit(const char *text)
{
    if (report_sink) {
        report_sink(report_sink_opaque, text);
    } else {
        fputs(text, stderr);
        fflush(stderr);
    }
}

static void reportv(const char *kind, const char *fmt, va_list ap)
{
    g_autoptr(GString) line = g_string_new(NULL);

    if (!report_sink) {
        report_decorate(line);
        g_string_append_printf(line, "%s: ", report_policy.program ? report_policy.program : "qemu");
        if (report_location) {
            g_string_append_printf(line, "%s: ", report_location);
        }
    }
    g_string_append(line, kind);
    g_string_append_vprintf(line, fmt, ap);
    g_string_append_c(line, '\n');
    report_emit(line->str);
}

#define DEFINE_REPORT(name, kind)                  \
    void name(const char *fmt, ...)                \
    {                                              \
        va_list ap;                                \
                                                   \
        va_start(ap, fmt);                         \
        reportv(kind, fmt, ap);                    \
        va_end(ap);                                \
    }

DEFINE_REPORT(error_report, "")
DEFINE_REPORT(warn_report, "warning: ")
DEFINE_REPORT(info_report, "info: ")

static void report_hint(const Error *err)
{
    if (err->hint) {
        g_autofree char *line = g_strconcat(err->hint, "\n", NULL);

        report_emit(line);
    }
}

void error_report_err(Error *err)
{
    error_report("%s", err->text);
    report_hint(err);
    error_free(err);
}

void warn_report_err(Error *err)
{
    warn_report("%s", err->text);
    report_hint(err);
    error_free(err);
}

void error_location_set(const char *location)
{
    report_location = location;
}

void error_init(const char *argv0)
{
    report_policy.program = argv0;
}

void error_msg_config(bool timestamp, bool guest_name, const char *name)
{
    report_policy.timestamp = timestamp;
    report_policy.guest_name = guest_name;
    report_policy.name = name;
}

void error_sink_set(ErrorSink *sink, void *opaque)
{
    report_sink = sink;
    report_sink_opaque = opaque;
}
