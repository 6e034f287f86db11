/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Putting ACPI tables together (ACPI 6.4 ch. 5), for any board.
 *
 * Tables are appended to one blob, with offsets where addresses belong, and a list of linker commands says how to place
 * it (QEMU's table-loader format, which SeaBIOS and OVMF carry out). Firmware gets blob and commands by fw_cfg; the
 * direct boot carries the commands out itself. Main thread. Tests: tests/boot/test-tables.py (iasl), tests/boot/.
 */
#ifndef CLEAT_HW_I386_ACPI_TABLES_H
#define CLEAT_HW_I386_ACPI_TABLES_H

#include "hw/i386/fw_cfg.h"

#define ACPI_OEM_ID "CLEAT "
#define ACPI_OEM_TABLE_ID "CLEATPC "
#define ACPI_MAX_TABLES 12
enum { ACPI_SPACE_MEMORY = 0, ACPI_SPACE_IO = 1 };

typedef struct AcpiBuild {
    GByteArray *tables, *rsdp, *loader;
    uint32_t table[ACPI_MAX_TABLES];    /* offsets of what RSDT and XSDT list */
    int n_tables;
    char *oem_id, *oem_table_id;
} AcpiBuild;

/* OEM ids as the user wants them; NULL: ours. */
AcpiBuild *acpi_build_new(const char *oem_id, const char *oem_table_id);
void acpi_build_free(AcpiBuild *a);

/* A header with room for length and checksum; its offset. */
guint acpi_table_begin(AcpiBuild *a, const char *signature, uint8_t revision);
/* Fills them in; lists the table in RSDT and XSDT if listed. */
void acpi_table_end(AcpiBuild *a, guint at, bool listed);
void acpi_put(AcpiBuild *a, uint64_t v, int bytes);
void acpi_put_zeros(AcpiBuild *a, guint n);
void acpi_put_text(AcpiBuild *a, const char *text, guint len);
/* Generic address structure: space as above, access size code; all zero when addr is 0 (but for the space). */
void acpi_put_gas(AcpiBuild *a, uint8_t space, uint8_t bits, uint8_t access, uint64_t addr);
/* The size-byte value at offset `at` of the tables gets their address added. */
void acpi_link_pointer(AcpiBuild *a, uint32_t at, uint8_t size);

/* Entries of the MADT. */
void acpi_madt_cpu(AcpiBuild *a, uint32_t uid, uint32_t apic_id);
void acpi_madt_ioapic(AcpiBuild *a, uint8_t id, uint32_t addr, uint32_t gsi_base);
void acpi_madt_override(AcpiBuild *a, uint8_t irq, uint32_t gsi, uint16_t flags);
void acpi_madt_nmi(AcpiBuild *a);       /* at every CPU's LINT1 */
/* MCFG with one segment that begins at bus 0. */
void acpi_build_mcfg(AcpiBuild *a, uint64_t ecam_base, uint8_t last_bus);

/* After the last table: RSDT, XSDT, RSDP, and the files etc/acpi/tables, etc/acpi/rsdp, etc/table-loader. */
bool acpi_build_finish(AcpiBuild *a, FwCfg *fw, Error **errp);
uint64_t acpi_tables_size(const AcpiBuild *a);
/* Linked for tables_addr (64-byte aligned), written there and at rsdp_addr. */
void acpi_write_tables(const AcpiBuild *a, AddressSpace *as, hwaddr tables_addr, hwaddr rsdp_addr);

#endif
