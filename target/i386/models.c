/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU models that -cpu knows by name (models.def), and lookups in that table. Constant data, any thread.
 * Test: tests/unit/test-cpuid.c.
 */
#include <stdio.h>
#include <string.h>

#include "target/i386/cpuid.h"

#define INTEL "GenuineIntel"
#define AMD "AuthenticAMD"
#define HYGON "HygonGenuine"
#define ZHAOXIN "  Shanghai  "
#define MODEL(n, b, v, f, m, s, l, x, fl, id, ch) \
    { .name = n, .base = b, .vendor = v, .family = f, .model = m, .stepping = s, .level = l, .xlevel = x, \
      .flags = fl, .model_id = id, .changes = ch },
#define ALIAS(n, t)
static const X86ModelRow model_rows[] = {
#include "models.def"
    MODEL("base", NULL, "", 0, 0, 0, 0, 0, 0, "", "")
    /* `max` takes everything that the accelerator gives; its row is the identity. */
    MODEL("max", NULL, AMD, 15, 107, 1, 13, 0x8000000a, MODEL_LEGACY_CACHE | MODEL_LEVEL7(2),
          "QEMU TCG CPU version 2.5+",
          "")
    MODEL("host", NULL, "", 0, 0, 0, 0, 0, 0, "", "")
};
#undef MODEL
#undef ALIAS
#define MODEL(...)
#define ALIAS(n, t) { n, t },
static const struct ModelAlias { const char *name, *target; } model_aliases[] = {
#include "models.def"
};

static const X86ModelRow *find_exact(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(model_rows); i++) {
        if (!strcmp(model_rows[i].name, name)) {
            return &model_rows[i];
        }
    }
    return NULL;
}

const X86ModelRow *x86_model_find(const char *name)
{
    const X86ModelRow *row = find_exact(name);
    g_autofree char *v1 = NULL;

    if (row) {
        return row;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(model_aliases); i++) {
        if (!strcmp(model_aliases[i].name, name)) {
            return find_exact(model_aliases[i].target);
        }
    }
    v1 = g_strconcat(name, "-v1", NULL);
    return find_exact(v1);
}

void x86_model_features(const X86ModelRow *row, uint32_t words[FEAT_WORDS])
{
    g_auto(GStrv) changes = g_strsplit(row->changes, " ", 0);

    if (row->base) {
        x86_model_features(x86_model_find(row->base), words);
    }
    for (char **c = changes; *c; c++) {
        int feat = **c ? x86_feat_find(*c + 1) : -1;

        if (feat >= 0 && **c == '+') {
            words[feat / 32] |= 1u << (feat % 32);
        } else if (feat >= 0) {
            words[feat / 32] &= ~(1u << (feat % 32));
        }
    }
}

/* "Haswell-v1" -> "Haswell"; NULL when the name has no version. */
static char *plain_name(const char *name)
{
    const char *v = g_strrstr(name, "-v");

    return v && v[2] >= '0' && v[2] <= '9' ? g_strndup(name, v - name) : NULL;
}

void x86_model_foreach(void (*fn)(const char *name, const char *alias_of, void *opaque), void *opaque)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(model_rows); i++) {
        fn(model_rows[i].name, NULL, opaque);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(model_rows); i++) {
        g_autofree char *plain = plain_name(model_rows[i].name);

        if (plain && g_str_has_suffix(model_rows[i].name, "-v1")) {
            fn(plain, model_rows[i].name, opaque);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(model_aliases); i++) {
        fn(model_aliases[i].name, model_aliases[i].target, opaque);
    }
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void collect_help(const char *name, const char *alias_of, void *opaque)
{
    const X86ModelRow *row = x86_model_find(name);
    const char *text = row->model_id;

    if (!strcmp(name, "max")) {
        text = "Every feature that the accelerator can give";
    } else if (!strcmp(name, "host")) {
        text = "The host's processor, with KVM only";
    } else if (!strcmp(name, "base")) {
        text = "No feature at all, to build on";
    }
    if (alias_of) {
        g_ptr_array_add(opaque, g_strdup_printf("  %-26s  (alias of %s)", name, alias_of));
    } else {
        g_ptr_array_add(opaque, g_strdup_printf("  %-26s  %s", name, text));
    }
}

void x86_model_print_help(void)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    int column = 0;

    x86_model_foreach(collect_help, lines);
    qsort(lines->pdata, lines->len, sizeof(gpointer), compare_text);
    printf("Available CPUs:\n");
    for (unsigned i = 0; i < lines->len; i++) {
        printf("%s\n", (char *)lines->pdata[i]);
    }
    printf("\nRecognized CPUID flags:\n");
    for (unsigned f = 0; f < FEAT_WORDS * 32; f++) {
        g_autofree char *name = x86_feat_name(f);

        if (name) {
            if (column + (int)strlen(name) + 1 > 78) {
                printf("\n");
                column = 0;
            }
            column += printf("%s%s", column ? " " : "  ", name);
        }
    }
    printf("\n");
}
