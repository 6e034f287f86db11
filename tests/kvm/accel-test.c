/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulator with one more device, "accel-test": what a payload cannot do alone, asked for by port writes.
 *
 * Dirty log, doorbells (ioeventfd), descriptors that raise interrupts (irqfd), stopping a CPU that spins, waking one
 * that
 * halts, and a checkpoint: the machine's state is saved to a file and the process ends, or is loaded from it. The
 * payload
 * (tests/payload, END=4) prints what it gets, so the transcript must not depend on the accelerator; latencies go to
 * stderr.
 * Machine lock. Used by test-accel.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "accel/accel.h"
#include "hw/isa/isa.h"
#include "system/cpus.h"
#include "system/loop.h"
#include "system/machine.h"
#include "system/runstate.h"
#include "system/system.h"
#include "system/vmstate.h"
#include "target/i386/apic.h"

/* Ports from 2a0h: +0 command (write) and result (read), +4 argument, +8 and +12 doorbells. All 4 bytes wide. */
enum { PORT_COMMAND = 0, PORT_ARGUMENT = 4, PORT_BELL_ANY = 8, PORT_BELL_MATCH = 12, PORTS = 16 };
#define BELL_MATCH 0x5aul
#define BELL_PAGE 0xd0000000ul      /* MMIO: +0 any value, +8 only BELL_MATCH */
enum {
    CMD_LOG_ON = 1, CMD_LOG_OFF,    /* of main memory */
    CMD_LOG_SYNC,                   /* argument: page number; result: is it dirty since the last sync? */
    CMD_BELLS,                      /* result: eventfd counts, 8 bits each: port any, match, MMIO any, match */
    CMD_WRITES,                     /* result: writes that reached the device's own handlers: ports, then MMIO << 8 */
    CMD_IRQFD,                      /* argument: vector at APIC id 0, 0: away again; a second time: another vector */
    CMD_IRQFD_RING,                 /* the descriptor is written */
    CMD_KICK,                       /* argument: address that a CPU counts up; result: 1 good, 2 it ran on */
    CMD_WAKE,                       /* vector in the argument comes in 20 ms, so that the CPU halts first */
    CMD_WOKEN,
    CMD_CHECKPOINT,                 /* result: 1 once it is over */
    CMD_MARK,                       /* result: what this process is marked with */
    CMD_STOPPED,                    /* result: how the last point was hit */
    CMD_POINTS,                     /* result: does the host do a debugger's points? */
    CMD_STEPS,                      /* argument: word + 4 is set after three steps; result: those that were right */
    CMD_POINT = 32,                 /* + DebugKind: a debugger's point at the address in the argument */
};

typedef struct AccelTest {
    IsaDevice parent;
    char *save, *load;              /* files, config */
    uint32_t mark;
    bool points;
    MemoryRegion ports, page;
    int fd[4], irq_fd, route;
    uint32_t argument, result, port_writes, page_writes;
    BottomHalf *kick_bh, *checkpoint_bh, *point_bh, *steps_bh, *debug_bh;
    DebugPoint point;
    uint32_t stopped;               /* DEBUG_* below */
    uint32_t steps, good_steps;     /* of CMD_STEPS: still to go */
    uint64_t rip;                   /* before the step */
    Timer wake;
    int64_t asked_ns;
} AccelTest;

static int64_t now_us(void)
{
    return clock_ns(CLOCK_REAL) / 1000;
}

static uint32_t bells_take(AccelTest *s)
{
    uint32_t all = 0;

    for (int i = 0; i < 4; i++) {
        uint64_t n = 0;

        if (read(s->fd[i], &n, sizeof(n)) == sizeof(n)) {
            all |= (uint32_t)n << (8 * i);
        }
    }
    return all;
}

static uint32_t page_dirty(AccelTest *s, uint32_t page)
{
    MemoryRegion *ram = machine_current()->ram;

    memory_sync_dirty(ram);
    return ram_dirty_test_clear(ram->ram->first_page + page, 1, DIRTY_MIGRATION);
}

/* ---- interrupts from a descriptor ---- */

/* What an owner does where there is no irqfd: polls, and sends the message itself. */
static void irq_fd_readable(void *opaque)
{
    AccelTest *s = opaque;
    uint64_t n;

    if (read(s->irq_fd, &n, sizeof(n)) == sizeof(n)) {
        apic_send_msi(0xfee00000, s->argument);
    }
}

