/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Character devices: the list, creation, and the traffic between back ends and front ends.
 *
 * Contract in include/chardev/char.h; back ends' side in char-int.h; multiplexing in char-mux.c; short forms in
 * char-legacy.c. Test: tests/unit/test-char.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chardev/char-int.h"
#include "util/fdset.h"

#define WRITE_ALL_WAIT_MS 1000      /* how long a writer that must not lose text waits for a slow reader */

static struct {
    const ChardevOps *ops[32];      /* filled by constructors */
    int n_ops;
    Chardev *first;
} char_list;

void chardev_ops_register(const ChardevOps *ops)
{
    g_assert(char_list.n_ops < (int)G_N_ELEMENTS(char_list.ops));
    char_list.ops[char_list.n_ops++] = ops;
}

static const ChardevOps *ops_find(const char *name)
{
    for (int i = 0; i < char_list.n_ops; i++) {
        const ChardevOps *o = char_list.ops[i];

        if (!strcmp(o->name, name) || (o->alias && !strcmp(o->alias, name))) {
            return o;
        }
    }
    return NULL;
}

static int ops_compare(const void *a, const void *b)
{
    return strcmp((*(const ChardevOps *const *)a)->name, (*(const ChardevOps *const *)b)->name);
}

const char *chardev_backend_name(int i)
{
    return i < char_list.n_ops ? char_list.ops[i]->name : NULL;
}

void chardev_print_help(void)
{
    const ChardevOps *sorted[32];

    memcpy(sorted, char_list.ops, sizeof(sorted));
    qsort(sorted, char_list.n_ops, sizeof(sorted[0]), ops_compare);
    printf("Available chardev backend types:\n");
    for (int i = 0; i < char_list.n_ops; i++) {
        printf("  %s\n", sorted[i]->name);
    }
}

Chardev *chardev_find(const char *id)
{
    Chardev *chr = char_list.first;

    while (chr && strcmp(chr->id, id)) {
        chr = chr->next;
    }
    return chr;
}

const char *chardev_id(const Chardev *chr)
{
    return chr->id;
}

void chardev_foreach(void (*fn)(const Chardev *chr, const char *label, bool frontend_open, void *opaque), void *opaque)
{
    for (Chardev *chr = char_list.first; chr; chr = chr->next) {
        fn(chr, chr->label ? chr->label : chr->ops->name, chr->n_fe > 0, opaque);
    }
}

/* ---- creation ---- */

static const KeyRow common_keys[] = {
    { .name = "mux", .type = KEY_BOOL },
    { .name = "logfile", .type = KEY_STRING },
    { .name = "logappend", .type = KEY_BOOL },
    { .name = "id", .type = KEY_STRING },
    { .name = "backend", .type = KEY_STRING },
    { .name = NULL }
};

static bool is_common_key(const char *key)
{
    for (const KeyRow *r = common_keys; r->name; r++) {
        if (!strcmp(r->name, key)) {
            return true;
        }
    }
    return false;
}

/* Common keys are judged here, the rest by the back end's table. */
static bool chardev_check_keys(const ChardevOps *ops, const KeyVals *kv, Error **errp)
{
    static const KeyRow none[] = { { .name = NULL } };
    g_autoptr(KeyVals) common = keyvals_new();
    g_autoptr(KeyVals) own = keyvals_new();

    for (int i = 0; i < kv->n; i++) {
        keyvals_add(is_common_key(kv->pairs[i].key) ? common : own, kv->pairs[i].key, kv->pairs[i].value);
    }
    return keyvals_check(common, common_keys, "", errp) && keyvals_check(own, ops->keys ? ops->keys : none, "", errp);
}

static bool log_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    const char *path = keyvals_get(kv, "logfile", NULL);
    bool append = keyvals_bool(kv, "logappend", false);

    if (!path) {
        if (keyvals_get(kv, "logappend", NULL)) {
            error_set(errp, "Parameter 'logappend' needs a logfile");
            return false;
        }
        return true;
    }
    chr->log_fd = fdset_open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666, errp);
    return chr->log_fd >= 0;
}

static void chardev_free(Chardev *chr)
{
    if (chr->log_fd >= 0) {
        close(chr->log_fd);
    }
    g_free(chr->id);
    g_free(chr->label);
    g_free(chr);
}

static Chardev *chardev_open(const ChardevOps *ops, const char *id, const KeyVals *kv, Error **errp)
{
    Chardev *chr = g_malloc0(ops->size ? ops->size : sizeof(Chardev));

    chr->ops = ops;
    chr->id = g_strdup(id);
    chr->log_fd = -1;
    chr->line_start = true;
    chr->mux = keyvals_bool(kv, "mux", false);
    if (!log_open(chr, kv, errp) || (ops->open && !ops->open(chr, kv, errp))) {
        chardev_free(chr);
        return NULL;
    }
    chr->next = char_list.first;
    char_list.first = chr;
    return chr;
}

