/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMState: round trip, unknown and missing fields, every way to cut or corrupt a stream; whole-machine state. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "system/memory.h"
#include "system/vmstate.h"

typedef struct Chan {
    uint16_t count;
    bool on;
} Chan;

typedef struct Chip {
    Device dev;
    uint8_t a;
    uint32_t b[3];
    int64_t c;
    uint8_t fifo[5];
    uint8_t *ram;
    Chan chan[2];
    Timer timer;
    uint32_t extra;
    uint32_t derived;
} Chip;

static bool extra_needed(const void *opaque)
{
    return ((const Chip *)opaque)->a == 7;
}

static bool chip_post_load(void *opaque, Error **errp)
{
    Chip *chip = opaque;

    if (chip->b[0] > 1000) {
        error_set(errp, "b[0] is out of range");
        return false;
    }
    chip->derived = chip->b[0] * 2;
    return true;
}

static const VMField chan_fields[] = { VM_FIELD(Chan, count, VM_U16), VM_FIELD(Chan, on, VM_BOOL), VM_END };
static const VMState vmstate_chan = { .name = "chan", .version = 1, .fields = chan_fields };
static const VMField chip_fields[] = {
    VM_FIELD(Chip, a, VM_U8), VM_ARRAY(Chip, b, VM_U32), VM_FIELD(Chip, c, VM_I64), VM_BUFFER(Chip, fifo),
    { .name = "ram", .kind = VM_BYTES_PTR, .offset = offsetof(Chip, ram), .size = 16, .count = 1 },
    VM_SUB_ARRAY(Chip, chan, vmstate_chan), VM_TIMER_FIELD(Chip, timer),
    { .name = "extra", .kind = VM_U32, .offset = offsetof(Chip, extra), .size = 4, .count = 1,
      .needed = extra_needed },
    VM_END
};
static const VMState vmstate_chip = { .name = "chip", .version = 2, .fields = chip_fields,
                                      .post_load = chip_post_load };
/* What an older and a newer version of the chip would write. */
static const VMField short_fields[] = { VM_FIELD(Chip, a, VM_U8), VM_END };
static const VMState vmstate_short = { .name = "chip", .version = 1, .fields = short_fields };
static const VMField long_fields[] = {
    { .name = "news", .kind = VM_U8, .offset = 0, .size = 1, .count = 1 }, VM_FIELD(Chip, a, VM_U8), VM_END
};
static const VMState vmstate_long = { .name = "chip", .version = 1, .fields = long_fields };

static void never(void *opaque)
{
}

static void chip_init(Object *obj)
{
    Chip *chip = (Chip *)obj;

    chip->ram = g_malloc0(16);
    timer_init(&chip->timer, CLOCK_VIRTUAL, never, NULL);
}

static const Type chip_type = { .name = "test-chip", .parent = "device", .size = sizeof(Chip), .init = chip_init,
                                .vmstate = &vmstate_chip };
TYPE_REGISTER(chip_type)

static Chip *chip_new(bool fill)
{
    Chip *chip = (Chip *)object_new("test-chip");

    if (fill) {
        chip->a = 7;
        chip->b[0] = 21;
        chip->b[2] = 0xdeadbeef;
        chip->c = -5;
        memcpy(chip->fifo, "hello", 5);
        memcpy(chip->ram, "0123456789abcdef", 16);
        chip->chan[1].count = 0x1234;
        chip->chan[1].on = true;
        chip->extra = 99;
        timer_mod(&chip->timer, 123456789);
    }
    return chip;
}

static GByteArray *chip_bytes(void)
{
    GByteArray *out = g_byte_array_new();

    vmstate_save(&vmstate_chip, chip_new(true), out);
    return out;
}

START_TEST(what_is_saved_is_loaded)
{
    GByteArray *first = chip_bytes(), *second = g_byte_array_new();
    Chip *chip = chip_new(false);
    size_t used;

    ck_assert(vmstate_load(&vmstate_chip, chip, first->data, first->len, &used, NULL));
    ck_assert_uint_eq(used, first->len);
    ck_assert_uint_eq(chip->b[2], 0xdeadbeef);
    ck_assert_int_eq(chip->c, -5);
    ck_assert(!memcmp(chip->ram, "0123456789abcdef", 16));
    ck_assert(chip->chan[1].on && chip->chan[1].count == 0x1234);
    ck_assert_int_eq(chip->timer.expire, 123456789);
    ck_assert_uint_eq(chip->derived, 42);
    vmstate_save(&vmstate_chip, chip, second);
    ck_assert_uint_eq(first->len, second->len);
    ck_assert(!memcmp(first->data, second->data, first->len));
    timer_del(&chip->timer);
    timer_del(&chip->timer);
}
END_TEST

