/* SPDX-License-Identifier: MIT */
/* The program's own allocator: the next one after this library in the order of symbols, so also a
 * preloaded or linked jemalloc, tcmalloc or mimalloc.
 *
 * Until it is found, blocks come from a small buffer of ours; the dynamic linker allocates while it
 * looks. Threads: any. */
#ifndef ANNOT_HEAP_NEXT_H
#define ANNOT_HEAP_NEXT_H

#include <stdbool.h>
#include <stddef.h>

struct heap_next {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
    void *(*memalign)(size_t alignment, size_t size);
    int (*posix_memalign)(void **ret_block, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
};

/* Never has a NULL. */
extern struct heap_next heap_next;

/* Whether the block comes from the buffer: it must not reach the next allocator. heap_may_be_live()
 * is true for each of them. */
bool heap_next_is_early(const void *block);

/* Copies such a block into a new one; NULL without memory. */
void *heap_next_early_realloc(void *block, size_t size);

/* Finds the allocator now. */
void heap_next_find(void);

#endif
