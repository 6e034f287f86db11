/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host OS as the process sees it, POSIX side (Linux's own calls where they are better); the
 * Windows side is os-win32.c. The contract is in include/system/os.h.
 * Main thread only. Test: tests/cli/cli-process.py.
 */
#include "system/os.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct OsProcess {
    int ready_fd;           /* daemonized: write end of the pipe to the parent; else -1 */
    char *pidfile;          /* absolute path, while it exists */
    int pidfile_fd;         /* holds the lock */
    ino_t pidfile_ino;
};

/* One arena, small pads: what malloc reserves is locked memory under mem-lock=on. */
static void malloc_init(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    mallopt(M_TOP_PAD, 64 * 1024);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

/* Also for threads that libraries start. */
static void thread_stack_init(void)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, OS_THREAD_STACK);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

static void open_files_init(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

OsProcess *os_init(void)
{
    OsProcess *p;

    malloc_init();
    thread_stack_init();
    open_files_init();
    signal(SIGPIPE, SIG_IGN);
    p = g_new0(OsProcess, 1);
    p->ready_fd = p->pidfile_fd = -1;
    return p;
}

static void pidfile_remove(OsProcess *p)
{
    struct stat st;

    /* Only our own: somebody may have put another file there. */
    if (p->pidfile && stat(p->pidfile, &st) == 0 && st.st_ino == p->pidfile_ino) {
        unlink(p->pidfile);
    }
    if (p->pidfile_fd >= 0) {
        close(p->pidfile_fd);
    }
    g_free(p->pidfile);
}

void os_fini(OsProcess *p)
{
    if (!p) {
        return;
    }
    pidfile_remove(p);
    if (p->ready_fd >= 0) {
        close(p->ready_fd);
    }
    g_free(p);
}

int os_mlock(bool on_fault)
{
    int flags = MCL_CURRENT | MCL_FUTURE;

    if (on_fault) {
#ifdef MCL_ONFAULT
        flags |= MCL_ONFAULT;
#else
        return -EINVAL;
#endif
    }
    return mlockall(flags) == 0 ? 0 : -errno;
}

/* The parent's part: waits for the byte of os_daemonize_done(), or for the end of the pipe. */
static int daemon_wait(int fd)
{
    char byte = 1;
    ssize_t got;

    do {
        got = read(fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    close(fd);
    return got == 1 && byte == 0 ? 0 : 1;
}

/* In the child: a session of its own, led by a process that has gone, so no terminal is ever acquired. */
static bool daemon_detach(Error **errp)
{
    pid_t pid;

    setsid();
    pid = fork();
    if (pid > 0) {
        _exit(0);
    }
    if (pid < 0) {
        error_set_errno(errp, errno, "-daemonize: cannot fork");
        return false;
    }
    umask(027);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    return true;
}

bool os_daemonize(OsProcess *p, int *parent_status, Error **errp)
{
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0) {
        error_set_errno(errp, errno, "-daemonize: cannot make a pipe");
        return false;
    }
    fflush(NULL);
    pid = fork();
    if (pid < 0) {
        error_set_errno(errp, errno, "-daemonize: cannot fork");
        close(fds[0]);
        close(fds[1]);
        return false;
    }
    if (pid > 0) {
        close(fds[1]);
        *parent_status = daemon_wait(fds[0]);
        waitpid(pid, NULL, 0);
        return true;
    }
    close(fds[0]);
    p->ready_fd = fds[1];
    *parent_status = -1;
    return daemon_detach(errp);
}

bool os_daemonize_done(OsProcess *p, bool keep_stderr, Error **errp)
{
    char ok = 0;
    int null;

    if (p->ready_fd < 0) {
        return true;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (chdir("/") < 0 || null < 0) {
        error_set_errno(errp, errno, "-daemonize: cannot %s", null < 0 ? "open /dev/null"
                                                                       : "enter the root folder");
        return false;
    }
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!keep_stderr) {
        dup2(null, STDERR_FILENO);
    }
    close(null);
    while (write(p->ready_fd, &ok, 1) < 0 && errno == EINTR) {
    }
    close(p->ready_fd);
    p->ready_fd = -1;
    return true;
}

/* Opens and locks; false with errno text. Another process may remove the file between the two. */
static bool pidfile_open(OsProcess *p, const char *path, Error **errp)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st, at_path;

    for (;;) {
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);

        if (fd < 0 || fstat(fd, &st) < 0) {
            error_set_errno(errp, errno, "-pidfile: cannot open '%s'", path);
            return false;
        }
        if (fcntl(fd, F_SETLK, &lock) < 0) {
            error_set_errno(errp, errno, "-pidfile: cannot lock '%s' (does another process use it?)",
                            path);
            close(fd);
            return false;
        }
        if (stat(path, &at_path) == 0 && at_path.st_ino == st.st_ino) {
            p->pidfile_fd = fd;
            p->pidfile_ino = st.st_ino;
            return true;
        }
        close(fd);
    }
}

