/* SPDX-License-Identifier: MIT */
/* Counts every allocation and free at the place where it was made: `--memory=exact`.
 *
 * A block is put into the shadow when it was allocated and taken out before it is freed, so each
 * free finds its place. Live bytes have a peak, of which each place keeps a copy at its first
 * change after it (see annot_heap.h); while one thread allocates, that is exact to the byte, else
 * within 64 KiB a thread. Nothing is locked; a thread that counts does not count itself.
 *
 * Threads: any. */
#ifndef ANNOT_HEAP_EXACT_H
#define ANNOT_HEAP_EXACT_H

#include "heap_shadow.h"

#include <stdbool.h>
#include <stddef.h>

/* Set before the program runs. */
extern bool heap_exact_is_on;

struct heap_exact_state;

struct heap_exact_thread {
    struct heap_exact_state *state; /* NULL: none yet */
    bool is_busy;                   /* it counts, so what it allocates is not counted */
};

extern __thread struct heap_exact_thread heap_exact_thread
    __attribute__((tls_model("initial-exec")));

/* `text`: "SESSION:DIRECTORY". */
void heap_exact_begin(const char *text);

/* A block was allocated, by a caller of the malloc family at `caller`, or for Python, NULL. NULL
 * blocks are ignored. */
void heap_exact_add(const void *block, size_t size, const void *caller);

/* Before a block is freed. */
void heap_exact_free(const void *block);

/* For reallocations: forgets the block before the call; then reports that it was freed, or puts it
 * back, as the call failed. */
struct heap_block heap_exact_forget(const void *block);
void heap_exact_report(const struct heap_block *entry);
void heap_exact_put_back(const void *block, const struct heap_block *entry);

/* Around a call of another allocator within an allocation that is counted: what it allocates is
 * not. Returns the state for heap_exact_resume. */
static inline bool heap_exact_pause(void)
{
    bool before = heap_exact_thread.is_busy;
    heap_exact_thread.is_busy = true;
    return before;
}

static inline void heap_exact_resume(bool state)
{
    heap_exact_thread.is_busy = state;
}

/* Some allocators put blocks of 8 bytes side by side, but the shadow has an entry for 16. */
static inline size_t heap_exact_size(size_t size)
{
    return size < 9 ? 9 : size;
}

#endif
