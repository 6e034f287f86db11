/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K64's groups, in the order they run. */
#include "bare.h"

void canon_group(void);
void l4_group(void);
void l5_group(void);
void canon_tables_group(void);
const Group groups[] = {
    { "canon", canon_group },
    { "canon-tables", canon_tables_group },
    { "l4", l4_group },
    { "l5", l5_group },
    { NULL, NULL },
};
