/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of the monitor for people: each calls QMP handlers and prints what they return.
 * Lines are split at blanks; no command so far takes quoted words.
 * Main loop thread, machine lock. Test: tests/monitor/hmp.py.
 */
#include <inttypes.h>
#include <string.h>

#include "monitor/monitor-int.h"

typedef struct HmpCommand {
    const char *name;           /* "cont|c": names for the same */
    const char *params, *help;
    void (*run)(char **words, GString *out);    /* words[0]: the first after the name; NULL-terminated */
} HmpCommand;

static void print_error(GString *out, Error *err)
{
    g_string_append_printf(out, "Error: %s\n", error_text(err));
    error_free(err);
}

/* ---- info ---- */

static void info_version(char **words, GString *out)
{
    QapiVersionInfo v = { 0 };

    qmp_query_version(&v, NULL);
    g_string_append_printf(out, "%" PRId64 ".%" PRId64 ".%" PRId64 " (%s)\n", v.qemu.major, v.qemu.minor,
                           v.qemu.micro, v.package);
    qapi_clear(&qapi_type_VersionInfo, &v);
}

static void info_status(char **words, GString *out)
{
    QapiStatusInfo s = { 0 };
    const char *word;

    qmp_query_status(&s, NULL);
    word = qapi_type_RunState.words[s.status];
    g_string_append_printf(out, "VM status: %s", s.running ? "running" : "paused");
    if (!s.running && s.status != QAPI_RUN_STATE_PAUSED) {
        g_string_append_printf(out, " (%s)", word);
    }
    g_string_append_c(out, '\n');
}

static void info_cpus(char **words, GString *out)
{
    QapiList cpus = { 0 };
    Error *err = NULL;

    if (!qmp_query_cpus_fast(&cpus, &err)) {
        print_error(out, err);
        return;
    }
    for (size_t i = 0; i < cpus.n; i++) {
        const QapiCpuInfoFast *cpu = (QapiCpuInfoFast *)cpus.items + i;

        g_string_append_printf(out, "%c CPU #%" PRId64 ": thread_id=%" PRId64 "\n", i ? ' ' : '*',
                               cpu->cpu_index, cpu->thread_id);
    }
    qapi_clear(&qapi_list_CpuInfoFast, &cpus);
}

static void info_mlock(char **words, GString *out)
{
    QapiMemoryLockInfo m = { 0 };
    Error *err = NULL;

    if (!qmp_query_memory_lock(&m, &err)) {
        print_error(out, err);
        return;
    }
    g_string_append_printf(out, "mode: %s\nlocked: %" PRIu64 " kB\nresident: %" PRIu64 " kB\nram: %" PRIu64
                           " kB\ndiscarded: %" PRIu64 " kB\ndiscard failures: %" PRIu64 "\n",
                           qapi_type_MemoryLockMode.words[m.mode], m.locked >> 10, m.resident >> 10, m.ram >> 10,
                           m.discarded >> 10, m.discard_failures);
    if (m.has_limit) {
        g_string_append_printf(out, "limit: %" PRIu64 " kB\n", m.limit >> 10);
    } else {
        g_string_append(out, "limit: none\n");
    }
}

static void info_name(char **words, GString *out)
{
    QapiNameInfo n = { 0 };

    qmp_query_name(&n, NULL);
    if (n.name) {
        g_string_append_printf(out, "%s\n", n.name);
    }
    qapi_clear(&qapi_type_NameInfo, &n);
}

static void info_uuid(char **words, GString *out)
{
    QapiUuidInfo u = { 0 };

    qmp_query_uuid(&u, NULL);
    g_string_append_printf(out, "%s\n", u.UUID);
    qapi_clear(&qapi_type_UuidInfo, &u);
}

static void info_kvm(char **words, GString *out)
{
    QapiKvmInfo k = { 0 };

    qmp_query_kvm(&k, NULL);
    g_string_append_printf(out, "kvm support: %s\n", k.enabled ? "enabled" : k.present ? "disabled" : "not compiled");
    if (k.rescues) {
        g_string_append_printf(out, "instructions that the software CPU executed for it: %" PRIu64 "\n", k.rescues);
    }
}

