/* SPDX-License-Identifier: MIT */
/* Names of other threads: see thread_names.h. */
#include "thread_names.h"

#include "emit.h"
#include "proc.h"
#include "write.h"

#include <annot_barrier.h>
#include <unistd.h>

enum { NAMES_MAX = 256 };

static uint64_t names[NAMES_MAX]; /* tid << 32 | string id; 0: free; W: all, atomic */
static int32_t owner_pid;         /* owner of the entries; W: all, atomic */

static uint32_t tid_of(uint64_t entry)
{
    return (uint32_t)(entry >> 32);
}

/* In a forked child the only thread calls this first. */
static void forget_parents(int32_t pid)
{
    int32_t owner = annot_load_relaxed(&owner_pid);
    if (owner == pid)
        return;
    for (uint32_t i = 0; owner != 0 && i < NAMES_MAX; i++)
        annot_store_relaxed(&names[i], UINT64_C(0));
    annot_store_relaxed(&owner_pid, pid);
}

/* Returns the entry of that thread; else a free one; else one of an ended thread; else NULL. */
static uint64_t *find_place(int32_t pid, uint32_t tid)
{
    uint64_t *free_place = NULL;
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        uint64_t entry = annot_load_relaxed(&names[i]);
        if (tid_of(entry) == tid)
            return &names[i];
        if (!free_place && entry == 0)
            free_place = &names[i];
    }
    for (uint32_t i = 0; !free_place && i < NAMES_MAX; i++)
        if (!proc_thread_alive(pid, (pid_t)tid_of(annot_load_relaxed(&names[i]))))
            free_place = &names[i];
    return free_place;
}

void thread_names_keep(int32_t tid, uint32_t name)
{
    int32_t pid = getpid();
    forget_parents(pid);
    uint64_t *place = find_place(pid, (uint32_t)tid);
    /* Of two concurrent stores to one entry, the last one stays. Partner: thread_names_emit. */
    if (place && name)
        annot_store_relaxed(place, (uint64_t)(uint32_t)tid << 32 | name);
}

void thread_names_emit(struct control *control)
{
    int32_t pid = getpid();
    if (!control->thread || annot_load_relaxed(&owner_pid) != pid ||
        __atomic_exchange_n(&control->segment->names_emitted, 1, __ATOMIC_RELAXED))
        return;
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        uint64_t entry = annot_load_relaxed(&names[i]);
        const struct emission emission = {
            .kind = ANNOT_REC_NAME_THREAD, .id = tid_of(entry), .name = (uint32_t)entry};
        if (entry && proc_thread_alive(pid, (pid_t)tid_of(entry)))
            (void)write_event(control, &emission);
    }
}
