/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The short forms of -serial, -monitor, -qmp, -debugcon and friends: "stdio", "mon:stdio", "unix:PATH,server,nowait",
 * "tcp:HOST:PORT", "telnet::PORT,server=on", "file:PATH", "chardev:ID", ...: each becomes the long form's properties.
 *
 * Main thread. Test: tests/unit/test-char.c.
 */
#include <stdlib.h>
#include <string.h>

#include "chardev/char-int.h"

/* "HOST:PORT[,key=value...]" ([v6]:PORT too) into host, port and the rest. */
static bool inet_split(KeyVals *kv, const char *text, const char *what, Error **errp)
{
    const char *comma = strchr(text, ',');
    size_t len = comma ? (size_t)(comma - text) : strlen(text);
    g_autofree char *addr = g_strndup(text, len);
    char *colon = strrchr(addr, ':');
    char *host = addr;

    if (!colon) {
        error_set(errp, "error parsing %s address '%s': HOST:PORT is expected", what, addr);
        return false;
    }
    *colon = 0;
    if (*host == '[' && colon > host && colon[-1] == ']') {
        colon[-1] = 0;
        host++;
    }
    keyvals_set(kv, "host", host);
    keyvals_set(kv, "port", colon + 1);
    if (comma) {
        g_autoptr(KeyVals) rest = keyvals_parse_flat(comma + 1, NULL, errp);

        if (!rest) {
            return false;
        }
        keyvals_merge(kv, "", rest);
    }
    return true;
}

static bool unix_split(KeyVals *kv, const char *text, Error **errp)
{
    g_autofree char *full = g_strconcat("path=", text, NULL);
    g_autoptr(KeyVals) got = keyvals_parse_flat(full, NULL, errp);

    if (!got) {
        return false;
    }
    keyvals_merge(kv, "", got);
    return true;
}

/* "path[,append=on...]" for file, pipe, serial. */
static bool path_form(KeyVals *kv, const char *backend, const char *path)
{
    keyvals_set(kv, "backend", backend);
    keyvals_set(kv, "path", path);
    return true;
}

static bool socket_form(KeyVals *kv, const char *text, Error **errp)
{
    const char *rest = strchr(text, ':') + 1;

    keyvals_set(kv, "backend", "socket");
    if (g_str_has_prefix(text, "unix:")) {
        return unix_split(kv, rest, errp);
    }
    if (g_str_has_prefix(text, "telnet:")) {
        keyvals_set(kv, "telnet", "on");
    } else if (g_str_has_prefix(text, "tn3270:") || g_str_has_prefix(text, "websocket:")) {
        error_set(errp, "'%s': this protocol is not available in this build yet", text);
        return false;
    }
    return inet_split(kv, rest, "socket", errp);
}

/* A text as properties; false with an error. */
static bool legacy_parse(KeyVals *kv, const char *text, Error **errp)
{
    static const char *const plain[] = { "null", "pty", "stdio", "msmouse", "braille", "testdev", NULL };

    if (g_str_has_prefix(text, "mon:")) {
        keyvals_set(kv, "mux", "on");
        text += 4;
        if (!strcmp(text, "stdio")) {
            keyvals_set(kv, "signal", "off");       /* Ctrl-C is the guest's */
        }
    }
    if (g_strv_contains(plain, text)) {
        keyvals_set(kv, "backend", text);
        return true;
    }
    if (!strcmp(text, "vc") || g_str_has_prefix(text, "vc:")) {
        keyvals_set(kv, "backend", "vc");
        return true;
    }
    if (g_str_has_prefix(text, "file:")) {
        return path_form(kv, "file", text + 5);
    }
    if (g_str_has_prefix(text, "pipe:")) {
        return path_form(kv, "pipe", text + 5);
    }
    if (g_str_has_prefix(text, "/dev/parport")) {
        return path_form(kv, "parallel", text);
    }
    if (g_str_has_prefix(text, "/dev/")) {
        return path_form(kv, "serial", text);
    }
    if (g_str_has_prefix(text, "unix:") || g_str_has_prefix(text, "tcp:") || g_str_has_prefix(text, "telnet:") ||
        g_str_has_prefix(text, "tn3270:") || g_str_has_prefix(text, "websocket:")) {
        return socket_form(kv, text, errp);
    }
    if (g_str_has_prefix(text, "udp:")) {
        keyvals_set(kv, "backend", "udp");
        return inet_split(kv, text + 4, "udp", errp);
    }
    error_set(errp, "'%s' is not a valid char driver", text);
    return false;
}

Chardev *chardev_new_legacy(const char *label, const char *text, bool *none, Error **errp)
{
    g_autoptr(KeyVals) kv = keyvals_new();

    *none = false;
    if (!strcmp(text, "none")) {
        *none = true;
        return NULL;
    }
    if (g_str_has_prefix(text, "chardev:")) {
        Chardev *chr = chardev_find(text + 8);

        if (!chr) {
            error_set(errp, "Chardev '%s' not found", text + 8);
        }
        return chr;
    }
    if (!legacy_parse(kv, text, errp)) {
        return NULL;
    }
    return chardev_new_from_props(keyvals_get(kv, "backend", ""), label, kv->pairs, kv->n, errp);
}
