/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One packet: its arguments, and what it asks for. What is malformed is answered E22, what there is not, with
 * an empty packet. Main loop thread, machine lock. Test: tests/unit/test-gdb.c, tests/fuzz/fuzz-gdb.c.
 */
#include <string.h>

#include "gdbstub/gdb-int.h"
#include "system/runstate.h"
#include "util/error.h"

/* ---- arguments ---- */

bool arg_end(const GdbArgs *a)
{
    return a->at == a->end;
}

bool arg_char(GdbArgs *a, char c)
{
    if (arg_end(a) || *a->at != c) {
        return false;
    }
    a->at++;
    return true;
}

bool arg_word(GdbArgs *a, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(a->end - a->at) < n || memcmp(a->at, word, n)) {
        return false;
    }
    a->at += n;
    return true;
}

bool arg_hex(GdbArgs *a, uint64_t *v)
{
    unsigned n = 0;

    for (*v = 0; !arg_end(a) && g_ascii_isxdigit(*a->at); n++) {
        if (n == 16) {
            return false;
        }
        *v = *v << 4 | g_ascii_xdigit_value(*a->at++);
    }
    return n > 0;
}

bool arg_bytes(GdbArgs *a, GByteArray **bytes)
{
    size_t n = a->end - a->at;

    if (n % 2) {
        return false;
    }
    *bytes = g_byte_array_sized_new(n / 2);
    for (; !arg_end(a); a->at += 2) {
        int high = g_ascii_xdigit_value(a->at[0]), low = g_ascii_xdigit_value(a->at[1]);
        uint8_t byte;

        if (high < 0 || low < 0) {
            return false;
        }
        byte = high << 4 | low;
        g_byte_array_append(*bytes, &byte, 1);
    }
    return true;
}

/* A number, or "-1" for all. */
static bool arg_id(GdbArgs *a, uint64_t *id, bool *all)
{
    *all = arg_word(a, "-1");
    return *all || arg_hex(a, id);
}

GdbWhich arg_thread(GdbArgs *a, int *index)
{
    uint64_t process = 1, thread = 0;
    bool all = false;

    if (arg_char(a, 'p')) {
        if (!arg_id(a, &process, &all)) {
            return GDB_THREAD_NONE;
        }
        if (all || (process <= 1 && !arg_char(a, '.'))) {
            arg_word(a, ".-1");
            return GDB_THREAD_ALL;          /* every thread of the one process */
        }
        if (process > 1) {
            return GDB_THREAD_NONE;
        }
    }
    if (!arg_id(a, &thread, &all)) {
        return GDB_THREAD_NONE;
    }
    if (all || !thread) {
        return all ? GDB_THREAD_ALL : GDB_THREAD_ANY;
    }
    if (thread > (uint64_t)vcpu_count()) {
        return GDB_THREAD_NONE;
    }
    *index = thread - 1;
    return GDB_THREAD_ONE;
}

/* ---- answers ---- */

void gdb_reply(GdbServer *s, const char *text)
{
    gdb_link_send(&s->link, text, strlen(text));
}

void append_hex(GString *out, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        g_string_append_printf(out, "%02x", ((const uint8_t *)bytes)[i]);
    }
}

void append_thread(const GdbServer *s, GString *out, int index)
{
    g_string_append_printf(out, s->multiprocess ? "p01.%02x" : "%02x", index + 1);
}

X86CPU *gdb_cpu(GdbServer *s)
{
    VCpu *cpu = vcpu_get(s->general);

    vcpu_get_state(cpu);
    return X86_CPU(cpu);
}

void gdb_cpu_changed(X86CPU *cpu)
{
    vcpu_put_state(&cpu->vcpu);
}

/* ---- registers ---- */

static void do_read_all(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    X86CPU *cpu = gdb_cpu(s);
    uint8_t buf[X86_GDB_REG_MAX];
    unsigned size;

    for (unsigned n = 0; (size = x86_gdb_reg_read(cpu, n, buf)); n++) {
        append_hex(out, buf, size);
    }
    gdb_reply(s, out->str);
}

static void do_write_all(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GByteArray) bytes = NULL;
    X86CPU *cpu = gdb_cpu(s);
    bool ok = true;
    unsigned size;
    size_t at = 0;

    if (!arg_bytes(a, &bytes)) {
        gdb_reply_bad_argument(s);
        return;
    }
    for (unsigned n = 0; (size = x86_gdb_reg_size(cpu, n)) && at + size <= bytes->len; n++) {
        ok &= x86_gdb_reg_write(cpu, n, bytes->data + at);
        at += size;
    }
    gdb_cpu_changed(cpu);
    gdb_reply(s, ok ? "OK" : "E22");
}