static void expect_refused(const uint8_t *data, size_t len, const char *text)
{
    g_autoptr(Error) err = NULL;
    Chip *chip = chip_new(false);

    ck_assert(!vmstate_load(&vmstate_chip, chip, data, len, NULL, &err));
    ck_assert_msg(!text || strstr(error_text(err), text), "%s", error_text(err));
    timer_del(&chip->timer);
}

START_TEST(every_cut_is_refused)
{
    GByteArray *bytes = chip_bytes();

    for (guint len = 0; len < bytes->len; len++) {
        g_autofree uint8_t *copy = g_memdup2(bytes->data, len);     /* exact size: sanitizers see overruns */

        expect_refused(copy, len, NULL);
    }
}
END_TEST

START_TEST(no_corruption_crashes)
{
    GByteArray *bytes = chip_bytes();
    unsigned seed = 1;

    for (int i = 0; i < 20000; i++) {
        g_autofree uint8_t *copy = g_memdup2(bytes->data, bytes->len);
        Chip *chip = chip_new(false);
        Error *err = NULL;
        bool ok;

        for (int k = rand_r(&seed) % 3; k >= 0; k--) {
            copy[rand_r(&seed) % bytes->len] = rand_r(&seed);
        }
        ok = vmstate_load(&vmstate_chip, chip, copy, bytes->len, NULL, &err);
        ck_assert(ok == !err);
        error_free(err);
        timer_del(&chip->timer);
        g_free(chip->ram);
        object_unref(&chip->dev.obj);
    }
}
END_TEST

START_TEST(versions_meet)
{
    GByteArray *out = g_byte_array_new();
    Chip *chip = chip_new(true), *other = chip_new(false);

    vmstate_save(&vmstate_short, chip, out);
    expect_refused(out->data, out->len, "lacks field 'b'");
    g_byte_array_set_size(out, 0);
    vmstate_save(&vmstate_long, chip, out);
    ck_assert(vmstate_load(&vmstate_short, other, out->data, out->len, NULL, NULL));
    ck_assert_uint_eq(other->a, 7);
    g_byte_array_set_size(out, 0);
    vmstate_save(&vmstate_chip, chip, out);
    ck_assert(!vmstate_load(&vmstate_short, other, out->data, out->len, NULL, NULL));
    chip->b[0] = 1001;
    g_byte_array_set_size(out, 0);
    vmstate_save(&vmstate_chip, chip, out);
    expect_refused(out->data, out->len, "out of range");
    timer_del(&chip->timer);
}
END_TEST

START_TEST(a_whole_machine_goes_round)
{
    Chip *chip = chip_new(true);
    MemoryRegion ram;
    GByteArray *first = g_byte_array_new(), *second = g_byte_array_new();
    uint8_t *host;

    ck_assert(device_plug(&chip->dev, NULL, NULL));
    ck_assert(memory_region_init_ram(&ram, NULL, "pc.ram", 1 << 20, NULL));
    host = memory_region_ram_ptr(&ram);
    memset(host + 0x5000, 0xab, 4096);
    clock_virtual_set(5000);
    ck_assert(machine_state_save(first, true, NULL));
    host[0x5001] = 1;
    host[0x9000] = 1;
    chip->b[2] = 0;
    clock_virtual_set(0);
    ck_assert(machine_state_load(first->data, first->len, NULL));
    ck_assert_uint_eq(chip->b[2], 0xdeadbeef);
    ck_assert_int_eq(clock_ns(CLOCK_VIRTUAL), 5000);
    ck_assert_uint_eq(host[0x5001], 0xab);
    ck_assert_uint_eq(host[0x9000], 0);
    ck_assert(machine_state_save(second, true, NULL));
    ck_assert_uint_eq(first->len, second->len);
    ck_assert(!memcmp(first->data, second->data, first->len));
    for (guint len = 0; len < first->len; len += 7) {
        Error *err = NULL;

        ck_assert(!machine_state_load(first->data, len, &err));
        error_free(err);
    }
    timer_del(&chip->timer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("vmstate");
    TCase *tc = tcase_create("vmstate");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, what_is_saved_is_loaded);
    tcase_add_test(tc, every_cut_is_refused);
    tcase_add_test(tc, no_corruption_crashes);
    tcase_add_test(tc, versions_meet);
    tcase_add_test(tc, a_whole_machine_goes_round);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
