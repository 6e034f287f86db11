/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ACPI PM block (pm.c) and its TCO watchdog (pm-tco.c) know of each other. */
#ifndef CLEAT_HW_ACPI_PM_INTERNAL_H
#define CLEAT_HW_ACPI_PM_INTERNAL_H

#include "hw/acpi/pm.h"

void acpi_tco_init(AcpiPm *pm);
void acpi_tco_realize(AcpiPm *pm, Object *owner);
void acpi_tco_reset(AcpiPm *pm);
extern const VMState acpi_tco_vmstate;

#endif
