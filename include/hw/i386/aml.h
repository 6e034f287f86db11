/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing ACPI machine language (ACPI 6.4 ch. 20) and resource templates (6.4) into a byte array.
 *
 * Terms are appended in order. What has a package length is opened by aml_scope(), aml_device(),
 * ... and closed by aml_end(). Names are "\\_SB" or "\\_SB.PCI0.ISA" style paths whose parts have
 * one to four characters (padded with '_'). Main thread. Test: tests/boot/test-tables.py.
 */
#ifndef CLEAT_HW_I386_AML_H
#define CLEAT_HW_I386_AML_H

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

#define AML_DEPTH 16

typedef struct Aml {
    GByteArray *out;
    guint open[AML_DEPTH];              /* where the package lengths of open terms belong */
    int depth;
} Aml;

/* Terms with a package length; each needs its aml_end(). */
void aml_scope(Aml *a, const char *name);
void aml_device(Aml *a, const char *name);
void aml_method(Aml *a, const char *name, int args, bool serialized);
void aml_package(Aml *a, int elements);
void aml_if(Aml *a);                    /* the predicate follows, then the body */
void aml_else(Aml *a);
void aml_field(Aml *a, const char *region, uint8_t flags);     /* flags: access | lock << 4 | update << 5 */
void aml_end(Aml *a);

/* Values */
void aml_int(Aml *a, uint64_t v);
void aml_string(Aml *a, const char *text);
void aml_buffer(Aml *a, const void *data, uint32_t len);
void aml_eisaid(Aml *a, const char *id);        /* "PNP0A03" */
void aml_uuid(Aml *a, const char *uuid);        /* as ToUUID() */
void aml_path(Aml *a, const char *name);        /* a name, a variable, or a method to call */
void aml_local(Aml *a, int n);
void aml_arg(Aml *a, int n);

/* Name(name, <the next value>) and its common forms */
void aml_name(Aml *a, const char *name);
void aml_name_int(Aml *a, const char *name, uint64_t v);
void aml_name_eisaid(Aml *a, const char *name, const char *id);
void aml_name_string(Aml *a, const char *name, const char *text);

/*
 * Operators: operands follow as in the ASL functions of the same name, and last a target where
 * there is one (aml_nowhere).
 */
enum { AML_STORE = 0x70, AML_AND = 0x7b, AML_OR = 0x7d, AML_RETURN = 0xa4, AML_LEQUAL = 0x93, AML_LNOT = 0x92,
       AML_CREATE_DWORD_FIELD = 0x8a, AML_NOTIFY = 0x86 };
void aml_op(Aml *a, uint8_t op);
void aml_nowhere(Aml *a);
/* OperationRegion(name, space, offset, len): space 0 memory, 1 I/O, 2 PCI config */
void aml_region(Aml *a, const char *name, uint8_t space, uint64_t offset, uint64_t len);
/* Inside aml_field: a named unit of bits, or a gap (name NULL). */
void aml_field_unit(Aml *a, const char *name, uint32_t bits);

/* Resource templates: begin, descriptors, end (which writes the buffer as the next value). */
typedef struct AmlResources {
    GByteArray *bytes;
} AmlResources;
void aml_res_begin(AmlResources *r);
void aml_res_io(AmlResources *r, uint16_t base, uint8_t align, uint8_t len);
void aml_res_irq(AmlResources *r, unsigned irq);                /* edge, high, exclusive */
/* Extended interrupt: level, active high, shared. */
void aml_res_interrupts(AmlResources *r, const uint32_t *gsis, int n);
/* One, active high, exclusive. */
void aml_res_interrupt(AmlResources *r, uint32_t gsi, bool edge);
void aml_res_memory32(AmlResources *r, uint32_t base, uint32_t len, bool writable);
/* Windows that a bridge passes on, [first, last]. */
void aml_res_bus_window(AmlResources *r, uint16_t first, uint16_t last);
void aml_res_io_window(AmlResources *r, uint16_t first, uint16_t last);
void aml_res_memory_window(AmlResources *r, uint64_t first, uint64_t last, bool cacheable);
void aml_res_end(AmlResources *r, Aml *a);

#endif
