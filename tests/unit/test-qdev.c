/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types, properties, the tree, plugging by user's words and its refusals, realize that undoes itself, reset order. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hw/irq.h"
#include "system/qdev.h"

typedef struct Lamp {
    Device dev;
    bool on;
    uint8_t watts;
    uint32_t flags;
    uint64_t size;
    char *label;
    int colour;
    OnOffAuto dim;
    Object *friend;
    uint8_t mac[6];
} Lamp;

static GString *log_text;
static const char *const colours[] = { "red", "green", NULL };
static const Property lamp_props[] = {
    PROP_FIELD("on", PROP_BOOL, Lamp, on, true, "lit at start"),
    PROP_FIELD("watts", PROP_U8, Lamp, watts, 40, "power"),
    { .name = "x-bit", .kind = PROP_BIT, .offset = offsetof(Lamp, flags), .bit = 3, .has_default = true },
    PROP_FIELD("size", PROP_SIZE, Lamp, size, 4096, "size"),
    { .name = "label", .kind = PROP_STR, .offset = offsetof(Lamp, label), .def_str = "none" },
    { .name = "colour", .kind = PROP_ENUM, .offset = offsetof(Lamp, colour), .has_default = true, .def = 1,
      .enum_names = colours },
    { .name = "dim", .kind = PROP_ONOFFAUTO, .offset = offsetof(Lamp, dim), .has_default = true },
    { .name = "friend", .kind = PROP_LINK, .offset = offsetof(Lamp, friend), .link_type = "lamp" },
    { .name = "mac", .kind = PROP_MACADDR, .offset = offsetof(Lamp, mac) },
    PROP_END
};

static bool base_realize(Object *obj, Error **errp)
{
    g_string_append(log_text, "B");
    return true;
}

static void base_unrealize(Object *obj)
{
    g_string_append(log_text, "b");
}

static bool lamp_realize(Object *obj, Error **errp)
{
    g_string_append(log_text, "L");
    if (((Lamp *)obj)->watts > 100) {
        error_set(errp, "too bright");
        return false;
    }
    return true;
}

static void lamp_reset(Object *obj)
{
    g_string_append_printf(log_text, "<%s>", obj->id ? obj->id : "?");
}

static void base_fini(Object *obj)
{
    g_string_append(log_text, "f");
}

static const Type base_lamp = { .name = "base-lamp", .parent = "device", .abstract = true, .bus = "socket-bus",
    .realize = base_realize, .unrealize = base_unrealize, .fini = base_fini, .size = sizeof(Lamp) };
TYPE_REGISTER(base_lamp)
static const Type lamp = { .name = "lamp", .alias = "light", .parent = "base-lamp", .props = lamp_props,
    .user_creatable = true, .realize = lamp_realize, .reset = lamp_reset };
TYPE_REGISTER(lamp)
static const Type fixed = { .name = "fixed-lamp", .parent = "base-lamp" };
TYPE_REGISTER(fixed)
static const Type socket_bus = { .name = "socket-bus", .parent = "bus", .size = sizeof(Bus) };
TYPE_REGISTER(socket_bus)
static const Type wall = { .name = "wall", .parent = "device", .user_creatable = true, .reset = lamp_reset };
TYPE_REGISTER(wall)

static void setup(void)
{
    log_text = g_string_new(NULL);
}

static void teardown(void)
{
    g_string_free(log_text, TRUE);
}

static Device *make_wall(void)
{
    Device *dev = device_new("wall");

    ck_assert(device_plug(dev, NULL, NULL));
    bus_new("socket-bus", dev, NULL);
    return dev;
}

static void expect_refused(const char *driver, const PropPair *props, int n, const char *text)
{
    g_autoptr(Error) err = NULL;

    ck_assert_ptr_null(device_add_from_props(driver, props, n, &err));
    ck_assert_msg(strstr(error_text(err), text), "'%s' has no '%s'", error_text(err), text);
}

#define REFUSED(driver, k, v, text) expect_refused(driver, (PropPair[]){ { k, v } }, 1, text)

START_TEST(properties_parse_and_show)
{
    Object *obj = object_new("lamp");
    static const char *const good[][3] = {
        { "on", "off", "false" }, { "watts", "0x10", "16" }, { "x-bit", "on", "true" }, { "size", "1.5K", "1536" },
        { "label", "hello", "hello" }, { "colour", "red", "red" }, { "dim", "on", "on" },
        { "mac", "52:54:00:ab:cd:ef", "52:54:00:ab:cd:ef" },
    };

    ck_assert_uint_eq(((Lamp *)obj)->watts, 40);
    ck_assert_str_eq(((Lamp *)obj)->label, "none");
    for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *got = NULL;

        ck_assert(object_prop_set(obj, good[i][0], good[i][1], NULL));
        got = object_prop_get(obj, good[i][0], NULL);
        ck_assert_str_eq(got, good[i][2]);
    }
    ck_assert_uint_eq(((Lamp *)obj)->flags, 8);
    object_unref(obj);
    ck_assert_str_eq(log_text->str, "f");
}
END_TEST