static void info_chardev(char **words, GString *out)
{
    QapiList list = { 0 };

    qmp_query_chardev(&list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        const QapiChardevInfo *chr = (QapiChardevInfo *)list.items + i;

        g_string_append_printf(out, "%s: filename=%s\n", chr->label, chr->filename);
    }
    qapi_clear(&qapi_list_ChardevInfo, &list);
}

static void info_help(char **words, GString *out);

static const HmpCommand info_commands[] = {
    { "chardev", "", "the character devices and what is behind them", info_chardev },
    { "cpus", "", "the virtual CPUs and their host threads", info_cpus },
    { "help", "", "this list", info_help },
    { "kvm", "", "is KVM in use", info_kvm },
    { "lapic", "[CPU]", "a CPU's local APIC", hmp_info_lapic },
    { "mem", "", "what memory is mapped, with its rights", hmp_info_mem },
    { "mlock", "", "how memory is locked, and what that costs", info_mlock },
    { "mtree", "[-f]", "the tree of memory regions (-f: the flat views)", hmp_info_mtree },
    { "name", "", "the guest's name", info_name },
    { "qom-tree", "[PATH]", "all objects by their place, from /machine or PATH", hmp_info_qom_tree },
    { "qtree", "", "the devices by the buses that they sit on", hmp_info_qtree },
    { "registers", "[-a]", "the registers of CPU 0 (-a: of all)", hmp_info_registers },
    { "status", "", "the state of the machine", info_status },
    { "tlb", "", "the page tables, page by page", hmp_info_tlb },
    { "uuid", "", "the machine's UUID", info_uuid },
    { "version", "", "the emulator's version", info_version },
    { NULL },
};

/* ---- commands ---- */

#define WRAP(name)                                      \
    static void do_##name(char **words, GString *out)   \
    {                                                   \
        Error *err = NULL;                              \
                                                        \
        if (!qmp_##name(&err)) {                        \
            print_error(out, err);                      \
        }                                               \
    }
WRAP(quit)
WRAP(stop)
WRAP(cont)
WRAP(system_reset)
WRAP(system_powerdown)
WRAP(system_wakeup)
WRAP(inject_nmi)

static void do_info(char **words, GString *out);
static void do_help(char **words, GString *out);

static const HmpCommand commands[] = {
    { "cont|c", "", "let the CPUs run", do_cont },
    { "gdbserver", "[DEVICE]", "wait for a debugger there (tcp::1234), or 'none'", hmp_gdbserver },
    { "help|?", "[COMMAND]", "this list, or one command", do_help },
    { "info", "SUBJECT", "tell about a subject ('info help' lists them)", do_info },
    { "mce", "[-b] CPU BANK STATUS MCGSTATUS ADDR MISC", "put a machine check into a bank (-b: tell all CPUs)",
      hmp_mce },
    { "nmi", "", "raise an NMI at every CPU's LINT1", do_inject_nmi },
    { "print|p", "[/FMT] EXPR", "the value of an expression ($rip + 4)", hmp_print },
    { "quit|q", "", "end the emulator", do_quit },
    { "stop|s", "", "stop the CPUs", do_stop },
    { "system_powerdown", "", "press the power button", do_system_powerdown },
    { "system_reset", "", "reset the machine", do_system_reset },
    { "system_wakeup", "", "wake a suspended guest", do_system_wakeup },
    { "x", "[/FMT] ADDR", "memory at a linear address of CPU 0 (/8xw: 8 hexadecimal words)", hmp_x },
    { "xp", "[/FMT] ADDR", "memory at a physical address", hmp_xp },
    { NULL },
};

static bool name_matches(const char *names, const char *word)
{
    g_auto(GStrv) list = g_strsplit(names, "|", -1);

    return g_strv_contains((const char *const *)list, word);
}