Chardev *chardev_new_from_props(const char *backend, const char *id, const PropPair *props, int n, Error **errp)
{
    g_autoptr(KeyVals) kv = keyvals_new();
    const ChardevOps *ops = ops_find(backend);

    if (!id || !*id) {
        error_set(errp, "Parameter 'id' is missing");
        return NULL;
    }
    if (chardev_find(id)) {
        error_set(errp, "Chardev '%s' already exists", id);
        return NULL;
    }
    if (!ops) {
        error_set(errp, "'%s' is not a valid char driver, or not available in this build yet", backend);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        keyvals_add(kv, props[i].key, props[i].value);
    }
    return chardev_check_keys(ops, kv, errp) ? chardev_open(ops, id, kv, errp) : NULL;
}

static void chardev_close(Chardev *chr)
{
    for (int i = 0; i < chr->n_fe; i++) {
        chr->fe[i]->chr = NULL;
    }
    chr->n_fe = 0;
    if (chr->ops->close) {
        chr->ops->close(chr);
    }
    chardev_free(chr);
}

void chardev_remove(Chardev *chr)
{
    Chardev **at = &char_list.first;

    while (*at != chr) {
        at = &(*at)->next;
    }
    *at = chr->next;
    chardev_close(chr);
}

void chardev_cleanup(void)
{
    while (char_list.first) {
        Chardev *chr = char_list.first;

        char_list.first = chr->next;
        chardev_close(chr);
    }
}

/* ---- for back ends ---- */

int chr_room(Chardev *chr)
{
    CharFrontend *fe = chr->n_fe ? chr->fe[0] : NULL;

    if (chr->mux) {
        return mux_room(chr);
    }
    return fe && fe->can_receive ? fe->can_receive(fe->opaque) : 0;
}

void chr_deliver(Chardev *chr, const uint8_t *buf, int len)
{
    if (chr->mux) {
        mux_deliver(chr, buf, len);
    } else if (chr->n_fe && chr->fe[0]->receive) {
        chr->fe[0]->receive(chr->fe[0]->opaque, buf, len);
    }
}

void chr_set_open(Chardev *chr, bool open)
{
    if (chr->opened == open) {
        return;
    }
    chr->opened = open;
    for (int i = 0; i < chr->n_fe; i++) {
        if (chr->fe[i]->event) {
            chr->fe[i]->event(chr->fe[i]->opaque, open ? CHAR_EVENT_OPENED : CHAR_EVENT_CLOSED);
        }
    }
}

void chr_break(Chardev *chr)
{
    int n = chr->mux ? chr->focus : 0;

    if (n < chr->n_fe && chr->fe[n]->event) {
        chr->fe[n]->event(chr->fe[n]->opaque, CHAR_EVENT_BREAK);
    }
}

struct CharWatch {
    void (*fn)(void *opaque);
    void *opaque;
};
typedef struct CharWatch CharWatch;

void chr_writable(Chardev *chr)
{
    for (int i = 0; i < chr->n_fe; i++) {
        CharWatch *w = chr->fe[i]->watch;

        if (w) {
            chr->fe[i]->watch = NULL;
            w->fn(w->opaque);
            g_free(w);
        }
    }
}

/* ---- for front ends ---- */

bool char_attach(CharFrontend *fe, Chardev *chr, Error **errp)
{
    if (chr->n_fe == (chr->mux ? MUX_MAX : 1)) {
        error_set(errp, chr->mux ? "Chardev '%s' has %d users already" : "Device '%s' is in use", chr->id, MUX_MAX);
        return false;
    }
    fe->chr = chr;
    fe->mux_tag = chr->n_fe;
    chr->fe[chr->n_fe++] = fe;
    if (chr->mux) {
        mux_set_focus(chr, fe->mux_tag);
    }
    return true;
}

void char_set_handlers(CharFrontend *fe, int (*can_receive)(void *), void (*receive)(void *, const uint8_t *, int),
                       void (*event)(void *, CharEvent), void *opaque)
{
    fe->can_receive = can_receive;
    fe->receive = receive;
    fe->event = event;
    fe->opaque = opaque;
    if (!fe->chr) {
        return;
    }
    if (event && fe->chr->opened) {
        event(opaque, CHAR_EVENT_OPENED);
    }
    if (fe->chr && fe->chr->mux && event) {
        event(opaque, fe->chr->focus == fe->mux_tag ? CHAR_EVENT_MUX_IN : CHAR_EVENT_MUX_OUT);
    }
    char_accept_input(fe);
}

