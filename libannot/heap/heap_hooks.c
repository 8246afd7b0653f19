/* SPDX-License-Identifier: MIT */
/* The functions of the malloc family, in place of the C library's.
 *
 * Each counts the requested bytes and calls the next allocator: for a sample of them, or, in exact
 * mode, for all of them. Nothing is locked and nothing allocated; errno is the next allocator's.
 * Until the constructor has read the environment nothing is counted. Threads: any, and signal
 * handlers as far as the next allocator allows. */
#include "heap_exact.h"
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

/* ---- Exact ----------------------------------------------------------------------------------- */

#define IS_EXACT __builtin_expect(heap_exact_is_on, 0)
#define CALLER   __builtin_return_address(0)

static void *counted(void *block, size_t size, const void *caller)
{
    heap_exact_add(block, size, caller);
    return block;
}

static void *exact_calloc(size_t count, size_t size, const void *caller)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return heap_next.calloc(count, size);
    return counted(heap_next.calloc(1, heap_exact_size(bytes)), bytes, caller);
}

/* A size of 0 frees the block, by the C library's rule or another one. */
static void *exact_realloc(void *block, size_t size, const void *caller)
{
    if (heap_next_is_early(block))
        return heap_next_early_realloc(block, size);
    struct heap_block entry = heap_exact_forget(block);
    void *moved = heap_next.realloc(block, size || !block ? heap_exact_size(size) : 0);
    if (moved || size == 0)
        heap_exact_report(&entry);
    else
        heap_exact_put_back(block, &entry);
    return counted(moved, size, caller);
}

static void exact_free(void *block)
{
    if (heap_next_is_early(block))
        return;
    heap_exact_free(block);
    heap_next.free(block);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

HOOK void *malloc(size_t size)
{
    if (IS_EXACT)
        return counted(heap_next.malloc(heap_exact_size(size)), size, CALLER);
    bool is_due = heap_sample_is_due(size);
    void *block = heap_next.malloc(size);
    if (__builtin_expect(is_due, 0))
        heap_sample_add(block, size);
    return block;
}

HOOK void *calloc(size_t count, size_t size)
{
    if (IS_EXACT)
        return exact_calloc(count, size, CALLER);
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
    if (IS_EXACT)
        exact_free(block);
    else if (__builtin_expect(heap_may_be_live(block), 0))
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
    if (IS_EXACT)
        return exact_realloc(block, size, CALLER);
    bool is_due = heap_sample_is_due(size);
    if (__builtin_expect(is_due || heap_may_be_live(block), 0))
        return realloc_slow(block, size, is_due);
    return heap_next.realloc(block, size);
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes))
        return IS_EXACT ? exact_realloc(block, bytes, CALLER) : realloc(block, bytes);
    if (__errno_location)
        *__errno_location() = ENOMEM;
    return NULL;
}

/* ---- Aligned blocks -------------------------------------------------------------------------- */

static void *sampled(void *block, size_t size, const void *caller)
{
    if (IS_EXACT)
        return counted(block, size, caller);
    if (heap_sample_is_due(size))
        heap_sample_add(block, size);
    return block;
}

HOOK void *memalign(size_t alignment, size_t size)
{
    return sampled(heap_next.memalign(alignment, size), size, CALLER);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
    return sampled(heap_next.aligned_alloc(alignment, size), size, CALLER);
}

HOOK int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    int error = heap_next.posix_memalign(ret_block, alignment, size);
    if (error == 0)
        sampled(*ret_block, size, CALLER);
    return error;
}

HOOK void *valloc(size_t size)
{
    return sampled(heap_next.valloc(size), size, CALLER);
}

HOOK void *pvalloc(size_t size)
{
    return sampled(heap_next.pvalloc(size), size, CALLER);
}

/* ---- Start ----------------------------------------------------------------------------------- */

static uint64_t rate_of(const char *text)
{
    uint64_t rate = 0;
    for (; text && *text >= '0' && *text <= '9' && rate < UINT64_C(1) << 40; text++)
        rate = 10 * rate + (uint64_t)(*text - '0');
    return text && *text == '\0' ? rate : 0;
}

static const char *after(const char *text, const char *prefix)
{
    while (text && *prefix && *text == *prefix)
        text++, prefix++;
    return *prefix ? NULL : text;
}

/* ANNOT_HEAP has the sampling rate in bytes, or "exact:SESSION:DIRECTORY"; without it nothing is
 * counted. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv ? getenv("ANNOT_HEAP") : NULL;
    const char *exact = after(text, "exact:");
    heap_next_find();
    if (exact)
        heap_exact_begin(exact);
    heap_sample_begin(rate_of(text));
}
