/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognising and loading kernel images; contract in include/hw/i386/kernel.h.
 *
 * Everything read from the file is judged here before use: offsets and sizes against the file, addresses against each
 * other and 4 GiB. Nothing of the guest is touched before kernel_load().
 */
#include "hw/i386/multiboot.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CLEAT_FUZZING
#define UNPACKED_MAX (16u << 20)    /* small inputs that unpack to much would only cost time */
#else
#define UNPACKED_MAX (1u << 30)
#endif
#define NOTE_PVH_ENTRY 18           /* XEN_ELFNOTE_PHYS32_ENTRY */

uint8_t *map_file(const char *path, const char *what, size_t *len, Error **errp)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p;

    if (fd < 0 || fstat(fd, &st) < 0) {
        error_set_errno(errp, errno, "could not open %s '%s'", what, path);
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || !st.st_size) {
        error_set(errp, "%s '%s' is %s", what, path, st.st_size ? "not a regular file" : "empty");
        close(fd);
        return NULL;
    }
    p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        error_set_errno(errp, errno, "could not map %s '%s'", what, path);
        p = NULL;
    }
    close(fd);
    *len = st.st_size;
    return p;
}

void unmap_file(uint8_t *data, size_t len)
{
    if (data) {
        munmap(data, len);
    }
}

/* ---- ELF ---- */

static bool segment_add(KernelImage *k, const uint8_t *data, size_t len, const Elf64_Phdr *ph, Error **errp)
{
    KernelSegment *s = &k->seg[k->n_seg];

    if (ph->p_type != PT_LOAD || !ph->p_memsz) {
        return true;
    }
    if (k->n_seg == G_N_ELEMENTS(k->seg)) {
        error_set(errp, "it has more than %zu loadable segments", G_N_ELEMENTS(k->seg));
        return false;
    }
    if (ph->p_offset > len || ph->p_filesz > len - ph->p_offset || ph->p_filesz > ph->p_memsz) {
        error_set(errp, "segment %d reaches beyond the file's end", k->n_seg);
        return false;
    }
    if (ph->p_paddr > UINT32_MAX || ph->p_memsz > UINT32_MAX - ph->p_paddr) {
        error_set(errp, "segment %d lies beyond 4 GiB (0x%" PRIx64 ")", k->n_seg, (uint64_t)ph->p_paddr);
        return false;
    }
    *s = (KernelSegment) { data + ph->p_offset, ph->p_filesz, ph->p_memsz, ph->p_paddr };
    k->start = k->n_seg ? MIN(k->start, s->paddr) : s->paddr;
    k->end = MAX(k->end, s->paddr + s->mem_size);
    k->n_seg++;
    return true;
}

/* The PVH entry point in a PT_NOTE segment; 0: none. */
static uint32_t note_find_pvh(const uint8_t *data, size_t len, const Elf64_Phdr *ph)
{
    size_t at = ph->p_offset, end;

    if (ph->p_offset > len || ph->p_filesz > len - ph->p_offset) {
        return 0;
    }
    end = ph->p_offset + ph->p_filesz;
    while (end - at >= 12) {
        uint32_t name_len = kernel_get32(data + at), desc_len = kernel_get32(data + at + 4);
        uint32_t type = kernel_get32(data + at + 8);
        uint64_t desc = at + 12 + ((uint64_t)name_len + 3) / 4 * 4;
        uint64_t next = desc + ((uint64_t)desc_len + 3) / 4 * 4;

        if (next > end) {
            break;
        }
        if (type == NOTE_PVH_ENTRY && name_len == 4 && !memcmp(data + at + 12, "Xen", 4) && desc_len >= 4) {
            return kernel_get32(data + desc);
        }
        at = next;
    }
    return 0;
}