START_TEST(user_mistakes_are_named)
{
    make_wall();
    REFUSED("nosuch", "a", "b", "'nosuch'");
    REFUSED("base-lamp", "a", "b", "abstract");
    REFUSED("fixed-lamp", "a", "b", "cannot be added");
    REFUSED("lamp", "foo", "1", "'lamp.foo' not found");
    REFUSED("lamp", "watts", "256", "'256'");
    REFUSED("lamp", "watts", "-1", "'-1'");
    REFUSED("lamp", "watts", "x", "integer");
    REFUSED("lamp", "on", "maybe", "'maybe'");
    REFUSED("lamp", "colour", "blue", "'blue'");
    REFUSED("lamp", "mac", "zz", "'zz'");
    REFUSED("lamp", "friend", "none", "'none'");
    REFUSED("lamp", "bus", "pci.9", "'pci.9' not found");
    REFUSED("lamp", "id", "1x", "'1x'");
    REFUSED("lamp", "watts", "101", "too bright");
    ck_assert_ptr_null(object_container("/machine/peripheral")->first_child);
    ck_assert_ptr_null(object_container("/machine/peripheral-anon")->first_child);
    ck_assert_ptr_null(bus_find("socket-bus.0")->first_dev);
}
END_TEST

START_TEST(failed_realize_undoes_the_parents_part)
{
    make_wall();
    REFUSED("lamp", "watts", "101", "too bright");
    ck_assert_str_eq(log_text->str, "BLbf");
}
END_TEST

START_TEST(plugged_devices_have_paths_and_ids_are_unique)
{
    PropPair a[] = { { "id", "a" }, { "watts", "3" } };
    PropPair b[] = { { "id", "b" }, { "friend", "a" } };
    g_autofree char *path = NULL;
    Device *dev, *other;

    make_wall();
    dev = device_add_from_props("light", a, 2, NULL);
    path = object_path(&dev->obj);
    ck_assert_str_eq(path, "/machine/peripheral/a");
    ck_assert_ptr_eq(object_resolve("a"), &dev->obj);
    ck_assert_ptr_eq(object_resolve("peripheral/a"), &dev->obj);
    other = device_add_from_props("lamp", b, 2, NULL);
    ck_assert_ptr_eq(((Lamp *)other)->friend, &dev->obj);
    ck_assert(!object_prop_set(&dev->obj, "watts", "4", NULL));
    expect_refused("lamp", a, 2, "Duplicate ID 'a'");
    dev = device_add_from_props("lamp", NULL, 0, NULL);
    ck_assert_str_eq(dev->obj.name, "device[0]");
    dev = device_add_from_props("lamp", NULL, 0, NULL);
    ck_assert_str_eq(dev->obj.name, "device[1]");
}
END_TEST

START_TEST(reset_reaches_children_before_parents)
{
    PropPair a[] = { { "id", "a" } };
    Device *dev = make_wall();

    dev->obj.id = g_strdup("w");
    device_add_from_props("lamp", a, 1, NULL);
    g_string_truncate(log_text, 0);
    devices_reset_all();
    ck_assert_str_eq(log_text->str, "<a><w>");
}
END_TEST

START_TEST(globals_apply_and_bad_ones_fail_the_device)
{
    g_autoptr(Error) err = NULL;
    Object *obj;

    global_prop_add("base-lamp", "watts", "7");
    obj = object_new_checked("lamp", NULL);
    ck_assert_uint_eq(((Lamp *)obj)->watts, 7);
    object_unref(obj);
    global_prop_add("lamp", "nosuch", "7");
    ck_assert_ptr_null(object_new_checked("lamp", &err));
    ck_assert(strstr(error_text(err), "-global lamp.nosuch=7"));
}
END_TEST

START_TEST(full_bus_is_refused)
{
    make_wall();
    bus_find("socket-bus.0")->max_devs = 1;
    ck_assert_ptr_nonnull(device_add_from_props("lamp", NULL, 0, NULL));
    expect_refused("lamp", NULL, 0, "full");
    bus_new("socket-bus", make_wall(), "spare");
    ck_assert_ptr_nonnull(device_add_from_props("lamp", NULL, 0, NULL));
}
END_TEST

static int seen_level[4];

static void seen(void *opaque, int n, int level)
{
    seen_level[n] += level ? 1 : -1;
}

START_TEST(irq_lines_carry_levels)
{
    IrqLine lines[4];

    irq_init_array(lines, 4, seen, NULL);
    irq_raise(&lines[2]);
    irq_set(NULL, 1);
    ck_assert_int_eq(seen_level[2], 1);
    irq_pulse(&lines[3]);
    ck_assert_int_eq(seen_level[3], 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qdev");
    TCase *tc = tcase_create("qdev");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, properties_parse_and_show);
    tcase_add_test(tc, user_mistakes_are_named);
    tcase_add_test(tc, failed_realize_undoes_the_parents_part);
    tcase_add_test(tc, plugged_devices_have_paths_and_ids_are_unique);
    tcase_add_test(tc, reset_reaches_children_before_parents);
    tcase_add_test(tc, globals_apply_and_bad_ones_fail_the_device);
    tcase_add_test(tc, full_bus_is_refused);
    tcase_add_test(tc, irq_lines_carry_levels);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
