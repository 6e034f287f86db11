/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory-backend-file and memory-backend-memfd: guest memory in a file, a hugetlbfs or device file,
 * or a memfd. A mem-path that is a directory gets an unlinked file in it. Main thread. Test:
 * tests/unit/test-backends.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "system/backends/hostmem-internal.h"
#include "util/units.h"

typedef struct HostMemFile {
    HostMem hm;
    char *path;
    uint64_t align, offset;
    bool discard_data, pmem, readonly;
    OnOffAuto rom;
    bool created;                   /* we made the file: remove it on failure */
} HostMemFile;

/* ---- the file ---- */

static int open_in_directory(HostMemFile *f, Error **errp)
{
    g_autofree char *name = g_strdup_printf("%s/cleat-%s-XXXXXX", f->path, f->hm.obj.id);
    int fd = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) {
        error_set_errno(errp, errno, "cannot create a file in mem-path=%s", f->path);
        return -1;
    }
    unlink(name);
    return fd;
}

static int open_path(HostMemFile *f, Error **errp)
{
    int flags = (f->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC;
    struct stat st;
    int fd;

    if (!f->path) {
        error_set(errp, "Parameter 'mem-path' is missing");
        return -1;
    }
    if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode) && !f->readonly) {
        return open_in_directory(f, errp);
    }
    fd = open(f->path, flags);
    if (fd < 0 && errno == ENOENT && !f->readonly) {
        fd = open(f->path, flags | O_CREAT | O_EXCL, 0644);
        f->created = fd >= 0;
    }
    if (fd < 0) {
        error_set_errno(errp, errno, "cannot open mem-path=%s", f->path);
    }
    return fd;
}

/* hugetlbfs wants whole huge pages. */
static uint64_t file_page_size(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : 4096;
}

static bool file_fit_size(HostMemFile *f, int fd, Error **errp)
{
    uint64_t want = f->hm.size + f->offset;
    struct stat st;

    if (fstat(fd, &st) < 0) {
        error_set_errno(errp, errno, "mem-path=%s", f->path);
        return false;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= want) {
        return true;
    }
    if (st.st_size > 0 || f->readonly) {
        error_set(errp, "mem-path=%s holds %" PRIu64 " bytes, fewer than offset= plus size= (%" PRIu64 ")", f->path,
                  (uint64_t)st.st_size, want);
        return false;
    }
    if (ftruncate(fd, want) < 0) {
        error_set_errno(errp, errno, "mem-path=%s cannot grow to %" PRIu64 " bytes", f->path, want);
        return false;
    }
    return true;
}

static bool file_check_config(HostMemFile *f, Error **errp)
{
    if (f->align && !is_power_of_2(f->align)) {
        error_set(errp, "align=%" PRIu64 " is no power of two", f->align);
        return false;
    }
    if (f->pmem) {
        error_set(errp, "pmem=on is not served: this program is built without libpmem");
        return false;
    }
    if (f->rom == ON_OFF_AUTO_ON && !f->readonly) {
        error_set(errp, "rom=on needs readonly=on");
        return false;
    }
    if (f->offset % 4096) {
        error_set(errp, "offset=%" PRIu64 " is no multiple of the page size 4096", f->offset);
        return false;
    }
    return true;
}

static bool file_realize(Object *obj, Error **errp)
{
    HostMemFile *f = (HostMemFile *)obj;
    HostMemMap map = { .fd_offset = f->offset };
    uint64_t page;

    if (!file_check_config(f, errp)) {
        return false;
    }
    map.fd = open_path(f, errp);
    if (map.fd < 0) {
        return false;
    }
    page = file_page_size(map.fd);
    map.hugetlb = page > 4096;
    map.align = MAX_OF(page, f->align);
    map.readonly = f->readonly && f->rom != ON_OFF_AUTO_OFF;
    if (f->hm.size % page == 0 && !file_fit_size(f, map.fd, errp)) {
        close(map.fd);
    } else if (hostmem_map(&f->hm, &map, errp)) {
        return true;
    }
    if (f->created) {
        unlink(f->path);
    }
    return false;
}

static void file_unrealize(Object *obj)
{
    HostMemFile *f = (HostMemFile *)obj;

    if (f->discard_data && f->hm.mapped) {
        madvise(memory_region_ram_ptr(&f->hm.mr), f->hm.size, MADV_REMOVE);
    }
}

