/* SPDX-License-Identifier: MIT */
/* Finds the file of a function of this process in /proc/self/maps.
 *
 * Threads: any, also signal handlers: no lock, no allocation, only async-signal-safe calls. One
 * thread at a time uses and fills the cache of mappings; concurrent ones read the file. */
#ifndef ANNOT_FUNCTION_PLACE_H
#define ANNOT_FUNCTION_PLACE_H

#include <stdint.h>

enum { PLACE_PATH_SIZE = 512 };

/* A mapping of a file. */
struct function_place {
    uintptr_t begin, end;
    uint64_t offset, inode;
    char path[PLACE_PATH_SIZE]; /* in the kernel's spelling; a longer one is cut */
};

/* Returns 1 if the address lies in a file. Entries cached in another `epoch` are ignored.
 * Cost: a comparison for each of up to 64 mappings, else some 10 microseconds. Changes errno. */
int function_place_find(uintptr_t address, uint32_t epoch, struct function_place *ret_place);

/* Resets the cache in a forked child. */
void function_place_after_fork(void);

#endif
