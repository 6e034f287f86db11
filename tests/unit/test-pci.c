/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI without a board: placing and its refusals, BARs, INTx through routing, MSI, MSI-X, bus
 * mastering, resource assignment.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hw/pci/pci_host.h"
#include "system/loop.h"
#include "util/units.h"

typedef struct TestFn {
    PCIDevice parent;
    MemoryRegion mem, io, big, tables;
} TestFn;

static struct Rig {
    MemoryRegion system, ports;
    AddressSpace as, as_io;
    PCIBus *bus;
    int level[PCI_PIRQS];
    uint64_t msi_address;
    uint32_t msi_data;
    unsigned msi_count;
} rig;

static uint64_t fn_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0x40 + addr;
}

static void fn_write(void *opaque, hwaddr addr, uint64_t v, unsigned size)
{
}

static const MemoryRegionOps fn_ops = { .read = fn_read, .write = fn_write };

static bool fn_realize(Object *obj, Error **errp)
{
    TestFn *f = (TestFn *)obj;

    memory_region_init_io(&f->mem, obj, &fn_ops, f, "fn-mem", 4096);
    memory_region_init_io(&f->io, obj, &fn_ops, f, "fn-io", 32);
    memory_region_init_io(&f->big, obj, &fn_ops, f, "fn-big", 1 * MiB);
    memory_region_init(&f->tables, obj, "fn-tables", 8192);
    pci_bar_register(&f->parent, 0, 0, &f->mem);
    pci_bar_register(&f->parent, 1, PCI_BASE_ADDRESS_SPACE_IO, &f->io);
    pci_bar_register(&f->parent, 2, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, &f->big);
    pci_bar_register(&f->parent, 4, 0, &f->tables);
    f->parent.config[PCI_INTERRUPT_PIN] = 1;
    return msi_init(&f->parent, 0, 4, true, errp) &&
           msix_init(&f->parent, 3, &f->tables, 4, 0, &f->tables, 4, 0x1000, 0, errp);
}

static const PCIDeviceOps fn_pci_ops = { .vendor_id = 0x1234, .device_id = 0x5678, .class_id = 0xff00 };
static const Type fn_type = { .name = "test-fn", .parent = "pci-device", .size = sizeof(TestFn), .user_creatable = true,
                              .realize = fn_realize, .ops = &fn_pci_ops };
TYPE_REGISTER(fn_type)

static int rig_map(void *opaque, PCIDevice *d, int pin)
{
    return (PCI_SLOT(d->devfn) + pin) & 3;
}

static void rig_set(void *opaque, int line, int level)
{
    rig.level[line] = level;
}

static void rig_msi(uint64_t address, uint32_t data)
{
    rig.msi_address = address;
    rig.msi_data = data;
    rig.msi_count++;
}

static const PCIBusIrqOps rig_irqs = { .map = rig_map, .set = rig_set };

static void setup(void)
{
    machine_lock();
    memory_region_init(&rig.system, NULL, "system", MEMORY_SIZE_ALL);
    memory_region_init(&rig.ports, NULL, "io", 65536);
    address_space_init(&rig.as, &rig.system, "memory");
    address_space_init(&rig.as_io, &rig.ports, "io");
    rig.bus = pci_bus_new_root(NULL, "PCI", "pci.0", &rig.system, &rig.ports);
    rig.bus->dma = &rig.system;
    rig.bus->msi_send = rig_msi;
    pci_bus_set_irqs(rig.bus, &rig_irqs, NULL);
}

static PCIDevice *fn_new(int devfn, bool multifunction)
{
    Error *err = NULL;
    PCIDevice *d = pci_create(rig.bus, devfn, multifunction, "test-fn", &err);

    ck_assert_msg(d != NULL, "%s", err ? error_text(err) : "");
    object_reset(&d->dev.obj);
    return d;
}

static uint64_t ld(AddressSpace *as, hwaddr addr, unsigned size)
{
    uint64_t v = 0;

    address_space_ld(as, addr, &v, size);
    return v;
}

