/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes what comes from a debugger. The first byte: its top bit says whether the rest are bytes as they come, or
 * packets that end at newlines and are framed here; the others, how long the pieces are in which it is delivered.
 * One CPU of the software accelerator on flat RAM; its thread does not run.
 */
#include <stddef.h>
#include <string.h>

#include "accel/accel.h"
#include "chardev/char-int.h"
#include "gdbstub/gdbstub.h"
#include "system/loop.h"
#include "system/runstate.h"
#include "../unit/x86-harness.h"

static void sink_drop(void *opaque, const char *text)
{
}

static void deliver(Chardev *chr, const uint8_t *data, size_t size, size_t piece)
{
    while (size) {
        size_t n = MIN(size, piece);

        chr_deliver(chr, data, n);
        data += n;
        size -= n;
    }
}

static void deliver_framed(Chardev *chr, const uint8_t *data, size_t size, size_t piece)
{
    g_autoptr(GString) out = g_string_new(NULL);

    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;
        uint8_t sum = 0;

        for (size_t i = 0; i < n; i++) {
            sum += data[i];
        }
        g_string_append_c(out, '$');
        g_string_append_len(out, (const char *)data, n);
        g_string_append_printf(out, "#%02x", sum);
        data += MIN(n + 1, size);
        size -= MIN(n + 1, size);
    }
    deliver(chr, (const uint8_t *)out->str, out->len, piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static X86CPU *cpu;
    const PropPair props[] = { { "size", "1048576" } };
    Chardev *chr;

    if (!size) {
        return 0;
    }
    error_sink_set(sink_drop, NULL);
    if (!cpu) {
        if (!accel_select("tcg", NULL, 0, NULL)) {
            __builtin_trap();
        }
        cpu = harness_cpu("max");
    }
    if (!machine_locked()) {
        machine_lock();
    }
    harness_long_mode(cpu);
    chr = chardev_new_from_props("ringbuf", "g", props, 1, NULL);
    if (!chr || !gdbstub_start("chardev:g", NULL)) {
        __builtin_trap();
    }
    (data[0] & 0x80 ? deliver : deliver_framed)(chr, data + 1, size - 1, (data[0] & 0x7f) + 1);
    if (!gdbstub_start("none", NULL)) {
        __builtin_trap();
    }
    if (runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);
    }
    chardev_cleanup();
    return 0;
}
