/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -object rng-*: entropy for virtio-rng and the like. Main loop thread, machine lock. Test:
 * tests/unit/test-backends.c.
 */
#ifndef CLEAT_SYSTEM_RNG_H
#define CLEAT_SYSTEM_RNG_H

#include "system/qdev.h"

#define TYPE_RNG_BACKEND "rng-backend"

typedef void RngReady(void *opaque, const uint8_t *data, size_t len);
/* Calls fn with 1..len bytes, from the main loop, as soon as there are some. Requests are served in order. */
void rng_request(Object *rng, size_t len, RngReady *fn, void *opaque);
/* Drops what `opaque` asked for (its device resets or goes). */
void rng_cancel(Object *rng, void *opaque);

#endif
