/* SPDX-License-Identifier: MIT */
/* Which of annot's threads a thread of the system is: CUPTI's records of calls have the system's
 * number.
 *
 * A thread enters itself when it launches something, or waits for it. One that never does has calls
 * of no known thread. A place is taken once by a swap; then its thread alone writes it. */
#include "gpu_parts.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4096, TRIES = 16 };

static struct entry {
    uint32_t system; /* 0: empty; atomic */
    uint32_t thread; /* annot's; 0: not yet */
    uint64_t time;   /* when it had that number; W: release */
} entries[THREADS];

/* Of the window: what was entered before may be another thread's number by now. */
static uint64_t begin_time;

static uint32_t place_of(uint32_t system, uint32_t turn)
{
    return (system * UINT32_C(0x9e3779b9) + turn) % THREADS;
}

static struct entry *take(uint32_t system)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct entry *entry = &entries[place_of(system, i)];
        uint32_t none = 0;
        if (__atomic_load_n(&entry->system, __ATOMIC_RELAXED) == system ||
            __atomic_compare_exchange_n(&entry->system, &none, system, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return entry;
    }
    return NULL;
}

void gpu_thread_met(const struct gpu_origin *here)
{
    struct entry *entry = take((uint32_t)syscall(SYS_gettid));
    if (!entry)
        return;
    __atomic_store_n(&entry->thread, here->thread, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->time, here->time, __ATOMIC_RELEASE);
}

int gpu_thread_find(uint32_t system, struct gpu_origin *ret_origin)
{
    for (uint32_t i = 0; system && i < TRIES; i++) {
        const struct entry *entry = &entries[place_of(system, i)];
        if (__atomic_load_n(&entry->system, __ATOMIC_RELAXED) != system)
            continue;
        ret_origin->time = __atomic_load_n(&entry->time, __ATOMIC_ACQUIRE);
        ret_origin->thread = __atomic_load_n(&entry->thread, __ATOMIC_RELAXED);
        return ret_origin->time >= begin_time && ret_origin->thread != 0;
    }
    return 0;
}

void gpu_threads_begin(void)
{
    struct gpu_origin here;
    gpu_tell_here(&here);
    begin_time = here.time ? here.time : UINT64_MAX; /* nobody records */
}
