/* SPDX-License-Identifier: MIT */
/* The functions of the malloc family, in place of the C library's.
 *
 * Each counts the requested bytes and calls the next allocator. Nothing is locked and nothing
 * allocated; errno is the next allocator's. Until heap_begin has read the environment nothing is
 * sampled. Threads: any, and signal handlers as far as the next allocator allows. */
#include "heap_next.h"
#include "heap_sample.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* The names are the C library's own. */
#define HOOK     __attribute__((visibility("default")))
#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL char *getenv(const char *name);
OPTIONAL int *__errno_location(void);

/* Of C23; older C libraries do not declare them. */
HOOK void free_sized(void *block, size_t size);
HOOK void free_aligned_sized(void *block, size_t alignment, size_t size);

HOOK void *malloc(size_t size)
{
    bool is_due = heap_sample_is_due(size);
    void *block = heap_next.malloc(size);
    if (__builtin_expect(is_due, 0))
        heap_sample_add(block, size);
    return block;
}

HOOK void *calloc(size_t count, size_t size)
{
    size_t bytes;
    bool is_due = !__builtin_mul_overflow(count, size, &bytes) && heap_sample_is_due(bytes);
    void *block = heap_next.calloc(count, size);
    if (__builtin_expect(is_due, 0))
        heap_sample_add(block, bytes);
    return block;
}

/* ---- Frees ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void free_slow(void *block)
{
    if (heap_next_is_early(block))
        return;
    heap_sample_free(block);
    heap_next.free(block);
}

HOOK void free(void *block)
{
    if (__builtin_expect(heap_may_be_live(block), 0))
        free_slow(block);
    else
        heap_next.free(block);
}

HOOK void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(block);
}

/* ---- A new size ------------------------------------------------------------------------------ */

/* The old block is forgotten before the call, as another thread may get its address at once, and
 * remembered if the call fails. A block that stays where it is counts as freed and allocated. */
static __attribute__((noinline)) void *realloc_slow(void *block, size_t size, bool is_due)
{
    if (heap_next_is_early(block))
        return heap_next_early_realloc(block, size);
    uint64_t number = heap_live_remove(block);
    void *moved = heap_next.realloc(block, size);
    if (number && (moved || size == 0))
        heap_sample_report_free(number);
    else if (number)
        heap_live_add(block, number);
    if (is_due)
        heap_sample_add(moved, size);
    return moved;
}

HOOK void *realloc(void *block, size_t size)
{
    bool is_due = heap_sample_is_due(size);
    if (__builtin_expect(is_due || heap_may_be_live(block), 0))
        return realloc_slow(block, size, is_due);
    return heap_next.realloc(block, size);
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes))
        return realloc(block, bytes);
    if (__errno_location)
        *__errno_location() = ENOMEM;
    return NULL;
}

/* ---- Aligned blocks -------------------------------------------------------------------------- */

static void *sampled(void *block, size_t size)
{
    if (heap_sample_is_due(size))
        heap_sample_add(block, size);
    return block;
}

HOOK void *memalign(size_t alignment, size_t size)
{
    return sampled(heap_next.memalign(alignment, size), size);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
    return sampled(heap_next.aligned_alloc(alignment, size), size);
}

HOOK int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    int error = heap_next.posix_memalign(ret_block, alignment, size);
    if (error == 0)
        sampled(*ret_block, size);
    return error;
}

HOOK void *valloc(size_t size)
{
    return sampled(heap_next.valloc(size), size);
}

HOOK void *pvalloc(size_t size)
{
    return sampled(heap_next.pvalloc(size), size);
}

/* ---- Start ----------------------------------------------------------------------------------- */

/* ANNOT_HEAP has the sampling rate in bytes; without it nothing is sampled. */
static uint64_t rate_of_environment(void)
{
    const char *text = getenv ? getenv("ANNOT_HEAP") : NULL;
    uint64_t rate = 0;
    for (; text && *text >= '0' && *text <= '9' && rate < UINT64_C(1) << 40; text++)
        rate = 10 * rate + (uint64_t)(*text - '0');
    return text && *text == '\0' ? rate : 0;
}

__attribute__((constructor)) static void begin(void)
{
    heap_next_find();
    heap_sample_begin(rate_of_environment());
}
