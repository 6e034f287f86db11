/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DSDT of the PC boards as AML (without the table's header). Main thread. Test: tests/boot/test-tables.py.
 */
#ifndef CLEAT_HW_I386_ACPI_DSDT_H
#define CLEAT_HW_I386_ACPI_DSDT_H

#include "hw/i386/aml.h"
#include "hw/i386/pc.h"

void acpi_dsdt_build(const PcMachine *pc, Aml *a);
/* The device that names fw_cfg's ports, on every x86 board. */
void acpi_dsdt_fw_cfg(Aml *a);

#endif
