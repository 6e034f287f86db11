/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs inside a Linux guest: storms of wake-ups, interrupts and signals, each of which checks itself.
 *
 *   gueststress SECONDS [NAME...]
 *
 * Jobs (a process each): pipe and futex ping-pong (a lost wake-up stops them), queued signals counted on both sides,
 * TLB shoot-downs and membarriers, SIGFPE and SIGSEGV with all registers checked in the handler, code that is
 * generated and changed under W^X and through a second mapping, fork with copy-on-write. The first process watches:
 * a job that makes no progress for STALL seconds has lost something. Ends with "STRESS-OK" and the jobs' counts, or
 * with lines "STRESS-FAIL job: what". Static, no libraries but glibc. Run by test-stress.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { JOBS = 16, STALL = 20, THREADS = 4 };

typedef struct Shared {
    _Atomic uint64_t count[JOBS];
    _Atomic int stop, failed;
} Shared;
static Shared *shared;
static int job_number;
static const char *job_name;

static void fail(const char *format, ...)
{
    va_list args;
    char text[200];

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("STRESS-FAIL %s: %s\n", job_name, text);
    fflush(stdout);
    shared->failed = shared->stop = 1;
    _exit(1);
}

static void progress(void)
{
    atomic_fetch_add_explicit(&shared->count[job_number], 1, memory_order_relaxed);
}

static void on_signal(int sig, void (*f)(int, siginfo_t *, void *))
{
    static char stack[64 << 10];
    stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | SA_ONSTACK };

    sigaltstack(&alt, NULL);
    sigaction(sig, &sa, NULL);
}

static long futex(_Atomic uint32_t *at, int op, uint32_t v)
{
    return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, v, NULL, NULL, 0);
}

