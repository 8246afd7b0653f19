/* SPDX-License-Identifier: MIT */
/* See gpu_busy.h. */
#include "gpu_busy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATE_NEAR = 256, /* maximum distance from the end for inserting a late interval at once */
    LOOK_NEAR = 32,  /* items searched linearly */
};

void gpu_busy_free(struct gpu_busy *busy)
{
    vec_free(&busy->items);
    vec_free(&busy->late);
    free(busy->before_ns);
    *busy = (struct gpu_busy){0};
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* Reserves exactly `extra` more items, as no others may follow. 0 or -ENOMEM. */
static int make_room(struct gpu_busy *busy, size_t extra)
{
    size_t need = busy->items.count + extra;
    if (need <= busy->items.capacity)
        return 0;
    struct gpu_interval *items = reallocarray(busy->items.items, need, sizeof(*items));
    if (!items)
        return -ENOMEM;
    busy->items.items = items;
    busy->items.capacity = need;
    return 0;
}

/* Grows by a quarter, as there may be millions of items. 0 or -ENOMEM. */
static int push(struct gpu_busy *busy, struct gpu_interval added)
{
    size_t count = busy->items.count;
    if (count == busy->items.capacity && make_room(busy, count / 4 + 16) != 0)
        return -ENOMEM;
    busy->items.items[busy->items.count++] = added;
    return 0;
}

/* Inserts an interval at `at`, merging the following items that it touches. 0 or -ENOMEM. */
static int put_at(struct gpu_busy *busy, size_t at, struct gpu_interval added)
{
    struct gpu_interval *items = busy->items.items;
    size_t end = at;
    for (; end < busy->items.count && items[end].begin_ns <= added.end_ns; end++) {
        added.begin_ns =
            items[end].begin_ns < added.begin_ns ? items[end].begin_ns : added.begin_ns;
        added.end_ns = items[end].end_ns > added.end_ns ? items[end].end_ns : added.end_ns;
    }
    if (end == at) {
        if (push(busy, added) != 0)
            return -ENOMEM;
        items = busy->items.items;
        memmove(items + at + 1, items + at, (busy->items.count - 1 - at) * sizeof(*items));
    } else if (end > at + 1) {
        memmove(items + at + 1, items + end, (busy->items.count - end) * sizeof(*items));
        busy->items.count -= end - at - 1;
    }
    items[at] = added;
    return 0;
}

static int by_begin(const void *left, const void *right)
{
    const struct gpu_interval *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Returns the first item from `begin` on that ends at `time_ns` or later. */
static size_t first_ending(const struct gpu_busy *busy, size_t begin, int64_t time_ns)
{
    const struct gpu_interval *items = busy->items.items;
    for (size_t left = busy->items.count - begin; left > 0;) { /* free of unpredictable branches */
        size_t half = left / 2;
        bool before = items[begin + half].end_ns < time_ns;
        begin = before ? begin + half + 1 : begin;
        left = before ? left - half - 1 : half;
    }
    return begin;
}

static void append(struct gpu_interval *items, size_t *count, struct gpu_interval added)
{
    if (*count == 0 || items[*count - 1].end_ns < added.begin_ns)
        items[(*count)++] = added;
    else if (added.end_ns > items[*count - 1].end_ns)
        items[*count - 1].end_ns = added.end_ns;
}

/* Counts the sorted intervals that do not lie inside of an item from `at` on. */
static size_t count_outside(const struct gpu_busy *busy, size_t at,
                            const struct gpu_interval *added, size_t count)
{
    const struct gpu_interval *items = busy->items.items;
    size_t outside = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < busy->items.count && items[at].end_ns < added[i].end_ns)
            at++;
        outside += at == busy->items.count || items[at].begin_ns > added[i].begin_ns;
    }
    return outside;
}

/* Merges sorted intervals into the items. 0 or -ENOMEM. */
static int merge(struct gpu_busy *busy, const struct gpu_interval *added, size_t count)
{
    if (count == 0)
        return 0;
    size_t from = first_ending(busy, 0, added[0].begin_ns), left = busy->items.count - from, at = 0;
    struct gpu_interval *tail = malloc((left + 1) * sizeof(*tail));
    if (!tail || make_room(busy, count_outside(busy, from, added, count)) != 0) {
        free(tail);
        return -ENOMEM;
    }
    memcpy(tail, busy->items.items + from, left * sizeof(*tail));
    busy->items.count = from;
    for (size_t i = 0; i < count || at < left;) {
        bool old = i == count || (at < left && tail[at].begin_ns <= added[i].begin_ns);
        append(busy->items.items, &busy->items.count, old ? tail[at++] : added[i++]);
    }
    free(tail);
    return 0;
}

static int merge_late(struct gpu_busy *busy)
{
    if (busy->late.count > 1)
        qsort(busy->late.items, busy->late.count, sizeof(*busy->late.items), by_begin);
    int error = merge(busy, busy->late.items, busy->late.count);
    busy->late.count = 0;
    return error;
}

/* Inserts an interval that came late if its place is near the end; otherwise queues it. */
static int add_late(struct gpu_busy *busy, struct gpu_interval added)
{
    size_t count = busy->items.count, least = count > LATE_NEAR ? count - LATE_NEAR : 0;
    if (least == 0 || busy->items.items[least - 1].end_ns < added.begin_ns)
        return put_at(busy, first_ending(busy, least, added.begin_ns), added);
    if (vec_push(&busy->late, added) != 0)
        return -ENOMEM;
    return busy->late.count < GPU_BUSY_LATE_MAX ? 0 : merge_late(busy);
}