static int irqfd_change(AccelTest *s)
{
    const AccelChips *chips = &machine_current()->accel_chips;

    if (!chips->irqfd_set) {
        loop_set_fd(loop_main(), s->irq_fd, s->argument ? irq_fd_readable : NULL, NULL, s);
        return 0;
    }
    if (!s->argument) {
        int ret = chips->irqfd_set(s->irq_fd, s->route, false);

        chips->msi_route_free(s->route);
        s->route = -1;
        return ret;
    }
    if (s->route >= 0) {
        chips->msi_route_set(s->route, 0xfee00000, s->argument);
        return 0;
    }
    s->route = chips->msi_route_new(0xfee00000, s->argument);
    return s->route < 0 ? s->route : chips->irqfd_set(s->irq_fd, s->route, true);
}

static void eventfd_ring(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) != sizeof(one)) {
        fprintf(stderr, "accel-test: eventfd: %s\n", strerror(errno));
    }
}

/* ---- stopping a CPU that spins; waking one that halts ---- */

static uint32_t guest_word(uint32_t addr)
{
    uint32_t v = 0;

    address_space_read(&machine_current()->as_memory, addr, &v, sizeof(v));
    return v;
}

/* The counter moves, stands still while the machine is stopped, and is then told to end. */
static void kick(void *opaque)
{
    AccelTest *s = opaque;
    uint32_t addr = s->argument, before = guest_word(addr), one = 1;
    int64_t start = now_us(), took;
    bool still;

    if (!before) {                  /* it has not begun */
        bh_schedule(s->kick_bh);
        return;
    }
    vm_stop(RUN_STATE_PAUSED);
    took = now_us() - start;
    before = guest_word(addr);
    usleep(20000);
    still = guest_word(addr) == before;
    s->result = still ? 1 : 2;
    address_space_write(&machine_current()->as_memory, addr + 4, &one, sizeof(one));
    vm_start();
    fprintf(stderr, "accel-test: a spinning CPU stopped after %" PRId64 " us\n", took);
}

static void wake(void *opaque)
{
    AccelTest *s = opaque;

    s->asked_ns = clock_ns(CLOCK_REAL);
    apic_send_msi(0xfee00000, s->argument);
}

/* ---- checkpoint ---- */

/* A digest of what the stream has of interrupt controllers: entries are {u8 kind, u16 n, key, u32 length, payload}. */
static void digests_print(const GByteArray *stream)
{
    const uint8_t *at = stream->data + 8, *end = stream->data + stream->len;

    while (at + 7 < end && *at) {
        uint16_t n;
        uint32_t len;
        g_autofree char *key = NULL, *sum = NULL;

        memcpy(&n, at + 1, 2);
        memcpy(&len, at + 3 + n, 4);
        key = g_strndup((const char *)at + 3, n);
        at += 7 + n;
        if (strstr(key, "8259") || strstr(key, "ioapic") || g_str_has_prefix(key, "apic/")) {
            sum = g_compute_checksum_for_data(G_CHECKSUM_MD5, at, len);
            fprintf(stderr, "accel-test: state %s %s\n", key, sum);
        }
        at += len;
    }
}

static void checkpoint_save(AccelTest *s)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    Error *err = NULL;

    vm_stop(RUN_STATE_PAUSED);
    if (!machine_state_save(out, true, &err) || !g_file_set_contents(s->save, (char *)out->data, out->len, NULL)) {
        fprintf(stderr, "accel-test: cannot save: %s\n", err ? error_text(err) : s->save);
    }
    digests_print(out);
    system_shutdown_request(SHUTDOWN_HOST_SIGNAL);
}

static void checkpoint_load(AccelTest *s)
{
    g_autofree char *data = NULL;
    gsize len;
    Error *err = NULL;

    vm_stop(RUN_STATE_PAUSED);
    if (!g_file_get_contents(s->load, &data, &len, NULL) || !machine_state_load((uint8_t *)data, len, &err)) {
        fprintf(stderr, "accel-test: cannot load: %s\n", err ? error_text(err) : s->load);
        system_shutdown_request(SHUTDOWN_HOST_SIGNAL);
        return;
    }
    vm_start();
}

static void checkpoint(void *opaque)
{
    AccelTest *s = opaque;

    if (s->save) {
        checkpoint_save(s);
    } else if (s->load) {
        checkpoint_load(s);
    }
    s->result = 1;
}

/* ---- a debugger: a point is hit once, taken away, and a step follows a breakpoint ---- */

