/* SPDX-License-Identifier: MIT */
/* Keys are foreign and may meet by chance: what is found by key is compared. */
#include "intake_past.h"

#include <errno.h>

static uint64_t key_of_identity(uint64_t identity)
{
    return identity | 1;
}

static uint64_t key_of_pid(int32_t pid, uint64_t pid_ns)
{
    return (pid_ns << 32 | (uint32_t)pid) * 2 | 1;
}

static uint64_t key_of_parent(const struct process_who *child)
{
    return child->parent_identity != 0 ? key_of_identity(child->parent_identity)
                                       : key_of_pid(child->ppid, child->pid_ns);
}

bool who_same_pid(const struct process_who *a, const struct process_who *b)
{
    return a->pid == b->pid && a->pid_ns == b->pid_ns && a->start_ticks == b->start_ticks;
}

bool who_is_parent(const struct process_who *child, const struct process_who *candidate)
{
    if (candidate->ordinal == child->ordinal) /* two segments of one process */
        return false;
    if (child->parent_identity != 0)
        return candidate->identity == child->parent_identity;
    return candidate->pid == child->ppid && candidate->pid_ns == child->pid_ns &&
           candidate->start_ticks <= child->start_ticks;
}

static uint32_t first(const struct map64 *map, uint64_t key)
{
    const uint64_t *place = map64_find(map, key);
    return place ? (uint32_t)*place : 0;
}

int past_add(struct intake_past *past, const struct process_who *who)
{
    uint64_t place = past->entries.count + 1, pid = key_of_pid(who->pid, who->pid_ns);
    struct past_entry entry = {.who = *who, .older = first(&past->by_pid, pid)};
    if (!who->has_parent)
        entry.sibling = first(&past->orphans, key_of_parent(who));
    if (place > UINT32_MAX || vec_push(&past->entries, entry) != 0 ||
        map64_put(&past->by_pid, pid, place) != 0 ||
        map64_put(&past->by_identity, key_of_identity(who->identity), place) != 0)
        return -ENOMEM;
    return who->has_parent ? 0 : map64_put(&past->orphans, key_of_parent(who), place);
}

void past_free(struct intake_past *past)
{
    vec_free(&past->entries);
    map64_free(&past->by_identity);
    map64_free(&past->by_pid);
    map64_free(&past->orphans);
}

const struct process_who *past_find(const struct intake_past *past, const struct process_who *who)
{
    uint32_t place = first(&past->by_pid, key_of_pid(who->pid, who->pid_ns));
    for (; place != 0; place = past->entries.items[place - 1].older)
        if (who_same_pid(&past->entries.items[place - 1].who, who))
            return &past->entries.items[place - 1].who;
    return NULL;
}

const struct process_who *past_parent(const struct intake_past *past,
                                      const struct process_who *child)
{
    bool by_identity = child->parent_identity != 0;
    uint32_t place = first(by_identity ? &past->by_identity : &past->by_pid, key_of_parent(child));
    while (place != 0) {
        const struct past_entry *entry = &past->entries.items[place - 1];
        if (who_is_parent(child, &entry->who))
            return &entry->who;
        place = by_identity ? 0 : entry->older;
    }
    return NULL;
}

static void adopt(struct intake_past *past, uint64_t key, const struct process_who *newcomer,
                  void (*call)(void *context, const struct process_who *child), void *context)
{
    uint32_t place = first(&past->orphans, key);
    while (place != 0) {
        struct past_entry *entry = &past->entries.items[place - 1];
        if (!entry->who.has_parent && who_is_parent(&entry->who, newcomer)) {
            entry->who.has_parent = true;
            call(context, &entry->who);
        }
        place = entry->sibling;
    }
}

void past_adopt(struct intake_past *past, const struct process_who *newcomer,
                void (*call)(void *context, const struct process_who *child), void *context)
{
    adopt(past, key_of_identity(newcomer->identity), newcomer, call, context);
    adopt(past, key_of_pid(newcomer->pid, newcomer->pid_ns), newcomer, call, context);
}