/* ---- wake-ups ---- */
static void job_pipe(void)
{
    int there[2], back[2];
    uint64_t v = 0, got;
    pid_t child;

    if (pipe(there) || pipe(back)) {
        fail("pipe: %d", errno);
    }
    child = fork();
    if (!child) {
        while (read(there[0], &got, 8) == 8 && write(back[1], &got, 8) == 8) {
        }
        _exit(0);
    }
    while (!shared->stop) {
        if (write(there[1], &v, 8) != 8 || read(back[0], &got, 8) != 8 || got != v) {
            fail("sent %llu, got %llu", (unsigned long long)v, (unsigned long long)got);
        }
        v = v * 6364136223846793005 + 1;
        progress();
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static _Atomic uint32_t turn;

static void *futex_player(void *arg)
{
    uint32_t me = (uintptr_t)arg;

    for (;;) {
        uint32_t t = turn;

        if (shared->stop) {
            turn = t + 1;
            futex(&turn, FUTEX_WAKE, 1000);
            return NULL;
        }
        if (t % THREADS != me) {
            futex(&turn, FUTEX_WAIT, t);
            continue;
        }
        turn = t + 1;
        futex(&turn, FUTEX_WAKE, 1000);
        progress();
    }
}

static void threads_run(void *(*f)(void *))
{
    pthread_t t[THREADS];

    for (uintptr_t n = 0; n < THREADS; n++) {
        if (pthread_create(&t[n], NULL, f, (void *)n)) {
            fail("pthread_create");
        }
    }
    for (int n = 0; n < THREADS; n++) {
        pthread_join(t[n], NULL);
    }
}

static void job_futex(void)
{
    threads_run(futex_player);
}

/* A mutex and a condition variable: a bounded queue whose sum must come out. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t room, there;
    unsigned in, out;
    uint64_t item[8], put, got;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER, .there = PTHREAD_COND_INITIALIZER };

static void *queue_player(void *arg)
{
    int producer = (uintptr_t)arg & 1, stop = 0;

    while (!stop) {
        pthread_mutex_lock(&queue.lock);
        while (!shared->stop && (producer ? queue.in - queue.out == 8 : queue.in == queue.out)) {
            pthread_cond_wait(producer ? &queue.room : &queue.there, &queue.lock);
        }
        if (producer && queue.in - queue.out < 8 && !shared->stop) {
            queue.item[queue.in % 8] = queue.in * 77;
            queue.put += queue.item[queue.in++ % 8];
            pthread_cond_signal(&queue.there);
        } else if (!producer && queue.in != queue.out) {
            queue.got += queue.item[queue.out++ % 8];
            pthread_cond_signal(&queue.room);
            progress();
        }
        stop = shared->stop;
        pthread_mutex_unlock(&queue.lock);
    }
    pthread_cond_broadcast(&queue.room);
    pthread_cond_broadcast(&queue.there);
    return NULL;
}

static void job_queue(void)
{
    threads_run(queue_player);
    while (queue.in != queue.out) {
        queue.got += queue.item[queue.out++ % 8];
    }
    if (queue.put != queue.got) {
        fail("put %llu, got %llu", (unsigned long long)queue.put, (unsigned long long)queue.got);
    }
}

/* ---- signals ---- */
static _Atomic uint64_t signals_got, signals_sum;

static void count_signal(int sig, siginfo_t *info, void *context)
{
    signals_got++;
    signals_sum += info->si_value.sival_int;
}

/* Queued signals to the parent, which computes all the while: none may be lost, nor change what it computes. */
static void job_signal(void)
{
    pid_t parent = getpid(), child;
    int status;
    uint64_t lcg = 1;

    for (int n = 0; n < 100000; n++) {                  /* before the storm */
        lcg = lcg * 6364136223846793005 + 1442695040888963407;
    }
    on_signal(SIGRTMIN, count_signal);
    while (!shared->stop) {
        volatile double x = 1;
        uint64_t sent = 500;
        volatile uint64_t a = 1;

        signals_got = signals_sum = 0;
        child = fork();
        if (!child) {
            for (uint64_t n = 1; n <= sent; n++) {
                while (sigqueue(parent, SIGRTMIN, (union sigval){ .sival_int = n })) {
                    sched_yield();
                }
            }
            _exit(0);
        }
        for (int n = 0; n < 100000; n++) {
            a = a * 6364136223846793005 + 1442695040888963407;
            x = x * 1.0000001 + 1e-9;
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        for (int n = 0; n < 1000 && signals_got < sent; n++) {
            usleep(1000);
        }
        if (signals_got != sent || signals_sum != sent * (sent + 1) / 2) {
            fail("%llu signals of %llu came", (unsigned long long)signals_got, (unsigned long long)sent);
        }
        if (a != lcg || x < 1.0101 || x > 1.0102) {
            fail("the computation went wrong: %#llx %.9f", (unsigned long long)a, x);
        }
        progress();
    }
}

/* ---- faults with every register checked ---- */
static struct {
    int seen, wrong;
    uint64_t want_rip, next_rip, trap;
    void *page;
} fault;
extern const char fpe_at[], fpe_next[], segv_at[];

static void check_registers(int sig, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    static const int reg[] = { REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
                               REG_R14, REG_R15 };

    fault.seen++;
    fault.wrong |= g[REG_RIP] != fault.want_rip || g[REG_TRAPNO] != fault.trap || !(g[REG_EFL] & 1);
    for (unsigned n = 0; n < sizeof(reg) / sizeof(reg[0]); n++) {
        if (sig == SIGFPE && (reg[n] == REG_RDX || reg[n] == REG_RCX)) {
            continue;
        }
        fault.wrong |= g[reg[n]] != 0x1111 * (n + 1);
    }
    if (sig == SIGFPE) {
        g[REG_RIP] = fault.next_rip;
        return;
    }
    fault.wrong |= info->si_addr != (char *)fault.page + 0x20 || !(g[REG_ERR] & 2);
    mprotect(fault.page, 4096, PROT_READ | PROT_WRITE);
}

#define REGISTERS "mov $0x1111, %%ebx; mov $0x2222, %%ecx; mov $0x3333, %%edx; mov $0x4444, %%esi; " \
    "mov $0x5555, %%r8d; mov $0x6666, %%r9d; mov $0x7777, %%r10d; mov $0x8888, %%r11d; mov $0x9999, %%r12d;" \
    "mov $0xaaaa, %%r13d; mov $0xbbbb, %%r14d; mov $0xcccc, %%r15d;"
#define CLOBBERS "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory"

static void job_fpe(void)
{
    on_signal(SIGFPE, check_registers);
    fault.want_rip = (uintptr_t)fpe_at;
    fault.next_rip = (uintptr_t)fpe_next;
    while (!shared->stop) {
        uint64_t a = 5;

        fault.seen = 0;
        for (int n = 0; n < 100; n++) {
            __asm__ volatile(REGISTERS "xor %%edx, %%edx; xor %%ecx, %%ecx; stc\n"
                             "fpe_at: div %%rcx\nfpe_next: add $1, %0"
                             : "+a"(a) : : CLOBBERS);
        }
        if (fault.seen != 100 || fault.wrong || a != 105) {
            fail("%d faults of 100, wrong %d, a %llu", fault.seen, fault.wrong, (unsigned long long)a);
        }
        progress();
    }
}

static void job_segv(void)
{
    on_signal(SIGSEGV, check_registers);
    fault.want_rip = (uintptr_t)segv_at;
    fault.trap = 14;
    fault.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (!shared->stop) {
        uint64_t *cell = (uint64_t *)((char *)fault.page + 0x20), v = *cell;

        fault.seen = 0;
        for (int n = 0; n < 50; n++) {
            uint64_t a = 3;

            mprotect(fault.page, 4096, n & 1 ? PROT_READ : PROT_NONE);
            __asm__ volatile(REGISTERS "stc\nsegv_at: adcq %0, 0x20(%1)" : "+a"(a) : "D"(fault.page) : CLOBBERS);
            for (int k = 0; k < 20; k++) {              /* hot without a fault */
                __asm__ volatile("addq $1, 0x20(%0)" : : "r"(fault.page) : "memory", "cc");
            }
        }
        if (fault.seen != 50 || fault.wrong || *cell != v + 50 * 24) {
            fail("%d faults of 50, wrong %d, sum %llu", fault.seen, fault.wrong, (unsigned long long)(*cell - v));
        }
        progress();
    }
}

/* ---- shoot-downs ---- */
static volatile uint32_t *shot;
static _Atomic int shot_wrong;

/* The page is replaced by one with another number while all read it: no old number once the next was seen. */
static void *shot_player(void *arg)
{
    uint32_t last = 0;

    while (!shared->stop) {
        if ((uintptr_t)arg == 0) {
            uint32_t next = *shot + 1;
            uint32_t *fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

            *fresh = next;
            mremap(fresh, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)shot);
            syscall(SYS_membarrier, 8, 0, 0);           /* PRIVATE_EXPEDITED */
            progress();
        } else {
            uint32_t v = *shot;

            shot_wrong |= v < last;
            last = v;
        }
    }
    return NULL;
}

static void shot_segv(int sig, siginfo_t *info, void *context)
{
    if ((char *)info->si_addr - (char *)shot >= 4096UL || shared->stop) {
        fail("fault at %p", info->si_addr);
    }
}

/* Between the old page's end and the new one a reader may fault: it tries again. */
static void job_shoot(void)
{
    on_signal(SIGSEGV, shot_segv);
    shot = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    syscall(SYS_membarrier, 16, 0, 0);                  /* REGISTER_PRIVATE_EXPEDITED */
    threads_run(shot_player);
    if (shot_wrong) {
        fail("an old page was seen after a new one");
    }
}

/* ---- generated code ---- */
static uint32_t run_code(const void *code)
{
    return ((uint32_t (*)(void))(uintptr_t)code)();
}

static void job_jit(void)
{
    static const uint8_t mov_ret[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
    int fd = memfd_create("jit", 0);
    uint8_t *w, *x, *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (fd < 0 || ftruncate(fd, 8192)) {
        fail("memfd_create");
    }
    w = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    x = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (uint32_t n = 0; !shared->stop; n++) {
        unsigned at = n * 7 % 8000;                     /* now and then across the two pages */

        memcpy(w + at, mov_ret, sizeof(mov_ret));
        for (uint32_t k = 0; k < 20; k++) {
            memcpy(w + at + 1, &(uint32_t){ n + k }, 4);
            if (run_code(x + at) != n + k) {
                fail("two mappings: old code at %u", at);
            }
        }
        mprotect(own, 8192, PROT_READ | PROT_WRITE);
        memcpy(own + at, mov_ret, sizeof(mov_ret));
        memcpy(own + at + 1, &n, 4);
        mprotect(own, 8192, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 10; k++) {
            if (run_code(own + at) != n) {
                fail("mprotect: old code at %u", at);
            }
        }
        progress();
    }
}

/* ---- fork ---- */
static void job_fork(void)
{
    enum { WORDS = 64 << 10 };
    uint32_t *mem = mmap(NULL, WORDS * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (uint32_t round = 1; !shared->stop; round++) {
        pid_t child;
        int status;

        for (unsigned n = 0; n < WORDS; n += 64) {
            mem[n] = n ^ round;
        }
        child = fork();
        for (unsigned n = 0; n < WORDS; n += 64) {      /* both write: neither may see the other's */
            if (mem[n] != (n ^ round)) {
                fail("word %u is %u", n, mem[n]);
            }
            mem[n] = child ? 1 : 2;
        }
        for (unsigned n = 0; n < WORDS; n += 64) {
            if (mem[n] != (child ? 1 : 2)) {
                fail("word %u is %u, of the other process", n, mem[n]);
            }
        }
        if (!child) {
            _exit(7);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
            fail("a child ended with %#x", status);
        }
        progress();
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} jobs[] = { { "pipe", job_pipe }, { "futex", job_futex }, { "queue", job_queue }, { "signal", job_signal },
             { "fpe", job_fpe }, { "segv", job_segv }, { "shoot", job_shoot }, { "jit", job_jit },
             { "fork", job_fork } };
enum { N_JOBS = sizeof(jobs) / sizeof(jobs[0]) };

static int wanted(const char *name, int argc, char **argv)
{
    for (int n = 2; n < argc; n++) {
        if (!strcmp(argv[n], name)) {
            return 1;
        }
    }
    return argc <= 2;
}

/* Until the time is over or something failed: every second, has every job moved on lately? */
static void watch(int seconds, const pid_t *pid)
{
    uint64_t last[N_JOBS] = { 0 };
    int still[N_JOBS] = { 0 };

    for (int t = 0; t < seconds && !shared->failed; t++) {
        sleep(1);
        for (int n = 0; n < N_JOBS; n++) {
            still[n] = shared->count[n] == last[n] ? still[n] + 1 : 0;
            last[n] = shared->count[n];
            if (pid[n] && still[n] >= STALL) {
                printf("STRESS-FAIL %s: no progress for %d s after %llu rounds\n", jobs[n].name, STALL,
                       (unsigned long long)last[n]);
                shared->failed = 1;
            }
        }
    }
    shared->stop = 1;
}

/* A job that does not end has lost its last wake-up. */
static void collect(int n, pid_t pid)
{
    int status;

    for (int t = 0; t < STALL * 10; t++) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (status || !shared->count[n]) {
                printf("STRESS-FAIL %s: ended with %#x after %llu rounds\n", jobs[n].name, status,
                       (unsigned long long)shared->count[n]);
                shared->failed = 1;
            }
            return;
        }
        usleep(100000);
    }
    printf("STRESS-FAIL %s: does not end\n", jobs[n].name);
    shared->failed = 1;
    kill(pid, SIGKILL);
}

int main(int argc, char **argv)
{
    pid_t pid[N_JOBS] = { 0 };

    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int n = 0; n < N_JOBS; n++) {
        if (!wanted(jobs[n].name, argc, argv)) {
            continue;
        }
        fflush(stdout);
        pid[n] = fork();
        if (!pid[n]) {
            job_number = n;
            job_name = jobs[n].name;
            jobs[n].run();
            _exit(0);
        }
    }
    watch(argc > 1 ? atoi(argv[1]) : 10, pid);
    for (int n = 0; n < N_JOBS; n++) {
        if (pid[n]) {
            collect(n, pid[n]);
        }
    }
    if (shared->failed) {
        return 1;
    }
    printf("STRESS-OK");
    for (int n = 0; n < N_JOBS; n++) {
        printf(" %s=%llu", jobs[n].name, (unsigned long long)shared->count[n]);
    }
    printf("\n");
    return 0;
}