START_TEST(bars_show_their_size_and_move)
{
    PCIDevice *d = fn_new(-1, false);

    pci_config_write(d, 0x10, 0xffffffff, 4);
    ck_assert_uint_eq(pci_config_read(d, 0x10, 4), 0xfffff000);
    pci_config_write(d, 0x14, 0xffffffff, 4);
    ck_assert_uint_eq(pci_config_read(d, 0x14, 4), 0xffffffe1);
    pci_config_write(d, 0x18, 0xffffffff, 4);
    pci_config_write(d, 0x1c, 0xffffffff, 4);
    ck_assert_uint_eq(pci_config_read(d, 0x18, 4), 0xfff0000c);
    ck_assert_uint_eq(pci_config_read(d, 0x1c, 4), 0xffffffff);
    pci_config_write(d, 0x10, 0xe0000000, 4);
    pci_config_write(d, 0x14, 0xc000, 4);
    ck_assert_uint_eq(ld(&rig.as, 0xe0000004, 1), 0xff);
    pci_config_write(d, PCI_COMMAND, 2, 2);
    ck_assert_uint_eq(ld(&rig.as, 0xe0000004, 1), 0x44);
    ck_assert_uint_eq(ld(&rig.as_io, 0xc003, 1), 0xff);
    pci_config_write(d, PCI_COMMAND, 1, 1);
    ck_assert_uint_eq(ld(&rig.as_io, 0xc003, 1), 0x43);
    ck_assert_uint_eq(ld(&rig.as, 0xe0000004, 1), 0xff);
    pci_config_write(d, 0x18, 0x00000000, 4);
    pci_config_write(d, 0x1c, 0x00000010, 4);
    pci_config_write(d, PCI_COMMAND, 2, 1);
    ck_assert_uint_eq(ld(&rig.as, 0x1000000001, 1), 0x41);
    object_reset(&d->dev.obj);
    ck_assert_uint_eq(ld(&rig.as, 0x1000000001, 1), 0xff);
    ck_assert_uint_eq(pci_config_read(d, 0x18, 4), 0x0000000c);
}
END_TEST

START_TEST(read_only_bytes_stay)
{
    PCIDevice *d = fn_new(-1, false);

    pci_config_write(d, 0, 0xffffffff, 4);
    pci_config_write(d, 8, 0xffffffff, 4);
    ck_assert_uint_eq(pci_config_read(d, 0, 4), 0x56781234);
    ck_assert_uint_eq(pci_config_read(d, 0x0a, 2), 0xff00);
    ck_assert_uint_eq(pci_config_read(d, 0xfe, 4), 0xffff0000 | pci_config_read(d, 0xfe, 2));
    pci_config_write(d, 0xfe, 0, 4);                        /* beyond the end: dropped whole */
    ck_assert_uint_eq(pci_config_read(NULL, 0, 4), 0xffffffff);
}
END_TEST

START_TEST(slots_are_given_once)
{
    Error *err = NULL;
    PCIDevice *a = fn_new(-1, false);

    ck_assert_int_eq(a->devfn, 0);
    ck_assert(!pci_create(rig.bus, 0, false, "test-fn", &err));
    ck_assert_ptr_nonnull(strstr(error_text(err), "in use by test-fn"));
    err = NULL;
    ck_assert(!pci_create(rig.bus, 1, false, "test-fn", &err));
    ck_assert_ptr_nonnull(strstr(error_text(err), "multifunction=off"));
    fn_new(PCI_DEVFN(3, 1), false);
    err = NULL;
    ck_assert(!pci_create(rig.bus, PCI_DEVFN(3, 0), false, "test-fn", &err));
    ck_assert_ptr_nonnull(strstr(error_text(err), "multifunction=on"));
    fn_new(PCI_DEVFN(3, 0), true);
    ck_assert_int_eq(fn_new(-1, false)->devfn, PCI_DEVFN(1, 0));
    for (int slot = 2; slot < PCI_SLOTS; slot++) {
        if (slot != 3) {
            fn_new(-1, false);
        }
    }
    err = NULL;
    ck_assert(!pci_create(rig.bus, -1, false, "test-fn", &err));
}
END_TEST

