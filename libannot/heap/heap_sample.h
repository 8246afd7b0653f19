/* SPDX-License-Identifier: MIT */
/* Which allocations are sampled, and the report of a sample.
 *
 * Each thread counts allocated bytes down to its next sample; a sampled block is put into the table
 * of heap_live.h and reported to the probes. Nothing here allocates, locks or calls a library.
 *
 * Threads: any. */
#ifndef ANNOT_HEAP_SAMPLE_H
#define ANNOT_HEAP_SAMPLE_H

#include "heap_draw.h"
#include "heap_live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes are never counted down to 0 without sampling. */
#define HEAP_NEVER UINT64_MAX

struct heap_thread {
    uint64_t left; /* bytes until the next sample; 0: not drawn yet */
    struct heap_random random;
};

extern __thread struct heap_thread heap_thread __attribute__((tls_model("initial-exec")));

/* Starts sampling one of `rate` bytes; 0: never samples. Blocks allocated before are not counted.
 */
void heap_sample_begin(uint64_t rate);

/* The program is about to end: nothing is reported any more, so that what it holds now counts as
 * held at its end, though an interpreter may yet free it. Any thread. */
__attribute__((visibility("default"))) void annot_heap_end_v1(void);

/* Whether an allocation of that size is sampled; else it is counted. */
bool heap_sample_is_due_slow(size_t size);

static inline __attribute__((always_inline)) bool heap_sample_is_due(size_t size)
{
    if (__builtin_expect(size < heap_thread.left, 1)) {
        heap_thread.left -= size;
        return false;
    }
    return heap_sample_is_due_slow(size);
}

/* Reports an allocated block that is due; NULL, as from a failed allocation, is ignored. */
void heap_sample_add(const void *block, size_t size);

/* Before a block is freed: reports it if it was sampled. */
void heap_sample_free(const void *block);

/* Reports that the block with this number was freed: heap_live_remove returned it. */
void heap_sample_report_free(uint64_t number);

/* Calls another allocator within an allocation that was counted: what it allocates is not. */
static inline uint64_t heap_sample_pause(void)
{
    uint64_t left = heap_thread.left;
    heap_thread.left = HEAP_NEVER;
    return left;
}

static inline void heap_sample_resume(uint64_t left)
{
    heap_thread.left = left;
}

#endif
