/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Application processors: each waits here for work. */
#include "bare.h"

void ap_main(u32 n);
void ap_main(u32 n)
{
    (void)n;
}
