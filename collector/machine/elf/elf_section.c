/* SPDX-License-Identifier: MIT */
/* The stretches of an ELF file that were read: sections by name, unpacked where they are
 * compressed, and blocks around single addresses. A file whose table of sections is damaged or cut
 * off counts as one without. Compression: gABI chapter 4, SHF_COMPRESSED. */
#include "elf_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { SECTIONS_MAX = 1 << 17, NAMES_MAX = 16 << 20, LINK_NAME_MAX = 4096 };

/* Older C libraries do not name it. */
enum { COMPRESS_ZLIB = 1, COMPRESS_ZSTD = 2 };

static const uint64_t BLOCK_SIZE = 64 << 10;
static const uint64_t UNPACKED_MAX = 4ull << 30;
/* No stream can hold more than this many times its size: what claims to is not worth memory. */
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

const uint8_t *elf_piece_at(struct elf_file *file, uint64_t offset, size_t size, uint64_t limit)
{
    pthread_mutex_lock(&file->lock);
    const uint8_t *bytes = block_at(file, offset, size, limit);
    pthread_mutex_unlock(&file->lock);
    return bytes;
}

void elf_pieces_free(struct elf_file *file)
{
    pthread_mutex_lock(&file->lock);
    while (file->pieces) {
        struct elf_piece *next = file->pieces->next;
        free(file->pieces);
        file->pieces = next;
    }
    pthread_mutex_unlock(&file->lock);
}

/* Numbers that do not fit the file's head stand in section 0. */
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

int elf_sections_load(struct elf_file *file)
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
    memmove(piece, piece->bytes, size); /* the caller frees the bytes, so they stand first */
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
    size_t place = (length + 4) & ~(size_t)3; /* of the checksum: behind the name and its zero */
    if (length == 0 || place > section.size - 4)
        return NULL;
    memcpy(ret_crc, section.bytes + place, sizeof(*ret_crc));
    return name;
}
