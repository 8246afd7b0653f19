/* SPDX-License-Identifier: MIT */
/* Implements heap_next.h.
 *
 * The library needs no other, so that it loads into every program: functions of the C library are
 * weak. dlsym is missing in programs without libdl before glibc 2.34; they get glibc's own
 * allocator. */
#include "heap_next.h"

#include "heap_live.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL void *dlsym(void *restrict handle, const char *restrict name);
OPTIONAL void *__libc_malloc(size_t size);
OPTIONAL void *__libc_calloc(size_t count, size_t size);
OPTIONAL void *__libc_realloc(void *block, size_t size);
OPTIONAL void __libc_free(void *block);
OPTIONAL void *__libc_memalign(size_t alignment, size_t size);

/* ---- The buffer ------------------------------------------------------------------------------ */

enum { EARLY_BYTES = 32768, ALIGNMENT = 16, PAGE = 4096 };

/* Each block follows its size. */
static _Alignas(PAGE) char early[EARLY_BYTES];
static _Atomic size_t early_used;

bool heap_next_is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < EARLY_BYTES;
}

/* Zeroed, as it is never used again. NULL if it is full. */
static void *early_malloc(size_t size)
{
    size_t whole = (size + 2 * (size_t)ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > EARLY_BYTES)
        return NULL;
    size_t at = atomic_fetch_add_explicit(&early_used, whole, memory_order_relaxed);
    if (at > EARLY_BYTES - whole)
        return NULL;
    *(size_t *)(early + at) = size;
    return early + at + ALIGNMENT;
}

/* Blocks of the buffer are never freed: the filter sends them to the slow path at each free. */
static void mark_early(void)
{
    for (size_t at = 0; at < EARLY_BYTES; at += PAGE)
        atomic_store_explicit(&heap_filter[heap_filter_slot((uintptr_t)early + at)], UINT8_MAX,
                              memory_order_relaxed);
}

/* ---- Until it is found ----------------------------------------------------------------------- */

static _Atomic bool is_finding;

static void *first_malloc(size_t size)
{
    heap_next_find();
    return is_finding ? early_malloc(size) : heap_next.malloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    heap_next_find();
    if (!is_finding)
        return heap_next.calloc(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : early_malloc(bytes);
}

static void *first_realloc(void *block, size_t size)
{
    heap_next_find();
    return is_finding ? heap_next_early_realloc(block, size) : heap_next.realloc(block, size);
}

static void first_free(void *block)
{
    heap_next_find();
    if (!is_finding)
        heap_next.free(block);
}

static void *first_memalign(size_t alignment, size_t size)
{
    heap_next_find();
    return is_finding ? NULL : heap_next.memalign(alignment, size);
}

static int first_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    heap_next_find();
    return is_finding ? ENOMEM : heap_next.posix_memalign(ret_block, alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
    heap_next_find();
    return is_finding ? NULL : heap_next.aligned_alloc(alignment, size);
}

static void *first_valloc(size_t size)
{
    heap_next_find();
    return is_finding ? NULL : heap_next.valloc(size);
}

static void *first_pvalloc(size_t size)
{
    heap_next_find();
    return is_finding ? NULL : heap_next.pvalloc(size);
}

struct heap_next heap_next = {first_malloc,        first_calloc,   first_realloc,
                              first_free,          first_memalign, first_posix_memalign,
                              first_aligned_alloc, first_valloc,   first_pvalloc};

void *heap_next_early_realloc(void *block, size_t size)
{
    size_t old = block ? *(const size_t *)((const char *)block - ALIGNMENT) : 0;
    char *moved = is_finding ? early_malloc(size) : heap_next.malloc(size);
    for (size_t i = 0; moved && i < old && i < size; i++)
        moved[i] = ((const char *)block)[i];
    return moved;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Functions that the program's allocator lacks. */
static void *no_memalign(size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    return NULL;
}

static int no_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    *ret_block = heap_next.memalign(alignment, size);
    return *ret_block ? 0 : ENOMEM;
}

static void *page_aligned(size_t size)
{
    return heap_next.memalign(PAGE, size);
}

static void *find(const char *name)
{
    return dlsym ? dlsym(RTLD_NEXT, name) : NULL;
}

/* Casts between pointers to objects and functions are POSIX's, not C's. */
#define FIND(member) ((__typeof__(heap_next.member))find(#member))

static struct heap_next found_by_name(void)
{
    return (struct heap_next){
        .malloc = FIND(malloc),
        .calloc = FIND(calloc),
        .realloc = FIND(realloc),
        .free = FIND(free),
        .memalign = FIND(memalign),
        .posix_memalign = FIND(posix_memalign),
        .aligned_alloc = FIND(aligned_alloc),
        .valloc = FIND(valloc),
        .pvalloc = FIND(pvalloc),
    };
}

static bool is_complete(const struct heap_next *next)
{
    return next->malloc && next->calloc && next->realloc && next->free;
}

static void fill_gaps(struct heap_next *next)
{
    if (!next->memalign)
        next->memalign = next->aligned_alloc ? next->aligned_alloc : no_memalign;
    if (!next->aligned_alloc)
        next->aligned_alloc = next->memalign;
    if (!next->posix_memalign)
        next->posix_memalign = no_posix_memalign;
    if (!next->valloc)
        next->valloc = page_aligned;
    if (!next->pvalloc)
        next->pvalloc = page_aligned;
}

/* The first call comes from the dynamic linker or a constructor: the program has one thread. */
void heap_next_find(void)
{
    if (heap_next.malloc != first_malloc || atomic_exchange(&is_finding, true))
        return;
    mark_early();
    struct heap_next found = found_by_name();
    if (!is_complete(&found))
        found = (struct heap_next){.malloc = __libc_malloc,
                                   .calloc = __libc_calloc,
                                   .realloc = __libc_realloc,
                                   .free = __libc_free,
                                   .memalign = __libc_memalign};
    if (is_complete(&found)) {
        fill_gaps(&found);
        heap_next = found;
        is_finding = false;
    }
}