/* Program header n of either class as a 64-bit one; false: it is outside the file. */
static bool phdr_get(const uint8_t *data, size_t len, bool is64, int n, Elf64_Phdr *out)
{
    uint64_t off = is64 ? kernel_get64(data + 32) : kernel_get32(data + 28);
    size_t size = is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    Elf32_Phdr p32;

    if (off > len || (len - off) / size <= (size_t)n) {
        return false;
    }
    if (is64) {
        memcpy(out, data + off + n * size, size);
        return true;
    }
    memcpy(&p32, data + off + n * size, size);
    *out = (Elf64_Phdr) { .p_type = p32.p_type, .p_offset = p32.p_offset, .p_paddr = p32.p_paddr,
                          .p_filesz = p32.p_filesz, .p_memsz = p32.p_memsz };
    return true;
}

bool kernel_take_elf(KernelImage *k, const uint8_t *data, size_t len, uint32_t *pvh, Error **errp)
{
    bool is64 = data[EI_CLASS] == ELFCLASS64;
    int n = kernel_get16(data + (is64 ? 56 : 44));
    unsigned machine = kernel_get16(data + 18);

    if (data[EI_DATA] != ELFDATA2LSB || (is64 ? machine != EM_X86_64 : machine != EM_386)) {
        error_set(errp, "it is an ELF file for another machine (e_machine %u)", machine);
        return false;
    }
    for (int i = 0; i < n; i++) {
        Elf64_Phdr ph;

        if (!phdr_get(data, len, is64, i, &ph)) {
            error_set(errp, "its program headers reach beyond the file's end");
            return false;
        }
        if (!segment_add(k, data, len, &ph, errp)) {
            return false;
        }
        if (ph.p_type == PT_NOTE && !*pvh) {
            *pvh = note_find_pvh(data, len, &ph);
        }
    }
    if (!k->n_seg) {
        error_set(errp, "it has no loadable segment");
        return false;
    }
    k->entry = is64 ? kernel_get64(data + 24) : kernel_get32(data + 24);
    return true;
}

bool kernel_is_elf(const uint8_t *data, size_t len)
{
    return len >= sizeof(Elf64_Ehdr) && !memcmp(data, ELFMAG, SELFMAG);
}

static bool kernel_parse_elf(KernelImage *k, const uint8_t *data, size_t len, Error **errp)
{
    uint32_t pvh = 0;

    if (!kernel_take_elf(k, data, len, &pvh, errp)) {
        return false;
    }
    if (!pvh) {
        error_set(errp, "it is an ELF file with neither a multiboot header nor a PVH entry note");
        return false;
    }
    k->entry_kind = KERNEL_ENTRY_PVH;
    k->entry = pvh;
    k->cmdline_max = 2047;
    k->initrd_max = 0x7fffffff;
    return true;
}

/* ---- bzImage (offsets: boot.rst "The real-mode kernel header") ---- */

/* The payload as an ELF file whose segments are taken; false leaves the image as it was. */
static bool bzimage_take_payload(KernelImage *k, const uint8_t *data, size_t len, size_t protected_at, Error **errp)
{
    uint64_t off = protected_at + (uint64_t)kernel_get32(data + 0x248);
    uint64_t size = kernel_get32(data + 0x24c);
    size_t out_len;
    uint32_t pvh = 0;

    if (!size || off > len || size > len - off) {
        error_set(errp, "its payload reaches beyond the file's end");
        return false;
    }
    k->payload = unpack(data + off, size, UNPACKED_MAX, &out_len, errp);
    if (!k->payload) {
        return false;
    }
    if (!kernel_is_elf(k->payload, out_len)) {
        error_set(errp, "its payload is not an ELF file");
        return false;
    }
    return kernel_take_elf(k, k->payload, out_len, &pvh, errp);
}

/* The image's own decompressor: loaded where the header prefers; its 64-bit entry is 0x200 in, the 32-bit one first. */
static void bzimage_take_whole(KernelImage *k, const uint8_t *data, size_t len, size_t protected_at)
{
    hwaddr pref = kernel_get64(data + 0x258);
    uint64_t init_size = kernel_get32(data + 0x260);

    g_clear_pointer(&k->payload, g_free);
    k->seg[0] = (KernelSegment) { data + protected_at, len - protected_at, len - protected_at, pref };
    k->n_seg = 1;
    k->entry = pref + (k->entry_kind == KERNEL_ENTRY_LINUX64 ? 0x200 : 0);
    k->start = pref;
    k->end = pref + MAX(init_size, len - protected_at);
}

