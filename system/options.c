/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line as rows of the table made from qemu-options.hx; the contract is in
 * include/system/options.h. Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#include "system/options.h"

#include <stdio.h>
#include <string.h>

#include "system/cleat-version.h"
#include "system/config.h"
#include "system/options-help.h"
#include "system/options-table.h"

const OptionRow *option_find(const char *name)
{
    for (const OptionRow *row = option_rows; row->name; row++) {
        if (!strcmp(row->name, name)) {
            return row;
        }
    }
    return NULL;
}

const OptionRow *option_row(int index)
{
    return option_rows[index].name ? &option_rows[index] : NULL;
}

static void option_use_free(void *opaque)
{
    OptionUse *use = opaque;

    keyvals_free(use->kv);
    g_free(use->location);
    g_free(use);
}

static OptionUse *option_use_new(const OptionRow *row, const char *word, const char *arg)
{
    OptionUse *use = g_new0(OptionUse, 1);

    use->row = row;
    use->arg = arg;
    use->location = arg && word != arg ? g_strconcat(word, " ", arg, NULL) : g_strdup(word);
    return use;
}

GPtrArray *options_scan(int argc, char **argv, Error **errp)
{
    g_autoptr(GPtrArray) uses = g_ptr_array_new_with_free_func(option_use_free);

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *arg = NULL;
        const OptionRow *row;

        if (word[0] != '-') {
            g_ptr_array_add(uses, option_use_new(option_find("hda"), word, word));
            continue;
        }
        error_location_set(word);
        row = option_find(word + (word[1] == '-' ? 2 : 1));
        if (!row) {
            error_set(errp, "invalid option");
            return NULL;
        }
        if (row->form != OPTION_FLAG) {
            if (i + 1 >= argc) {
                error_set(errp, "requires an argument");
                return NULL;
            }
            arg = argv[++i];
        }
        g_ptr_array_add(uses, option_use_new(row, word, arg));
    }
    error_location_set(NULL);
    return g_steal_pointer(&uses);
}

bool option_use_parse(OptionUse *use, Error **errp)
{
    const OptionRow *row = use->row;

    if (row->elsewhere) {
        error_set(errp, "this target has no such option");
        return false;
    }
    if (!row->set) {
        error_set(errp, "%s is not available in this build yet", row->missing);
        return false;
    }
    if (row->form < OPTION_FLAT) {
        return true;
    }
    if (row->json && use->arg[0] == '{') {
        use->kv = keyvals_parse_json(use->arg, errp);
    } else if (row->form == OPTION_FLAT) {
        use->kv = keyvals_parse_flat(use->arg, row->implied, errp);
    } else {
        use->kv = keyvals_parse_tree(use->arg, row->implied, errp);
    }
    return use->kv && (!row->keys || use->kv->help || keyvals_check(use->kv, row->keys, "", errp));
}

void options_print_version(void)
{
    puts("QEMU emulator version " CLEAT_QEMU_VERSION " (cleat-" CLEAT_VERSION ")\n"
         "Cleat, an independent implementation; free software under the GNU GPL, version 2 or later");
}

void options_print_help(const char *program)
{
    options_print_version();
    printf("usage: %s [OPTION]... [DISK_IMAGE]\n", program);
    fputs(option_help_text, stdout);
}