bool os_pidfile_create(OsProcess *p, const char *path, Error **errp)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (!pidfile_open(p, path, errp)) {
        return false;
    }
    p->pidfile = realpath(path, NULL);
    if (ftruncate(p->pidfile_fd, 0) < 0 || write(p->pidfile_fd, text, len) != len) {
        error_set_errno(errp, errno, "-pidfile: cannot write '%s'", path);
        return false;
    }
    return true;
}

/* "UID:GID", all digits. */
static bool user_parse_numbers(const char *text, OsUser *user)
{
    unsigned uid, gid;
    int end = 0;

    if (sscanf(text, "%u:%u%n", &uid, &gid, &end) != 2 || text[end]
        || !g_ascii_isdigit(text[0]) || uid == -1u || gid == -1u) {
        return false;
    }
    *user = (OsUser){ .uid = uid, .gid = gid };
    return true;
}

bool os_user_parse(const char *text, OsUser *user, Error **errp)
{
    const struct passwd *entry = getpwnam(text);

    if (entry) {
        *user = (OsUser){ .uid = entry->pw_uid, .gid = entry->pw_gid, .name = text };
        return true;
    }
    if (user_parse_numbers(text, user)) {
        return true;
    }
    error_set(errp, "there is no user '%s' (and it is not UID:GID)", text);
    return false;
}

bool os_become_user(const OsUser *user, Error **errp)
{
    if (setgid(user->gid) < 0) {
        error_set_errno(errp, errno, "cannot become group %u", user->gid);
        return false;
    }
    if ((user->name ? initgroups(user->name, user->gid) : setgroups(1, &user->gid)) < 0) {
        error_set_errno(errp, errno, "cannot set the groups of user %u", user->uid);
        return false;
    }
    if (setuid(user->uid) < 0) {
        error_set_errno(errp, errno, "cannot become user %u", user->uid);
        return false;
    }
    if (user->uid && setuid(0) == 0) {
        error_set(errp, "giving up root's rights failed: they came back");
        return false;
    }
    return true;
}

bool os_change_root(const char *dir, Error **errp)
{
    if (chroot(dir) < 0 || chdir("/") < 0) {
        error_set_errno(errp, errno, "cannot make '%s' the root folder", dir);
        return false;
    }
    return true;
}

/* ---- the helper process of -run-with async-teardown=on ---- */

/*
 * Runs on its own small stack in the same memory: system calls only. It ends when its parent has
 * ended, and as the last user of the memory it is then the one that waits for its release.
 */
static int teardown_main(void *opaque)
{
    pid_t parent = GPOINTER_TO_INT(opaque);
    sigset_t all;
    int sig;

    syscall(SYS_setsid);
    prctl(PR_SET_NAME, "cleat-teardown");
    sigfillset(&all);
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    syscall(SYS_close_range, 0u, ~0u, 0u);
    while (getppid() == parent) {
        if (sigwait(&all, &sig) == 0 && sig == SIGHUP) {
            break;
        }
    }
    _exit(0);
}

bool os_async_teardown(Error **errp)
{
    enum { STACK = 64 * 1024 };
    sigset_t all, old;
    char *stack;
    pid_t pid;

    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        error_set_errno(errp, errno, "async-teardown: cannot allocate a stack");
        return false;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);           /* the helper starts with all blocked */
    pid = clone(teardown_main, stack + STACK, CLONE_VM, GINT_TO_POINTER(getpid()));
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (pid < 0) {
        error_set_errno(errp, errno, "async-teardown: cannot start the helper process");
        munmap(stack, STACK);
        return false;
    }
    return true;
}

/* ---- names and signals ---- */

void os_set_process_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void os_set_thread_name(const char *name)
{
    g_autofree char *shown = g_strndup(name, 15);

    pthread_setname_np(pthread_self(), shown);
}

static OsSignalFn *signal_fn;      /* a signal handler has no argument of its own */

static void signal_handle(int sig, siginfo_t *info, void *context)
{
    int saved = errno;

    signal_fn(sig, info->si_pid);
    errno = saved;
}

void os_catch_signals(OsSignalFn *fn)
{
    static const int signals[] = { SIGINT, SIGHUP, SIGTERM };
    struct sigaction act = { .sa_sigaction = signal_handle, .sa_flags = SA_SIGINFO | SA_RESTART };

    signal_fn = fn;
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        sigaction(signals[i], &act, NULL);
    }
}

char *os_process_name_of(int pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", pid);
    char *text = NULL;

    if (pid <= 0 || !g_file_get_contents(path, &text, NULL, NULL)) {
        return NULL;
    }
    return text;        /* the first word ends at its NUL */
}
