/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the monitor room share; see monitor.c. */
#ifndef CLEAT_MONITOR_INT_H
#define CLEAT_MONITOR_INT_H

#include "monitor/monitor.h"
#include "qapi/qapi-commands.h"

typedef struct Monitor Monitor;
typedef struct QmpSession QmpSession;
typedef struct HmpSession HmpSession;

/* One monitor of either kind. */
struct Monitor {
    CharFrontend fe;
    QmpSession *qmp;            /* just one of the two */
    HmpSession *hmp;
    GString *out;               /* bytes that the chardev has not taken yet */
    bool watching;              /* char_watch_writable is set */
    Monitor *next;
};

/* Queues and writes what goes without blocking. */
void monitor_write(Monitor *mon, const char *text, size_t len);

QmpSession *qmp_session_new(Monitor *mon, bool pretty);
void qmp_session_free(QmpSession *s);
void qmp_session_opened(QmpSession *s);
void qmp_session_receive(QmpSession *s, const uint8_t *buf, int len);
/* Sends an event; data (borrowed) may be NULL. Ignored before the negotiation is over. */
void qmp_session_event(QmpSession *s, const char *event, json_object *data, int64_t realtime_us);

HmpSession *hmp_session_new(Monitor *mon);
void hmp_session_free(HmpSession *s);
void hmp_session_event(HmpSession *s, CharEvent ev);
void hmp_session_receive(HmpSession *s, const uint8_t *buf, int len);

/* Runs one line of the monitor for people; what it prints is appended to out ('\n' line ends). */
void hmp_run_line(const char *line, GString *out);
/* hmp-tree.c: words[0] is the first after "info NAME". */
void hmp_info_qtree(char **words, GString *out);
void hmp_info_qom_tree(char **words, GString *out);
/* cmds-fault.c */
void hmp_mce(char **words, GString *out);
/* hmp-debug.c */
void hmp_gdbserver(char **words, GString *out);
void hmp_info_registers(char **words, GString *out);
void hmp_info_lapic(char **words, GString *out);
void hmp_info_tlb(char **words, GString *out);
void hmp_info_mem(char **words, GString *out);
void hmp_info_mtree(char **words, GString *out);
void hmp_print(char **words, GString *out);
void hmp_x(char **words, GString *out);
void hmp_xp(char **words, GString *out);
/* Command names that begin with prefix, for completion: a NULL-terminated list for g_free(). */
const char **hmp_complete(const char *prefix);

#endif
