/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K32's groups, in the order they run. */
#include "bare.h"

void seg32_group(void);
void p32_group(void);
void pae_group(void);
void gates_group(void);
void tasks_group(void);
void df32_group(void);
void v86_group(void);
void real_group(void);
void pm16_group(void);
void real_jump_group(void);
void debug_group(void);
const Group groups[] = {
    { "seg32", seg32_group },
    { "p32", p32_group },
    { "pae", pae_group },
    { "gates", gates_group },
    { "tasks", tasks_group },
    { "df32", df32_group },
    { "v86", v86_group },
    { "real", real_group },
    { "pm16", pm16_group },
    { "real-jump", real_jump_group },
    { "debug32", debug_group },
    { NULL, NULL },
};
