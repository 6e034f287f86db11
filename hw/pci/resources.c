/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What firmware does to PCI functions before an operating system runs; contract in include/hw/pci/pci.h.
 *
 * BARs are placed largest first, so that alignment wastes nothing. Buses below bridges are left to the operating
 * system.
 * Machine lock. Test: tests/unit/test-pci.c.
 */
#include "hw/pci/pci.h"

#include <stdlib.h>
#include <string.h>

#include "util/units.h"

typedef struct BarSlot {
    PCIDevice *d;
    int n;
} BarSlot;

typedef struct BarList {
    BarSlot slot[PCI_SLOTS * PCI_FUNCS * PCI_BARS];
    int count;
} BarList;

static void bars_collect(const PCIBus *root, BarList *list)
{
    list->count = 0;
    for (int devfn = 0; devfn < PCI_SLOTS * PCI_FUNCS; devfn++) {
        for (int n = 0; root->dev[devfn] && n < PCI_BARS; n++) {
            if (root->dev[devfn]->bar[n].mr) {
                list->slot[list->count++] = (BarSlot) { root->dev[devfn], n };
            }
        }
    }
}

static int bar_compare(const void *a, const void *b)
{
    const BarSlot *x = a, *y = b;
    uint64_t xs = x->d->bar[x->n].size, ys = y->d->bar[y->n].size;

    if (xs != ys) {
        return xs < ys ? 1 : -1;
    }
    return x->d->devfn != y->d->devfn ? x->d->devfn - y->d->devfn : x->n - y->n;
}

/* The next free address for size bytes in [*at, end), 0: none; moves *at behind it. */
static uint64_t window_take(uint64_t *at, uint64_t end, uint64_t size)
{
    uint64_t addr = ALIGN_UP(*at, size);

    if (addr < *at || addr > end || size > end - addr) {
        return 0;
    }
    *at = addr + size;
    return addr;
}

static void bar_place(PCIWindows *w, uint64_t *io, uint64_t *mem, const BarSlot *s)
{
    PCIDevice *d = s->d;
    const PCIBar *bar = &d->bar[s->n];
    bool is64 = bar->type & PCI_BASE_ADDRESS_MEM_TYPE_64;
    unsigned command = PCI_COMMAND_MEMORY, reg = PCI_BASE_ADDRESS_0 + s->n * 4;
    uint64_t addr;

    if (bar->type & PCI_BASE_ADDRESS_SPACE_IO) {
        addr = window_take(io, 0x10000, bar->size);
        command = PCI_COMMAND_IO;
        is64 = false;
    } else {
        addr = window_take(mem, w->mem_end, MAX(bar->size, 4096));
        if (!addr && is64) {
            addr = window_take(&w->high_end, INT64_MAX, bar->size);
        }
    }
    if (!addr || s->n == PCI_ROM_BAR) {
        return;                         /* ROMs are for firmware: their place is kept, decoding stays off */
    }
    pci_config_write(d, reg, addr, 4);
    if (is64) {
        pci_config_write(d, reg + 4, addr >> 32, 4);
    }
    pci_config_write(d, PCI_COMMAND, pci_get_word(d->config + PCI_COMMAND) | command, 2);
}

static void function_finish(PCIDevice *d, void *opaque)
{
    const PCIWindows *w = opaque;
    const PCIDeviceOps *ops = type_ops(d->dev.obj.type);

    if (d->config[PCI_INTERRUPT_PIN]) {
        pci_config_write(d, PCI_INTERRUPT_LINE, w->line_of(w->opaque, d, d->config[PCI_INTERRUPT_PIN] - 1), 1);
    }
    if (ops->firmware_init) {
        ops->firmware_init(d);
    }
}

void pci_assign_resources(PCIBus *root, PCIWindows *w)
{
    g_autofree BarList *list = g_new(BarList, 1);
    uint64_t io = w->io_base, mem = w->mem_base;

    w->high_end = w->high_base;
    bars_collect(root, list);
    qsort(list->slot, list->count, sizeof(list->slot[0]), bar_compare);
    memory_transaction_begin();
    for (int i = 0; i < list->count; i++) {
        bar_place(w, &io, &mem, &list->slot[i]);
    }
    for (int devfn = 0; devfn < PCI_SLOTS * PCI_FUNCS; devfn++) {
        if (root->dev[devfn]) {
            function_finish(root->dev[devfn], w);
        }
    }
    memory_transaction_commit();
}
