/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of gdbstub/ share: the session's state, packets' arguments, answers. See gdbstub.c.
 * Main loop thread, machine lock.
 */
#ifndef CLEAT_GDBSTUB_GDB_INT_H
#define CLEAT_GDBSTUB_GDB_INT_H

#include "accel/accel.h"
#include "chardev/char.h"
#include "gdbstub/gdbstub.h"
#include "gdbstub/link.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "target/i386/gdb.h"

typedef struct GdbServer {
    CharFrontend fe;
    Chardev *chr;
    bool own_chr;                   /* made for the debugger: goes with the session */
    GString *out;                   /* bytes that the chardev has not taken yet */
    bool watching;                  /* char_watch_writable is set */
    bool busy;                      /* a packet is being carried out */
    GdbLink link;
    /* what the debugger has chosen */
    bool connected;
    bool multiprocess;              /* thread ids are "pPID.TID" */
    bool swbreak, hwbreak;          /* it wants to be told which kind of breakpoint */
    bool physical;                  /* m, M and X mean guest physical memory */
    bool waiting;                   /* the machine runs on its behalf: a stop is to be reported */
    uint32_t step_flags;            /* DEBUG_STEP_* of a step */
    int general, run;               /* CPU indices: Hg (registers, memory), Hc (c and s) */
    int next_thread;                /* for qsThreadInfo */
    GArray *points;                 /* of DebugPoint: those inserted */
    char *xml;                      /* the target description; made when asked for */
} GdbServer;

/* ---- arguments: a cursor over the rest of a packet ---- */
typedef struct GdbArgs {
    const char *at, *end;
} GdbArgs;
bool arg_hex(GdbArgs *a, uint64_t *v);                  /* 1 to 16 digits */
bool arg_char(GdbArgs *a, char c);                      /* takes c if it is next */
bool arg_word(GdbArgs *a, const char *word);            /* takes word if it is next */
bool arg_end(const GdbArgs *a);
/* Bytes as pairs of digits up to the end; false: odd, or no digits. The caller frees them. */
bool arg_bytes(GdbArgs *a, GByteArray **bytes);
typedef enum GdbWhich { GDB_THREAD_NONE, GDB_THREAD_ONE, GDB_THREAD_ANY, GDB_THREAD_ALL } GdbWhich;
/* A thread id; GDB_THREAD_NONE: malformed, or nobody's. *index: the vCPU of GDB_THREAD_ONE. */
GdbWhich arg_thread(GdbArgs *a, int *index);

/* ---- answers ---- */
void gdb_reply(GdbServer *s, const char *text);
#define gdb_reply_ok(s) gdb_reply(s, "OK")
/* Numbers as QEMU sends them. */
#define gdb_reply_bad_argument(s) gdb_reply(s, "E22")
#define gdb_reply_bad_address(s) gdb_reply(s, "E14")
void append_hex(GString *out, const void *bytes, size_t len);
void append_thread(const GdbServer *s, GString *out, int index);

/* ---- commands.c: one packet; query.c: those that begin with q and Q; memory.c: m M X Z z ---- */
void gdb_command(GdbServer *s, const char *data, size_t len);
void gdb_query(GdbServer *s, GdbArgs *a);
void gdb_query_set(GdbServer *s, GdbArgs *a);
void gdb_memory_read(GdbServer *s, GdbArgs *a);
void gdb_memory_write_hex(GdbServer *s, GdbArgs *a);
void gdb_memory_write_binary(GdbServer *s, GdbArgs *a);
void gdb_point_insert(GdbServer *s, GdbArgs *a);
void gdb_point_remove(GdbServer *s, GdbArgs *a);
void gdb_points_remove_all(GdbServer *s);

/* ---- resume.c: letting vCPUs run, and what is said when they stop ---- */
typedef enum GdbAction { GDB_HOLD, GDB_CONTINUE, GDB_STEP } GdbAction;
/* Lets the vCPUs go on as actions[index] say. */
void gdb_resume(GdbServer *s, const GdbAction *actions);
/* The debugger lets go: no points, steps or held vCPUs are left. The machine stands still, or is made to. */
void gdb_forget(GdbServer *s);
/* The machine runs on, if it can, and nobody waits for it. */
void gdb_continue_detached(void);
void gdb_command_continue(GdbServer *s, GdbArgs *a);    /* c, and C after its signal */
void gdb_command_step(GdbServer *s, GdbArgs *a);
void gdb_command_signal(GdbServer *s, GdbArgs *a);      /* C and S */
void gdb_command_signal_step(GdbServer *s, GdbArgs *a);
void gdb_command_vcont(GdbServer *s, GdbArgs *a);
/* The machine stopped in this state: no vCPU steps or is held any more; a debugger that waits is told. */
void gdb_machine_stopped(GdbServer *s, RunState state);
/* "T05thread:...;" for the present state: the answer to '?'. */
void gdb_reply_stopped(GdbServer *s, int signal);

/* The vCPU that registers and memory are asked of; its state is brought here. */
X86CPU *gdb_cpu(GdbServer *s);
/* After a change to its state. */
void gdb_cpu_changed(X86CPU *cpu);

#endif
