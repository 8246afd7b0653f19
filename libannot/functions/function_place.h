/* SPDX-License-Identifier: MIT */
/* Which file a function of this process lies in, by /proc/self/maps.
 *
 * Threads: any, also signal handlers: no lock, no allocation, no call that is not
 * async-signal-safe. Mappings that were found are kept by whoever finds nobody else at it; others
 * read the file. */
#ifndef ANNOT_FUNCTION_PLACE_H
#define ANNOT_FUNCTION_PLACE_H

#include <stdint.h>

enum { PLACE_PATH_SIZE = 512 };

/* A mapping of a file. */
struct function_place {
    uintptr_t begin, end;
    uint64_t offset, inode;
    char path[PLACE_PATH_SIZE]; /* as the kernel tells it; a longer one is cut */
};

/* Whether the address lies in a file. `epoch`: what was kept in another one is not looked at.
 * Cost: a comparison for each of up to 64 mappings, else some 10 microseconds. Changes errno. */
int function_place_find(uintptr_t address, uint32_t epoch, struct function_place *ret_place);

/* In a forked child: nobody is at what was kept. */
void function_place_after_fork(void);

#endif