int gpu_busy_add(struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns)
{
    const struct gpu_interval added = {begin_ns, end_ns};
    if (end_ns <= begin_ns)
        return 0;
    if (busy->items.count == 0)
        return push(busy, added);
    struct gpu_interval *last = &busy->items.items[busy->items.count - 1];
    if (begin_ns > last->end_ns)
        return push(busy, added);
    if (begin_ns < last->begin_ns)
        return add_late(busy, added);
    last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
    return 0;
}

int gpu_busy_fill(struct gpu_busy *busy, uint64_t gap_ns)
{
    int error = merge_late(busy);
    struct gpu_interval *items = busy->items.items;
    size_t kept = 0;
    for (size_t i = 0; i < busy->items.count; i++) {
        uint64_t gap =
            kept > 0 ? (uint64_t)items[i].begin_ns - (uint64_t)items[kept - 1].end_ns : 0;
        if (kept == 0 || gap > gap_ns) {
            items[kept++] = items[i];
        } else {
            busy->filled_ns += gap;
            items[kept - 1].end_ns = items[i].end_ns;
        }
    }
    busy->items.count = kept;
    return error;
}

/* ---- Queries --------------------------------------------------------------------------------- */

int gpu_busy_settle(struct gpu_busy *busy)
{
    int error = merge_late(busy);
    vec_free(&busy->late);
    return error;
}

int gpu_busy_join(struct gpu_busy *busy, const struct gpu_busy *other)
{
    busy->filled_ns += other->filled_ns;
    return merge(busy, other->items.items, other->items.count);
}

int gpu_busy_move(struct gpu_busy *busy, struct gpu_busy *other)
{
    if (busy->items.count > 0)
        return gpu_busy_join(busy, other);
    const struct gpu_busy empty = *busy;
    *busy = *other;
    *other = empty;
    busy->filled_ns += empty.filled_ns;
    return 0;
}

static uint64_t length(const struct gpu_interval *item)
{
    return (uint64_t)item->end_ns - (uint64_t)item->begin_ns;
}

int gpu_busy_index(struct gpu_busy *busy)
{
    uint64_t sum = 0;
    free(busy->before_ns);
    busy->before_ns = malloc((busy->items.count + 1) * sizeof(*busy->before_ns));
    if (!busy->before_ns)
        return -ENOMEM;
    for (size_t i = 0; i < busy->items.count; i++) {
        busy->before_ns[i] = sum;
        sum += length(&busy->items.items[i]);
    }
    busy->before_ns[busy->items.count] = sum;
    return 0;
}

/* As first_ending, but searches from *near on, and stores the result there. */
static size_t first_ending_near(const struct gpu_busy *busy, int64_t time_ns, size_t *near)
{
    const struct gpu_interval *items = busy->items.items;
    size_t count = busy->items.count, at = *near;
    for (unsigned i = 0; i < LOOK_NEAR && at < count && items[at].end_ns < time_ns; i++)
        at++;
    bool found = at <= count && (at == count || items[at].end_ns >= time_ns) &&
                 (at == 0 || items[at - 1].end_ns < time_ns);
    *near = found ? at : first_ending(busy, 0, time_ns);
    return *near;
}

/* Busy time up to `time_ns`, where `at` is the first item that does not end before it. */
static uint64_t busy_until(const struct gpu_busy *busy, size_t at, int64_t time_ns)
{
    if (at == busy->items.count)
        return busy->before_ns[at];
    int64_t begin_ns = busy->items.items[at].begin_ns;
    return busy->before_ns[at] + (time_ns > begin_ns ? (uint64_t)time_ns - (uint64_t)begin_ns : 0);
}

uint64_t gpu_busy_within(const struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns,
                         size_t *near)
{
    if (end_ns <= begin_ns)
        return 0;
    size_t first = first_ending_near(busy, begin_ns, near);
    bool one = first == busy->items.count || busy->items.items[first].end_ns >= end_ns;
    size_t last = one ? first : first_ending_near(busy, end_ns, near);
    return busy_until(busy, last, end_ns) - busy_until(busy, first, begin_ns);
}

uint64_t gpu_busy_total(const struct gpu_busy *busy)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < busy->items.count; i++)
        sum += length(&busy->items.items[i]);
    return sum > busy->filled_ns ? sum - busy->filled_ns : 0;
}

int gpu_busy_minus(struct gpu_busy *ret_busy, const struct gpu_busy *from,
                   const struct gpu_busy *less)
{
    const struct gpu_interval *items = from->items.items, *others = less->items.items;
    size_t at = 0;
    int error = 0;
    *ret_busy = (struct gpu_busy){0};
    for (size_t i = 0; items && i < from->items.count && !error; i++) {
        int64_t begin_ns = items[i].begin_ns, end_ns = items[i].end_ns;
        while (at < less->items.count && others[at].end_ns <= begin_ns)
            at++;
        for (; at < less->items.count && others[at].begin_ns < end_ns && !error; at++) {
            error = gpu_busy_add(ret_busy, begin_ns, others[at].begin_ns);
            begin_ns = others[at].end_ns;
            if (begin_ns >= end_ns) /* it may extend into the next item */
                break;
        }
        if (!error)
            error = gpu_busy_add(ret_busy, begin_ns, end_ns);
    }
    if (error)
        gpu_busy_free(ret_busy);
    return error;
}

uint64_t gpu_busy_longest_gap(const struct gpu_busy *busy)
{
    uint64_t longest = 0;
    for (size_t i = 1; i < busy->items.count; i++) {
        const struct gpu_interval *items = busy->items.items;
        uint64_t gap = (uint64_t)items[i].begin_ns - (uint64_t)items[i - 1].end_ns;
        longest = gap > longest ? gap : longest;
    }
    return longest;
}
