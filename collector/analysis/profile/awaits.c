/* SPDX-License-Identifier: MIT */
/* See awaits.h. */
#include "awaits.h"

#include "hash_map.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct awaits {
    const struct trace *trace;
    VEC(struct await_place) places; /* the first: waits beyond AWAITS_MAX */
    struct wide_map place_by_key;
};

struct awaits *awaits_create(const struct trace *trace)
{
    struct awaits *awaits = calloc(1, sizeof(*awaits));
    if (!awaits || vec_push(&awaits->places, (struct await_place){0}) != 0) {
        free(awaits);
        return NULL;
    }
    awaits->trace = trace;
    return awaits;
}

void awaits_destroy(struct awaits *awaits)
{
    if (!awaits)
        return;
    vec_free(&awaits->places);
    wide_map_free(&awaits->place_by_key);
    free(awaits);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Awaited operations that other tasks of the program complete. */
bool awaits_names_inside(const char *awaits)
{
    static const char *const names[] = {
        "Future",     "Task",           "_GatheringFuture",  "gather",       "wait",
        "wait_for",   "Queue.get",      "Queue.put",         "Queue.join",   "Lock.acquire",
        "Event.wait", "Condition.wait", "Semaphore.acquire", "Barrier.wait", "to_thread"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(awaits, names[i]) == 0)
            return true;
    return false;
}

static const struct arg *find(const struct trace *trace, const struct args *values, const char *key,
                              enum value_kind kind)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (values->items[i].kind == kind &&
            strcmp(trace_string(trace, values->items[i].key)->bytes, key) == 0)
            return &values->items[i];
    return NULL;
}

static uint32_t find_string(const struct trace *trace, const struct args *values, const char *key)
{
    const struct arg *value = find(trace, values, key, VALUE_STRING);
    return value ? value->value.string : 0;
}

uint64_t awaits_duration_ns(const struct trace *trace, const struct args *values)
{
    const struct arg *value = find(trace, values, ASYNCIO_KEY_MS, VALUE_DOUBLE);
    double ms = value ? value->value.float64 : 0;
    return ms > 0 && ms < 1e11 ? (uint64_t)(ms * 1e6) : 0;
}

bool awaits_is_inside(const struct trace *trace, const struct args *values)
{
    uint32_t awaits = find_string(trace, values, ASYNCIO_KEY_AWAITS);
    return awaits_names_inside(trace_string(trace, awaits)->bytes);
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct await_place *find_place(struct awaits *awaits, const struct await_place *place)
{
    const struct wide_key *key = WIDE_KEY((uint64_t)place->function << 32 | place->file,
                                          (uint64_t)place->awaits << 32 | (uint32_t)place->line);
    const uint64_t *found = wide_map_find(&awaits->place_by_key, key);
    if (found)
        return &awaits->places.items[*found];
    if (awaits->places.count > AWAITS_MAX)
        return &awaits->places.items[0];
    if (wide_map_put(&awaits->place_by_key, key, awaits->places.count) != 0 ||
        vec_push(&awaits->places, *place) != 0)
        return NULL;
    return &awaits->places.items[awaits->places.count - 1];
}

static int take(void *context, const struct item *item)
{
    struct awaits *awaits = context;
    if (item->kind != ITEM_INSTANT)
        return 0;
    const struct scope *scope = trace_scope(awaits->trace, item->event->scope);
    if (scope->observer != OBSERVER_ASYNCIO || scope->role != ASYNCIO_ROLE_AWAITED)
        return 0;
    uint64_t time_ns = awaits_duration_ns(awaits->trace, &item->args);
    const struct arg *line = find(awaits->trace, &item->args, ASYNCIO_KEY_LINE, VALUE_INT64);
    const struct await_place found = {
        .function = find_string(awaits->trace, &item->args, ASYNCIO_KEY_FUNCTION),
        .file = find_string(awaits->trace, &item->args, ASYNCIO_KEY_FILE),
        .awaits = find_string(awaits->trace, &item->args, ASYNCIO_KEY_AWAITS),
        .line = line ? (int32_t)line->value.int64 : 0,
    };
    if (time_ns == 0)
        return 0;
    struct await_place *place = find_place(awaits, &found);
    if (!place)
        return -ENOMEM;
    place->count++;
    place->total_ns += time_ns;
    place->max_ns = time_ns > place->max_ns ? time_ns : place->max_ns;
    return 0;
}

struct sink awaits_sink(struct awaits *awaits)
{
    bool any = trace_has_observer(awaits->trace, OBSERVER_ASYNCIO);
    return (struct sink){take, awaits, any ? WANT_EVENTS : 0};
}

static int longest_first(const void *left, const void *right, void *trace)
{
    const struct await_place *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    int order =
        strcmp(trace_string(trace, a->function)->bytes, trace_string(trace, b->function)->bytes);
    if (order == 0)
        order =
            strcmp(trace_string(trace, a->awaits)->bytes, trace_string(trace, b->awaits)->bytes);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

void awaits_finish(struct awaits *awaits)
{
    size_t kept = 0;
    for (size_t i = 0; i < awaits->places.count; i++)
        if (awaits->places.items[i].count > 0)
            awaits->places.items[kept++] = awaits->places.items[i];
    awaits->places.count = kept;
    if (kept > 0)
        qsort_r(awaits->places.items, kept, sizeof(*awaits->places.items), longest_first,
                (void *)(uintptr_t)awaits->trace);
}

uint32_t awaits_places(const struct awaits *awaits, const struct await_place **ret_places)
{
    *ret_places = awaits->places.items;
    return (uint32_t)awaits->places.count;
}
