/* SPDX-License-Identifier: MIT */
/* Opening an ELF file, its build-id, and the map between its offsets and addresses. elf_section.c
 * reads bytes and sections, elf_symbols.c symbols. */
#include "elf_parts.h"
#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADERS_MAX = 4096, PAGE_SIZE_BYTES = 4096, NOTES_SIZE_MAX = 1 << 16 };

bool elf_file_holds(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

bool elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size)
{
    if (!elf_file_holds(file, offset, size))
        return false;
    if (file->image) {
        memcpy(bytes, file->image + offset, size);
        return true;
    }
    return file_read_at(file->fd, bytes, size, offset) == (ssize_t)size;
}

static bool head_valid(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_ident[EI_VERSION] == EV_CURRENT &&
           (head->e_type == ET_EXEC || head->e_type == ET_DYN);
}

int elf_file_table(const struct elf_file *file, uint64_t offset, size_t count, size_t size,
                   void **ret_table)
{
    if (!elf_file_holds(file, offset, count * size))
        return -EBADMSG;
    void *table = malloc(count * size);
    if (!table)
        return -ENOMEM;
    if (!elf_file_read(file, offset, table, count * size)) {
        free(table);
        return -EBADMSG;
    }
    *ret_table = table;
    return 0;
}

static int load_headers(struct elf_file *file)
{
    size_t count = file->head.e_phnum;
    if (count == 0)
        return 0;
    if (count > HEADERS_MAX || file->head.e_phentsize != sizeof(Elf64_Phdr))
        return -EBADMSG;
    int error = elf_file_table(file, file->head.e_phoff, count, sizeof(Elf64_Phdr),
                               (void **)&file->headers);
    file->header_count = error ? 0 : count;
    return error;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Looks through the notes of one stretch. */
static bool find_in(struct elf_file *file, const uint8_t *bytes, uint64_t size, uint64_t alignment)
{
    uint64_t at = 0;
    while (at < size && size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof(note));
        uint64_t name = at + sizeof(note);
        uint64_t value = align_up(name + note.n_namesz, alignment);
        uint64_t end = value + note.n_descsz;
        if (end > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(bytes + name, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= ELF_BUILD_ID_MAX) {
            memcpy(file->build_id, bytes + value, note.n_descsz);
            file->build_id_size = note.n_descsz;
            return true;
        }
        at = align_up(end, alignment);
    }
    return false;
}

static bool find_at(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t alignment)
{
    if (size == 0 || size > NOTES_SIZE_MAX)
        return false;
    uint8_t *bytes = malloc(size);
    bool found = bytes && elf_file_read(file, offset, bytes, size) &&
                 find_in(file, bytes, size, alignment == 8 ? 8 : 4);
    free(bytes);
    return found;
}

/* A note of type NT_GNU_BUILD_ID, in a PT_NOTE segment or, where separate debug files have no bytes
 * for that, in a section. Source: gABI chapter 5, "Note Section". */
static void find_build_id(struct elf_file *file)
{
    for (size_t i = 0; i < file->header_count; i++) {
        const Elf64_Phdr *header = &file->headers[i];
        if (header->p_type == PT_NOTE &&
            find_at(file, header->p_offset, header->p_filesz, header->p_align))
            return;
    }
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_type == SHT_NOTE && !(section->sh_flags & SHF_COMPRESSED) &&
            find_at(file, section->sh_offset, section->sh_size, section->sh_addralign))
            return;
    }
}

static int load(struct elf_file *file)
{
    if (!elf_file_read(file, 0, &file->head, sizeof(file->head)) || !head_valid(&file->head))
        return -EBADMSG;
    int error = load_headers(file);
    if (!error)
        error = elf_sections_load(file);
    if (!error)
        find_build_id(file);
    return error;
}

static struct elf_file *file_new(void)
{
    struct elf_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->fd = -1;
    pthread_mutex_init(&file->lock, NULL);
    return file;
}

int elf_file_open(int fd, struct elf_file **ret_file)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EBADMSG;
    struct elf_file *file = file_new();
    if (!file)
        return -ENOMEM;
    file->size = (uint64_t)status.st_size;
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int error = file->fd < 0 ? -errno : load(file);
    if (error) {
        elf_file_close(file);
        return error;
    }
    *ret_file = file;
    return 0;
}

int elf_file_open_image(const void *bytes, size_t size, struct elf_file **ret_file)
{
    struct elf_file *file = file_new();
    if (!file)
        return -ENOMEM;
    file->size = size;
    file->image = malloc(size ? size : 1);
    int error = -ENOMEM;
    if (file->image) {
        memcpy(file->image, bytes, size);
        error = load(file);
    }
    if (error) {
        elf_file_close(file);
        return error;
    }
    *ret_file = file;
    return 0;
}

