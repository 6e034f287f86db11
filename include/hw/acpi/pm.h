/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ACPI fixed hardware (ACPI 6.x ch. 4.8) of the PIIX4 and ICH9 south bridges: PM1 event and
 * control blocks, the 3.579545 MHz PM timer, GPE block 0, the APM ports b2h/b3h, and ICH9's TCO.
 *
 * A south bridge embeds an AcpiPm, maps pm->io at its programmable PMBASE (PIIX4: 64 ports, ICH9:
 * 128), for PIIX4 pm->gpe_io at afe0h, and pm->apm_io at b2h. SCI is pm->sci (level).
 * Sleep types are those of our tables' _S5, _S3, _S4 packages: 0, 1 and s4_val (2).
 * Machine lock. Tests: tests/unit/test-acpi-pm.c.
 */
#ifndef CLEAT_HW_ACPI_PM_H
#define CLEAT_HW_ACPI_PM_H

#include "hw/irq.h"
#include "system/loop.h"
#include "system/memory.h"
#include "system/vmstate.h"

#define ACPI_PM_TIMER_HZ 3579545
#define ACPI_PIIX4_PMBASE 0x600
#define ACPI_PIIX4_GPE_BASE 0xafe0
#define ACPI_PM_IO_PIIX4 0x40       /* size of pm->io */
#define ACPI_PM_IO_ICH9 0x80
#define ACPI_APM_PORT 0xb2
#define ACPI_GPE_MAX 8              /* bytes of status (and of enable) */
/* What a driver writes to b2h to switch modes (FADT ACPI_ENABLE / ACPI_DISABLE) */
#define ACPI_PIIX4_ENABLE 0xf1
#define ACPI_PIIX4_DISABLE 0xf0
#define ACPI_ICH9_ENABLE 0x02
#define ACPI_ICH9_DISABLE 0x03

typedef enum AcpiPmKind { ACPI_PM_PIIX4, ACPI_PM_ICH9 } AcpiPmKind;

/* ICH9's TCO watchdog, at PMBASE + 60h. */
typedef struct AcpiTco {
    /* registers */
    uint16_t rld, sts1, sts2, cnt1, cnt2, tmr;
    uint8_t dat_in, dat_out, message1, message2, wdcnt, irq_gen;
    uint8_t expired;                /* times it ran out since the last reload */
    Timer timer;
} AcpiTco;

typedef struct AcpiPm {
    /* config: set before acpi_pm_realize */
    AcpiPmKind kind;
    uint8_t disable_s3, disable_s4, s4_val;
    bool tco_enabled, tco_no_reboot;
    /* wiring */
    MemoryRegion io, gpe_io, apm_io;
    MemoryRegion evt_io, cnt_io, tmr_io, smi_io, tco_io;    /* inside io */
    Irq sci;
    Irq smi;                        /* pulsed by a write to b2h if enabled; NULL: no SMM */
    bool apm_smi_enabled;           /* PIIX4: the bridge's DEVACTB says so */
    bool smi_locked;                /* ICH9: GEN_PMCON_1 says that the global enable bit stays as it is */
    /* registers */
    uint16_t pm1_sts, pm1_en, pm1_cnt;
    int64_t tmr_seen;               /* timer tick up to which TMR_STS has been judged */
    uint8_t gpe_sts[ACPI_GPE_MAX], gpe_en[ACPI_GPE_MAX];
    uint8_t apmc, apms;
    uint32_t smi_en, smi_sts;       /* ICH9 */
    AcpiTco tco;
    Timer tmr_timer;
} AcpiPm;

/* init sets the defaults of config; realize makes regions and hooks the power button. */
void acpi_pm_init(AcpiPm *pm, AcpiPmKind kind);
void acpi_pm_realize(AcpiPm *pm, Object *owner);
void acpi_pm_unrealize(AcpiPm *pm);
void acpi_pm_reset(AcpiPm *pm);
/* Sets status bit n of GPE block 0 (hot-plug and friends) and updates SCI. */
void acpi_pm_gpe_raise(AcpiPm *pm, unsigned bit);
/* The power button, as system_powerdown presses it. */
void acpi_pm_power_button(AcpiPm *pm);
extern const VMState acpi_pm_vmstate;

#endif