static bool kernel_parse_bzimage(KernelImage *k, const uint8_t *data, size_t len, Error **errp)
{
    unsigned version = kernel_get16(data + 0x206);
    uint64_t pref = kernel_get64(data + 0x258), init_size = kernel_get32(data + 0x260);
    size_t protected_at = ((data[0x1f1] ? data[0x1f1] : 4) + 1u) * 512;
    unsigned header_end = 0x202 + data[0x201];
    g_autoptr(Error) why = NULL;

    if (version < 0x20a || !(data[0x211] & 1)) {
        error_set(errp, "its boot protocol is %u.%02u%s; a direct boot needs a bzImage of 2.10 or newer (the firmware "
                  "of -bios boots older ones)", version >> 8, version & 255, data[0x211] & 1 ? "" : ", loaded low");
        return false;
    }
    if (protected_at >= len || header_end > protected_at) {
        error_set(errp, "its set-up code reaches beyond the file's end");
        return false;
    }
    if (pref > UINT32_MAX || pref + init_size > UINT32_MAX) {
        error_set(errp, "it wants to be loaded beyond 4 GiB");
        return false;
    }
    k->entry_kind = version >= 0x20c && kernel_get16(data + 0x236) & 1 ? KERNEL_ENTRY_LINUX64 : KERNEL_ENTRY_LINUX32;
    k->setup_header_len = MIN(header_end, 0x1f1 + 0x90u) - 0x1f1;
    memcpy(k->setup_header, data + 0x1f1, k->setup_header_len);
    k->cmdline_max = kernel_get32(data + 0x238);
    k->initrd_max = kernel_get32(data + 0x22c);
    if (!bzimage_take_payload(k, data, len, protected_at, &why)) {
        k->n_seg = 0;
        bzimage_take_whole(k, data, len, protected_at);
    } else {
        k->end = MAX(k->end, k->start + init_size);
    }
    return true;
}

KernelImage *kernel_parse(const uint8_t *data, size_t len, const char *name, Error **errp)
{
    KernelImage *k = g_new0(KernelImage, 1);
    Error *err = NULL;
    bool ok = false;

    if (len >= 0x268 && kernel_get16(data + 0x1fe) == 0xaa55 && !memcmp(data + 0x202, "HdrS", 4)) {
        ok = kernel_parse_bzimage(k, data, len, &err);
    } else if (multiboot_is(data, len)) {               /* ELF files among them: whether by PVH or this is their word */
        ok = multiboot_parse(k, data, len, &err);
    } else if (kernel_is_elf(data, len)) {
        ok = kernel_parse_elf(k, data, len, &err);
    } else {
        error_set(&err, "it is neither a bzImage nor a multiboot or ELF file");
    }
    if (!ok) {
        error_prepend(&err, "cannot load kernel '%s': ", name);
        error_propagate(errp, err);
        kernel_free(k);
        return NULL;
    }
    return k;
}

KernelImage *kernel_open(const char *path, Error **errp)
{
    size_t len;
    uint8_t *file = map_file(path, "kernel file", &len, errp);
    KernelImage *k = file ? kernel_parse(file, len, path, errp) : NULL;

    if (!k) {
        unmap_file(file, len);
        return NULL;
    }
    if (k->payload) {
        unmap_file(file, len);      /* all segments are in the payload */
    } else {
        k->file = file;
        k->file_len = len;
    }
    return k;
}

void kernel_free(KernelImage *k)
{
    if (k) {
        unmap_file(k->file, k->file_len);
        g_free(k->payload);
        g_free(k);
    }
}

void kernel_load(const KernelImage *k, AddressSpace *as)
{
    for (int i = 0; i < k->n_seg; i++) {
        const KernelSegment *s = &k->seg[i];

        address_space_write_rom(as, s->paddr, s->data, s->file_size);
        address_space_set(as, s->paddr + s->file_size, 0, s->mem_size - s->file_size);
    }
}