enum { DEBUG_WHY_SHIFT = 0, DEBUG_KIND_SHIFT = 4, DEBUG_AT_POINT = 1 << 8, DEBUG_RIP_IS_IT = 1 << 9,
       DEBUG_STEPPED = 1 << 10, DEBUG_STEP_MOVED = 1 << 11, DEBUG_REFUSED = 1 << 12 };

static uint64_t linear_rip(const X86State *st)
{
    return st->seg[SEG_CS].base + st->rip;
}

/* The point cannot be set from a vCPU: everything has to be stopped. */
static void point_set(void *opaque)
{
    AccelTest *s = opaque;
    g_autoptr(Error) err = NULL;

    vm_stop(RUN_STATE_PAUSED);
    s->stopped = accel_current()->debug_insert(vcpu_get(0), &s->point, &err) ? 0 : DEBUG_REFUSED;
    vm_start();
    s->result = 1;
}

static void step_begin(AccelTest *s, VCpu *cpu, uint32_t how)
{
    vcpus_get_state();
    s->rip = linear_rip(X86_CPU(cpu)->st);
    cpu->debug_step = how;
    accel_current()->debug_step(cpu);
    vm_start();
}

static void steps_begin(void *opaque)
{
    AccelTest *s = opaque;

    vm_stop(RUN_STATE_PAUSED);
    s->steps = 3;
    s->good_steps = 0;
    step_begin(s, vcpu_get(0), DEBUG_STEP_ON | DEBUG_STEP_NOIRQ);
}

static void steps_go_on(AccelTest *s, VCpu *cpu, DebugStop stop)
{
    const uint32_t one = 1;

    s->good_steps += stop.why == DEBUG_WHY_STEP && linear_rip(X86_CPU(cpu)->st) != s->rip;
    if (!--s->steps) {
        s->result = s->good_steps;
        address_space_write(&machine_current()->as_memory, s->argument + 4, &one, sizeof(one));
    }
    step_begin(s, cpu, s->steps ? DEBUG_STEP_ON | DEBUG_STEP_NOIRQ : 0);
}

static void debug_stopped(void *opaque)
{
    AccelTest *s = opaque;
    VCpu *cpu = vcpu_get(0);
    DebugStop stop = cpu->debug_stop;
    bool step = false;

    vcpus_get_state();
    cpu->debug_stop.why = DEBUG_WHY_NONE;
    if (s->steps) {
        steps_go_on(s, cpu, stop);
        return;
    }
    if (cpu->debug_step) {
        s->stopped |= (stop.why == DEBUG_WHY_STEP ? DEBUG_STEPPED : 0) |
                      (linear_rip(X86_CPU(cpu)->st) != s->point.addr ? DEBUG_STEP_MOVED : 0);
    } else {
        s->stopped |= stop.why << DEBUG_WHY_SHIFT | stop.kind << DEBUG_KIND_SHIFT |
                      (stop.addr == s->point.addr ? DEBUG_AT_POINT : 0) |
                      (linear_rip(X86_CPU(cpu)->st) == s->point.addr ? DEBUG_RIP_IS_IT : 0);
        accel_current()->debug_remove(cpu, &s->point);
        step = stop.why == DEBUG_WHY_BREAK;
    }
    step_begin(s, cpu, step ? DEBUG_STEP_ON | DEBUG_STEP_NOIRQ : 0);
}

static void run_changed(void *opaque, bool running, RunState state)
{
    if (!running && state == RUN_STATE_DEBUG) {
        bh_schedule(((AccelTest *)opaque)->debug_bh);
    }
}

/* ---- ports ---- */

