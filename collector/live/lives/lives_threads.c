/* SPDX-License-Identifier: MIT */
/* Threads of the entries of the registry. The sampler knows the start of a thread, the intake the
 * time of its first event: both mean the same thread if it started before the event and no younger
 * one of the same tid did. Records live as long as the process is kept. */

#include "lives.h"
#include "lives_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Tolerance for comparing times of two clocks. */
#define LIVES_SLACK_NS INT64_C(10000000)

/* A thread's name may arrive this long after its end on a busy machine. */
#define LIVES_LATE_NS INT64_C(10000000000)

struct thread_record {
    struct thread_record *next;         /* with the same tid */
    struct thread_record *next_sibling; /* of the same process */
    int64_t start_ns;                   /* CLOCK_MONOTONIC, 0 = unknown */
    uint64_t start_boot_ns;             /* the same in the kernel's clock */
    int64_t used_ns, end_ns;            /* 0 = not yet */
    int64_t ordinal;                    /* -1 = no entry: only its name is known */
    uint32_t name;                      /* set by another thread; 0 = unset */
    int32_t ns_tid;
    bool claimed;
};

static uint64_t key_of(uint32_t process, int32_t ns_tid)
{
    return ((uint64_t)process + 1) << 31 | (uint32_t)(ns_tid & 0x7fffffff);
}

static struct thread_record *first_of(const struct lives *lives, uint64_t key)
{
    const uint64_t *found = map64_find(&lives->threads, key);
    return found ? (struct thread_record *)(uintptr_t)*found : NULL;
}

static struct thread_record *add_record(struct lives *lives, uint32_t process, int32_t ns_tid)
{
    uint64_t key = key_of(process, ns_tid), all = key_of(process, 0);
    struct thread_record *record = calloc(1, sizeof(*record));
    if (!record)
        return NULL;
    record->ns_tid = ns_tid;
    record->ordinal = -1;
    record->next = first_of(lives, key);
    record->next_sibling = first_of(lives, all);
    if (map64_put(&lives->threads, all, (uint64_t)(uintptr_t)record) != 0) {
        free(record);
        return NULL;
    }
    if (ns_tid != 0 && map64_put(&lives->threads, key, (uint64_t)(uintptr_t)record) != 0)
        return NULL;
    return record;
}

static struct trace_thread *entry_of(const struct lives *lives, const struct thread_record *record)
{
    return trace_thread(lives->trace, (uint32_t)record->ordinal);
}

/* Gives the record an entry of the trace if it lacks one. 0 or -ENOMEM. */
static int enter(struct lives *lives, uint32_t process, struct thread_record *record)
{
    if (record->ordinal >= 0)
        return 0;
    int64_t ordinal = trace_thread_add(lives->trace, process);
    if (ordinal < 0)
        return (int)ordinal;
    record->ordinal = ordinal;
    entry_of(lives, record)->tid = record->ns_tid;
    entry_of(lives, record)->name = record->name;
    return 0;
}

/* True if the record, made at an event of its thread, may be of a thread that started at that
 * time. */
static bool may_have_begun(const struct thread_record *record, int64_t start_ns)
{
    return record->start_boot_ns == 0 && record->used_ns + LIVES_SLACK_NS >= start_ns &&
           (record->end_ns == 0 || record->end_ns + LIVES_SLACK_NS >= start_ns);
}

/* The record of the thread that started at that time: the one with that start, else the earliest
 * with an unknown start. */
static struct thread_record *find_by_start(struct thread_record *record, uint64_t start_boot_ns,
                                           int64_t start_ns)
{
    struct thread_record *found = NULL;
    for (; record; record = record->next) {
        if (record->start_boot_ns == start_boot_ns)
            return record;
        if (may_have_begun(record, start_ns) && (!found || record->used_ns < found->used_ns))
            found = record;
    }
    return found;
}

/* The latest one that lived at that time. */
static struct thread_record *find_by_time(struct thread_record *record, int64_t time_ns, bool claim)
{
    struct thread_record *found = NULL;
    for (; record; record = record->next) {
        if ((claim && record->claimed) || record->start_ns - LIVES_SLACK_NS > time_ns ||
            (record->end_ns != 0 && record->end_ns < time_ns))
            continue;
        if (!found || record->start_ns > found->start_ns)
            found = record;
    }
    return found;
}

static void note_use(struct thread_record *record, int64_t time_ns)
{
    if (record->used_ns == 0 || time_ns < record->used_ns)
        record->used_ns = time_ns;
}

/* Fills the entry at the sampler's first look at a thread. */
static void describe(struct lives *lives, struct thread_record *record, int64_t time_ns)
{
    struct trace_thread *entry = entry_of(lives, record);
    if (entry->first_ns == 0 && !record->claimed)
        entry->first_ns = entry->last_ns = time_ns;
}

int64_t lives_thread(struct lives *lives, const struct lives_task *task, int64_t time_ns)
{
    int64_t process = lives_process(lives, task, time_ns);
    if (process < 0)
        return process;
    int32_t ns_tid = task->ns_tid != 0 ? task->ns_tid : task->tid;
    struct thread_record *record = first_of(lives, key_of((uint32_t)process, ns_tid));
    int64_t start_ns = (int64_t)task->thread_start_ns - lives->asleep_ns;
    if (record && task->thread_start_ns != 0)
        record = find_by_start(record, task->thread_start_ns, start_ns);
    else if (record)
        record = find_by_time(record, time_ns, false);
    if (!record)
        record = add_record(lives, (uint32_t)process, ns_tid);
    if (!record || enter(lives, (uint32_t)process, record) != 0)
        return -ENOMEM;
    if (task->thread_start_ns != 0 && record->start_boot_ns == 0) {
        record->start_boot_ns = task->thread_start_ns;
        record->start_ns = start_ns;
    }
    note_use(record, time_ns);
    describe(lives, record, time_ns);
    return record->ordinal;
}

