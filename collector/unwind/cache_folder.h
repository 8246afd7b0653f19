/* SPDX-License-Identifier: MIT */
/* The directory of the cache of unwind rows: found, made, kept below a size.
 *
 * A directory that another user owns or may write to is not used: neither would its files be to be
 * trusted, nor may a privileged process be led to write there. Thread-safety: yes; several
 * processes may share it. */
#ifndef ANNOT_CACHE_FOLDER_H
#define ANNOT_CACHE_FOLDER_H

#include <stdint.h>

/* NULL: the user's. A descriptor, or -errno. */
int cache_folder_open(const char *directory);

/* Deletes files, those used longest ago first, until all are together below `size_max` bytes; and
 * what interrupted writers have left. */
void cache_folder_trim(int folder, uint64_t size_max);

#endif
