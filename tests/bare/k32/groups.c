/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K32's groups, in the order they run. */
#include "bare.h"

void seg32_group(void);
const Group groups[] = {
    { "seg32", seg32_group },
    { NULL, NULL },
};
