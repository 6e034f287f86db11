/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fw_cfg offers: numbered items, files, the directory, and the command line's -fw_cfg.
 * Contract in include/hw/i386/fw_cfg.h. Main thread before the machine runs. Test:
 * tests/unit/test-pc.c, tests/fuzz/fuzz-fwcfg.c.
 */
#include <stdlib.h>
#include <string.h>

#include "hw/i386/fw_cfg.h"
#include "util/units.h"

#define DIR_ENTRY 64                    /* size, selector, reserved (big-endian), name[56] */

static FwCfgItem *item_slot(FwCfg *s, uint16_t key)
{
    if (key & FW_CFG_ARCH_LOCAL) {
        g_assert((key & ~FW_CFG_ARCH_LOCAL) < FW_CFG_LOCAL_ITEMS);
        return &s->local[key & ~FW_CFG_ARCH_LOCAL];
    }
    g_assert(key < FW_CFG_FILE_FIRST);
    return &s->item[key];
}

static void item_set(FwCfgItem *item, const void *data, uint32_t len, bool copy)
{
    uint8_t *owned = copy ? g_memdup2(data, len) : NULL;

    g_free(item->owned);
    item->owned = owned;
    item->data = copy ? owned : data;
    item->len = len;
}

void fw_cfg_add_bytes(FwCfg *s, uint16_t key, const void *data, uint32_t len)
{
    item_set(item_slot(s, key), data, len, true);
}

void fw_cfg_add_borrowed(FwCfg *s, uint16_t key, const void *data, uint32_t len)
{
    item_set(item_slot(s, key), data, len, false);
}

static void add_number(FwCfg *s, uint16_t key, uint64_t v, int bytes)
{
    uint8_t le[8];

    for (int i = 0; i < 8; i++) {
        le[i] = v >> 8 * i;
    }
    fw_cfg_add_bytes(s, key, le, bytes);
}

void fw_cfg_add_u16(FwCfg *s, uint16_t key, uint16_t v)
{
    add_number(s, key, v, 2);
}

void fw_cfg_add_u32(FwCfg *s, uint16_t key, uint32_t v)
{
    add_number(s, key, v, 4);
}

void fw_cfg_add_u64(FwCfg *s, uint16_t key, uint64_t v)
{
    add_number(s, key, v, 8);
}

void fw_cfg_add_string(FwCfg *s, uint16_t key, const char *text)
{
    fw_cfg_add_bytes(s, key, text, strlen(text) + 1);
}

/* ---- files ---- */

static FwCfgFile *file_find(const FwCfg *s, const char *name)
{
    for (int i = 0; i < s->n_files; i++) {
        if (!strcmp(s->file[i].name, name)) {
            return (FwCfgFile *)&s->file[i];
        }
    }
    return NULL;
}

const FwCfgItem *fw_cfg_find_file(const FwCfg *s, const char *name)
{
    const FwCfgFile *f = file_find(s, name);

    return f ? &f->item : NULL;
}

bool fw_cfg_add_file_hook(FwCfg *s, const char *name, const void *data, uint32_t len, bool write,
                          void (*select)(void *opaque), void *opaque, Error **errp)
{
    FwCfgFile *f;

    if (strlen(name) > FW_CFG_NAME_MAX) {
        error_set(errp, "name too long (max. %d char)", FW_CFG_NAME_MAX);
        return false;
    }
    if (file_find(s, name)) {
        error_set(errp, "duplicate fw_cfg file name: %s", name);
        return false;
    }
    if (s->n_files == FW_CFG_FILES_MAX) {
        error_set(errp, "fw_cfg holds no more than %d files: '%s' is one too many", FW_CFG_FILES_MAX, name);
        return false;
    }
    f = &s->file[s->n_files++];
    *f = (FwCfgFile) { .item = { .select = select, .opaque = opaque, .write = write } };
    g_strlcpy(f->name, name, sizeof(f->name));
    item_set(&f->item, data, len, true);
    return true;
}

bool fw_cfg_add_file(FwCfg *s, const char *name, const void *data, uint32_t len, Error **errp)
{
    return fw_cfg_add_file_hook(s, name, data, len, false, NULL, NULL, errp);
}

static void put_be(uint8_t *p, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        p[i] = v >> 8 * (bytes - 1 - i);
    }
}

static void dir_build(FwCfg *s)
{
    uint32_t len = 4 + s->n_files * DIR_ENTRY;
    g_autofree uint8_t *dir = g_malloc0(len);

    put_be(dir, s->n_files, 4);
    for (int i = 0; i < s->n_files; i++) {
        uint8_t *e = dir + 4 + i * DIR_ENTRY;

        put_be(e, s->file[i].item.len, 4);
        put_be(e + 4, FW_CFG_FILE_FIRST + i, 2);
        memcpy(e + 8, s->file[i].name, FW_CFG_NAME_MAX);
    }
    fw_cfg_add_bytes(s, FW_CFG_FILE_DIR, dir, len);
}

static int file_compare(const void *a, const void *b)
{
    return strcmp(((const FwCfgFile *)a)->name, ((const FwCfgFile *)b)->name);
}

void fw_cfg_seal(FwCfg *s)
{
    qsort(s->file, s->n_files, sizeof(s->file[0]), file_compare);
    s->sealed = true;
    dir_build(s);
}

void fw_cfg_modify_file(FwCfg *s, const char *name, const void *data, uint32_t len)
{
    FwCfgFile *f = file_find(s, name);

    g_assert(f);
    item_set(&f->item, data, len, true);
    if (s->sealed) {
        dir_build(s);
    }
}

/* ---- -fw_cfg ---- */

static const char *pair_get(const PropPair *props, const char *key)
{
    const char *value = NULL;

    for (; props->key; props++) {
        if (!strcmp(props->key, key)) {
            value = props->value;
        }
    }
    return value;
}

static bool option_name_check(const char *name, Error **errp)
{
    if (!name || !*name) {
        error_set(errp, "name is missing: -fw_cfg expects [name=]NAME,string=STRING or file=FILE");
        return false;
    }
    if (strlen(name) > FW_CFG_NAME_MAX) {
        error_set(errp, "name too long (max. %d char)", FW_CFG_NAME_MAX);
        return false;
    }
    if (strncmp(name, "opt/", 4)) {
        warn_report("externally provided fw_cfg item names should be prefixed with \"opt/\"");
    }
    return true;
}

bool fw_cfg_add_option(FwCfg *s, const PropPair *props, Error **errp)
{
    const char *name = pair_get(props, "name"), *file = pair_get(props, "file"), *string = pair_get(props, "string");
    const char *gen_id = pair_get(props, "gen_id");
    g_autofree char *content = NULL;
    g_autoptr(GError) gerr = NULL;
    gsize len;

    if (!option_name_check(name, errp)) {
        return false;
    }
    if (!!file + !!string + !!gen_id != 1) {
        error_set(errp, "fw_cfg item '%s' needs exactly one of file=, string= and gen_id=", name);
        return false;
    }
    if (gen_id) {
        error_set(errp, "gen_id=%s of fw_cfg item '%s': no object type that generates such data is available yet",
                  gen_id, name);
        return false;
    }
    if (string) {
        return fw_cfg_add_file(s, name, string, strlen(string), errp);
    }
    if (!g_file_get_contents(file, &content, &len, &gerr)) {
        error_set(errp, "can't load %s: %s", file, gerr->message);
        return false;
    }
    if (len > UINT32_MAX) {
        error_set(errp, "file '%s' is too large for fw_cfg item '%s'", file, name);
        return false;
    }
    return fw_cfg_add_file(s, name, content, len, errp);
}
