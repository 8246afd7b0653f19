/* SPDX-License-Identifier: MIT */
/* The directory of the cache of unwind rows: found, created, kept below a size.
 *
 * A directory that another user owns or may write to is not used: its files could not be trusted,
 * and a privileged process could be tricked into writing there. Thread-safety: yes; several
 * processes may share it. */
#ifndef ANNOT_UNWIND_CACHE_H
#define ANNOT_UNWIND_CACHE_H

#include "unwind_table.h"

#include <stdint.h>

/* NULL: the user's. A descriptor, or -errno. */
int cache_folder_open(const char *directory);

/* Deletes files, least recently used first, until the total is below `size_max` bytes; and
 * leftovers of interrupted writers. */
void cache_folder_trim(int folder, uint64_t size_max);

/* As unwind_table_build, through a cache: `directory` NULL = $XDG_CACHE_HOME/annot/unwind or
 * ~/.cache/...; files are named by a hash of a table's input and the ELF file's owner (build-ids
 * can be forged), checked by version, owner, size and checksum, written atomically, and dropped
 * when invalid. Small tables and images in memory are built each time, as are all if the directory
 * is not the caller's own or not writable. Above 256 MiB the least recently used files are
 * deleted. */
int unwind_cache_table(const char *directory, struct elf_file *file,
                       struct unwind_table **ret_table);

#endif