static const Property file_props[] = {
    { .name = "mem-path", .kind = PROP_STR, .offset = offsetof(HostMemFile, path), .help = "file or directory" },
    PROP_FIELD("align", PROP_SIZE, HostMemFile, align, 0, "alignment of the mapping in bytes"),
    PROP_FIELD("offset", PROP_SIZE, HostMemFile, offset, 0, "where in the file the memory begins"),
    PROP_FIELD("discard-data", PROP_BOOL, HostMemFile, discard_data, false, "drop the contents at the end"),
    PROP_FIELD("pmem", PROP_BOOL, HostMemFile, pmem, false, "the file is persistent memory"),
    PROP_FIELD("readonly", PROP_BOOL, HostMemFile, readonly, false, "open the file for reading only"),
    PROP_FIELD("rom", PROP_ONOFFAUTO, HostMemFile, rom, ON_OFF_AUTO_AUTO, "make it ROM to the guest"),
    PROP_END
};
static const Type file_type = { .name = "memory-backend-file", .parent = TYPE_MEMORY_BACKEND, .user_creatable = true,
    .desc = "host memory in a file", .size = sizeof(HostMemFile), .props = file_props, .realize = file_realize,
    .unrealize = file_unrealize };
TYPE_REGISTER(file_type)

/* ---- memfd ---- */

typedef struct HostMemMemfd {
    HostMem hm;
    bool hugetlb, seal;
    uint64_t hugetlb_size;
} HostMemMemfd;

static void memfd_init(Object *obj)
{
    ((HostMem *)obj)->share = true; /* the point of a memfd; share=off may still be asked for */
}

static unsigned memfd_flags(const HostMemMemfd *m)
{
    unsigned flags = MFD_CLOEXEC | (m->seal ? MFD_ALLOW_SEALING : 0) | (m->hugetlb ? MFD_HUGETLB : 0);

    return m->hugetlb && m->hugetlb_size ? flags | (unsigned)__builtin_ctzll(m->hugetlb_size) << 26 : flags;
}

static bool memfd_realize(Object *obj, Error **errp)
{
    HostMemMemfd *m = (HostMemMemfd *)obj;
    HostMemMap map = { .hugetlb = m->hugetlb };

    if (m->hugetlb_size && (!m->hugetlb || !is_power_of_2(m->hugetlb_size))) {
        error_set(errp, m->hugetlb ? "hugetlbsize=%" PRIu64 " is no power of two"
                                   : "hugetlbsize=%" PRIu64 " needs hugetlb=on", m->hugetlb_size);
        return false;
    }
    map.align = !m->hugetlb ? 0 : m->hugetlb_size ? m->hugetlb_size : 2 * MiB;
    map.fd = memfd_create("memory-backend-memfd", memfd_flags(m));
    if (map.fd < 0) {
        error_set_errno(errp, errno, m->hugetlb ? "hugetlb=on: cannot create the memory" : "cannot create a memfd");
        return false;
    }
    if (ftruncate(map.fd, m->hm.size) < 0 ||
        (m->seal && fcntl(map.fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)) {
        error_set_errno(errp, errno, "cannot size the memfd to %" PRIu64 " bytes", m->hm.size);
        close(map.fd);
        return false;
    }
    return hostmem_map(&m->hm, &map, errp);
}

static const Property memfd_props[] = {
    PROP_FIELD("hugetlb", PROP_BOOL, HostMemMemfd, hugetlb, false, "from the huge page pool"),
    PROP_FIELD("hugetlbsize", PROP_SIZE, HostMemMemfd, hugetlb_size, 0, "huge page size (ex: 2M, 1G)"),
    PROP_FIELD("seal", PROP_BOOL, HostMemMemfd, seal, true, "forbid resizing"),
    PROP_END
};
static const Type memfd_type = { .name = "memory-backend-memfd", .parent = TYPE_MEMORY_BACKEND,
    .user_creatable = true, .desc = "host memory in a memfd", .size = sizeof(HostMemMemfd), .props = memfd_props,
    .init = memfd_init, .realize = memfd_realize };
TYPE_REGISTER(memfd_type)