static const HmpCommand *command_find(const HmpCommand *table, const char *word)
{
    for (; table->name; table++) {
        if (name_matches(table->name, word)) {
            return table;
        }
    }
    return NULL;
}

static void print_command(const HmpCommand *cmd, const char *prefix, GString *out)
{
    g_string_append_printf(out, "%s%s%s%s -- %s\n", prefix, cmd->name, *cmd->params ? " " : "", cmd->params,
                           cmd->help);
}

static void info_help(char **words, GString *out)
{
    for (const HmpCommand *cmd = info_commands; cmd->name; cmd++) {
        print_command(cmd, "info ", out);
    }
}

static void do_info(char **words, GString *out)
{
    const HmpCommand *cmd = words[0] ? command_find(info_commands, words[0]) : NULL;

    if (!words[0]) {
        info_help(words, out);
    } else if (!cmd) {
        g_string_append_printf(out, "unknown command: 'info %s'\n", words[0]);
    } else if (!*cmd->params && words[1]) {
        g_string_append_printf(out, "info %s: extraneous characters at the end of line\n", words[0]);
    } else {
        cmd->run(words + 1, out);
    }
}

static void do_help(char **words, GString *out)
{
    const HmpCommand *cmd = words[0] ? command_find(commands, words[0]) : NULL;

    if (words[0] && !strcmp(words[0], "info")) {
        info_help(words, out);
    } else if (cmd) {
        print_command(cmd, "", out);
    } else if (words[0]) {
        g_string_append_printf(out, "unknown command: '%s'\n", words[0]);
    } else {
        for (cmd = commands; cmd->name; cmd++) {
            print_command(cmd, "", out);
        }
    }
}

void hmp_run_line(const char *line, GString *out)
{
    g_autofree char *text = g_strstrip(g_strdup(line));
    g_auto(GStrv) split = g_strsplit_set(text, " \t", -1);
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autofree char *format = NULL;
    const HmpCommand *cmd;

    for (int i = 0; split[i]; i++) {
        if (*split[i]) {
            g_ptr_array_add(words, split[i]);
        }
    }
    if (words->len) {
        char *slash = strchr(words->pdata[0], '/');

        if (slash) {                            /* "x/4xw" is "x" with the format "/4xw" */
            format = g_strdup(slash);
            *slash = 0;
            g_ptr_array_insert(words, 1, format);
        }
    }
    g_ptr_array_add(words, NULL);
    if (words->len == 1) {
        return;
    }
    cmd = command_find(commands, words->pdata[0]);
    if (!cmd) {
        g_string_append_printf(out, "unknown command: '%s'\n", (char *)words->pdata[0]);
    } else if (!*cmd->params && words->len > 2) {
        g_string_append_printf(out, "%s: extraneous characters at the end of line\n", (char *)words->pdata[0]);
    } else {
        cmd->run((char **)words->pdata + 1, out);
    }
}

const char **hmp_complete(const char *prefix)
{
    bool info = g_str_has_prefix(prefix, "info ");
    const HmpCommand *table = info ? info_commands : commands;
    GPtrArray *found = g_ptr_array_new();

    for (; table->name; table++) {
        if (info && g_str_has_prefix(table->name, prefix + 5)) {
            g_autofree char *whole = g_strconcat("info ", table->name, NULL);

            g_ptr_array_add(found, (char *)g_intern_string(whole));     /* begins with the whole line */
        } else if (!info && g_str_has_prefix(table->name, prefix)) {
            g_autofree char *first = g_strndup(table->name, strcspn(table->name, "|"));

            g_ptr_array_add(found, (char *)g_intern_string(first));
        }
    }
    g_ptr_array_add(found, NULL);
    return (const char **)g_ptr_array_free(found, FALSE);
}

bool qmp_human_monitor_command(const QapiHumanMonitorCommandArg *args, char **ret, Error **errp)
{
    GString *out = g_string_new(NULL);

    hmp_run_line(args->command_line, out);
    *ret = g_string_free(out, FALSE);
    return true;
}
