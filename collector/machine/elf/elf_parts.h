/* SPDX-License-Identifier: MIT */
/* Internals of elf/: the source of an ELF file's bytes, and the cached parts.
 *
 * `lock` guards `pieces` and their bytes are never written after they are in the list; all else is
 * immutable after open. */
#ifndef ANNOT_ELF_PARTS_H
#define ANNOT_ELF_PARTS_H

#include "elf_file.h"

#include <elf.h>
#include <pthread.h>

/* A cached range of the file, followed by a zero byte. */
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
    char *section_names; /* followed by a zero byte */
    size_t section_names_size;
    size_t build_id_size;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    pthread_mutex_t lock;
    struct elf_piece *pieces;
};

#endif
