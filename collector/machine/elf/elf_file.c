/* SPDX-License-Identifier: MIT */
/* Opens an ELF file: its build-id, the map between offsets and addresses, and its sections. */
#include "elf_file.h"

#include "elf_parts.h"

#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static const uint8_t *elf_piece_at(struct elf_file *file, uint64_t offset, size_t size,
                                   uint64_t limit);
static void elf_pieces_free(struct elf_file *file);
static int elf_sections_load(struct elf_file *file);

enum { HEADERS_MAX = 4096, PAGE_SIZE_BYTES = 4096, NOTES_SIZE_MAX = 1 << 16 };

/* True if [offset, offset + size) lies in the file. */
static bool elf_file_holds(const struct elf_file *file, uint64_t offset, uint64_t size)
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

/* Reads `count` items of `size` bytes from `offset` on. 0, -EBADMSG or -ENOMEM; then *ret_table
 * (free) is unchanged. */
static int elf_file_table(const struct elf_file *file, uint64_t offset, size_t count, size_t size,
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

/* Searches the notes of one range. */
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

/* Finds a note of type NT_GNU_BUILD_ID, in a PT_NOTE segment or, for separate debug files without
 * its bytes, in a section. Source: gABI chapter 5, "Note Section". */
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

/* How well a segment fits an offset: 0: not at all; 1: only its first page; 2: its bytes; 3: its
 * bytes, and it is executable. */
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

/* Finds the file offset of an address range, and of the end of its segment. */
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

/* ---- Sections -------------------------------------------------------------------------------- */

/* Parts of an ELF file that were read: sections by name, decompressed if needed, and blocks around
 * single addresses. A damaged or truncated table of sections counts as missing. Compression: gABI
 * chapter 4, SHF_COMPRESSED. */

enum { SECTIONS_MAX = 1 << 17, NAMES_MAX = 16 << 20, LINK_NAME_MAX = 4096 };

/* Missing in older C libraries. */
enum { COMPRESS_ZLIB = 1, COMPRESS_ZSTD = 2 };

static const uint64_t BLOCK_SIZE = 64 << 10;

static const uint64_t UNPACKED_MAX = 4ull << 30;

/* The highest compression ratios: a stream that claims more is rejected before allocation. */
static const uint64_t ZLIB_RATIO_MAX = 1100, ZSTD_RATIO_MAX = 45000;

static struct elf_piece *piece_new(uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    struct elf_piece *piece = malloc(sizeof(*piece) + (size_t)size + 1);
    if (!piece)
        return NULL;
    *piece = (struct elf_piece){.size = (size_t)size};
    piece->bytes[size] = 0;
    return piece;
}

static struct elf_piece *piece_read(struct elf_file *file, uint64_t offset, uint64_t size)
{
    if (!elf_file_holds(file, offset, size))
        return NULL;
    struct elf_piece *piece = piece_new(size);
    if (!piece)
        return NULL;
    piece->offset = offset;
    piece->file_size = size;
    if (!elf_file_read(file, offset, piece->bytes, (size_t)size)) {
        free(piece);
        return NULL;
    }
    return piece;
}

static bool unpack_zlib(const struct elf_piece *packed, struct elf_piece *piece)
{
    uLongf size = piece->size;
    return uncompress(piece->bytes, &size, packed->bytes + sizeof(Elf64_Chdr),
                      packed->size - sizeof(Elf64_Chdr)) == Z_OK &&
           size == piece->size;
}

static bool unpack_zstd(const struct elf_piece *packed, struct elf_piece *piece)
{
    return ZSTD_decompress(piece->bytes, piece->size, packed->bytes + sizeof(Elf64_Chdr),
                           packed->size - sizeof(Elf64_Chdr)) == piece->size;
}

static struct elf_piece *unpack(const struct elf_piece *packed)
{
    Elf64_Chdr head;
    if (packed->size < sizeof(head))
        return NULL;
    memcpy(&head, packed->bytes, sizeof(head));
    uint64_t ratio = head.ch_type == COMPRESS_ZLIB ? ZLIB_RATIO_MAX : ZSTD_RATIO_MAX;
    if (head.ch_size > UNPACKED_MAX || head.ch_size / ratio > packed->size)
        return NULL;
    struct elf_piece *piece = piece_new(head.ch_size);
    if (!piece)
        return NULL;
    piece->offset = packed->offset;
    piece->file_size = packed->file_size;
    piece->unpacked = true;
    bool good = false;
    if (head.ch_type == COMPRESS_ZLIB)
        good = unpack_zlib(packed, piece);
    else if (head.ch_type == COMPRESS_ZSTD)
        good = unpack_zstd(packed, piece);
    if (good)
        return piece;
    free(piece);
    return NULL;
}

static struct elf_piece *keep_piece(struct elf_file *file, struct elf_piece *piece)
{
    if (piece) {
        piece->next = file->pieces;
        file->pieces = piece;
    }
    return piece;
}

static struct elf_piece *section_read(struct elf_file *file, const Elf64_Shdr *section)
{
    struct elf_piece *piece = piece_read(file, section->sh_offset, section->sh_size);
    if (!piece || !(section->sh_flags & SHF_COMPRESSED))
        return piece;
    struct elf_piece *unpacked = unpack(piece);
    free(piece);
    return unpacked;
}

static struct elf_piece *section_find(struct elf_file *file, const Elf64_Shdr *section)
{
    bool packed = section->sh_flags & SHF_COMPRESSED;
    for (struct elf_piece *piece = file->pieces; piece; piece = piece->next) {
        if (piece->offset == section->sh_offset && piece->file_size == section->sh_size &&
            piece->unpacked == packed)
            return piece;
    }
    return NULL;
}

struct elf_piece *elf_piece_of_section(struct elf_file *file, const Elf64_Shdr *section, bool keep)
{
    if (!keep)
        return section_read(file, section);
    pthread_mutex_lock(&file->lock);
    struct elf_piece *piece = section_find(file, section);
    if (!piece)
        piece = keep_piece(file, section_read(file, section));
    pthread_mutex_unlock(&file->lock);
    return piece;
}

static const uint8_t *block_at(struct elf_file *file, uint64_t offset, size_t size, uint64_t limit)
{
    for (struct elf_piece *piece = file->pieces; piece; piece = piece->next) {
        uint64_t inside = offset - piece->offset;
        if (!piece->unpacked && offset >= piece->offset && inside <= piece->size &&
            size <= piece->size - inside)
            return piece->bytes + inside;
    }
    uint64_t begin = offset - offset % BLOCK_SIZE;
    uint64_t end = begin + BLOCK_SIZE;
    if (size > BLOCK_SIZE - (offset - begin)) {
        begin = offset;
        end = offset + size;
    }
    struct elf_piece *piece =
        keep_piece(file, piece_read(file, begin, (end < limit ? end : limit) - begin));
    return piece ? piece->bytes + (offset - begin) : NULL;
}

/* A cached piece that covers the range. */
static const uint8_t *elf_piece_at(struct elf_file *file, uint64_t offset, size_t size,
                                   uint64_t limit)
{
    pthread_mutex_lock(&file->lock);
    const uint8_t *bytes = block_at(file, offset, size, limit);
    pthread_mutex_unlock(&file->lock);
    return bytes;
}

static void elf_pieces_free(struct elf_file *file)
{
    pthread_mutex_lock(&file->lock);
    while (file->pieces) {
        struct elf_piece *next = file->pieces->next;
        free(file->pieces);
        file->pieces = next;
    }
    pthread_mutex_unlock(&file->lock);
}

/* Numbers that do not fit the file's header are stored in section 0. */
static bool extended_numbers(const struct elf_file *file, size_t *count, size_t *names_index)
{
    Elf64_Shdr first;
    *count = file->head.e_shnum;
    *names_index = file->head.e_shstrndx;
    if (*count != 0 && *names_index != SHN_XINDEX)
        return true;
    if (!elf_file_read(file, file->head.e_shoff, &first, sizeof(first)))
        return false;
    if (*count == 0)
        *count = first.sh_size;
    if (*names_index == SHN_XINDEX)
        *names_index = first.sh_link;
    return true;
}

static int load_names(struct elf_file *file, const Elf64_Shdr *section)
{
    if (section->sh_type != SHT_STRTAB || section->sh_size > NAMES_MAX ||
        !elf_file_holds(file, section->sh_offset, section->sh_size))
        return -EBADMSG;
    file->section_names_size = section->sh_size;
    file->section_names = malloc(section->sh_size + 1);
    if (!file->section_names)
        return -ENOMEM;
    file->section_names[section->sh_size] = 0;
    return elf_file_read(file, section->sh_offset, file->section_names, section->sh_size)
               ? 0
               : -EBADMSG;
}

static int load_table(struct elf_file *file)
{
    size_t count, names_index;
    if (file->head.e_shoff == 0 || file->head.e_shentsize != sizeof(Elf64_Shdr) ||
        !extended_numbers(file, &count, &names_index))
        return -EBADMSG;
    if (count > SECTIONS_MAX || names_index >= count)
        return -EBADMSG;
    int error = elf_file_table(file, file->head.e_shoff, count, sizeof(Elf64_Shdr),
                               (void **)&file->sections);
    if (error)
        return error;
    file->section_count = count;
    return load_names(file, &file->sections[names_index]);
}

/* Reads the table of sections; a damaged one counts as empty. 0 or -ENOMEM. */
static int elf_sections_load(struct elf_file *file)
{
    int error = load_table(file);
    if (error)
        file->section_count = 0;
    return error == -ENOMEM ? error : 0;
}

static const Elf64_Shdr *section_named(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_name < file->section_names_size && section->sh_type != SHT_NOBITS &&
            section->sh_type != SHT_NULL &&
            strcmp(file->section_names + section->sh_name, name) == 0)
            return section;
    }
    return NULL;
}

