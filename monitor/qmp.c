/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP: one client's conversation. JSON values come in as bytes, cut anywhere; each is a command, and
 * each command gets one answer, in order. Before qmp_capabilities nothing else is answered.
 * Out-of-band execution is not offered. After bytes that are no JSON the rest of their line is skipped.
 * Main loop thread, machine lock. Tests: tests/monitor/qmp.py, tests/unit/test-qapi.c.
 */
#include <json-c/json.h>
#include <string.h>

#include "monitor/monitor-int.h"
#include "qapi/qapi-commands.h"
#include "system/runstate.h"

enum { COMMAND_MAX = 64 << 20, COMMAND_DEPTH = 1024 };

struct QmpSession {
    Monitor *mon;
    bool pretty;
    bool negotiated;            /* qmp_capabilities has been given */
    bool skipping;              /* to the end of a line that is no JSON */
    json_tokener *tok;
    size_t pending;             /* bytes of the unfinished value */
};

QmpSession *qmp_session_new(Monitor *mon, bool pretty)
{
    QmpSession *s = g_new0(QmpSession, 1);

    s->mon = mon;
    s->pretty = pretty;
    s->tok = json_tokener_new_ex(COMMAND_DEPTH);
    json_tokener_set_flags(s->tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    return s;
}

void qmp_session_free(QmpSession *s)
{
    if (s) {
        json_tokener_free(s->tok);
        g_free(s);
    }
}

/* Takes value. */
static void qmp_send(QmpSession *s, json_object *value)
{
    int flags = s->pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN;
    const char *text = json_object_to_json_string_ext(value, flags | JSON_C_TO_STRING_NOSLASHESCAPE);
    g_autofree char *line = g_strconcat(text, "\r\n", NULL);

    monitor_write(s->mon, line, strlen(line));
    json_object_put(value);
}

static void qmp_send_error(QmpSession *s, Error *err, json_object *id)
{
    json_object *answer = json_object_new_object(), *body = json_object_new_object();

    json_object_object_add(body, "class", json_object_new_string(error_class_name(error_class(err))));
    json_object_object_add(body, "desc", json_object_new_string(error_text(err)));
    json_object_object_add(answer, "error", body);
    if (id) {
        json_object_object_add(answer, "id", json_object_get(id));
    }
    error_free(err);
    qmp_send(s, answer);
}

void qmp_session_opened(QmpSession *s)
{
    QapiVersionInfo version;
    json_object *greeting = json_object_new_object(), *body = json_object_new_object();

    s->negotiated = s->skipping = false;
    s->pending = 0;
    json_tokener_reset(s->tok);
    memset(&version, 0, sizeof(version));
    qmp_query_version(&version, NULL);
    json_object_object_add(body, "version", qapi_to_json(&qapi_type_VersionInfo, &version));
    qapi_clear(&qapi_type_VersionInfo, &version);
    json_object_object_add(body, "capabilities", json_object_new_array());
    json_object_object_add(greeting, "QMP", body);
    qmp_send(s, greeting);
}

void qmp_session_event(QmpSession *s, const char *event, json_object *data, int64_t realtime_us)
{
    json_object *value, *stamp;

    if (!s->negotiated || !char_connected(&s->mon->fe)) {
        return;
    }
    value = json_object_new_object();
    stamp = json_object_new_object();
    json_object_object_add(stamp, "seconds", json_object_new_int64(realtime_us / 1000000));
    json_object_object_add(stamp, "microseconds", json_object_new_int64(realtime_us % 1000000));
    json_object_object_add(value, "timestamp", stamp);
    json_object_object_add(value, "event", json_object_new_string(event));
    if (data) {
        json_object_object_add(value, "data", json_object_get(data));
    }
    qmp_send(s, value);
}

bool qmp_capabilities(QmpSession *s, const QapiQmpCapabilitiesArg *args, Error **errp)
{
    if (args->enable.n) {
        error_set(errp, "Capability 'oob' is not offered");
        return false;
    }
    s->negotiated = true;
    return true;
}

/* A command's members, judged; false with an error. name and arguments are borrowed from value. */
static bool qmp_take_apart(json_object *value, const char **name, json_object **arguments, Error **errp)
{
    *name = NULL;
    *arguments = NULL;
    if (!json_object_is_type(value, json_type_object)) {
        error_set(errp, "QMP input must be a JSON object");
        return false;
    }
    json_object_object_foreach(value, key, member) {
        if (!strcmp(key, "execute")) {
            if (!json_object_is_type(member, json_type_string)) {
                error_set(errp, "QMP input member 'execute' must be a string");
                return false;
            }
            *name = json_object_get_string(member);
        } else if (!strcmp(key, "arguments")) {
            if (!json_object_is_type(member, json_type_object)) {
                error_set(errp, "QMP input member 'arguments' must be an object");
                return false;
            }
            *arguments = member;
        } else if (strcmp(key, "id")) {
            error_set(errp, "QMP input member '%s' is unexpected", key);
            return false;
        }
    }
    if (!*name) {
        error_set(errp, "QMP input lacks member 'execute'");
    }
    return *name != NULL;
}

static const QapiCommand *qmp_allowed(QmpSession *s, const char *name, Error **errp)
{
    const QapiCommand *cmd = qapi_command_find(name);
    bool negotiation = !strcmp(name, "qmp_capabilities");

    if (!s->negotiated && !negotiation) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                        "Expecting capabilities negotiation with 'qmp_capabilities'");
    } else if (s->negotiated && negotiation) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                        "Capabilities negotiation is already complete, command ignored");
    } else if (!cmd) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND, "The command %s has not been found", name);
    } else {
        return cmd;
    }
    return NULL;
}

