/* SPDX-License-Identifier: MIT */
/* The buffers that CUPTI fills: a pool of fixed size, never returned to the system.
 *
 * CUPTI requests one on a launching thread and returns it on any. Free ones and full ones are two
 * lists of numbers, changed by one compare and swap. A buffer that CUPTI never returns is not
 * reused. Memory is touched when a buffer is first used.
 *
 * Versions that must not be refused have a pool of half a gigabyte; memory beyond the usual size
 * returns to the system after it was read. If even that is used up, the reader has not run for
 * seconds: the kinds of activities are switched off for the rest of the window, so that CUPTI
 * requests few more buffers, which are lost. */
#include "gpu_buffers.h"

#include "gpu_emit.h"
#include "gpu_faults.h"
#include "gpu_library.h"
#include "gpu_session.h"
#include "gpu_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    BUFFER_BYTES = 512 << 10, /* 2,400 kernels */
    BUFFER_COUNT = 128,
    BUFFERS_MAX = 1024, /* if requests must not be refused */
    BUFFERS_READY = 1,  /* with memory in advance; the others get it on use */
    NO_BUFFER = 0xffff,
};

struct entry {
    struct gpu_buffer buffer;
    uint32_t next;    /* in its list */
    uint32_t is_ours; /* 0: CUPTI has it; atomic */
};

static uint8_t *pool;
static struct entry entries[BUFFERS_MAX];
static uint32_t buffer_count; /* constant once there is a pool */
static uint32_t overruns;     /* requests that exceeded the pool and could not be refused. Atomic */
/* count of changes << 16 | number of the first: the count detects a buffer that came back in
 * between. */
static uint64_t free_list = NO_BUFFER;
static uint64_t full_list = NO_BUFFER;

static void put(uint64_t *list, uint32_t number)
{
    uint64_t before = __atomic_load_n(list, __ATOMIC_RELAXED), after;
    do {
        __atomic_store_n(&entries[number].next, (uint32_t)(before & NO_BUFFER), __ATOMIC_RELAXED);
        after = ((before >> 16) + 1) << 16 | number;
    } while (!__atomic_compare_exchange_n(list, &before, after, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

static uint32_t take_one(uint64_t *list)
{
    uint64_t before = __atomic_load_n(list, __ATOMIC_ACQUIRE), after;
    do {
        if ((before & NO_BUFFER) == NO_BUFFER)
            return NO_BUFFER;
        after = ((before >> 16) + 1) << 16 |
                __atomic_load_n(&entries[before & NO_BUFFER].next, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(list, &before, after, true, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    return (uint32_t)(before & NO_BUFFER);
}

/* Takes all, the oldest first. */
static uint32_t take_all(uint64_t *list)
{
    uint64_t before = __atomic_load_n(list, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(list, &before, ((before >> 16) + 1) << 16 | NO_BUFFER, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        ;
    uint32_t first = NO_BUFFER, number = (uint32_t)(before & NO_BUFFER);
    while (number != NO_BUFFER) {
        uint32_t next = entries[number].next;
        entries[number].next = first;
        first = number;
        number = next;
    }
    return first;
}

static void *map_pool(uint32_t count)
{
    return mmap(NULL, (size_t)count * BUFFER_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int gpu_buffers_open(void)
{
    if (pool)
        return 0;
    bool keeps = gpu_faults(cupti.version) & GPU_FAULT_KEEP_BUFFERS;
    void *memory = keeps ? map_pool(BUFFERS_MAX) : MAP_FAILED;
    buffer_count = memory == MAP_FAILED ? BUFFER_COUNT : BUFFERS_MAX;
    if (memory == MAP_FAILED)
        memory = map_pool(buffer_count);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    pool = memory;
    for (size_t i = 0; i < (size_t)BUFFERS_READY * BUFFER_BYTES; i += 4096)
        pool[i] = 0;
    for (uint32_t i = buffer_count; i-- > 0;) {
        entries[i].buffer.bytes = pool + (size_t)i * BUFFER_BYTES;
        entries[i].is_ours = 1;
        put(&free_list, i);
    }
    return 0;
}

void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    uint32_t number = take_one(&free_list);
    *max_records = 0;
    *buffer = NULL;
    *size = 0;
    if (number != NO_BUFFER) {
        __atomic_store_n(&entries[number].is_ours, 0, __ATOMIC_RELAXED);
        *buffer = entries[number].buffer.bytes;
    } else if (gpu_faults(cupti.version) & GPU_FAULT_KEEP_BUFFERS) {
        *buffer = aligned_alloc(8, BUFFER_BYTES);
        __atomic_add_fetch(&overruns, 1, __ATOMIC_RELAXED);
    }
    if (*buffer)
        *size = BUFFER_BYTES;
}

void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                   size_t valid)
{
    size_t dropped = gpu_session_dropped(), at = (size_t)((uintptr_t)buffer - (uintptr_t)pool);
    uint32_t number = (uint32_t)(at / BUFFER_BYTES);
    (void)context;
    (void)stream;
    (void)size;
    if (!buffer || at >= (size_t)buffer_count * BUFFER_BYTES || at % BUFFER_BYTES != 0 ||
        __atomic_exchange_n(&entries[number].is_ours, 1, __ATOMIC_RELAXED)) {
        gpu_emit_count(GPU_COUNT_DROPPED, dropped);
        gpu_emit_count(GPU_COUNT_UNKNOWN, 1); /* not one of the pool, or it came twice */
        return;
    }
    entries[number].buffer.valid = valid < BUFFER_BYTES ? valid : BUFFER_BYTES;
    entries[number].buffer.dropped = dropped;
    put(&full_list, number);
    gpu_thread_wake();
}

void gpu_buffers_count_dropped(void)
{
    gpu_emit_count(GPU_COUNT_DROPPED, gpu_session_dropped());
}

/* Returns memory that only a burst needed. */
static void give_back_memory(uint32_t number)
{
    if (number >= BUFFER_COUNT)
        (void)madvise(entries[number].buffer.bytes, BUFFER_BYTES, MADV_DONTNEED);
}

static void stop_if_overrun(void)
{
    char text[128];
    uint32_t count = __atomic_exchange_n(&overruns, 0, __ATOMIC_RELAXED);
    if (count == 0)
        return;
    gpu_kinds_enable(false);
    snprintf(text, sizeof(text), "%u buffers too many at once: nothing more is recorded here",
             count);
    gpu_emit_note(text);
}

void gpu_buffers_drain(void (*take)(const struct gpu_buffer *buffer))
{
    uint32_t number = take_all(&full_list);
    while (number != NO_BUFFER) {
        uint32_t next = entries[number].next;
        take(&entries[number].buffer);
        give_back_memory(number);
        put(&free_list, number);
        number = next;
    }
    stop_if_overrun();
}
