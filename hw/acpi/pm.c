/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACPI fixed hardware: PM1, PM timer, GPE block 0, APM ports (ACPI 6.4 section 4.8; PIIX4 290562
 * chapter 7.2; ICH9 316972 section 13.8). The TCO watchdog of ICH9 is pm-tco.c.
 *
 * The chip itself switches between legacy and ACPI mode when a driver writes ACPI_ENABLE or
 * ACPI_DISABLE to b2h; other values raise an SMI where that is enabled. Without system management
 * mode ACPI mode is on from the start, and the enable bit of that SMI is set, by which firmware
 * sees that there is nothing to set up. SCI is up only in ACPI mode. Left out: S3 (a
 * write is logged and ignored: there is no wake-up path yet), wake on RTC alarm, GBL_RLS, bus
 * master status.
 * Machine lock. Test: tests/unit/test-acpi-pm.c.
 */
#include "hw/acpi/pm.h"

#include "pm-internal.h"
#include "system/runstate.h"
#include "util/log.h"

enum { STS_TMR = 1 << 0, STS_GBL = 1 << 5, STS_PWRBTN = 1 << 8, STS_SLPBTN = 1 << 9,
       STS_RTC = 1 << 10, STS_WAK = 1 << 15 };
#define STS_CLEARABLE (STS_TMR | STS_GBL | STS_PWRBTN | STS_SLPBTN | STS_RTC | STS_WAK)
#define EN_WRITABLE (STS_TMR | STS_GBL | STS_PWRBTN | STS_SLPBTN | STS_RTC)
enum { CNT_SCI_EN = 1 << 0, CNT_BM_RLD = 1 << 1, CNT_SLP_TYP_SHIFT = 10, CNT_SLP_TYP = 7 << 10,
       CNT_SLP_EN = 1 << 13 };
enum { SLEEP_S5 = 0, SLEEP_S3 = 1 };
#define TMR_BITS 24
#define TMR_HALF (1 << (TMR_BITS - 1))      /* TMR_STS: the top bit has changed */
enum { PIIX4_EVT = 0, PIIX4_CNT = 4, PIIX4_TMR = 8 };   /* ICH9 has them at the same offsets */
enum { ICH9_GPE = 0x20, ICH9_SMI = 0x30, ICH9_TCO = 0x60 };
#define SMI_GLOBAL (1u << 0)
#define SMI_APMC (1u << 5)
#define SMI_TCO (1u << 13)

/* ---- timer ---- */

static int64_t pm_timer_now(void)
{
    return (int64_t)((__int128)clock_ns(CLOCK_VIRTUAL) * ACPI_PM_TIMER_HZ / 1000000000);
}

static int64_t pm_timer_ns(int64_t tick)
{
    return (int64_t)(((__int128)tick * 1000000000 + ACPI_PM_TIMER_HZ - 1) / ACPI_PM_TIMER_HZ);
}

/* Sets TMR_STS when the top bit has changed since the last look. */
static void pm_timer_catch_up(AcpiPm *pm)
{
    int64_t now = pm_timer_now();

    if (now / TMR_HALF != pm->tmr_seen / TMR_HALF) {
        pm->pm1_sts |= STS_TMR;
    }
    pm->tmr_seen = now;
}

/* The host timer runs only while an interrupt would come of it. */
static void pm_timer_arm(AcpiPm *pm)
{
    if ((pm->pm1_en & STS_TMR) && !(pm->pm1_sts & STS_TMR)) {
        timer_mod(&pm->tmr_timer, pm_timer_ns((pm->tmr_seen / TMR_HALF + 1) * TMR_HALF));
    } else {
        timer_del(&pm->tmr_timer);
    }
}

/* ---- SCI ---- */

static bool pm_gpe_active(const AcpiPm *pm)
{
    for (int i = 0; i < ACPI_GPE_MAX; i++) {
        if (pm->gpe_sts[i] & pm->gpe_en[i]) {
            return true;
        }
    }
    return false;
}

