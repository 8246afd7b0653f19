/* SPDX-License-Identifier: MIT */
/* Who launched what: a table by CUPTI's correlation ids, bounded.
 *
 * CUPTI numbers the calls of a process in turn, so the low bits of a number are its place: the
 * table remembers the last calls, and what comes later than that has no origin and is counted. A
 * launching thread writes a slot: number 0, time, number. The reader takes the number before and
 * after. */
#include "gpu_parts.h"

#include <errno.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 18 };

struct slot {
    uint64_t time;
    uint64_t who; /* thread << 32 | correlation; W: release. 0: being written, or empty */
};

static struct slot *table;
/* Of the reader alone: the time of the launch that was asked for last at each slot. Numbers may
 * begin anew, if another tool ends CUPTI. */
static uint64_t *seen;
static uint64_t launched; /* W: launching threads, atomic */
static uint64_t answered; /* of these, were asked for; W: the reader */
/* The calling thread's launch, until it returns; 0: none. */
static __thread uint32_t launching __attribute__((tls_model("initial-exec")));
/* The window and its number with annot, of which gpu_threads.c knows: window << 32 | thread. */
static __thread uint64_t known __attribute__((tls_model("initial-exec")));
static uint32_t window; /* W: gpu_launches_begin */

int gpu_launches_open(void)
{
    if (table)
        return 0;
    size_t size = SLOTS * (sizeof(struct slot) + sizeof(uint64_t));
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    seen = (uint64_t *)((char *)memory + SLOTS * sizeof(struct slot));
    table = memory;
    return 0;
}

static void count(int by)
{
    __atomic_add_fetch(&launched, (uint64_t)(int64_t)by, __ATOMIC_RELAXED);
    gpu_tell_count(GPU_COUNT_LAUNCHED, (uint64_t)(int64_t)by);
}

/* The calling thread, once in a window. */
static void meet(const struct gpu_origin *here)
{
    uint64_t now = (uint64_t)__atomic_load_n(&window, __ATOMIC_RELAXED) << 32 | here->thread;
    if (__builtin_expect(known == now || here->time == 0, 1))
        return;
    known = now;
    gpu_thread_met(here);
}

void gpu_launch_begins(uint32_t correlation, bool launches)
{
    struct slot *slot = &table[correlation % SLOTS];
    struct gpu_origin origin;
    gpu_tell_here(&origin);
    __atomic_store_n(&slot->who, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->time, origin.time, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->who, (uint64_t)origin.thread << 32 | correlation, __ATOMIC_RELEASE);
    meet(&origin);
    launching = launches && origin.time ? correlation : 0; /* else nobody records */
    if (!launching)
        return;
    count(1);
    gpu_stack_launched(&origin, correlation);
}

void gpu_launch_returned(void)
{
    launching = 0;
}

void gpu_launch_failed(uint32_t correlation)
{
    if (launching == correlation)
        count(-1);
    launching = 0;
}

void gpu_launch_captured(void)
{
    if (launching == 0)
        return;
    launching = 0;
    count(-1);
}

void gpu_launches_begin(void)
{
    gpu_threads_begin();
    __atomic_add_fetch(&window, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&answered, __atomic_load_n(&launched, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

bool gpu_launches_pending(void)
{
    return __atomic_load_n(&launched, __ATOMIC_RELAXED) >
           __atomic_load_n(&answered, __ATOMIC_RELAXED);
}

uint64_t gpu_launches_counted(void)
{
    return __atomic_load_n(&launched, __ATOMIC_RELAXED);
}

void gpu_launch_answered(void)
{
    __atomic_add_fetch(&answered, 1, __ATOMIC_RELAXED);
}

int gpu_launch_find(uint32_t correlation, struct gpu_origin *ret_origin, bool *ret_first)
{
    struct slot *slot = &table[correlation % SLOTS];
    uint64_t who = __atomic_load_n(&slot->who, __ATOMIC_ACQUIRE);
    uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
    if ((uint32_t)who != correlation || correlation == 0 ||
        __atomic_load_n(&slot->who, __ATOMIC_RELAXED) != who)
        return 0;
    *ret_first = seen[correlation % SLOTS] != time;
    seen[correlation % SLOTS] = time;
    *ret_origin = (struct gpu_origin){time, (uint32_t)(who >> 32)};
    return 1;
}
