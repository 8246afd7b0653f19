/* SPDX-License-Identifier: MIT */
/* Names of other threads: see named.h. */
#include "named.h"

#include "emit.h"
#include "proc.h"
#include "write.h"

#include <annot_barrier.h>
#include <unistd.h>

enum { NAMED_MAX = 256 };

static uint64_t named[NAMED_MAX]; /* tid << 32 | string id; 0: free; W: all, atomic */
static int32_t named_pid;         /* owner of the entries; W: all, atomic */

static uint32_t tid_of(uint64_t entry)
{
    return (uint32_t)(entry >> 32);
}

/* In a forked child the only thread calls this first. */
static void forget_parents(int32_t pid)
{
    int32_t owner = annot_load_relaxed(&named_pid);
    if (owner == pid)
        return;
    for (uint32_t i = 0; owner != 0 && i < NAMED_MAX; i++)
        annot_store_relaxed(&named[i], UINT64_C(0));
    annot_store_relaxed(&named_pid, pid);
}

/* Returns the entry of that thread; else a free one; else one of an ended thread; else NULL. */
static uint64_t *find_place(int32_t pid, uint32_t tid)
{
    uint64_t *free_place = NULL;
    for (uint32_t i = 0; i < NAMED_MAX; i++) {
        uint64_t entry = annot_load_relaxed(&named[i]);
        if (tid_of(entry) == tid)
            return &named[i];
        if (!free_place && entry == 0)
            free_place = &named[i];
    }
    for (uint32_t i = 0; !free_place && i < NAMED_MAX; i++)
        if (!proc_thread_alive(pid, (pid_t)tid_of(annot_load_relaxed(&named[i]))))
            free_place = &named[i];
    return free_place;
}

void named_keep(int32_t tid, uint32_t name)
{
    int32_t pid = getpid();
    forget_parents(pid);
    uint64_t *place = find_place(pid, (uint32_t)tid);
    /* Of two concurrent stores to one entry, the last one stays. Partner: named_emit. */
    if (place && name)
        annot_store_relaxed(place, (uint64_t)(uint32_t)tid << 32 | name);
}

void named_emit(struct control *control)
{
    int32_t pid = getpid();
    if (!control->thread || annot_load_relaxed(&named_pid) != pid ||
        __atomic_exchange_n(&control->segment->names_told, 1, __ATOMIC_RELAXED))
        return;
    for (uint32_t i = 0; i < NAMED_MAX; i++) {
        uint64_t entry = annot_load_relaxed(&named[i]);
        const struct emission emission = {
            .kind = ANNOT_REC_NAME_THREAD, .id = tid_of(entry), .name = (uint32_t)entry};
        if (entry && proc_thread_alive(pid, (pid_t)tid_of(entry)))
            (void)write_event(control, &emission);
    }
}
