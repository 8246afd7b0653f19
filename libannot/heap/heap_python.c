/* SPDX-License-Identifier: MIT */
/* Implements heap_python.h.
 *
 * CPython's own pymalloc passes a block to free() that it did not make. There a sampled object
 * comes from malloc, so frees need no hook of their own: free() recognizes it. Any other allocator
 * (a debug allocator, mimalloc of free-threaded builds, tracemalloc around either) gets only its
 * own blocks back, so all its functions are watched. If an object's memory comes from malloc anyway
 * (PYTHONMALLOC=malloc), malloc counts it, and the domain is left alone.
 *
 * Threads: heap_python_v1 alone, with the GIL; the allocators, any. */
#include "heap_python.h"

#include "heap_exact.h"
#include "heap_frames.h"
#include "heap_next.h"
#include "heap_sample.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))

/* PyMemAllocatorEx; the layout is part of the stable documentation since 3.5. */
struct python_allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *block, size_t size);
    void (*free)(void *context, void *block);
};

enum { DOMAIN_MEM = 1, DOMAIN_OBJ = 2, SMALL_MAX = 512, PAGE_BYTES = 4096 };

OPTIONAL void PyMem_GetAllocator(int domain, struct python_allocator *allocator);
OPTIONAL void PyMem_SetAllocator(int domain, struct python_allocator *allocator);
OPTIONAL const char *Py_GetVersion(void);
OPTIONAL char *strstr(const char *text, const char *part);
OPTIONAL int dladdr(const void *address, Dl_info *info);

/* ---- pymalloc: sampled objects come from malloc ---------------------------------------------- */

/* Both domains have the same functions, and no context. */
static struct python_allocator pymalloc;

/* Larger ones reach malloc. */
static bool is_small_and_due(size_t size)
{
    return size <= SMALL_MAX && heap_sample_is_due(size);
}

static void *sampled_object(size_t size)
{
    void *object = heap_next.malloc(size ? size : 1);
    heap_sample_add(object, size);
    return object;
}

static void *small_malloc(void *context, size_t size)
{
    if (__builtin_expect(is_small_and_due(size), 0))
        return sampled_object(size);
    return pymalloc.malloc(context, size);
}

static void *small_calloc(void *context, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && is_small_and_due(bytes)) {
        void *object = sampled_object(bytes);
        return object ? memset(object, 0, bytes) : NULL;
    }
    return pymalloc.calloc(context, count, size);
}

/* Moves an object from pymalloc's memory into a sampled block. */
static void *sampled_copy(void *context, void *object, size_t size)
{
    void *copy = heap_next.malloc(size ? size : 1);
    heap_sample_add(copy, size);
    if (!copy)
        return object;
    memcpy(copy, object, size);
    pymalloc.free(context, object);
    return copy;
}

/* A sampled object reaches realloc(), which must not count it again. */
static void *small_realloc(void *context, void *object, size_t size)
{
    if (size > SMALL_MAX)
        return pymalloc.realloc(context, object, size);
    bool is_due = heap_sample_is_due(size);
    uint64_t left = heap_sample_pause();
    void *moved = pymalloc.realloc(context, object, size);
    heap_sample_resume(left);
    return is_due && moved ? sampled_copy(context, moved, size) : moved;
}

static void watch_pymalloc(void)
{
    struct python_allocator watched = {pymalloc.context, small_malloc, small_calloc, small_realloc,
                                       pymalloc.free};
    for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
        PyMem_SetAllocator(domain, &watched);
}

/* ---- Any other allocator --------------------------------------------------------------------- */

/* By domain. */
static struct python_allocator others[DOMAIN_OBJ + 1];

static void *other_malloc(void *context, size_t size)
{
    const struct python_allocator *other = context;
    bool is_due = heap_sample_is_due(size);
    uint64_t left = heap_sample_pause();
    void *object = other->malloc(other->context, size);
    heap_sample_resume(left);
    if (is_due)
        heap_sample_add(object, size);
    return object;
}

static void *other_calloc(void *context, size_t count, size_t size)
{
    const struct python_allocator *other = context;
    size_t bytes;
    bool is_due = !__builtin_mul_overflow(count, size, &bytes) && heap_sample_is_due(bytes);
    uint64_t left = heap_sample_pause();
    void *object = other->calloc(other->context, count, size);
    heap_sample_resume(left);
    if (is_due)
        heap_sample_add(object, bytes);
    return object;
}

/* As realloc_slow of heap_hooks.c. */
static void *other_realloc(void *context, void *object, size_t size)
{
    const struct python_allocator *other = context;
    bool is_due = heap_sample_is_due(size);
    uint64_t number = heap_may_be_live(object) ? heap_live_remove(object) : 0;
    uint64_t left = heap_sample_pause();
    void *moved = other->realloc(other->context, object, size);
    heap_sample_resume(left);
    if (number && moved)
        heap_sample_report_free(number);
    else if (number)
        heap_live_add(object, number);
    if (is_due)
        heap_sample_add(moved, size);
    return moved;
}