START_TEST(addr_is_slot_and_function_in_hex)
{
    static const char *const bad[] = { "20", "1.8", "x", "", "1.", "-2", "1f.0 ", NULL };
    Object *obj = object_new("test-fn");

    ck_assert(object_prop_set(obj, "addr", "1f.3", NULL));
    ck_assert_int_eq(((PCIDevice *)obj)->devfn, PCI_DEVFN(0x1f, 3));
    for (int i = 0; bad[i]; i++) {
        ck_assert_msg(!object_prop_set(obj, "addr", bad[i], NULL), "%s", bad[i]);
    }
    object_unref(obj);
}
END_TEST

START_TEST(intx_is_the_or_of_its_functions)
{
    PCIDevice *a = fn_new(PCI_DEVFN(1, 0), false), *b = fn_new(PCI_DEVFN(5, 0), false);

    pci_irq_set(a, 1);
    pci_irq_set(b, 1);
    ck_assert_int_eq(rig.level[1], 1);
    ck_assert_uint_eq(pci_config_read(a, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT, PCI_STATUS_INTERRUPT);
    pci_irq_set(a, 0);
    ck_assert_int_eq(rig.level[1], 1);
    pci_config_write(b, PCI_COMMAND, PCI_COMMAND_INTX_DISABLE, 2);
    ck_assert_int_eq(rig.level[1], 0);
    pci_config_write(b, PCI_COMMAND, 0, 2);
    ck_assert_int_eq(rig.level[1], 1);
    device_unplug(&b->dev);
    ck_assert_int_eq(rig.level[1], 0);
}
END_TEST

START_TEST(msi_is_masked_and_pends)
{
    PCIDevice *d = fn_new(-1, false);
    uint8_t cap = pci_capability_find(d, PCI_CAP_ID_MSI);

    pci_config_write(d, cap + 4, 0xfee01003, 4);
    pci_config_write(d, cap + 12, 0x4153, 2);
    pci_config_write(d, cap + 2, MSI_ENABLE | 1 << MSI_MULTI_ENABLE_SHIFT, 2);
    msi_notify(d, 1);
    ck_assert_uint_eq(rig.msi_count, 0);                    /* no bus mastering */
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
    msi_notify(d, 0);
    ck_assert_uint_eq(rig.msi_address, 0xfee01000);
    ck_assert_uint_eq(rig.msi_data, 0x4152);
    msi_notify(d, 3);                                       /* two vectors granted: 3 is 1 */
    ck_assert_uint_eq(rig.msi_data, 0x4153);
    pci_config_write(d, cap + 16, 2, 4);
    msi_notify(d, 1);
    ck_assert_uint_eq(rig.msi_count, 2);
    ck_assert_uint_eq(pci_config_read(d, cap + 20, 4), 2);
    pci_config_write(d, cap + 16, 0, 4);
    ck_assert_uint_eq(rig.msi_count, 3);
    ck_assert_uint_eq(pci_config_read(d, cap + 20, 4), 0);
    pci_config_write(d, cap + 2, MSI_ENABLE | 7 << MSI_MULTI_ENABLE_SHIFT, 2);
    msi_notify(d, 7);                                       /* more than it asked for: four */
    ck_assert_uint_eq(rig.msi_data, 0x4153);
}
END_TEST

START_TEST(msix_table_is_in_bar_memory)
{
    PCIDevice *d = fn_new(-1, false);
    uint8_t cap = pci_capability_find(d, PCI_CAP_ID_MSIX);

    pci_config_write(d, 0x20, 0xe0000000, 4);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
    ck_assert_uint_eq(pci_config_read(d, cap + 2, 2), 2);
    address_space_st(&rig.as, 0xe0000010, 0xfee02000, 4);
    address_space_st(&rig.as, 0xe0000018, 0x77, 4);
    pci_config_write(d, cap + 2, MSIX_ENABLE, 2);
    msix_notify(d, 1);
    ck_assert_uint_eq(rig.msi_count, 0);
    ck_assert_uint_eq(ld(&rig.as, 0xe0001000, 8), 2);
    address_space_st(&rig.as, 0xe000001c, 0, 4);            /* unmask: the pending one goes */
    ck_assert_uint_eq(rig.msi_count, 1);
    ck_assert_uint_eq(rig.msi_data, 0x77);
    ck_assert_uint_eq(ld(&rig.as, 0xe0001000, 8), 0);
    pci_config_write(d, cap + 2, MSIX_ENABLE | MSIX_FUNCTION_MASK, 2);
    msix_notify(d, 1);
    msix_notify(d, 99);
    ck_assert_uint_eq(rig.msi_count, 1);
    pci_config_write(d, cap + 2, MSIX_ENABLE, 2);
    ck_assert_uint_eq(rig.msi_count, 2);
}
END_TEST

START_TEST(bus_mastering_is_the_commands_to_allow)
{
    static MemoryRegion ram;
    PCIDevice *d = fn_new(-1, false);
    AddressSpace *dma = pci_dma_as(d);
    uint8_t byte = 0;

    ck_assert(memory_region_init_ram(&ram, NULL, "ram", 4096, NULL));
    memory_region_add(&rig.system, 0x1000, &ram, 0);
    memory_region_ram_ptr(&ram)[0] = 0x99;
    ck_assert_int_ne(address_space_read(dma, 0x1000, &byte, 1), MEM_OK);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
    ck_assert_int_eq(address_space_read(dma, 0x1000, &byte, 1), MEM_OK);
    ck_assert_uint_eq(byte, 0x99);
}
END_TEST

static uint8_t line_of(void *opaque, PCIDevice *d, int pin)
{
    return 10 + pin;
}

START_TEST(resources_do_not_overlap)
{
    PCIWindows w = { .io_base = 0xc000, .mem_base = 0xc0000000, .mem_end = 0xc0300000, .high_base = 0x100000000ull,
                     .line_of = line_of };
    PCIDevice *d[5];

    for (int i = 0; i < 5; i++) {
        d[i] = fn_new(-1, false);
    }
    pci_assign_resources(rig.bus, &w);
    for (int i = 0; i < 5; i++) {
        uint64_t big = pci_get_quad(d[i]->config + 0x18) & ~15ull, mem = pci_get_long(d[i]->config + 0x10);

        ck_assert_uint_eq(d[i]->bar[2].addr, big);
        ck_assert(i < 3 ? big == 0xc0000000 + i * MiB : big == 0x100000000ull + (i - 3) * MiB);
        ck_assert_uint_eq(mem & 0xfff, 0);
        ck_assert_uint_eq(d[i]->bar[1].addr, 0xc000u + i * 32);
        ck_assert_uint_eq(d[i]->config[PCI_INTERRUPT_LINE], 10);
    }
    ck_assert_uint_eq(w.high_end, 0x100000000ull + 2 * MiB);
    ck_assert_uint_eq(d[0]->bar[0].addr, PCI_UNMAPPED);     /* the three large ones took the window */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pci");
    TCase *t = tcase_create("pci");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, bars_show_their_size_and_move);
    tcase_add_test(t, read_only_bytes_stay);
    tcase_add_test(t, slots_are_given_once);
    tcase_add_test(t, addr_is_slot_and_function_in_hex);
    tcase_add_test(t, intx_is_the_or_of_its_functions);
    tcase_add_test(t, msi_is_masked_and_pends);
    tcase_add_test(t, msix_table_is_in_bar_memory);
    tcase_add_test(t, bus_mastering_is_the_commands_to_allow);
    tcase_add_test(t, resources_do_not_overlap);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
