/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMBIOS tables of the PC boards (DMTF DSP0134 3.0): types 0, 1, 2, 3, 4, 11, 16, 17, 19, 32, 127, and what -smbios
 * says.
 *
 * Firmware gets them by fw_cfg (etc/smbios/smbios-tables and -anchor) and fills in the table's address and the
 * checksums;
 * the direct boot writes them itself. Main thread. Tests: tests/unit/test-smbios.c, tests/boot/test-tables.py
 * (dmidecode).
 */
#ifndef CLEAT_HW_I386_SMBIOS_H
#define CLEAT_HW_I386_SMBIOS_H

#include "hw/i386/pc.h"

#define SMBIOS_TYPES 18                 /* settable types are below this */

typedef struct SmbiosBuild {
    bool entry64;                       /* 3.0 entry point, else 2.8's */
    KeyVals *given[SMBIOS_TYPES];       /* what -smbios type=N said; NULL: nothing */
    GPtrArray *oem_strings;             /* type 11's values, of char */
    GByteArray *raw;                    /* structures of file= */
    bool raw_type[256];                 /* types that came in files: ours are left out */
    GByteArray *tables;
    unsigned count, largest;            /* structures; bytes of the largest */
    uint8_t anchor[32];
    unsigned anchor_len;
} SmbiosBuild;

/* Judges -smbios, builds pc->smbios, adds the fw_cfg files. */
bool pc_smbios_init(PcMachine *pc, Error **errp);
void smbios_build_free(SmbiosBuild *s);
/* Anchor (32 bytes at most) and tables; tables that are larger than max are left out. */
void smbios_write_tables(const SmbiosBuild *s, AddressSpace *as, hwaddr anchor, hwaddr tables, uint64_t max);

/* Between the two files: -smbios's part, and the value of one of its keys. */
bool smbios_parse_options(SmbiosBuild *s, const MachineConfig *c, Error **errp);
const char *smbios_given(const SmbiosBuild *s, int type, const char *key, const char *absent);

#endif
