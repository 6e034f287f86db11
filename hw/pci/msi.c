/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message signalled interrupts (PCI Local Bus 3.0, 6.8.1): the capability in config space and its messages.
 *
 * Layout after the message control word: address low, high, data, and with masking the mask and pending words.
 * A message of a function without bus mastering is not sent; that of a masked vector stays pending and goes out when
 * the
 * mask is lifted. Machine lock. Test: tests/unit/test-pci.c.
 */
#include "hw/pci/pci.h"

enum { MSI_FLAGS = 2, MSI_ADDR = 4, MSI_ADDR_HIGH = 8, MSI_DATA = 12, MSI_MASK = 16, MSI_PENDING = 20 };
#define MSI_MAX_VECTORS 32

static unsigned log2_of(unsigned n)
{
    return __builtin_ctz(n);
}

bool msi_init(PCIDevice *d, uint8_t offset, unsigned vectors, bool maskable, Error **errp)
{
    uint8_t at;

    if (!vectors || vectors > MSI_MAX_VECTORS || (vectors & (vectors - 1))) {
        error_set(errp, "%s: MSI has 1, 2, 4, 8, 16 or 32 vectors, not %u", d->dev.obj.type->name, vectors);
        return false;
    }
    at = pci_capability_add(d, PCI_CAP_ID_MSI, offset, maskable ? 24 : 14, errp);
    if (!at) {
        return false;
    }
    d->msi_cap = at;
    pci_set_word(d->config + at + MSI_FLAGS, log2_of(vectors) << MSI_MULTI_CAPABLE_SHIFT | MSI_64BIT |
                 (maskable ? MSI_MASKABLE : 0));
    pci_set_word(d->wmask + at + MSI_FLAGS, MSI_ENABLE | MSI_MULTI_ENABLE);
    pci_set_long(d->wmask + at + MSI_ADDR, 0xfffffffc);
    pci_set_long(d->wmask + at + MSI_ADDR_HIGH, 0xffffffff);
    pci_set_word(d->wmask + at + MSI_DATA, 0xffff);
    if (maskable) {
        pci_set_long(d->wmask + at + MSI_MASK, 0xffffffffu >> (MSI_MAX_VECTORS - vectors));
    }
    return true;
}

static uint16_t msi_flags(const PCIDevice *d)
{
    return pci_get_word(d->config + d->msi_cap + MSI_FLAGS);
}

bool msi_enabled(const PCIDevice *d)
{
    return d->msi_cap && (msi_flags(d) & MSI_ENABLE);
}

/* Vectors the guest has granted; never more than the function asked for. */
static unsigned msi_granted(const PCIDevice *d)
{
    unsigned flags = msi_flags(d);
    unsigned asked = flags >> MSI_MULTI_CAPABLE_SHIFT & 7, got = flags >> MSI_MULTI_ENABLE_SHIFT & 7;

    return 1u << (got < asked ? got : asked);
}

static bool msi_maskable(const PCIDevice *d)
{
    return msi_flags(d) & MSI_MASKABLE;
}

void msi_notify(PCIDevice *d, unsigned vector)
{
    uint8_t *cap = d->config + d->msi_cap;
    unsigned granted;

    if (!msi_enabled(d) || !pci_message_allowed(d)) {
        return;
    }
    granted = msi_granted(d);
    vector &= granted - 1;
    if (msi_maskable(d) && (pci_get_long(cap + MSI_MASK) >> vector & 1)) {
        pci_set_long(cap + MSI_PENDING, pci_get_long(cap + MSI_PENDING) | 1u << vector);
        return;
    }
    pci_message_send(d, pci_get_quad(cap + MSI_ADDR), (pci_get_word(cap + MSI_DATA) & ~(granted - 1)) | vector);
}

void msi_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    uint8_t *cap = d->config + d->msi_cap;
    uint32_t due;

    if (!d->msi_cap || addr + len <= d->msi_cap || addr >= d->msi_cap + 24u || !msi_enabled(d) || !msi_maskable(d)) {
        return;
    }
    pci_irq_set(d, 0);
    due = pci_get_long(cap + MSI_PENDING) & ~pci_get_long(cap + MSI_MASK);
    pci_set_long(cap + MSI_PENDING, pci_get_long(cap + MSI_PENDING) & ~due);
    for (unsigned v = 0; v < MSI_MAX_VECTORS; v++) {
        if (due >> v & 1) {
            msi_notify(d, v);
        }
    }
}

void msi_reset(PCIDevice *d)
{
    uint8_t *cap = d->config + d->msi_cap;

    if (!d->msi_cap) {
        return;
    }
    pci_set_word(cap + MSI_FLAGS, msi_flags(d) & ~(MSI_ENABLE | MSI_MULTI_ENABLE));
    pci_set_quad(cap + MSI_ADDR, 0);
    pci_set_word(cap + MSI_DATA, 0);
    if (msi_maskable(d)) {
        pci_set_quad(cap + MSI_MASK, 0);
    }
}
