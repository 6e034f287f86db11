/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PC boards' ACPI tables: FADT, FACS, DSDT, MADT, HPET, MCFG, WAET. Main thread.
 * Tests: tests/boot/test-tables.py (iasl), tests/boot/.
 */
#ifndef CLEAT_HW_I386_ACPI_BUILD_H
#define CLEAT_HW_I386_ACPI_BUILD_H

#include "hw/i386/acpi-tables.h"
#include "hw/i386/pc.h"

/* After the last device: builds pc->acpi and adds the fw_cfg files. */
bool pc_acpi_init(PcMachine *pc, Error **errp);

#endif