int elf_file_reopen(const struct elf_file *file, struct elf_file **ret_file)
{
    return file->image ? elf_file_open_image(file->image, (size_t)file->size, ret_file)
                       : elf_file_open(file->fd, ret_file);
}

void elf_file_trim(struct elf_file *file)
{
    elf_pieces_free(file);
}

void elf_file_close(struct elf_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    elf_pieces_free(file);
    pthread_mutex_destroy(&file->lock);
    free(file->image);
    free(file->headers);
    free(file->sections);
    free(file->section_names);
    free(file);
}

bool elf_file_owner(const struct elf_file *file, uint32_t *ret_uid)
{
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) != 0)
        return false;
    *ret_uid = status.st_uid;
    return true;
}

uint16_t elf_file_machine(const struct elf_file *file)
{
    return file->head.e_machine;
}

uint64_t elf_file_entry(const struct elf_file *file)
{
    return file->head.e_entry;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t id[ELF_BUILD_ID_MAX])
{
    memcpy(id, file->build_id, file->build_id_size);
    return file->build_id_size;
}

static struct elf_segment segment_of(const Elf64_Phdr *header)
{
    return (struct elf_segment){.address = header->p_vaddr,
                                .size = header->p_memsz,
                                .offset = header->p_offset,
                                .file_size = header->p_filesz,
                                .flags = header->p_flags};
}

size_t elf_file_segment_count(const struct elf_file *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->header_count; i++)
        count += file->headers[i].p_type == PT_LOAD;
    return count;
}

struct elf_segment elf_file_segment(const struct elf_file *file, size_t index)
{
    for (size_t i = 0; i < file->header_count; i++) {
        if (file->headers[i].p_type == PT_LOAD && index-- == 0)
            return segment_of(&file->headers[i]);
    }
    return (struct elf_segment){0};
}

bool elf_file_header(const struct elf_file *file, uint32_t type, struct elf_segment *ret_segment)
{
    for (size_t i = 0; i < file->header_count; i++) {
        if (file->headers[i].p_type == type) {
            *ret_segment = segment_of(&file->headers[i]);
            return true;
        }
    }
    return false;
}

/* How well a segment fits an offset: 0 not at all, 1 only its first page, 2 its bytes, 3 it is
 * executable. */
static int fit(const Elf64_Phdr *header, uint64_t offset)
{
    uint64_t page = header->p_offset & ~(uint64_t)(PAGE_SIZE_BYTES - 1);
    if (header->p_type != PT_LOAD || header->p_filesz == 0 || offset < page)
        return 0;
    if (offset >= header->p_offset && offset - header->p_offset >= header->p_filesz)
        return 0;
    if (header->p_flags & PF_X)
        return 3;
    return offset >= header->p_offset ? 2 : 1;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address)
{
    int best = 0;
    for (size_t i = 0; i < file->header_count; i++) {
        const Elf64_Phdr *header = &file->headers[i];
        int value = fit(header, offset);
        if (value > best) {
            best = value;
            *ret_address = header->p_vaddr + (offset - header->p_offset);
        }
    }
    return best > 0;
}

/* Where the bytes of a stretch of addresses are, and where those of its segment end. */
static bool find_bytes(const struct elf_file *file, uint64_t address, size_t size,
                       uint64_t *ret_offset, uint64_t *ret_end)
{
    for (size_t i = 0; i < file->header_count; i++) {
        const Elf64_Phdr *header = &file->headers[i];
        uint64_t inside = address - header->p_vaddr;
        if (header->p_type != PT_LOAD || address < header->p_vaddr || header->p_offset > file->size)
            continue;
        uint64_t there = file->size - header->p_offset;
        there = header->p_filesz < there ? header->p_filesz : there;
        if (inside >= there || size > there - inside)
            continue;
        *ret_offset = header->p_offset + inside;
        *ret_end = header->p_offset + there;
        return true;
    }
    return false;
}

const uint8_t *elf_file_at(struct elf_file *file, uint64_t address, size_t size)
{
    uint64_t offset, end;
    return find_bytes(file, address, size, &offset, &end) ? elf_piece_at(file, offset, size, end)
                                                          : NULL;
}

bool elf_file_copy_at(const struct elf_file *file, uint64_t address, void *bytes, size_t size)
{
    uint64_t offset, end;
    return find_bytes(file, address, size, &offset, &end) &&
           elf_file_read(file, offset, bytes, size);
}
