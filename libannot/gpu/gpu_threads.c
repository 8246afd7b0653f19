/* SPDX-License-Identifier: MIT */
/* Which of annot's threads a thread of the system is: CUPTI's records of calls have the system's
 * number.
 *
 * A thread enters itself when it launches something, or waits for it. One that never does has calls
 * of no known thread. A place is taken by a swap; then its thread alone writes it. Where no place
 * is left, a thread takes that of one that has ended: of those, whoever entered first. Its calls
 * were read meanwhile, or have no known thread. */
#include "gpu_parts.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4096, TRIES = 16 };

/* Of a place that is being written. */
#define BUSY UINT32_MAX

static struct entry {
    uint32_t system; /* 0: empty; W: release */
    uint32_t thread; /* annot's; 0: not yet */
    uint64_t time;   /* when it had that number; W: release */
} entries[THREADS];

/* Of the window: what was entered before may be another thread's number by now. */
static uint64_t begin_time;

static struct entry *place_of(uint32_t system, uint32_t turn)
{
    return &entries[(system * UINT32_C(0x9e3779b9) + turn) % THREADS];
}

/* errno is the caller's, a thread of the program. */
static bool has_ended(uint32_t system)
{
    int before = errno;
    bool ended = syscall(SYS_tgkill, getpid(), system, 0) != 0 && errno == ESRCH;
    errno = before;
    return ended;
}

/* One that the calling thread may write; NULL: all near have threads that live. */
static struct entry *take_empty(uint32_t system)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct entry *entry = place_of(system, i);
        uint32_t now = __atomic_load_n(&entry->system, __ATOMIC_RELAXED);
        if (now == system ||
            (now == 0 && __atomic_compare_exchange_n(&entry->system, &now, BUSY, false,
                                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return entry;
    }
    return NULL;
}

static struct entry *take_ended(uint32_t system)
{
    struct entry *first = NULL;
    uint32_t whose = 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct entry *entry = place_of(system, i);
        uint32_t now = __atomic_load_n(&entry->system, __ATOMIC_RELAXED);
        if (now == BUSY || !has_ended(now) ||
            (first && __atomic_load_n(&entry->time, __ATOMIC_RELAXED) >
                          __atomic_load_n(&first->time, __ATOMIC_RELAXED)))
            continue;
        first = entry;
        whose = now;
    }
    return first && __atomic_compare_exchange_n(&first->system, &whose, BUSY, false,
                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
               ? first
               : NULL;
}

void gpu_thread_met(const struct gpu_origin *here)
{
    uint32_t system = (uint32_t)syscall(SYS_gettid);
    struct entry *entry = take_empty(system);
    entry = entry ? entry : take_ended(system);
    if (!entry)
        return;
    __atomic_store_n(&entry->thread, here->thread, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->time, here->time, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->system, system, __ATOMIC_RELEASE);
}

int gpu_thread_find(uint32_t system, struct gpu_origin *ret_origin)
{
    for (uint32_t i = 0; system && i < TRIES; i++) {
        const struct entry *entry = place_of(system, i);
        if (__atomic_load_n(&entry->system, __ATOMIC_ACQUIRE) != system)
            continue;
        ret_origin->time = __atomic_load_n(&entry->time, __ATOMIC_ACQUIRE);
        ret_origin->thread = __atomic_load_n(&entry->thread, __ATOMIC_ACQUIRE);
        return __atomic_load_n(&entry->system, __ATOMIC_RELAXED) == system &&
               ret_origin->time >= begin_time && ret_origin->thread != 0;
    }
    return 0;
}

void gpu_threads_begin(void)
{
    struct gpu_origin here;
    gpu_tell_here(&here);
    begin_time = here.time ? here.time : UINT64_MAX; /* nobody records */
}