static void do_read_one(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    uint8_t buf[X86_GDB_REG_MAX];
    unsigned size;
    uint64_t n;

    if (!arg_hex(a, &n) || !arg_end(a) || n > UINT16_MAX) {
        gdb_reply_bad_argument(s);
        return;
    }
    size = x86_gdb_reg_read(gdb_cpu(s), n, buf);
    if (!size) {
        gdb_reply_bad_address(s);
        return;
    }
    append_hex(out, buf, size);
    gdb_reply(s, out->str);
}

static void do_write_one(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GByteArray) bytes = NULL;
    X86CPU *cpu = gdb_cpu(s);
    uint64_t n;

    if (!arg_hex(a, &n) || n > UINT16_MAX || !arg_char(a, '=') || !arg_bytes(a, &bytes)
        || !bytes->len || bytes->len != x86_gdb_reg_size(cpu, n) || !x86_gdb_reg_write(cpu, n, bytes->data)) {
        gdb_reply_bad_argument(s);
        return;
    }
    gdb_cpu_changed(cpu);
    gdb_reply_ok(s);
}

/* ---- threads ---- */

static void do_set_thread(GdbServer *s, GdbArgs *a)
{
    bool run = arg_char(a, 'c');
    int index = run ? s->run : s->general;

    if ((!run && !arg_char(a, 'g')) || arg_thread(a, &index) == GDB_THREAD_NONE || !arg_end(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    *(run ? &s->run : &s->general) = index;     /* "any" and "all" change nothing */
    gdb_reply_ok(s);
}

static void do_thread_alive(GdbServer *s, GdbArgs *a)
{
    int index;

    if (arg_thread(a, &index) != GDB_THREAD_ONE || !arg_end(a)) {
        gdb_reply_bad_argument(s);
    } else {
        gdb_reply_ok(s);
    }
}

static void do_why(GdbServer *s, GdbArgs *a)
{
    gdb_points_remove_all(s);                   /* a debugger that has just come knows of none */
    gdb_reply_stopped(s, 5);
}

/* ---- coming and going ---- */

/* "" or ";PID" of the one process. */
static bool one_process(GdbArgs *a)
{
    uint64_t pid = 1;

    return (arg_end(a) || (arg_char(a, ';') && arg_hex(a, &pid) && arg_end(a))) && pid == 1;
}

static void do_detach(GdbServer *s, GdbArgs *a)
{
    if (!one_process(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    gdb_forget(s);
    gdb_reply_ok(s);
    gdb_continue_detached();
}

static void do_attach(GdbServer *s, GdbArgs *a)
{
    if (!one_process(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    s->general = s->run = 0;
    gdb_reply_stopped(s, 5);
}

static void kill_machine(void)
{
    info_report("terminated by the debugger");
    system_shutdown_request_with_code(SHUTDOWN_HOST_QMP_QUIT, 0);
}

static void do_kill(GdbServer *s, GdbArgs *a)
{
    kill_machine();
}

static void do_kill_process(GdbServer *s, GdbArgs *a)
{
    if (!one_process(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    gdb_reply_ok(s);
    kill_machine();
}

static void do_vcont_query(GdbServer *s, GdbArgs *a)
{
    gdb_reply(s, "vCont;c;C;s;S");
}

/* ---- dispatch: the first row whose word begins the packet ---- */

static const struct GdbCommand {
    const char *word;
    void (*run)(GdbServer *s, GdbArgs *a);
} commands[] = {
    { "?", do_why }, { "g", do_read_all }, { "G", do_write_all }, { "p", do_read_one }, { "P", do_write_one },
    { "m", gdb_memory_read }, { "M", gdb_memory_write_hex }, { "X", gdb_memory_write_binary },
    { "Z", gdb_point_insert }, { "z", gdb_point_remove }, { "H", do_set_thread }, { "T", do_thread_alive },
    { "c", gdb_command_continue }, { "C", gdb_command_signal }, { "s", gdb_command_step },
    { "S", gdb_command_signal_step }, { "vCont?", do_vcont_query }, { "vCont", gdb_command_vcont },
    { "vAttach", do_attach }, { "vKill", do_kill_process }, { "D", do_detach }, { "k", do_kill },
    { "q", gdb_query }, { "Q", gdb_query_set },
};

void gdb_command(GdbServer *s, const char *data, size_t len)
{
    GdbArgs a = { data, data + len };

    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (arg_word(&a, commands[i].word)) {
            commands[i].run(s, &a);
            return;
        }
    }
    gdb_reply(s, "");
}
