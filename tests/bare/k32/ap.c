/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K32 starts no application processors. */
#include "bare.h"

void ap_main(u32 n);
void ap_main(u32 n)
{
    (void)n;
}
