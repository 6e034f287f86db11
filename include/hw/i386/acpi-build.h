/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PC boards' ACPI tables (ACPI 6.4): RSDP, RSDT, XSDT, FADT, FACS, DSDT, MADT, HPET, MCFG, WAET.
 *
 * They are built once, as one blob with offsets where addresses belong, and a list of linker commands that say how
 * to place
 * it (QEMU's table-loader format, which SeaBIOS and OVMF carry out). Firmware gets blob and commands by fw_cfg; the
 * direct boot carries the commands out itself. Main thread. Tests: tests/boot/test-tables.py (iasl), tests/boot/.
 */
#ifndef CLEAT_HW_I386_ACPI_BUILD_H
#define CLEAT_HW_I386_ACPI_BUILD_H

#include "hw/i386/pc.h"

#define ACPI_OEM_ID "CLEAT "
#define ACPI_OEM_TABLE_ID "CLEATPC "

typedef struct AcpiBuild AcpiBuild;

/* After the last device: builds pc->acpi and adds etc/acpi/tables, etc/acpi/rsdp and etc/table-loader. */
bool pc_acpi_init(PcMachine *pc, Error **errp);
void acpi_build_free(AcpiBuild *a);
uint64_t acpi_tables_size(const AcpiBuild *a);
/* Linked for tables_addr (64-byte aligned), written there and at rsdp_addr. */
void acpi_write_tables(const AcpiBuild *a, AddressSpace *as, hwaddr tables_addr, hwaddr rsdp_addr);

#endif
