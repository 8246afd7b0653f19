/* SPDX-License-Identifier: MIT */
/* The places of calls: tasks and ranges; and coroutines as a whole. */
#include "call_counts_made.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of ranges with separate calls, as a program may generate names. */
enum { RANGES_MAX = 256 };

uint32_t calls_made(const struct calls *calls, const struct call_made **ret_made)
{
    *ret_made = calls->made.items;
    return (uint32_t)calls->made.count;
}

uint32_t calls_coroutines(const struct calls *calls, const struct call_coroutine **ret_coroutines)
{
    *ret_coroutines = calls->coroutines.items;
    return (uint32_t)calls->coroutines.count;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static bool is_programs(const struct scope *scope)
{
    return scope->observer == OBSERVER_PROGRAM || scope->observer == OBSERVER_NVTX ||
           scope->observer == OBSERVER_ITT || scope->observer == OBSERVER_INHERITED;
}

int64_t calls_range_of(struct calls *calls, uint32_t group, const struct event *event)
{
    const struct wide_key *key = WIDE_KEY(group, (uint64_t)1 << 32, event->name);
    const uint64_t *found = wide_map_find(&calls->function_by_key, key);
    const struct call_function fresh = {
        .name = event->name, .group = group, .context = LABEL_RANGE, .min_ns = UINT64_MAX};
    if (found)
        return (int64_t)*found;
    if (calls->range_count >= RANGES_MAX || !is_programs(trace_scope(calls->trace, event->scope)))
        return 0;
    calls->range_count++;
    if (vec_push(&calls->functions, fresh) != 0 ||
        wide_map_put(&calls->function_by_key, key, calls->functions.count) != 0)
        return -ENOMEM;
    return (int64_t)calls->functions.count;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint32_t range_name(const struct calls *calls, const struct call_function *context)
{
    return context->label ? stacks_get_label(trace_stacks_get(calls->trace), context->label)->text
                          : context->name;
}

/* Returns the index of a place, or adds it. -ENOMEM. */
static int64_t place_of(struct call_places *places, struct map64 *by_key,
                        const struct call_place_made *place)
{
    uint64_t key = calls_key(place->task, place->range);
    const uint64_t *found = map64_find(by_key, key);
    if (found)
        return (int64_t)*found;
    if (map64_put(by_key, key, places->items.count) != 0 || vec_push(&places->items, *place) != 0)
        return -ENOMEM;
    return (int64_t)places->items.count - 1;
}

/* A task's step starts outside of ranges: those open on the loop's thread are not the task's. */
static struct call_place_made inside(const struct calls *calls, struct call_place_made place,
                                     const struct call_function *context)
{
    if (context->context == LABEL_TASK)
        return (struct call_place_made){.task = context->label};
    place.range = range_name(calls, context);
    return place;
}

int call_places_find(struct calls *calls, struct call_places *places)
{
    struct map64 by_key = {0};
    const struct call_place_made nowhere = {0};
    places->of_path = calloc(calls->paths.count, sizeof(*places->of_path));
    int64_t at = places->of_path ? place_of(places, &by_key, &nowhere) : -ENOMEM;
    for (size_t i = 1; i < calls->paths.count && at >= 0; i++) {
        const struct call_path *path = &calls->paths.items[i];
        const struct call_function *function = &calls->functions.items[path->function - 1];
        at = places->of_path[path->parent];
        if (function->context) {
            const struct call_place_made place = inside(calls, places->items.items[at], function);
            at = place_of(places, &by_key, &place);
        }
        places->of_path[i] = at >= 0 ? (uint32_t)at : 0;
    }
    map64_free(&by_key);
    return at < 0 ? (int)at : 0;
}

void call_places_fini(struct call_places *places)
{
    vec_free(&places->items);
    free(places->of_path);
}

int64_t calls_made_at(struct calls *calls, struct map64 *by_key, const struct call_places *places,
                      uint32_t path)
{
    uint32_t function = calls->paths.items[path].function, place = places->of_path[path];
    uint64_t key = calls_key(place, function);
    const uint64_t *found = map64_find(by_key, key);
    const struct call_made fresh = {.task = places->items.items[place].task,
                                    .range = places->items.items[place].range,
                                    .function = function - 1};
    if (found)
        return (int64_t)*found;
    if (map64_put(by_key, key, calls->made.count) != 0 || vec_push(&calls->made, fresh) != 0)
        return -ENOMEM;
    return (int64_t)calls->made.count - 1;
}

static const char *task_text(const struct calls *calls, uint32_t label)
{
    return trace_string(calls->trace, stacks_get_label(trace_stacks_get(calls->trace), label)->text)
        ->bytes;
}

static int by_place(const void *left, const void *right, void *context)
{
    const struct call_made *a = left, *b = right;
    const struct calls *calls = context;
    int order = strcmp(task_text(calls, a->task), task_text(calls, b->task));
    if (order == 0)
        order = strcmp(trace_string(calls->trace, a->range)->bytes,
                       trace_string(calls->trace, b->range)->bytes);
    if (order == 0 && a->sum.own_ns != b->sum.own_ns)
        return a->sum.own_ns < b->sum.own_ns ? 1 : -1;
    return order ? order : (a->function > b->function) - (a->function < b->function);
}

void calls_sort_made(struct calls *calls, const uint32_t *place)
{
    for (size_t i = 0; i < calls->made.count; i++)
        calls->made.items[i].function = place[calls->made.items[i].function];
    if (calls->made.count > 0)
        qsort_r(calls->made.items, calls->made.count, sizeof(*calls->made.items), by_place, calls);
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

/* NULL: out of memory. */
static struct call_coroutine *coroutine_of(struct calls *calls, uint32_t name)
{
    const uint64_t *found = map64_find(&calls->coroutine_by_name, name);
    const struct call_coroutine fresh = {.name = name};
    if (found)
        return &calls->coroutines.items[*found];
    if (map64_put(&calls->coroutine_by_name, name, calls->coroutines.count) != 0 ||
        vec_push(&calls->coroutines, fresh) != 0)
        return NULL;
    return &calls->coroutines.items[calls->coroutines.count - 1];
}

/* Returns true if a parent above that depth has the name. */
static bool is_inside_itself(const struct item *item, uint32_t name, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        if (item->parents[i]->name == name)
            return true;
    return false;
}

static int take_awaiting(struct calls *calls, const struct item *item, uint64_t length_ns)
{
    for (uint32_t i = 0; i < item->depth; i++) {
        uint32_t name = item->parents[i]->name;
        struct call_coroutine *coroutine = coroutine_of(calls, name);
        if (!coroutine)
            return -ENOMEM;
        coroutine->awaiting_ns += is_inside_itself(item, name, i) ? 0 : length_ns;
    }
    return 0;
}

int calls_take_whole(struct calls *calls, const struct item *item)
{
    uint64_t length_ns =
        item->end_ns > item->begin_ns ? (uint64_t)item->end_ns - (uint64_t)item->begin_ns : 0;
    uint32_t name = item->event->name;
    if (trace_scope(calls->trace, item->event->scope)->role == CALLS_ROLE_AWAITING)
        return take_awaiting(calls, item, length_ns);
    struct call_coroutine *coroutine = coroutine_of(calls, name);
    if (!coroutine)
        return -ENOMEM;
    coroutine->calls++;
    coroutine->whole_ns += is_inside_itself(item, name, item->depth) ? 0 : length_ns;
    coroutine->max_ns = length_ns > coroutine->max_ns ? length_ns : coroutine->max_ns;
    return 0;
}

static int longest_first(const void *left, const void *right, void *trace)
{
    const struct call_coroutine *a = left, *b = right;
    if (a->whole_ns != b->whole_ns)
        return a->whole_ns < b->whole_ns ? 1 : -1;
    int order = strcmp(trace_string(trace, a->name)->bytes, trace_string(trace, b->name)->bytes);
    return order ? order : (a->name > b->name) - (a->name < b->name);
}

void calls_sort_coroutines(struct calls *calls)
{
    if (calls->coroutines.count > 0)
        qsort_r(calls->coroutines.items, calls->coroutines.count, sizeof(*calls->coroutines.items),
                longest_first, (void *)calls->trace);
}
