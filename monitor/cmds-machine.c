/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP handlers about the machine, its CPUs and its memory (qapi/machine.json).
 * Main loop thread, machine lock. Test: tests/monitor/qmp.py.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "accel/accel.h"
#include "monitor/monitor-int.h"
#include "system/cpus.h"
#include "system/machine.h"
#include "system/system.h"

/* "VmLck:   123 kB" of /proc/self/status, in bytes; 0 where the host has no such file. */
static uint64_t proc_status_bytes(const char *field)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    uint64_t kib = 0;

    if (!f) {
        return 0;
    }
    while (fgets(line, sizeof(line), f)) {
        if (!strncmp(line, field, strlen(field))) {
            kib = g_ascii_strtoull(line + strlen(field), NULL, 10);
            break;
        }
    }
    fclose(f);
    return kib << 10;
}

bool qmp_query_memory_lock(QapiMemoryLockInfo *ret, Error **errp)
{
    struct rlimit limit;

    ret->mode = qapi_enum_find(&qapi_type_MemoryLockMode, mlock_state_name(mlock_state));
    ret->locked = proc_status_bytes("VmLck:");
    ret->resident = proc_status_bytes("VmRSS:");
    ret->ram = ram_total();
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        ret->has_limit = true;
        ret->limit = limit.rlim_cur;
    }
    return true;
}

bool qmp_query_target(QapiTargetInfo *ret, Error **errp)
{
    ret->arch = QAPI_SYS_EMU_TARGET_X86_64;
    return true;
}

bool qmp_query_kvm(QapiKvmInfo *ret, Error **errp)
{
    const AccelOps *kvm = accel_find("kvm"), *current = accel_current();

    ret->enabled = kvm && current == kvm;
    ret->present = kvm && (ret->enabled || !kvm->available || kvm->available(NULL));
    ret->has_rescues = ret->enabled && kvm->rescues;
    ret->rescues = ret->has_rescues ? kvm->rescues() : 0;
    return true;
}

bool qmp_query_name(QapiNameInfo *ret, Error **errp)
{
    Machine *m = machine_current();

    ret->name = m ? g_strdup(m->config.name) : NULL;
    return true;
}

bool qmp_query_uuid(QapiUuidInfo *ret, Error **errp)
{
    Machine *m = machine_current();

    ret->UUID = m && m->config.uuid_set ? g_ascii_strdown(m->config.uuid, -1)
                                        : g_strdup("00000000-0000-0000-0000-000000000000");
    return true;
}

/* The next level of the topology, from the innermost. */
static int64_t level_take(int *rest, unsigned size)
{
    int at = *rest % MAX(size, 1);

    *rest /= MAX(size, 1);
    return at;
}

static void cpu_place(const SmpConfig *smp, int index, QapiCpuInstanceProperties *p)
{
    p->has_thread_id = p->has_core_id = p->has_socket_id = true;
    p->has_module_id = smp->modules > 1;
    p->has_die_id = smp->dies > 1;
    p->thread_id = level_take(&index, smp->threads);
    p->core_id = level_take(&index, smp->cores);
    p->module_id = level_take(&index, smp->modules);
    p->die_id = level_take(&index, smp->dies);
    p->socket_id = level_take(&index, smp->sockets);
}

bool qmp_query_cpus_fast(QapiList *ret, Error **errp)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        QapiCpuInfoFast *info = qapi_list_add(ret, &qapi_list_CpuInfoFast);

        info->cpu_index = cpu->index;
        info->qom_path = object_path(&cpu->parent.obj);
        info->thread_id = cpu->tid;
        info->has_props = true;
        cpu_place(&machine_current()->config.smp, cpu->index, &info->props);
    }
    return true;
}
