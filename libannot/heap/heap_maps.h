/* SPDX-License-Identifier: MIT */
/* The process's executable mappings, read from /proc/self/maps by system calls alone: no lock of
 * the dynamic linker is taken, and nothing allocated. Threads: one at a time. */
#ifndef ANNOT_HEAP_MAPS_H
#define ANNOT_HEAP_MAPS_H

#include <stdint.h>

struct heap_mapping {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    const char *path; /* not ended by NUL */
    uint32_t path_size;
};

/* Changes errno. */
void heap_maps_each(void (*take)(void *context, const struct heap_mapping *mapping), void *context);

#endif