static void qmp_execute(QmpSession *s, json_object *value)
{
    const char *name;
    json_object *arguments, *result = NULL, *id = NULL, *answer;
    const QapiCommand *cmd;
    Error *err = NULL;

    json_object_object_get_ex(value, "id", &id);
    if (qmp_take_apart(value, &name, &arguments, &err)) {
        cmd = qmp_allowed(s, name, &err);
        result = cmd ? qapi_command_run(cmd, s, arguments, &err) : NULL;
    }
    run_events_flush();         /* what the command caused stands before its answer */
    if (err) {
        qmp_send_error(s, err, id);
        return;
    }
    answer = json_object_new_object();
    json_object_object_add(answer, "return", result);
    if (id) {
        json_object_object_add(answer, "id", json_object_get(id));
    }
    qmp_send(s, answer);
}

static void qmp_parse_failed(QmpSession *s, const char *why)
{
    Error *err = NULL;

    error_set(&err, "JSON parse error, %s", why);
    json_tokener_reset(s->tok);
    s->pending = 0;
    s->skipping = true;
    qmp_send_error(s, err, NULL);
}

/* Feeds the tokener; the number of bytes that it took. */
static int qmp_feed(QmpSession *s, const char *text, int len)
{
    json_object *value = json_tokener_parse_ex(s->tok, text, len);
    enum json_tokener_error why = json_tokener_get_error(s->tok);
    int used = why == json_tokener_continue ? len : (int)json_tokener_get_parse_end(s->tok);

    if (why == json_tokener_success) {
        json_tokener_reset(s->tok);
        s->pending = 0;
        qmp_execute(s, value);
        json_object_put(value);
    } else if (why != json_tokener_continue) {
        qmp_parse_failed(s, json_tokener_error_desc(why));
    } else {
        s->pending += len;
        if (s->pending > COMMAND_MAX) {
            qmp_parse_failed(s, "the command is too long");
        }
    }
    return used;
}

void qmp_session_receive(QmpSession *s, const uint8_t *buf, int len)
{
    const char *text = (const char *)buf;

    while (len > 0) {
        int used;

        if (s->skipping) {
            const char *end = memchr(text, '\n', len);

            used = end ? end + 1 - text : len;
            s->skipping = !end;
        } else if (!s->pending && g_ascii_isspace(*text)) {
            used = 1;
        } else {
            used = qmp_feed(s, text, len);
        }
        text += used;
        len -= used;
    }
}
