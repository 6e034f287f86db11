/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's interrupt routing table, and descriptors that raise interrupts (irqfd).
 *
 * The table's first part says where the GSIs of chips go (kvm-irqchip.c); behind them come MSI routes that devices
 * ask for
 * through AccelChips, each with a number above the chips' GSIs. The kernel takes the table whole each time.
 * Needs local APICs in the kernel. Machine lock. Reference: api.rst 4.52 (KVM_SET_GSI_ROUTING), 4.75 (KVM_IRQFD).
 * Test: tests/kvm/test-accel.py.
 */
#include <errno.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "hw/intc/ioapic.h"

#define CHIP_ROUTES_MAX 64
#define MSI_ROUTES_MAX 1024
#define MSI_ROUTE_FIRST IOAPIC_PINS

typedef struct MsiRoute {
    bool used;
    uint64_t address;
    uint32_t data;
} MsiRoute;

struct KvmRoutes {
    struct kvm_irq_routing_entry chips[CHIP_ROUTES_MAX];
    unsigned n_chips, n_msis;       /* n_msis: highest one in use + 1 */
    MsiRoute msis[MSI_ROUTES_MAX];
};

static struct kvm_irq_routing_entry msi_entry(unsigned n, const MsiRoute *r)
{
    return (struct kvm_irq_routing_entry) {
        .gsi = MSI_ROUTE_FIRST + n, .type = KVM_IRQ_ROUTING_MSI,
        .u.msi = { .address_lo = r->address, .address_hi = r->address >> 32, .data = r->data },
    };
}

static int routes_commit(const KvmRoutes *r)
{
    size_t most = r->n_chips + r->n_msis;
    g_autofree struct kvm_irq_routing *table = g_malloc0(sizeof(*table) + most * sizeof(table->entries[0]));

    memcpy(table->entries, r->chips, r->n_chips * sizeof(r->chips[0]));
    table->nr = r->n_chips;
    for (unsigned n = 0; n < r->n_msis; n++) {
        if (r->msis[n].used) {
            table->entries[table->nr++] = msi_entry(n, &r->msis[n]);
        }
    }
    return kvm_vm_ioctl(KVM_SET_GSI_ROUTING, table);
}

static KvmRoutes *routes(void)
{
    if (!kvm_state->routes) {
        kvm_state->routes = g_new0(KvmRoutes, 1);
    }
    return kvm_state->routes;
}

int kvm_routes_set_chips(const struct kvm_irq_routing_entry *entries, unsigned n)
{
    KvmRoutes *r = routes();

    r->n_chips = MIN(n, CHIP_ROUTES_MAX);
    memcpy(r->chips, entries, r->n_chips * sizeof(entries[0]));
    return routes_commit(r);
}

int kvm_msi_route_new(uint64_t address, uint32_t data)
{
    KvmRoutes *r = routes();

    for (unsigned n = 0; n < MSI_ROUTES_MAX; n++) {
        int ret;

        if (r->msis[n].used) {
            continue;
        }
        r->msis[n] = (MsiRoute) { .used = true, .address = address, .data = data };
        r->n_msis = MAX(r->n_msis, n + 1);
        ret = routes_commit(r);
        if (ret < 0) {
            r->msis[n].used = false;
            return ret;
        }
        return MSI_ROUTE_FIRST + n;
    }
    return -ENOSPC;
}

static MsiRoute *msi_route(int gsi)
{
    unsigned n = gsi - MSI_ROUTE_FIRST;

    return gsi >= MSI_ROUTE_FIRST && n < MSI_ROUTES_MAX && routes()->msis[n].used ? &routes()->msis[n] : NULL;
}

void kvm_msi_route_set(int gsi, uint64_t address, uint32_t data)
{
    MsiRoute *m = msi_route(gsi);

    if (m && (m->address != address || m->data != data)) {
        m->address = address;
        m->data = data;
        routes_commit(routes());
    }
}

void kvm_msi_route_free(int gsi)
{
    MsiRoute *m = msi_route(gsi);

    if (m) {
        m->used = false;
        routes_commit(routes());
    }
}

int kvm_irqfd_set(int fd, int gsi, bool on)
{
    struct kvm_irqfd req = { .fd = fd, .gsi = gsi, .flags = on ? 0 : KVM_IRQFD_FLAG_DEASSIGN };

    return kvm_vm_ioctl(KVM_IRQFD, &req);
}