int64_t lives_claim_thread(struct lives *lives, uint32_t process, int32_t ns_tid, int64_t first_ns)
{
    struct thread_record *record = first_of(lives, key_of(process, ns_tid));
    record = ns_tid > 0 ? find_by_time(record, first_ns, true) : NULL;
    if (!record)
        record = add_record(lives, process, ns_tid > 0 ? ns_tid : 0);
    if (!record || enter(lives, process, record) != 0)
        return -ENOMEM;
    record->claimed = true;
    note_use(record, first_ns);
    return record->ordinal;
}

/* A thread that ended before its creator could report its name. Tids are not reused that soon. */
static struct thread_record *find_ended(struct thread_record *record, int64_t time_ns)
{
    while (record && (record->name != 0 || record->start_ns > time_ns ||
                      record->end_ns + LIVES_LATE_NS < time_ns))
        record = record->next;
    return record;
}

/* The record of a thread that never got an entry, with its tid in use by another thread now. */
static struct thread_record *find_unused(struct thread_record *record)
{
    while (record && record->ordinal >= 0)
        record = record->next;
    if (record)
        record->start_ns = record->used_ns = record->end_ns = 0, record->start_boot_ns = 0;
    return record;
}

int lives_name_thread(struct lives *lives, const struct lives_name *given)
{
    struct thread_record *first = first_of(lives, key_of(given->process, given->ns_tid));
    struct thread_record *record = find_by_time(first, given->time_ns, false);
    if (!record)
        record = find_ended(first, given->time_ns);
    if (!record)
        record = find_unused(first);
    if (!record)
        record = add_record(lives, given->process, given->ns_tid);
    if (!record)
        return -ENOMEM;
    if (record->ordinal < 0)
        record->used_ns = given->time_ns; /* it may be from a previous owner of the tid */
    struct trace_thread *entry = record->ordinal >= 0 ? entry_of(lives, record) : NULL;
    if (entry && (entry->name == 0 || entry->name == record->name)) {
        entry->revision += entry->name != given->name;
        entry->name = given->name;
    }
    record->name = given->name;
    return 0;
}

void lives_thread_comm(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                       const char *comm)
{
    const struct process *life = lives_find_life(lives, task->pid, task->start_ticks, time_ns);
    int64_t process = life ? life_image(life, time_ns)->ordinal : -1;
    int32_t ns_tid = task->ns_tid != 0 ? task->ns_tid : task->tid;
    struct thread_record *record =
        process >= 0 ? first_of(lives, key_of((uint32_t)process, ns_tid)) : NULL;
    record = find_by_time(record, time_ns, false);
    bool has_entry = record && record->ordinal >= 0;
    int64_t text = has_entry ? trace_string_add(lives->trace, comm, strlen(comm)) : 0;
    if (text <= 0)
        return;
    struct trace_thread *entry = entry_of(lives, record);
    entry->revision += entry->comm != (uint32_t)text;
    entry->comm = (uint32_t)text;
}

void lives_end_thread(struct lives *lives, uint32_t process, const struct lives_task *task,
                      int64_t time_ns)
{
    int32_t ns_tid = task->ns_tid != 0 ? task->ns_tid : task->tid;
    struct thread_record *record = first_of(lives, key_of(process, ns_tid));
    if (record && task->thread_start_ns != 0)
        record = find_by_start(record, task->thread_start_ns,
                               (int64_t)task->thread_start_ns - lives->asleep_ns);
    else
        record = find_by_time(record, time_ns, false);
    if (!record || record->used_ns > time_ns)
        return;
    record->end_ns = time_ns;
    if (record->ordinal < 0 || record->claimed || entry_of(lives, record)->serial != 0)
        return;
    struct trace_thread *entry = entry_of(lives, record);
    entry->last_ns = time_ns;
    entry->revision++;
}

static void free_list(struct thread_record *record)
{
    while (record) {
        struct thread_record *next = record->next_sibling;
        free(record);
        record = next;
    }
}

void lives_forget_threads(struct lives *lives, uint32_t process)
{
    uint64_t ignored, list;
    if (!map64_take(&lives->threads, key_of(process, 0), &list))
        return;
    struct thread_record *first = (struct thread_record *)(uintptr_t)list;
    for (const struct thread_record *at = first; at; at = at->next_sibling)
        if (at->ns_tid != 0)
            map64_take(&lives->threads, key_of(process, at->ns_tid), &ignored);
    free_list(first);
}

void lives_free_threads(struct lives *lives)
{
    for (size_t i = 0; i < lives->threads.capacity; i++) {
        const struct map64_entry *entry = &lives->threads.entries[i];
        if (entry->key != 0 && (entry->key & 0x7fffffff) == 0)
            free_list((struct thread_record *)(uintptr_t)entry->value);
    }
    map64_free(&lives->threads);
}
