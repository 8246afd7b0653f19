/* SPDX-License-Identifier: MIT */
/* Inside of elf/: where the bytes of an ELF file come from, and what was read of it.
 *
 * `lock` guards `pieces` and their bytes are never written after they are in the list; all else is
 * immutable after open. */
#ifndef ANNOT_ELF_PARTS_H
#define ANNOT_ELF_PARTS_H

#include "elf_file.h"

#include <elf.h>
#include <pthread.h>

/* A stretch of the file that is kept in memory, one zero byte behind it. */
struct elf_piece {
    struct elf_piece *next;
    uint64_t offset, file_size; /* in the file */
    bool unpacked;              /* was compressed there */
    size_t size;                /* in memory */
    uint8_t bytes[];
};

struct elf_file {
    int fd; /* -1: `image` */
    uint8_t *image;
    uint64_t size;
    Elf64_Ehdr head;
    Elf64_Phdr *headers;
    size_t header_count;
    Elf64_Shdr *sections;
    size_t section_count;
    char *section_names; /* a zero byte behind it */
    size_t section_names_size;
    size_t build_id_size;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    pthread_mutex_t lock;
    struct elf_piece *pieces;
};

/* Whether [offset, offset + size) lies in the file. */
bool elf_file_holds(const struct elf_file *file, uint64_t offset, uint64_t size);

/* Reads `count` items of `size` bytes from `offset` on. 0, -EBADMSG or -ENOMEM; *ret_table (free)
 * stays what it was then. */
int elf_file_table(const struct elf_file *file, uint64_t offset, size_t count, size_t size,
                   void **ret_table);

/* The piece of a whole section. NULL: no memory, not in the file, damaged. `keep` puts it into the
 * file's list (or finds it there); else the caller owns it. */
struct elf_piece *elf_piece_of_section(struct elf_file *file, const Elf64_Shdr *section, bool keep);
/* A kept piece that covers the range. */
const uint8_t *elf_piece_at(struct elf_file *file, uint64_t offset, size_t size, uint64_t limit);
void elf_pieces_free(struct elf_file *file);

/* Reads the table of sections; a damaged one counts as none. 0 or -ENOMEM. */
int elf_sections_load(struct elf_file *file);

#endif
