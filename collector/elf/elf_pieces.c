/* SPDX-License-Identifier: MIT */
/* The stretches of an ELF file that were read: sections, unpacked where they are compressed, and
 * blocks around single addresses. Compression: gABI chapter 4, SHF_COMPRESSED. */
#include "elf_private.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

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
