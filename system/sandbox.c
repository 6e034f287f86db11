/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -sandbox: a list of system calls that end the process, in the groups of QEMU's sub-options. What
 * is not listed is allowed. libseccomp is loaded only when it is asked for, since its 0.3 ms and
 * 0.1 MB do not belong into every start.
 *
 * spawn=deny forbids new processes but not threads: clone() is told apart by CLONE_THREAD, and
 * clone3(), whose flags lie in memory where a filter cannot look, answers ENOSYS, upon which the C
 * library uses clone().
 * Main thread. Test: tests/cli/cli-process.py.
 */
#include "system/sandbox.h"

#include <errno.h>
#include <gmodule.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>

struct Sandbox {
    GModule *library;
    scmp_filter_ctx filter;
    bool no_new_privileges;
    scmp_filter_ctx (*init)(uint32_t action);
    void (*release)(scmp_filter_ctx filter);
    int (*load)(scmp_filter_ctx filter);
    int (*attr_set)(scmp_filter_ctx filter, enum scmp_filter_attr attr, uint32_t value);
    int (*rule_add_array)(scmp_filter_ctx filter, uint32_t action, int call, unsigned n,
                          const struct scmp_arg_cmp *args);
    int (*resolve)(const char *name);
};

/* Never needed by an emulator: the host as a whole. */
static const char *const calls_host[] = {
    "reboot", "swapon", "swapoff", "syslog", "mount", "umount", "umount2", "kexec_load",
    "afs_syscall", "break", "ftime", "getpmsg", "gtty", "lock", "mpx", "prof", "profil", "putpmsg",
    "security", "stty", "tuxcall", "ulimit", "vserver", NULL
};
static const char *const calls_obsolete[] = {
    "readdir", "_sysctl", "bdflush", "create_module", "get_kernel_syms", "query_module", "sgetmask",
    "ssetmask", "sysfs", "uselib", "ustat", NULL
};
static const char *const calls_elevate[] = {
    "setuid", "setgid", "setpgid", "setsid", "setreuid", "setregid", "setresuid", "setresgid",
    "setfsuid", "setfsgid", NULL
};
static const char *const calls_spawn[] = { "fork", "vfork", "execve", "execveat", NULL };
static const char *const calls_resource[] = {
    "setpriority", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr",
    "ioprio_set", NULL
};

static bool library_open(Sandbox *s, Error **errp)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        { "seccomp_init", &s->init }, { "seccomp_release", &s->release },
        { "seccomp_load", &s->load }, { "seccomp_attr_set", &s->attr_set },
        { "seccomp_rule_add_array", &s->rule_add_array },
        { "seccomp_syscall_resolve_name", &s->resolve },
    };

    s->library = g_module_open("libseccomp.so.2", G_MODULE_BIND_LOCAL);
    if (!s->library) {
        error_set(errp, "the library libseccomp is needed: %s", g_module_error());
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(symbols); i++) {
        if (!g_module_symbol(s->library, symbols[i].name, symbols[i].slot)) {
            error_set(errp, "libseccomp is too old: %s", g_module_error());
            return false;
        }
    }
    return true;
}

static void sandbox_free(Sandbox *s)
{
    if (s->filter) {
        s->release(s->filter);
    }
    if (s->library) {
        g_module_close(s->library);
    }
    g_free(s);
}

static bool rule_add(Sandbox *s, const char *name, uint32_t action, const struct scmp_arg_cmp *arg,
                     Error **errp)
{
    int call = s->resolve(name);
    int err = call == __NR_SCMP_ERROR ? 0        /* this host never had it */
              : s->rule_add_array(s->filter, action, call, arg ? 1 : 0, arg);

    /* EDOM: of another architecture than the filter's. */
    if (err < 0 && err != -EDOM) {
        error_set_errno(errp, -err, "cannot add '%s' to the system call filter", name);
        return false;
    }
    return true;
}

static bool rules_add(Sandbox *s, const char *const *names, Error **errp)
{
    for (; *names; names++) {
        if (!rule_add(s, *names, SCMP_ACT_KILL_PROCESS, NULL, errp)) {
            return false;
        }
    }
    return true;
}

static bool rules_add_spawn(Sandbox *s, Error **errp)
{
    const struct scmp_arg_cmp no_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);

    return rules_add(s, calls_spawn, errp)
           && rule_add(s, "clone", SCMP_ACT_KILL_PROCESS, &no_thread, errp)
           && rule_add(s, "clone3", SCMP_ACT_ERRNO(ENOSYS), NULL, errp);
}

static bool filter_make(Sandbox *s, const SandboxConfig *config, Error **errp)
{
    s->filter = s->init(SCMP_ACT_ALLOW);
    if (!s->filter || s->attr_set(s->filter, SCMP_FLTATR_CTL_TSYNC, 1) < 0) {
        error_set(errp, "this host cannot filter system calls for all threads of a process");
        return false;
    }
    s->no_new_privileges = config->elevate == SANDBOX_CHILDREN;
    return rules_add(s, calls_host, errp)
           && (config->obsolete == SANDBOX_ALLOW || rules_add(s, calls_obsolete, errp))
           && (config->elevate == SANDBOX_ALLOW || rules_add(s, calls_elevate, errp))
           && (config->resource == SANDBOX_ALLOW || rules_add(s, calls_resource, errp))
           && (config->spawn == SANDBOX_ALLOW || rules_add_spawn(s, errp));
}

Sandbox *sandbox_prepare(const SandboxConfig *config, Error **errp)
{
    Sandbox *s = g_new0(Sandbox, 1);

    if (!library_open(s, errp) || !filter_make(s, config, errp)) {
        sandbox_free(s);
        return NULL;
    }
    return s;
}

bool sandbox_enter(Sandbox *s, Error **errp)
{
    int err;

    if (s->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        error_set_errno(errp, errno, "cannot forbid new privileges to child processes");
        return false;
    }
    err = s->load(s->filter);
    sandbox_free(s);
    if (err < 0) {
        error_set_errno(errp, -err, "cannot install the system call filter");
        return false;
    }
    return true;
}
