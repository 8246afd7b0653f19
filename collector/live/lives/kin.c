/* SPDX-License-Identifier: MIT */
/* Keys are foreign and may collide, so each match is compared. */
#include "kin.h"

#include "clock_now.h"

#include <errno.h>

static uint64_t key_of_identity(uint64_t identity)
{
    return identity | 1;
}

static uint64_t key_of_pid(int32_t pid, uint64_t pid_ns)
{
    return (pid_ns << 32 | (uint32_t)pid) * 2 | 1;
}

static uint64_t key_of_parent(const struct who *child)
{
    return child->parent_identity != 0 ? key_of_identity(child->parent_identity)
                                       : key_of_pid(child->ppid, child->pid_ns);
}

static bool is_same_process(const struct who *a, const struct who *b)
{
    return a->pid == b->pid && a->pid_ns == b->pid_ns &&
           clock_same_ticks(a->start_ticks, b->start_ticks);
}

/* True if the candidate is the parent, or may be, judged by pids. */
static bool is_parent(const struct who *child, const struct who *candidate)
{
    if (candidate->ordinal == child->ordinal) /* two segments of one process */
        return false;
    if (child->parent_identity != 0)
        return candidate->identity == child->parent_identity;
    return candidate->pid == child->ppid && candidate->pid_ns == child->pid_ns &&
           candidate->start_ticks <= child->start_ticks + 1;
}

static uint32_t first(const struct map64 *map, uint64_t key)
{
    const uint64_t *place = map64_find(map, key);
    return place ? (uint32_t)*place : 0;
}

void kin_free(struct kin *kin)
{
    vec_free(&kin->relatives);
    map64_free(&kin->by_identity);
    map64_free(&kin->by_pid);
    map64_free(&kin->orphans);
}

void kin_leave(struct kin *kin, uint32_t place)
{
    kin->relatives.items[place].source = NULL;
}

const struct relative *kin_find(const struct kin *kin, const struct who *who)
{
    uint32_t place = first(&kin->by_pid, key_of_pid(who->pid, who->pid_ns));
    for (; place != 0; place = kin->relatives.items[place - 1].older)
        if (is_same_process(&kin->relatives.items[place - 1].who, who))
            return &kin->relatives.items[place - 1];
    return NULL;
}

static const struct who *find_parent(const struct kin *kin, const struct who *child)
{
    bool by_identity = child->parent_identity != 0;
    uint32_t place = first(by_identity ? &kin->by_identity : &kin->by_pid, key_of_parent(child));
    while (place != 0) {
        const struct relative *relative = &kin->relatives.items[place - 1];
        if (is_parent(child, &relative->who))
            return &relative->who;
        place = by_identity ? 0 : relative->older;
    }
    return NULL;
}

static int64_t add(struct kin *kin, const struct relative *relative)
{
    uint64_t place = kin->relatives.count + 1;
    const struct who *who = &relative->who;
    if (place > UINT32_MAX || vec_push(&kin->relatives, *relative) != 0 ||
        map64_put(&kin->by_pid, key_of_pid(who->pid, who->pid_ns), place) != 0 ||
        map64_put(&kin->by_identity, key_of_identity(who->identity), place) != 0 ||
        (!relative->has_parent && map64_put(&kin->orphans, key_of_parent(who), place) != 0))
        return -ENOMEM;
    return (int64_t)place - 1;
}

struct newcomer {
    const struct who *who;
    kin_pair_fn *call;
    void *context;
};

static void adopt(struct kin *kin, uint64_t key, const struct newcomer *newcomer)
{
    uint32_t place = first(&kin->orphans, key);
    while (place != 0) {
        struct relative *orphan = &kin->relatives.items[place - 1];
        if (!orphan->has_parent && is_parent(&orphan->who, newcomer->who)) {
            orphan->has_parent = true;
            newcomer->call(newcomer->context, orphan->who.ordinal, newcomer->who->ordinal);
        }
        place = orphan->sibling;
    }
}

int64_t kin_add(struct kin *kin, const struct who *who, struct segment_source *source,
                kin_pair_fn *call, void *context)
{
    const struct newcomer newcomer = {who, call, context};
    uint64_t pid = key_of_pid(who->pid, who->pid_ns);
    struct relative relative = {.who = *who, .source = source, .older = first(&kin->by_pid, pid)};
    const struct who *parent = find_parent(kin, who);
    relative.has_parent = parent != NULL;
    if (parent)
        call(context, who->ordinal, parent->ordinal);
    else
        relative.sibling = first(&kin->orphans, key_of_parent(who));
    adopt(kin, key_of_identity(who->identity), &newcomer);
    adopt(kin, pid, &newcomer);
    return add(kin, &relative);
}
