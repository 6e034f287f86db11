/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the interpreter with the real CPU, instruction by instruction (see insn-test.h), over
 * every row of the instruction table that ring 3 can run; then short sequences and programs with
 * loops. Prints what differed with the seed that repeats it, and the rows that never ran.
 *
 *   test-insn [--accel tcg,mode=...] [--runs N] [--long] [--count N] [--sequences N] [--programs N] [--seed S]
 *             [--seeds N] [--row MNEMONIC] [--bits 64|32|16] [--mmio PERCENT] [--replay SEED[:ROW|:program]]
 *             [--rows] [--reports N]
 *
 * --accel runs each case N times (5) by that accelerator's loop; without it the instructions' functions are called
 * (but for programs, which tcg's loop runs).
 * --seeds repeats everything with so many seeds. A replay needs the same --accel and --mmio.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"
#include "target/i386/decode.h"


enum { ROW_SEQUENCE = -1, ROW_PROGRAM = -2 };

typedef struct Options {
    uint64_t count, sequences, programs, seed, seeds, replay, reports;
    int replay_row;                 /* ROW_SEQUENCE or ROW_PROGRAM: the seed of one */
    unsigned runs, mmio;
    const char *accel;
    bool replaying, rows;
    const char *row;
} Options;

/* Shared with the parent, which tells what ran when the child dies. */
typedef struct Progress {
    uint64_t seed;
    int op;
} Progress;

typedef struct Test {
    const Options *o;
    volatile Progress *progress;
    uint8_t template[DATA_SIZE];
    uint16_t rows[INSN_ROW_COUNT];  /* that can run */
    unsigned n_rows;
    uint32_t ran[INSN_ROW_COUNT], completed[INSN_ROW_COUNT], failed[INSN_ROW_COUNT];
    uint64_t failures, reported;
    uint64_t dropped;
    InsnCase c;
} Test;

static void program_describe(const InsnCase *c, FILE *f)
{
    for (unsigned at = 0, n = 0; at < c->length; n++) {
        Insn i;
        bool ok = x86_decode(c->code + at, X86_INSN_MAX, guest_mode(c->bits), &i) == X86_DECODE_OK;

        fprintf(f, "  %" PRIx64 " %-12s", c->start.rip + at, ok ? x86_mnemonic(&i) : "?");
        for (unsigned k = 0; k < (ok ? i.length : 1); k++) {
            fprintf(f, "%02x", c->code[at + k]);
        }
        fprintf(f, "\n");
        at += ok ? i.length : 1;
    }
}

static void case_describe(const InsnCase *c, FILE *f)
{
    if (c->program) {
        program_describe(c, f);
    }
    for (unsigned n = 0, at = 0; n < c->count && !c->program; n++) {
        unsigned len = c->undecodable ? c->length : c->insn[n].length;

        fprintf(f, "  %-12s", c->undecodable ? "(#UD)" : x86_mnemonic(&c->insn[n]));
        for (unsigned k = 0; k < len; k++) {
            fprintf(f, "%02x", c->code[at + k]);
        }
        fprintf(f, "  insn.def:%u\n", x86_row(&c->insn[n])->line);
        at += len;
    }
    fprintf(f, "%s  %u-bit code, cs %x ss %x ds %x es %x fs %x gs %x, rsp %" PRIx64 "\n",
            c->mmio ? "  with a device at 10001000\n" : "", c->bits, c->start.sel[SEG_CS],
            c->start.sel[SEG_SS], c->start.sel[SEG_DS], c->start.sel[SEG_ES], c->start.sel[SEG_FS],
            c->start.sel[SEG_GS], c->start.regs[R_RSP]);
    fprintf(f, "  operand %" PRIx64 " rflags %" PRIx64 " mxcsr %x fcw %x fsw %x ftw %x\n", c->target, c->start.rflags,
            c->start.xs.mxcsr, c->start.xs.fcw, c->start.xs.fsw, c->start.xs.ftw);
}

/* Far and near branches leave for where no int3 of ours stands; INT n and its like are the end themselves. */
static bool must_step(const InsnCase *c)
{
    return c->undecodable ||
           (x86_row(&c->insn[0])->xlat == XLAT_FLOW && !g_str_has_prefix(x86_mnemonic(&c->insn[0]), "int"));
}

static void case_report(Test *t, int op, const InsnOutcome *native, const InsnOutcome *guest)
{
    const InsnCase *c = &t->c;

    if (op >= 0) {
        printf("DIFFERS: --replay %#" PRIx64 ":%d\n", c->seed, op);
    } else {
        printf("DIFFERS: --replay %#" PRIx64 "%s\n", c->seed, c->program ? ":program" : "");
    }
    case_describe(c, stdout);
    for (int n = 0; t->o->replaying && n < 16; n++) {
        printf("  r%d = %016" PRIx64 "%s", n, c->start.regs[n], n % 4 == 3 ? "\n" : "");
    }
    outcome_same(c, native, guest, stdout);
}

static bool ran_to_end(const InsnCase *c, unsigned n, const InsnOutcome *o)
{
    return !c->undecodable && (o->vector < 0 || g_str_has_prefix(x86_mnemonic(&c->insn[n]), "int"));
}

/*
 * Runs the case in t->c on both sides, again where they differ: the host's kernel or hypervisor may have come between
 * (a page not mapped yet, a null selector or NT lost at a switch of tasks). A real difference stays.
 */
static bool case_compare(Test *t, InsnOutcome *native, InsnOutcome *guest)
{
    for (int tries = 0; tries < 3; tries++) {
        guest_run(&t->c, must_step(&t->c) && !t->c.undecodable, guest);
        if (guest->vector == EXCP_PF && native_owns(guest->cr2)) {
            t->dropped++;               /* AddressSanitizer's shadow, for instance: the guest has nothing there */
            return true;
        }
        /* Stepping (TF) is dear in a virtual machine: only where no int3 stands behind the case. */
        native_run(&t->c, must_step(&t->c), native);
        if (outcome_same(&t->c, native, guest, NULL)) {
            return true;
        }
    }
    return false;
}

static void case_try(Test *t, int op)
{
    InsnOutcome native, guest;

    t->progress->seed = t->c.seed;
    t->progress->op = op;
    if (!case_compare(t, &native, &guest)) {
        t->failures++;
        t->failed[t->c.insn[0].op]++;
        if (t->reported++ < t->o->reports) {
            case_report(t, op, &native, &guest);
        }
    } else if (t->o->replaying) {
        case_report(t, op, &native, &guest);
    }
    for (unsigned n = 0; n < t->c.count; n++) {
        t->ran[t->c.insn[n].op] += !t->c.undecodable;
        t->completed[t->c.insn[n].op] += ran_to_end(&t->c, n, &guest);
    }
}

static void one_case(Test *t, uint64_t seed, int op)
{
    memcpy(window_start, t->template, DATA_RW);
    case_generate(&t->c, seed, op);
    if (t->c.count) {
        case_try(t, op);
    }
}

static void one_sequence(Test *t, uint64_t seed)
{
    memcpy(window_start, t->template, DATA_RW);
    sequence_generate(&t->c, seed, t->rows, t->n_rows);
    if (t->c.count) {
        case_try(t, ROW_SEQUENCE);
    }
}

static void one_program(Test *t, uint64_t seed)
{
    memcpy(window_start, t->template, DATA_RW);
    program_generate(&t->c, seed, t->rows, t->n_rows);
    if (t->c.count) {
        case_try(t, ROW_PROGRAM);
    }
}

static void rows_report(const Test *t)
{
    unsigned never = 0, faulted = 0, total = 0;

    for (unsigned op = 1; op < INSN_ROW_COUNT; op++) {
        const char *why = row_skip_reason(op);

        total++;
        if (t->ran[op] && t->completed[op]) {
            continue;
        }
        if (t->ran[op]) {
            faulted++;
            why = x86_insn_rows[op].flags & ROW_CPL0 ? "privileged: faults at ring 3" : "always faults at ring 3";
        } else {
            never++;
            if (!why && !row_in(op, 64) && !row_in(op, 32)) {
                why = "not in 64-bit code, and this host runs no other";
            }
        }
        printf("%s: %s (insn.def:%u): %s\n", t->ran[op] ? "only faulted" : "never ran",
               x86_mnemonics + x86_insn_rows[op].mnemonic, x86_insn_rows[op].line,
               why ? why : "no encoding of it came up");
    }
    printf("rows: %u, run to the end %u, only to a fault %u, never %u\n",
           total, total - never - faulted, faulted, never);
}

static void rows_failed(const Test *t)
{
    for (unsigned op = 1; op < INSN_ROW_COUNT; op++) {
        if (t->failed[op]) {
            printf("differed %u of %u: %s (insn.def:%u)\n", t->failed[op], t->ran[op],
                   x86_mnemonics + x86_insn_rows[op].mnemonic, x86_insn_rows[op].line);
        }
    }
}

static void rows_choose(Test *t)
{
    for (unsigned op = 1; op < INSN_ROW_COUNT; op++) {
        bool wanted = !t->o->row || !strcmp(t->o->row, x86_mnemonics + x86_insn_rows[op].mnemonic);

        if (wanted && !row_skip_reason(op) && (row_in(op, 64) || row_in(op, 32) || row_in(op, 16))) {
            t->rows[t->n_rows++] = op;
        }
    }
}

static void run_seed(Test *t, uint64_t seed)
{
    Rng r = { seed };

    for (uint64_t n = 0; n < t->o->count && t->n_rows; n++) {
        one_case(t, rng_next(&r), t->rows[n % t->n_rows]);
    }
    for (uint64_t n = 0; n < t->o->sequences && t->n_rows; n++) {
        one_sequence(t, rng_next(&r));
    }
    for (uint64_t n = 0; n < t->o->programs && t->n_rows; n++) {
        one_program(t, rng_next(&r));
    }
}

static int replay(Test *t)
{
    if (t->o->replay_row >= 0) {
        one_case(t, t->o->replay, t->o->replay_row);
    } else if (t->o->replay_row == ROW_PROGRAM) {
        one_program(t, t->o->replay);
    } else {
        one_sequence(t, t->o->replay);
    }
    return t->failures != 0;
}

static int run_all(Test *t)
{
    Rng fill = { 1 };
    Rng more = { t->o->seed ^ 0x5eed5 };

    for (unsigned at = 0; at < DATA_SIZE; at += 64) {
        data_fill(&fill, t->template + at, 64);
    }
    memcpy(window_start, t->template, DATA_SIZE);
    const char *reason = "";
    if (!native_init(&reason)) {
        printf("SKIP: %s\n", reason);
        return 77;
    }
    segments_init();
    gen_mmio(t->o->mmio);
    if (t->o->accel) {
        guest_accel(t->o->accel, t->o->runs);
    }
    guest_init();
    rows_choose(t);
    if (t->o->replaying) {
        return replay(t);
    }
    printf("%s, seed %#" PRIx64 ", %u rows, 32-bit code %s, 16-bit code %s, %" PRIu64 " instructions, %" PRIu64
           " sequences, %" PRIu64 " programs, %" PRIu64 " seeds\n", t->o->accel ? t->o->accel : "functions",
           t->o->seed, t->n_rows, segments_have(32) ? "too" : "not here",
           segments_have(16) ? "too" : "not here", t->o->count, t->o->sequences,
           t->o->programs, t->o->seeds);
    for (uint64_t n = 0; n < t->o->seeds; n++) {
        run_seed(t, n ? rng_next(&more) : t->o->seed);
    }
    rows_failed(t);
    if (!t->o->row || t->o->rows) {
        rows_report(t);
    }
    printf("%" PRIu64 " cases dropped: they fault at an address where this process has something\n", t->dropped);
    printf("%" PRIu64 " differences\n", t->failures);
    return t->failures != 0;
}

static bool options_parse(int argc, char **argv, Options *o)
{
    *o = (Options) { .count = 200000, .sequences = 20000, .programs = 5000, .seed = 0x5eed,
                     .reports = 40, .seeds = 1, .runs = 5, .mmio = 15, .replay_row = ROW_SEQUENCE };
    for (int n = 1; n < argc; n++) {
        const char *v = n + 1 < argc ? argv[n + 1] : "";

        if (!strcmp(argv[n], "--long")) {
            o->count = 20000000;
            o->sequences = 2000000;
            o->programs = 500000;
            continue;
        }
        if (!strcmp(argv[n], "--rows")) {
            o->rows = true;
            continue;
        }
        if (!strcmp(argv[n], "--count")) {
            o->count = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--sequences")) {
            o->sequences = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--programs")) {
            o->programs = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--seeds")) {
            o->seeds = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--runs")) {
            o->runs = strtoul(v, NULL, 0);
        } else if (!strcmp(argv[n], "--mmio")) {
            o->mmio = strtoul(v, NULL, 0);
        } else if (!strcmp(argv[n], "--accel")) {
            o->accel = v;
        } else if (!strcmp(argv[n], "--seed")) {
            o->seed = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--bits")) {
            gen_bits_only(strtoul(v, NULL, 0));
        } else if (!strcmp(argv[n], "--reports")) {
            o->reports = strtoull(v, NULL, 0);
        } else if (!strcmp(argv[n], "--row")) {
            o->row = v;
        } else if (!strcmp(argv[n], "--replay")) {
            char *end;

            o->replay = strtoull(v, &end, 0);
            o->replay_row = !strcmp(end, ":program") ? ROW_PROGRAM : *end == ':' ?
                            atoi(end + 1) : ROW_SEQUENCE;
            o->replaying = true;
        } else {
            return false;
        }
        n++;
    }
    return true;
}

/* Asked to end, as by a harness that lost patience: says where it was. */
static struct {
    volatile Progress *progress;
    pid_t pid;
} stuck;

static void on_sigterm(int sig)
{
    printf("Ended at --replay %#" PRIx64 ":%d\n", stuck.progress->seed, stuck.progress->op);
    kill(stuck.pid, SIGKILL);
    _exit(1);
}

int main(int argc, char **argv)
{
    static Test test;
    Options o;
    int status;
    pid_t pid;

    if (!options_parse(argc, argv, &o)) {
        fprintf(stderr, "unknown option\n");
        return 2;
    }
    test.o = &o;
    test.progress = mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid = fork();
    if (pid == 0) {
        status = run_all(&test);
        fflush(stdout);
        _exit(status);
    }
    stuck.progress = test.progress;
    stuck.pid = pid;
    signal(SIGTERM, on_sigterm);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status);
    }
    printf("The test died of signal %d at --replay %#" PRIx64 ":%d\n", WTERMSIG(status),
           test.progress->seed, test.progress->op);
    return 1;
}