static void pm_update(AcpiPm *pm)
{
    bool event = (pm->pm1_sts & pm->pm1_en & EN_WRITABLE) || pm_gpe_active(pm);

    pm_timer_arm(pm);
    irq_set(pm->sci, event && (pm->pm1_cnt & CNT_SCI_EN));
}

static void pm_timer_overflow(void *opaque)
{
    AcpiPm *pm = opaque;

    pm_timer_catch_up(pm);
    pm_update(pm);
}

void acpi_pm_gpe_raise(AcpiPm *pm, unsigned bit)
{
    pm->gpe_sts[bit / 8 % ACPI_GPE_MAX] |= 1 << bit % 8;
    pm_update(pm);
}

void acpi_pm_power_button(AcpiPm *pm)
{
    if (pm->pm1_en & STS_PWRBTN) {
        pm->pm1_sts |= STS_PWRBTN;
        pm_update(pm);
    }
}

static void pm_powerdown(void *opaque)
{
    acpi_pm_power_button(opaque);
}

/* ---- PM1 ---- */

static uint64_t pm_evt_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned shift = (addr & 1) * 8;

    pm_timer_catch_up(pm);
    return (addr >= 2 ? pm->pm1_en : pm->pm1_sts) >> shift & 0xff;
}

static void pm_evt_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned shift = (addr & 1) * 8;
    uint16_t bits = value << shift;

    pm_timer_catch_up(pm);
    if (addr >= 2) {
        pm->pm1_en = ((pm->pm1_en & ~(0xff << shift)) | bits) & EN_WRITABLE;
    } else {
        pm->pm1_sts &= ~(bits & STS_CLEARABLE);
    }
    pm_update(pm);
}

static void pm_sleep(AcpiPm *pm, unsigned type)
{
    if (type == SLEEP_S5) {
        system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
    } else if (type == pm->s4_val && !pm->disable_s4) {
        run_event_emit("SUSPEND_DISK", NULL);
        system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
    } else {
        log_mask(LOG_GUEST_ERROR, "acpi: sleep type %u is not available%s\n", type,
                 type == SLEEP_S3 ? " (suspend to RAM)" : "");
    }
}

static uint64_t pm_cnt_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((AcpiPm *)opaque)->pm1_cnt >> addr * 8 & 0xff;
}

static void pm_cnt_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned shift = addr * 8;
    uint16_t bits = value << shift;
    /* SCI_EN is not the driver's to write; SLP_EN reads 0. */
    uint16_t writable = (CNT_BM_RLD | CNT_SLP_TYP) & 0xff << shift;

    pm->pm1_cnt = (pm->pm1_cnt & ~writable) | (bits & writable);
    if (bits & CNT_SLP_EN) {
        pm_sleep(pm, bits >> CNT_SLP_TYP_SHIFT & 7);
    }
    pm_update(pm);
}

static uint64_t pm_tmr_read(void *opaque, hwaddr addr, unsigned size)
{
    return (pm_timer_now() & ((1 << TMR_BITS) - 1)) >> addr * 8;
}

static void pm_tmr_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    log_mask(LOG_GUEST_ERROR, "acpi: write to the PM timer, which cannot be set\n");
}

static const MemoryRegionOps pm_evt_ops = {
    .read = pm_evt_read, .write = pm_evt_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 1 },
};
static const MemoryRegionOps pm_cnt_ops = {
    .read = pm_cnt_read, .write = pm_cnt_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 1 },
};
static const MemoryRegionOps pm_tmr_ops = {
    .read = pm_tmr_read, .write = pm_tmr_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 4 },
};

/* ---- GPE block 0: half status (write one to clear), half enable ---- */

static unsigned pm_gpe_bytes(const AcpiPm *pm)
{
    return pm->kind == ACPI_PM_ICH9 ? 8 : 2;
}

static uint64_t pm_gpe_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned half = pm_gpe_bytes(pm);

    return addr < half ? pm->gpe_sts[addr] : pm->gpe_en[addr - half];
}

