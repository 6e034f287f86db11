/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K64's groups, in the order they run. */
#include "bare.h"

void canon_group(void);
void canon_tables_group(void);
const Group groups[] = {
    { "canon", canon_group },
    { "canon-tables", canon_tables_group },
    { NULL, NULL },
};