static struct elf_section section_of(const Elf64_Shdr *section, const uint8_t *bytes, size_t size)
{
    return (struct elf_section){.bytes = bytes,
                                .size = size,
                                .address = section->sh_flags & SHF_ALLOC ? section->sh_addr : 0,
                                .flags = section->sh_flags};
}

bool elf_file_section(struct elf_file *file, const char *name, struct elf_section *ret_section)
{
    const Elf64_Shdr *section = section_named(file, name);
    const struct elf_piece *piece = section ? elf_piece_of_section(file, section, true) : NULL;
    if (!piece)
        return false;
    *ret_section = section_of(section, piece->bytes, piece->size);
    return true;
}

bool elf_file_copy_section(struct elf_file *file, const char *name, struct elf_section *ret_section)
{
    const Elf64_Shdr *section = section_named(file, name);
    struct elf_piece *piece = section ? elf_piece_of_section(file, section, false) : NULL;
    if (!piece)
        return false;
    size_t size = piece->size;
    memmove(piece, piece->bytes, size); /* the caller frees the bytes, so move them to the front */
    *ret_section = section_of(section, (const uint8_t *)piece, size);
    return true;
}

const char *elf_file_debug_link(struct elf_file *file, uint32_t *ret_crc)
{
    struct elf_section section;
    if (!elf_file_section(file, ".gnu_debuglink", &section) || section.size < 8 ||
        section.size > LINK_NAME_MAX)
        return NULL;
    const char *name = (const char *)section.bytes;
    size_t length = strnlen(name, section.size);
    size_t place = (length + 4) & ~(size_t)3; /* of the checksum, after the name and its NUL */
    if (length == 0 || place > section.size - 4)
        return NULL;
    memcpy(ret_crc, section.bytes + place, sizeof(*ret_crc));
    return name;
}