static void pm_gpe_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned half = pm_gpe_bytes(pm);

    if (addr < half) {
        pm->gpe_sts[addr] &= ~value;
    } else {
        pm->gpe_en[addr - half] = value;
    }
    pm_update(pm);
}

static const MemoryRegionOps pm_gpe_ops = {
    .read = pm_gpe_read, .write = pm_gpe_write, .impl = { .min = 1, .max = 1 },
};

/* ---- APM ports and ICH9's SMI registers ---- */

static void pm_set_acpi_mode(AcpiPm *pm, bool on)
{
    pm->pm1_cnt = on ? pm->pm1_cnt | CNT_SCI_EN : pm->pm1_cnt & ~CNT_SCI_EN;
    pm_update(pm);
}

static bool pm_apm_smi_wanted(const AcpiPm *pm)
{
    uint32_t need = SMI_GLOBAL | SMI_APMC;

    return pm->kind == ACPI_PM_ICH9 ? (pm->smi_en & need) == need : pm->apm_smi_enabled;
}

static void pm_apmc_write(AcpiPm *pm, uint8_t value)
{
    bool ich9 = pm->kind == ACPI_PM_ICH9;

    pm->apmc = value;
    if (value == (ich9 ? ACPI_ICH9_ENABLE : ACPI_PIIX4_ENABLE)) {
        pm_set_acpi_mode(pm, true);
    } else if (value == (ich9 ? ACPI_ICH9_DISABLE : ACPI_PIIX4_DISABLE)) {
        pm_set_acpi_mode(pm, false);
    } else if (pm_apm_smi_wanted(pm)) {
        pm->smi_sts |= ich9 ? SMI_APMC : 0;
        irq_pulse(pm->smi);
    }
}

static uint64_t pm_apm_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPm *pm = opaque;

    return addr ? pm->apms : pm->apmc;
}

static void pm_apm_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;

    if (addr) {
        pm->apms = value;
    } else {
        pm_apmc_write(pm, value);
    }
}

static const MemoryRegionOps pm_apm_ops = {
    .read = pm_apm_read, .write = pm_apm_write, .impl = { .min = 1, .max = 1 },
};

static uint64_t pm_smi_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPm *pm = opaque;

    return (addr >= 4 ? pm->smi_sts : pm->smi_en) >> (addr & 3) * 8 & 0xff;
}

static void pm_smi_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    unsigned shift = (addr & 3) * 8;
    uint32_t bits = (uint32_t)value << shift;

    if (addr >= 4) {
        pm->smi_sts &= ~bits;
    } else {
        uint32_t writable = 0xffu << shift & ~(pm->smi_locked ? SMI_GLOBAL : 0);

        pm->smi_en = (pm->smi_en & ~writable) | (bits & writable);
    }
}

