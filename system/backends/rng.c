/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -object rng-builtin (getrandom) and rng-random (a file or device). See include/system/rng.h. Left
 * out: rng-egd, which is refused by a sentence. Main loop thread. Test: tests/unit/test-backends.c.
 */
#include "system/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/loop.h"

typedef struct RngAsk {
    size_t len;
    RngReady *fn;
    void *opaque;
    struct RngAsk *next;
} RngAsk;

typedef struct Rng {
    Object obj;
    RngAsk *first, **last;
    BottomHalf *bh;                 /* rng-builtin: answers from the main loop */
    /* rng-random */
    char *filename;
    int fd;                         /* -1: none */
    bool is_file;                   /* a plain file: poll(2) does not wait for it */
} Rng;

enum { RNG_CHUNK = 4096 };

static void rng_answer(Rng *rng, const uint8_t *data, size_t len)
{
    RngAsk *ask = rng->first;

    rng->first = ask->next;
    if (!rng->first) {
        rng->last = &rng->first;
    }
    ask->fn(ask->opaque, data, len);
    g_free(ask);
}

static void rng_random_readable(void *opaque);

static void rng_wait(Rng *rng)
{
    if (rng->fd < 0 || rng->is_file) {
        if (rng->first) {
            bh_schedule(rng->bh);
        }
    } else {
        loop_set_fd(loop_main(), rng->fd, rng->first ? rng_random_readable : NULL, NULL, rng);
    }
}

static void rng_random_readable(void *opaque)
{
    Rng *rng = opaque;
    uint8_t buf[RNG_CHUNK];
    ssize_t n;

    if (!rng->first) {
        return;
    }
    n = read(rng->fd, buf, MIN(rng->first->len, sizeof(buf)));
    if (n == 0 && lseek(rng->fd, 0, SEEK_SET) == 0) {
        n = read(rng->fd, buf, MIN(rng->first->len, sizeof(buf)));      /* a file that is used up starts over */
    }
    if (n > 0) {
        rng_answer(rng, buf, n);
        rng_wait(rng);
    } else if (!rng->is_file && n < 0 && errno != EAGAIN && errno != EINTR) {
        warn_report("rng-random '%s': '%s' can no longer be read", rng->obj.id, rng->filename);
        loop_set_fd(loop_main(), rng->fd, NULL, NULL, NULL);
    }
}

static void rng_bh(void *opaque)
{
    Rng *rng = opaque;
    uint8_t buf[RNG_CHUNK];
    ssize_t n;

    if (rng->is_file) {
        rng_random_readable(rng);
        return;
    }
    while (rng->first) {
        n = getrandom(buf, MIN(rng->first->len, sizeof(buf)), 0);
        if (n > 0) {
            rng_answer(rng, buf, n);
        }
    }
}

void rng_request(Object *obj, size_t len, RngReady *fn, void *opaque)
{
    Rng *rng = (Rng *)obj;
    RngAsk *ask = g_new0(RngAsk, 1);

    *ask = (RngAsk){ .len = len, .fn = fn, .opaque = opaque };
    *rng->last = ask;
    rng->last = &ask->next;
    rng_wait(rng);
}

void rng_cancel(Object *obj, void *opaque)
{
    Rng *rng = (Rng *)obj;
    RngAsk **at = &rng->first;

    while (*at) {
        RngAsk *ask = *at;

        if (ask->opaque == opaque) {
            *at = ask->next;
            g_free(ask);
        } else {
            at = &ask->next;
        }
    }
    rng->last = at;
}

static void rng_init(Object *obj)
{
    Rng *rng = (Rng *)obj;

    rng->last = &rng->first;
    rng->fd = -1;
    rng->bh = bh_new(loop_main(), rng_bh, rng);
}

static void rng_fini(Object *obj)
{
    Rng *rng = (Rng *)obj;

    while (rng->first) {
        rng_cancel(obj, rng->first->opaque);
    }
    if (rng->fd >= 0) {
        loop_set_fd(loop_main(), rng->fd, NULL, NULL, NULL);
        close(rng->fd);
    }
    bh_free(rng->bh);
}

static bool rng_random_realize(Object *obj, Error **errp)
{
    Rng *rng = (Rng *)obj;
    struct stat st;

    rng->fd = open(rng->filename, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (rng->fd < 0 || fstat(rng->fd, &st) < 0) {
        error_set_errno(errp, errno, "rng-random: cannot open filename=%s", rng->filename);
        return false;
    }
    rng->is_file = S_ISREG(st.st_mode);
    if (rng->is_file && !st.st_size) {
        error_set(errp, "rng-random: filename=%s is empty", rng->filename);
        return false;
    }
    return true;
}

static bool rng_egd_realize(Object *obj, Error **errp)
{
    error_set(errp, "rng-egd is not served: this program speaks to no entropy gathering daemon; use rng-random");
    return false;
}

static const Property random_props[] = {
    { .name = "filename", .kind = PROP_STR, .offset = offsetof(Rng, filename), .def_str = "/dev/urandom",
      .help = "where the bytes come from" },
    PROP_END
};
static const Property egd_props[] = {
    { .name = "chardev", .kind = PROP_STR, .offset = offsetof(Rng, filename), .help = "not served" },
    PROP_END
};
static const Type rng_type = { .name = TYPE_RNG_BACKEND, .abstract = true, .size = sizeof(Rng), .init = rng_init,
                               .fini = rng_fini };
static const Type builtin_type = { .name = "rng-builtin", .parent = TYPE_RNG_BACKEND, .user_creatable = true,
                                   .desc = "the host's getrandom()" };
static const Type random_type = { .name = "rng-random", .parent = TYPE_RNG_BACKEND, .user_creatable = true,
                                  .desc = "bytes from a file", .props = random_props, .realize = rng_random_realize };
static const Type egd_type = { .name = "rng-egd", .parent = TYPE_RNG_BACKEND, .user_creatable = true,
                               .props = egd_props, .realize = rng_egd_realize };
TYPE_REGISTER(rng_type)
TYPE_REGISTER(builtin_type)
TYPE_REGISTER(random_type)
TYPE_REGISTER(egd_type)
