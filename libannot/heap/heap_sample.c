/* SPDX-License-Identifier: MIT */
/* Implements heap_sample.h. */
#include "heap_sample.h"

#include "heap_exact.h"
#include "heap_places.h"
#include "heap_probe.h"

__thread struct heap_thread heap_thread;

/* Before heap_sample_begin: unknown, so threads ask again at each allocation. */
static _Atomic uint64_t sample_rate;
static _Atomic bool is_decided, is_ended;
static _Atomic uint64_t serial;

void heap_sample_begin(uint64_t rate)
{
    atomic_store_explicit(&sample_rate, rate, memory_order_relaxed);
    atomic_store_explicit(&is_decided, true, memory_order_release);
}

void annot_heap_end_v1(void)
{
    if (heap_exact_is_on)
        heap_places_end();
    atomic_store_explicit(&is_ended, true, memory_order_relaxed);
    atomic_store_explicit(&sample_rate, 0, memory_order_relaxed);
}

/* A thread's first allocation counts, too: threads that allocate once are sampled like others. */
static bool begin_thread(size_t size, uint64_t rate)
{
    heap_random_seed(&heap_thread.random);
    heap_thread.left = (uint64_t)heap_draw(&heap_thread.random, rate);
    if (size >= heap_thread.left)
        return true;
    heap_thread.left -= size;
    return false;
}

bool heap_sample_is_due_slow(size_t size)
{
    uint64_t rate = atomic_load_explicit(&sample_rate, memory_order_relaxed);
    if (!atomic_load_explicit(&is_decided, memory_order_acquire))
        return false;
    if (rate == 0) {
        heap_thread.left = HEAP_NEVER;
        return false;
    }
    if (heap_thread.random.state == 0)
        return begin_thread(size, rate);
    return true;
}

void heap_sample_add(const void *block, size_t size)
{
    uint64_t rate = atomic_load_explicit(&sample_rate, memory_order_relaxed);
    heap_thread.left = (uint64_t)heap_draw(&heap_thread.random, rate);
    if (!block || rate == 0)
        return;
    uint64_t number = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) + 1;
    if (!heap_live_add(block, number))
        number = 0; /* its free will not be recognized */
    annot_heap_allocated_v1(number, size, heap_weight(size, rate));
}

void heap_sample_report_free(uint64_t number)
{
    if (!atomic_load_explicit(&is_ended, memory_order_relaxed))
        annot_heap_freed_v1(number);
}

void heap_sample_free(const void *block)
{
    uint64_t number = heap_live_remove(block);
    if (number)
        heap_sample_report_free(number);
}
