/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All chips of a PC side by side under random guest accesses: nothing may crash or hang, and state
 * saved, reset away and loaded gives the same bytes and the same interrupt levels again.
 */
#include "chip-bench.h"

#include "chip-requests.h"
#include "hw/acpi/pm.h"
#include "hw/char/serial.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "hw/misc/pc-ports.h"
#include "hw/rtc/mc146818.h"
#include "hw/timer/hpet.h"

#define HPET 0xfed00000u
#define IOAPIC 0xfec00000u
enum { PARTS = 16, INTR = 24 };

static struct {
    const VMState *vms;
    void *state;
    Object *obj;                            /* NULL: the ACPI block, which is no object */
} part[PARTS];
static int n_parts;
static I8259Pair pair;
static AcpiPm pm;
static uint32_t seed;

static uint32_t rnd(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

static void discard_message(void *opaque, uint32_t dest, bool logical, uint8_t mode, uint8_t vector,
                            bool level)
{
}

static void discard_msi(uint64_t address, uint32_t data)
{
}

static void *add_part(void *object)
{
    Object *obj = object;

    ck_assert(obj->type->vmstate);
    part[n_parts].vms = obj->type->vmstate;
    part[n_parts].state = part[n_parts].obj = obj;
    n_parts++;
    return obj;
}

static void *plug_system(const char *type)
{
    Device *dev = device_new(type);

    if (!strcmp(type, "hpet")) {
        Hpet *hpet = (Hpet *)dev;

        hpet->intcap = 0xff0104;
        hpet->msi = true;
        hpet->send_msi = discard_msi;
        for (int i = 0; i < 24; i++) {
            hpet->irq[i] = &bench.line[i];
        }
    } else {
        ((IoApic *)dev)->deliver = discard_message;
    }
    ck_assert(device_plug(dev, NULL, NULL));
    object_reset(&dev->obj);
    return add_part(dev);
}

static void build(void)
{
    Device *spk = device_new("isa-pcspk");
    Rtc *rtc;

    ck_assert(i8259_pair_init(&pair, bench.isa, &bench.line[INTR], NULL));
    object_reset(add_part(pair.slave));
    object_reset(add_part(pair.master));
    for (int i = 0; i < 16; i++) {
        isa_bus_connect(bench.isa, i, &pair.pins[i]);
    }
    ck_assert(object_prop_set_link(&spk->obj, "pit", add_part(bench_isa("isa-pit")), NULL));
    add_part(bench_plug(spk));
    rtc = add_part(bench_isa("mc146818rtc"));
    rtc->offset_ns = 1800000000000000000 - clock_ns(CLOCK_VIRTUAL);
    rtc->clock = rtc->second_timer.clock = CLOCK_VIRTUAL;
    rtc->seen_s = 1800000000;
    add_part(bench_isa("i8042"));
    add_part(bench_isa("isa-serial"));
    add_part(bench_isa("port92"));
    add_part(bench_isa("i8257"));
    memory_region_add(&bench.mem, HPET, &((Hpet *)plug_system("hpet"))->mmio, 0);
    memory_region_add(&bench.mem, IOAPIC, &((IoApic *)plug_system("ioapic"))->mmio, 0);
    acpi_pm_init(&pm, ACPI_PM_ICH9);
    pm.sci = &pair.pins[9];
    acpi_pm_realize(&pm, NULL);
    acpi_pm_reset(&pm);
    memory_region_add(&bench.io, 0x600, &pm.io, 0);
    memory_region_add(&bench.io, ACPI_APM_PORT, &pm.apm_io, 0);
    part[n_parts].vms = &acpi_pm_vmstate;
    part[n_parts++].state = &pm;
}

/* One access as a guest without manners makes it. */
static void poke(void)
{
    static const uint16_t port[] = {
        0x20, 0x21, 0xa0, 0xa1, 0x4d0, 0x4d1, 0x40, 0x41, 0x42, 0x43, 0x61, 0x70, 0x71, 0x60, 0x64,
        0x3f8, 0x3f9, 0x3fa, 0x3fb, 0x3fc, 0x3fd, 0x3fe, 0x3ff, 0x92, 0x00, 0x08, 0x0b, 0x81, 0xb2,
        0x600, 0x602, 0x604, 0x608, 0x620, 0x628, 0x630, 0x634, 0x660, 0x664, 0x668, 0x672,
    };
    uint32_t addr = port[rnd() % G_N_ELEMENTS(port)], what = rnd() % 8, value = rnd();
    unsigned size = 1 << rnd() % 3;
    uint64_t v;

    if (what == 0) {
        clock_qtest_step(rnd() % (rnd() % 16 ? 100000 : 2000000000));
    } else if (what == 1) {
        address_space_ld(&bench.as_mem, (rnd() & 1 ? HPET : IOAPIC) + (rnd() % 96 * 4), &v, 4);
    } else if (what == 2) {
        value = rnd() & 1 ? value : 1u << value % 32;
        address_space_st(&bench.as_mem, (rnd() & 1 ? HPET : IOAPIC) + (rnd() % 96 * 4), value, 4);
    } else if (what == 3) {
        i8259_ack(&pair);
    } else if (what < 6) {
        address_space_ld(&bench.as_io, addr, &v, size);
    } else {
        address_space_st(&bench.as_io, addr, value, size);
    }
}

static void save_all(GByteArray *out, size_t *at)
{
    for (int i = 0; i < n_parts; i++) {
        at[i] = out->len;
        vmstate_save(part[i].vms, part[i].state, out);
    }
    at[n_parts] = out->len;
}

static void reset_all(void)
{
    for (int i = 0; i < n_parts; i++) {
        if (part[i].obj) {
            object_reset(part[i].obj);
        } else {
            acpi_pm_reset(&pm);
        }
    }
}

static void load_all(const GByteArray *from, const size_t *at)
{
    for (int i = 0; i < n_parts; i++) {
        Error *err = NULL;
        size_t used;

        ck_assert_msg(vmstate_load(part[i].vms, part[i].state, from->data + at[i], at[i + 1] - at[i],
                                   &used, &err), "%s: %s", part[i].vms->name,
                      err ? error_text(err) : "");
        ck_assert_uint_eq(used, at[i + 1] - at[i]);
    }
}

static void check_round_trip(void)
{
    g_autoptr(GByteArray) before = g_byte_array_new(), after = g_byte_array_new();
    size_t at_before[PARTS + 1], at_after[PARTS + 1];
    int levels[32];

    memcpy(levels, bench.level, sizeof(levels));
    save_all(before, at_before);
    reset_all();
    load_all(before, at_before);
    save_all(after, at_after);
    for (int i = 0; i < n_parts; i++) {
        size_t len = at_before[i + 1] - at_before[i];

        ck_assert_msg(len == at_after[i + 1] - at_after[i] &&
                      !memcmp(before->data + at_before[i], after->data + at_after[i], len),
                      "seed %u: %s changed by saving and loading", seed, part[i].vms->name);
    }
    for (int i = 0; i < 32; i++) {
        ck_assert_msg(levels[i] == bench.level[i], "seed %u: line %d is %d", seed, i,
                      bench.level[i]);
    }
}

START_TEST(random_guests_and_round_trips)
{
    build();
    for (int round = 0; round < 300; round++) {
        seed = round;
        reset_all();
        for (int i = 0; i < 400; i++) {
            poke();
        }
        check_round_trip();
    }
}
END_TEST

START_TEST(damaged_state_is_refused_or_harmless)
{
    g_autoptr(GByteArray) good = g_byte_array_new();
    size_t at[PARTS + 1], used;

    build();
    for (int i = 0; i < 1000; i++) {
        poke();
    }
    save_all(good, at);
    for (seed = 0; seed < 3000; seed++) {
        int i = rnd() % n_parts;
        size_t len = at[i + 1] - at[i];
        g_autofree uint8_t *bad = g_memdup2(good->data + at[i], len);

        bad[rnd() % len] = rnd();
        vmstate_load(part[i].vms, part[i].state, bad, len, &used, NULL);
        for (int n = 0; n < 20; n++) {
            poke();
        }
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, random_guests_and_round_trips);
    tcase_add_test(tc, damaged_state_is_refused_or_harmless);
}

int main(void)
{
    return bench_main("chip-state", add);
}
