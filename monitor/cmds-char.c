/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP handlers about character devices (qapi/char.json).
 * Main loop thread, machine lock. Test: tests/monitor/chardev.py.
 */
#include <string.h>

#include "monitor/monitor-int.h"

static void chardev_list_one(const Chardev *chr, const char *label, bool frontend_open, void *opaque)
{
    QapiChardevInfo *info = qapi_list_add(opaque, &qapi_list_ChardevInfo);

    info->label = g_strdup(chardev_id(chr));
    info->filename = g_strdup(label);
    info->frontend_open = frontend_open;
}

bool qmp_query_chardev(QapiList *ret, Error **errp)
{
    chardev_foreach(chardev_list_one, ret);
    return true;
}

bool qmp_query_chardev_backends(QapiList *ret, Error **errp)
{
    const char *name;

    for (int i = 0; (name = chardev_backend_name(i)); i++) {
        QapiChardevBackendInfo *info = qapi_list_add(ret, &qapi_list_ChardevBackendInfo);

        info->name = g_strdup(name);
    }
    return true;
}

/* GLib's decoder skips what is no base64; here it is a mistake. */
static bool base64_is_valid(const char *text)
{
    size_t len = strlen(text), body = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

    return len % 4 == 0 && len - body <= 2 && strspn(text + body, "=") == len - body;
}

bool qmp_ringbuf_write(const QapiRingbufWriteArg *args, Error **errp)
{
    gsize len = strlen(args->data);
    g_autofree guchar *bytes = NULL;

    if (args->has_format && args->format == QAPI_DATA_FORMAT_BASE64) {
        if (!base64_is_valid(args->data)) {
            error_set(errp, "Parameter 'data' is no base64 text");
            return false;
        }
        bytes = g_base64_decode(args->data, &len);
    }
    return chardev_ringbuf_write(args->device, bytes ? bytes : (const uint8_t *)args->data, len, errp);
}

bool qmp_ringbuf_read(const QapiRingbufReadArg *args, char **ret, Error **errp)
{
    GByteArray *bytes;

    if (args->size <= 0) {
        error_set(errp, "Parameter 'size' must be greater than zero, not %" G_GINT64_FORMAT, args->size);
        return false;
    }
    bytes = chardev_ringbuf_read(args->device, args->size, errp);
    if (!bytes) {
        return false;
    }
    if (args->has_format && args->format == QAPI_DATA_FORMAT_BASE64) {
        *ret = g_base64_encode(bytes->data, bytes->len);
    } else {
        *ret = g_utf8_make_valid(bytes->len ? (const char *)bytes->data : "", bytes->len);
    }
    g_byte_array_free(bytes, TRUE);
    return true;
}
