/* SPDX-License-Identifier: GPL-2.0-or-later */
/* K64's groups, in the order they run. */
#include "bare.h"

void canon_group(void);
void l4_group(void);
void l5_group(void);
void canon_tables_group(void);
void lam_group(void);
void debug_group(void);
void x87_group(void);
void int64_group(void);
void sys64_group(void);
void int64_ld_group(void);
void sys64_cr0_group(void);
void ferr_group(void);
void apic_group(void);
void smm_group(void);
void smp_group(void);
void apic_esr_group(void);
void smc_group(void);
void smc_code_group(void);
void smc_map_group(void);
const Group groups[] = {
    { "canon", canon_group },
    { "canon-tables", canon_tables_group },
    { "lam", lam_group },
    { "l4", l4_group },
    { "l5", l5_group },
    { "debug64", debug_group },
    { "x87", x87_group },
    { "int64", int64_group },
    { "sys64", sys64_group },
    { "int64-ld", int64_ld_group },
    { "sys64-cr0", sys64_cr0_group },
    { "ferr", ferr_group },
    { "smc", smc_group },
    { "smc-code", smc_code_group },
    { "smc-map", smc_map_group },
    { "apic", apic_group },
    { "smm", smm_group },
    { "smp", smp_group },
    { "apic-esr", apic_esr_group },
    { NULL, NULL },
};
