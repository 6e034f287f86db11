/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel files: recognising bzImages and ELF files, taking them apart, unpacking payloads. Every
 * segment that a parse accepts is read to its end, so that a wrong bound is seen.
 */
#include "hw/i386/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    KernelImage *k = kernel_parse(data, size, "fuzz", NULL);
    uint8_t sum = 0;

    if (k) {
        for (int i = 0; i < k->n_seg; i++) {
            for (uint64_t n = 0; n < k->seg[i].file_size; n++) {
                sum += k->seg[i].data[n];
            }
            if (k->seg[i].paddr < k->start || k->seg[i].paddr + k->seg[i].mem_size > k->end) {
                __builtin_trap();
            }
        }
        if (sum == 1 && k->n_seg > (int)G_N_ELEMENTS(k->seg)) {
            __builtin_trap();   /* keeps the reads alive */
        }
        kernel_free(k);
    }
    return 0;
}
