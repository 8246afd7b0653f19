/* SPDX-License-Identifier: MIT */
/* The directory of the cache of unwind rows: found, made, kept below a size.
 *
 * A directory that another user owns or may write to is not used: neither would its files be to be
 * trusted, nor may a privileged process be led to write there. Thread-safety: yes; several
 * processes may share it. */
#ifndef ANNOT_UNWIND_CACHE_H
#define ANNOT_UNWIND_CACHE_H

#include "unwind_table.h"

#include <stdint.h>

/* NULL: the user's. A descriptor, or -errno. */
int cache_folder_open(const char *directory);

/* Deletes files, those used longest ago first, until all are together below `size_max` bytes; and
 * what interrupted writers have left. */
void cache_folder_trim(int folder, uint64_t size_max);

/* The same through a cache: `directory` NULL = $XDG_CACHE_HOME/annot/unwind or ~/.cache/...; files
 * are named by a hash of what a table is made of and of who owns the ELF file (build-ids are what
 * anybody claims), checked by version, owner, size and checksum, written atomically, and dropped
 * when wrong. Small tables, images in memory, and a directory that is not the caller's own or
 * cannot be written are built each time. Beyond 256 MiB the files unused for longest go. */
int unwind_cache_table(const char *directory, struct elf_file *file,
                       struct unwind_table **ret_table);

#endif