static const MemoryRegionOps pm_smi_ops = {
    .read = pm_smi_read, .write = pm_smi_write, .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

void acpi_pm_init(AcpiPm *pm, AcpiPmKind kind)
{
    pm->kind = kind;
    pm->s4_val = 2;
    pm->tco_enabled = kind == ACPI_PM_ICH9;
    pm->tco_no_reboot = true;
    timer_init(&pm->tmr_timer, CLOCK_VIRTUAL, pm_timer_overflow, pm);
    acpi_tco_init(pm);
}

static void pm_realize_ich9(AcpiPm *pm, Object *owner)
{
    memory_region_init_io(&pm->gpe_io, owner, &pm_gpe_ops, pm, "acpi-gpe0", 16);
    memory_region_add(&pm->io, ICH9_GPE, &pm->gpe_io, 0);
    memory_region_init_io(&pm->smi_io, owner, &pm_smi_ops, pm, "acpi-smi", 8);
    memory_region_add(&pm->io, ICH9_SMI, &pm->smi_io, 0);
    if (pm->tco_enabled) {
        acpi_tco_realize(pm, owner);
        memory_region_add(&pm->io, ICH9_TCO, &pm->tco_io, 0);
    }
}

void acpi_pm_realize(AcpiPm *pm, Object *owner)
{
    bool ich9 = pm->kind == ACPI_PM_ICH9;

    memory_region_init(&pm->io, owner, "acpi-pm", ich9 ? ACPI_PM_IO_ICH9 : ACPI_PM_IO_PIIX4);
    memory_region_init_io(&pm->evt_io, owner, &pm_evt_ops, pm, "acpi-evt", 4);
    memory_region_init_io(&pm->cnt_io, owner, &pm_cnt_ops, pm, "acpi-cnt", 2);
    memory_region_init_io(&pm->tmr_io, owner, &pm_tmr_ops, pm, "acpi-tmr", 4);
    memory_region_init_io(&pm->apm_io, owner, &pm_apm_ops, pm, "apm", 2);
    memory_region_add(&pm->io, PIIX4_EVT, &pm->evt_io, 0);
    memory_region_add(&pm->io, PIIX4_CNT, &pm->cnt_io, 0);
    memory_region_add(&pm->io, PIIX4_TMR, &pm->tmr_io, 0);
    if (ich9) {
        pm_realize_ich9(pm, owner);
    } else {
        memory_region_init_io(&pm->gpe_io, owner, &pm_gpe_ops, pm, "acpi-gpe0", 4);
    }
    powerdown_notifier_add(pm_powerdown, pm);
}

void acpi_pm_unrealize(AcpiPm *pm)
{
    timer_del(&pm->tmr_timer);
    timer_del(&pm->tco.timer);
    memory_region_fini(&pm->io);
    memory_region_fini(&pm->apm_io);
}

void acpi_pm_reset(AcpiPm *pm)
{
    pm->pm1_sts = pm->pm1_en = 0;
    pm->pm1_cnt = pm->smi ? 0 : CNT_SCI_EN; /* no firmware SMI handler: ACPI mode from the start */
    pm->tmr_seen = pm_timer_now();
    memset(pm->gpe_sts, 0, sizeof(pm->gpe_sts));
    memset(pm->gpe_en, 0, sizeof(pm->gpe_en));
    pm->apmc = pm->apms = 0;
    pm->smi_en = pm->kind == ACPI_PM_ICH9 && !pm->smi ? SMI_APMC : 0;
    pm->smi_sts = 0;
    acpi_tco_reset(pm);
    pm_update(pm);
}

static bool pm_post_load(void *opaque, Error **errp)
{
    AcpiPm *pm = opaque;

    if (pm->tmr_seen < 0 || pm->tmr_seen > INT64_MAX / 4) {
        error_set(errp, "acpi: the PM timer's state is out of range");
        return false;
    }
    pm->pm1_en &= EN_WRITABLE;
    pm_update(pm);
    return true;
}

static bool pm_is_ich9(const void *opaque)
{
    return ((const AcpiPm *)opaque)->kind == ACPI_PM_ICH9;
}

static const VMField pm_fields[] = {
    VM_FIELD(AcpiPm, pm1_sts, VM_U16),
    VM_FIELD(AcpiPm, pm1_en, VM_U16),
    VM_FIELD(AcpiPm, pm1_cnt, VM_U16),
    VM_FIELD(AcpiPm, tmr_seen, VM_I64),
    VM_BUFFER(AcpiPm, gpe_sts),
    VM_BUFFER(AcpiPm, gpe_en),
    VM_FIELD(AcpiPm, apmc, VM_U8),
    VM_FIELD(AcpiPm, apms, VM_U8),
    VM_FIELD(AcpiPm, smi_en, VM_U32),
    VM_FIELD(AcpiPm, smi_sts, VM_U32),
    VM_TIMER_FIELD(AcpiPm, tmr_timer),
    { .name = "tco", .kind = VM_STRUCT, .offset = offsetof(AcpiPm, tco), .size = sizeof(AcpiTco),
      .count = 1, .sub = &acpi_tco_vmstate, .needed = pm_is_ich9 },
    VM_END
};
const VMState acpi_pm_vmstate = {
    .name = "acpi-pm", .version = 1, .fields = pm_fields, .post_load = pm_post_load,
};