void char_detach(CharFrontend *fe)
{
    Chardev *chr = fe->chr;

    if (!chr) {
        return;
    }
    g_clear_pointer(&fe->watch, g_free);
    chr->n_fe--;
    for (int i = fe->mux_tag; i < chr->n_fe; i++) {
        chr->fe[i] = chr->fe[i + 1];
        chr->fe[i]->mux_tag = i;
        chr->queue[i] = chr->queue[i + 1];
    }
    if (chr->focus >= chr->n_fe) {
        chr->focus = MAX(chr->n_fe - 1, 0);
    }
    fe->chr = NULL;
}

bool char_connected(const CharFrontend *fe)
{
    return fe->chr && fe->chr->opened;
}

static void log_write(Chardev *chr, const uint8_t *buf, int len)
{
    while (chr->log_fd >= 0 && len > 0) {
        ssize_t n = write(chr->log_fd, buf, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            warn_report("chardev '%s': the logfile takes no more: %s", chr->id, strerror(errno));
            close(chr->log_fd);
            chr->log_fd = -1;
            return;
        }
        buf += n;
        len -= n;
    }
}

int char_write(CharFrontend *fe, const void *buf, int len)
{
    Chardev *chr = fe->chr;
    int n;

    if (!chr) {
        return len;
    }
    if (chr->mux && chr->timestamps) {
        return char_write_all(fe, buf, len);
    }
    n = chr->ops->write ? chr->ops->write(chr, buf, len) : len;
    if (n > 0) {
        log_write(chr, buf, n);
        chr->line_start = ((const uint8_t *)buf)[n - 1] == '\n';
    }
    return n;
}

static int write_blocking(Chardev *chr, const uint8_t *buf, int len)
{
    int done = 0, waited = 0;

    while (done < len) {
        int n = chr->ops->write ? chr->ops->write(chr, buf + done, len - done) : len - done;

        if (n < 0) {
            return done ? done : n;
        }
        log_write(chr, buf + done, n);
        done += n;
        if (!n) {
            if (waited >= WRITE_ALL_WAIT_MS || !chr->ops->wait_ready) {
                break;
            }
            chr->ops->wait_ready(chr, 100);
            waited += 100;
        } else {
            waited = 0;
        }
    }
    return done;
}

int char_write_all(CharFrontend *fe, const void *buf, int len)
{
    Chardev *chr = fe->chr;
    int done = 0;

    if (!chr) {
        return len;
    }
    if (chr->mux && chr->timestamps) {
        GString *s = mux_stamp(chr, buf, len);

        write_blocking(chr, (const uint8_t *)s->str, s->len);
        g_string_free(s, TRUE);
        return len;
    }
    done = write_blocking(chr, buf, len);
    if (done > 0) {
        chr->line_start = ((const uint8_t *)buf)[done - 1] == '\n';
    }
    return done;
}

void char_watch_writable(CharFrontend *fe, void (*fn)(void *opaque), void *opaque)
{
    CharWatch *w = g_new(CharWatch, 1);

    *w = (CharWatch) { fn, opaque };
    g_free(fe->watch);
    fe->watch = w;
    if (fe->chr && fe->chr->ops->want_write) {
        fe->chr->ops->want_write(fe->chr);
    } else if (fe->chr) {
        chr_writable(fe->chr);
    }
}

void char_accept_input(CharFrontend *fe)
{
    Chardev *chr = fe->chr;

    if (!chr) {
        return;
    }
    if (chr->mux) {
        mux_accept_input(chr, fe);
    }
    if (chr->ops->accept_input) {
        chr->ops->accept_input(chr);
    }
}

int char_ioctl_serial_params(CharFrontend *fe, int baud, int parity, int data_bits, int stop_bits)
{
    return 0;   /* no back end is a real line: any speed is right */
}

/* ---- the "chardev" property kind ---- */

static bool prop_chardev_set(Object *obj, const Property *p, void *field, const char *value, Error **errp)
{
    CharFrontend *fe = field;
    Chardev *chr = *value ? chardev_find(value) : NULL;

    if (!*value) {
        char_detach(fe);
        return true;
    }
    if (!chr) {
        error_set(errp, "Property '%s.%s' can't find value '%s'", obj->type->name, p->name, value);
        return false;
    }
    char_detach(fe);
    if (!char_attach(fe, chr, errp)) {
        error_prepend(errp, "Property '%s.%s' can't take value '%s': ", obj->type->name, p->name, value);
        return false;
    }
    return true;
}

static char *prop_chardev_get(Object *obj, const Property *p, void *field)
{
    CharFrontend *fe = field;

    return g_strdup(fe->chr ? fe->chr->id : "");
}

static void prop_chardev_release(Object *obj, const Property *p, void *field)
{
    char_detach(field);
}

static void __attribute__((constructor)) prop_chardev_register(void)
{
    static const PropKindOps ops = { prop_chardev_set, prop_chardev_get, prop_chardev_release };

    prop_kind_register(PROP_CHARDEV, &ops);
}