static void other_free(void *context, void *object)
{
    const struct python_allocator *other = context;
    if (__builtin_expect(heap_may_be_live(object), 0))
        heap_sample_free(object);
    other->free(other->context, object);
}

static void watch_other(int domain, const struct python_allocator *other)
{
    struct python_allocator watched = {&others[domain], other_malloc, other_calloc, other_realloc,
                                       other_free};
    others[domain] = *other;
    PyMem_SetAllocator(domain, &watched);
}

/* ---- Exact: any allocator -------------------------------------------------------------------- */

/* Large objects reach malloc, which does not count them again. */
static void *exact_malloc(void *context, size_t size)
{
    const struct python_allocator *other = context;
    bool state = heap_exact_pause();
    void *object = other->malloc(other->context, heap_exact_size(size));
    heap_exact_resume(state);
    heap_exact_add(object, size, NULL);
    return object;
}

static void *exact_calloc(void *context, size_t count, size_t size)
{
    const struct python_allocator *other = context;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return other->calloc(other->context, count, size);
    bool state = heap_exact_pause();
    void *object = other->calloc(other->context, 1, heap_exact_size(bytes));
    heap_exact_resume(state);
    heap_exact_add(object, bytes, NULL);
    return object;
}

static void *exact_realloc(void *context, void *object, size_t size)
{
    const struct python_allocator *other = context;
    struct heap_block entry = heap_exact_forget(object);
    bool state = heap_exact_pause();
    void *moved = other->realloc(other->context, object, heap_exact_size(size));
    heap_exact_resume(state);
    if (moved)
        heap_exact_report(&entry);
    else
        heap_exact_put_back(object, &entry);
    heap_exact_add(moved, size, NULL);
    return moved;
}

static void exact_free(void *context, void *object)
{
    const struct python_allocator *other = context;
    heap_exact_free(object);
    other->free(other->context, object);
}

static void count_other(int domain, const struct python_allocator *other)
{
    struct python_allocator watched = {&others[domain], exact_malloc, exact_calloc, exact_realloc,
                                       exact_free};
    others[domain] = *other;
    PyMem_SetAllocator(domain, &watched);
}

/* True if malloc counts a small object already. */
static bool is_counted(const struct python_allocator *allocator)
{
    enum { SIZE = 24 };

    void *object = allocator->malloc(allocator->context, SIZE);
    bool found = object && heap_shadow_has(object);
    allocator->free(allocator->context, object);
    return found;
}

static void begin_exact(const struct python_allocator allocators[DOMAIN_OBJ + 1])
{
    heap_frames_begin();
    if (is_counted(&allocators[DOMAIN_OBJ]))
        return;
    for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
        count_other(domain, &allocators[domain]);
}

/* ---- Which one it is ------------------------------------------------------------------------- */

/* Whether a small object's memory comes from malloc: then a count of bytes until the next sample is
 * lower after an allocation. */
static bool reaches_malloc(const struct python_allocator *allocator)
{
    enum { SIZE = 24 };

    uint64_t left = heap_sample_pause(), counted;
    allocator->free(allocator->context, allocator->malloc(allocator->context, SIZE));
    counted = HEAP_NEVER - heap_thread.left;
    heap_sample_resume(left);
    return counted >= SIZE && counted < (uint64_t)PAGE_BYTES;
}

/* True for CPython's own functions: those of the object that defines PyMem_GetAllocator. Debug
 * allocators and tracemalloc have a context. */
static bool is_pymalloc(const struct python_allocator *allocator)
{
    Dl_info code, python;
    return !allocator->context && dladdr &&
           dladdr((const void *)(uintptr_t)allocator->malloc, &code) &&
           dladdr((const void *)(uintptr_t)PyMem_GetAllocator, &python) &&
           code.dli_fbase == python.dli_fbase;
}

/* Its collector walks the heaps of mimalloc, so objects must not come from elsewhere. */
static bool is_free_threaded(void)
{
    return !Py_GetVersion || strstr(Py_GetVersion(), "free-threading");
}

void annot_heap_python_v1(void)
{
    struct python_allocator allocators[DOMAIN_OBJ + 1];
    if (!PyMem_GetAllocator || !PyMem_SetAllocator)
        return;
    for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
        PyMem_GetAllocator(domain, &allocators[domain]);
    if (heap_exact_is_on) {
        begin_exact(allocators);
        return;
    }
    if (reaches_malloc(&allocators[DOMAIN_OBJ]))
        return;
    pymalloc = allocators[DOMAIN_OBJ];
    if (!is_free_threaded() && is_pymalloc(&pymalloc) &&
        allocators[DOMAIN_MEM].malloc == pymalloc.malloc && !allocators[DOMAIN_MEM].context)
        watch_pymalloc();
    else
        for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
            watch_other(domain, &allocators[domain]);
}