static void command(AccelTest *s, uint32_t cmd)
{
    MemoryRegion *ram = machine_current()->ram;

    s->result = 0;
    if (cmd >= CMD_POINT && cmd < CMD_POINT + DEBUG_KINDS) {
        s->point = (DebugPoint) { .kind = cmd - CMD_POINT, .addr = s->argument, .len = 4 };
        bh_schedule(s->point_bh);
        return;
    }
    switch (cmd) {
    case CMD_LOG_ON:
    case CMD_LOG_OFF:
        memory_region_set_log(ram, cmd == CMD_LOG_ON, DIRTY_MIGRATION);
        memory_sync_dirty(ram);
        ram_dirty_test_clear(ram->ram->first_page, ram->size / 4096, DIRTY_MIGRATION);
        break;
    case CMD_LOG_SYNC: s->result = page_dirty(s, s->argument); break;
    case CMD_BELLS: s->result = bells_take(s); break;
    case CMD_WRITES: s->result = s->port_writes | s->page_writes << 8; break;
    case CMD_IRQFD: s->result = -irqfd_change(s); break;
    case CMD_IRQFD_RING: eventfd_ring(s->irq_fd); break;
    case CMD_KICK: bh_schedule(s->kick_bh); break;
    case CMD_WAKE: timer_mod(&s->wake, clock_ns(CLOCK_REAL) + 20000000); break;
    case CMD_WOKEN:
        fprintf(stderr, "accel-test: a halted CPU woke after %" PRId64 " us\n", now_us() - s->asked_ns / 1000);
        break;
    case CMD_MARK: s->result = s->mark; break;
    case CMD_STOPPED: s->result = s->stopped; break;
    case CMD_POINTS: s->result = s->points; break;
    case CMD_STEPS: bh_schedule(s->steps_bh); break;
    case CMD_CHECKPOINT: bh_schedule(s->checkpoint_bh); break;
    }
}

static uint64_t ports_read(void *opaque, hwaddr addr, unsigned size)
{
    AccelTest *s = opaque;

    return addr == PORT_COMMAND ? s->result : s->argument;
}

static void ports_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AccelTest *s = opaque;

    if (addr == PORT_COMMAND) {
        command(s, value);
    } else if (addr == PORT_ARGUMENT) {
        s->argument = value;
    } else {
        s->port_writes++;
    }
}

static void page_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    ((AccelTest *)opaque)->page_writes++;
}

static uint64_t page_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static const MemoryRegionOps ports_ops = {
    .read = ports_read, .write = ports_write, .valid = { .min = 4, .max = 4 }, .impl = { .min = 4, .max = 4 },
};
static const MemoryRegionOps page_ops = {
    .read = page_read, .write = page_write, .valid = { .min = 4, .max = 4 }, .impl = { .min = 4, .max = 4 },
};

static bool accel_test_realize(Object *obj, Error **errp)
{
    AccelTest *s = (AccelTest *)obj;

    for (int i = 0; i < 4; i++) {
        s->fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    s->irq_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->route = -1;
    s->kick_bh = bh_new(loop_main(), kick, s);
    s->checkpoint_bh = bh_new(loop_main(), checkpoint, s);
    s->steps_bh = bh_new(loop_main(), steps_begin, s);
    s->point_bh = bh_new(loop_main(), point_set, s);
    s->debug_bh = bh_new(loop_main(), debug_stopped, s);
    vm_change_notifier_add(run_changed, s);
    timer_init(&s->wake, CLOCK_REAL, wake, s);
    memory_region_init_io(&s->ports, obj, &ports_ops, s, "accel-test", PORTS);
    memory_region_init_io(&s->page, obj, &page_ops, s, "accel-test-page", 4096);
    if (!isa_port_map(&s->parent, &s->ports, 0x2a0, errp)) {
        return false;
    }
    memory_region_add(&machine_current()->system_memory, BELL_PAGE, &s->page, 1);
    memory_region_add_eventfd(&s->ports, PORT_BELL_ANY, 4, false, 0, s->fd[0]);
    memory_region_add_eventfd(&s->ports, PORT_BELL_MATCH, 4, true, BELL_MATCH, s->fd[1]);
    memory_region_add_eventfd(&s->page, 0, 4, false, 0, s->fd[2]);
    memory_region_add_eventfd(&s->page, 8, 4, true, BELL_MATCH, s->fd[3]);
    return true;
}

static const Property accel_test_props[] = {
    PROP_FIELD("save", PROP_STR, AccelTest, save, 0, "file that the checkpoint saves to, ending the process"),
    PROP_FIELD("load", PROP_STR, AccelTest, load, 0, "file that the checkpoint goes on from"),
    PROP_FIELD("points", PROP_BOOL, AccelTest, points, false, "the host does a debugger's points"),
    PROP_FIELD("mark", PROP_U32, AccelTest, mark, 0, "a number that the payload prints after the checkpoint"),
    PROP_END
};

static const Type accel_test_type = {
    .name = "accel-test", .parent = "isa-device", .desc = "what a payload asks an accelerator's test for",
    .user_creatable = true, .no_hotplug = true, .size = sizeof(AccelTest), .props = accel_test_props,
    .realize = accel_test_realize,
};
TYPE_REGISTER(accel_test_type)

int main(int argc, char **argv)
{
    return vl_main(argc, argv);
}
