/* SPDX-License-Identifier: MIT */
/* Makes functions, edges and places of call paths: walks all paths, and keeps those open around
 * each. */
#include "call_sums.h"

#include "call_label.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Functions and paths of calls. */

uint32_t calls_group_of(const struct calls *calls, uint32_t thread)
{
    const struct trace_thread *known = trace_thread_get(calls->trace, thread);
    if (calls->options.group == CALLS_TOGETHER)
        return 0;
    return calls->options.group == CALLS_BY_THREAD ? thread : known ? known->process : 0;
}

int64_t calls_function_of(struct calls *calls, uint32_t group, uint32_t label, uint32_t name)
{
    const struct wide_key *key = WIDE_KEY(group, label, label ? 0 : name);
    const uint64_t *found = wide_map_find(&calls->function_by_key, key);
    const uint8_t flags = stacks_get_label(trace_stacks_get(calls->trace), label)->flags;
    const struct call_function fresh = {.label = label,
                                        .name = label ? 0 : name,
                                        .group = group,
                                        .context = flags & (LABEL_TASK | LABEL_RANGE),
                                        .min_ns = UINT64_MAX};
    if (found)
        return (int64_t)*found;
    if (vec_push(&calls->functions, fresh) != 0 ||
        wide_map_put(&calls->function_by_key, key, calls->functions.count) != 0)
        return -ENOMEM;
    return (int64_t)calls->functions.count;
}

int64_t calls_path_of(struct calls *calls, uint32_t parent, uint32_t function)
{
    uint64_t key = calls_key(parent, function);
    const uint64_t *found = map64_find(&calls->path_by_key, key);
    const struct call_path fresh = {.parent = parent, .function = function};
    if (found)
        return (int64_t)*found;
    if (calls->paths.count >= calls->options.path_limit)
        return 0;
    if (map64_put(&calls->path_by_key, key, calls->paths.count) != 0 ||
        vec_push(&calls->paths, fresh) != 0)
        return -ENOMEM;
    return (int64_t)calls->paths.count - 1;
}

void calls_add(struct calls *calls, const struct call_count *count)
{
    bool counts = !calls->functions.items[count->function - 1].context;
    calls->totals.calls += counts ? count->calls : 0;
    calls->totals.own_ns += count->own_ns;
    if (count->path) {
        struct call_path *path = &calls->paths.items[count->path];
        path->calls += counts ? count->calls : 0;
        path->own_ns += count->own_ns;
        path->off_ns += count->off_ns;
        return;
    }
    struct call_function *function = &calls->functions.items[count->function - 1];
    function->sum.calls += count->calls;
    function->sum.primitive += count->calls;
    function->sum.own_ns += count->own_ns;
    function->sum.total_ns += count->own_ns;
    function->off_ns += count->off_ns;
    calls->paths.items[count->parent].unplaced_ns += count->own_ns;
    calls->totals.no_path_calls += count->calls;
}

int64_t calls_edge_of(struct calls *calls, struct map64 *edges, uint32_t caller, uint32_t callee)
{
    uint64_t key = calls_key(caller, callee);
    const uint64_t *found = map64_find(edges, key);
    const struct call_edge fresh = {.caller = caller - 1, .callee = callee - 1};
    if (found)
        return (int64_t)*found;
    if (map64_put(edges, key, calls->edges.count) != 0 || vec_push(&calls->edges, fresh) != 0)
        return -ENOMEM;
    return (int64_t)calls->edges.count - 1;
}

/* ---- Places: tasks and ranges ---------------------------------------------------------------- */

/* A place of calls. */
struct place {
    uint32_t task, range; /* as struct call_made */
};

/* The places, and the place of each path, as an index. */
struct places {
    VEC(struct place) items;
    uint32_t *of_path;
};

static uint32_t range_name(const struct calls *calls, const struct call_function *context)
{
    return context->label ? stacks_get_label(trace_stacks_get(calls->trace), context->label)->text
                          : context->name;
}

/* Returns the index of a place, or adds it. -ENOMEM. */
static int64_t place_of(struct places *places, struct map64 *by_key, const struct place *place)
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
static struct place inside(const struct calls *calls, struct place place,
                           const struct call_function *context)
{
    if (context->context == LABEL_TASK)
        return (struct place){.task = context->label};
    place.range = range_name(calls, context);
    return place;
}

/* Finds the places, and the place of each path. 0 or -ENOMEM. */
static int find_places(struct calls *calls, struct places *places)
{
    struct map64 by_key = {0};
    const struct place nowhere = {0};
    places->of_path = calloc(calls->paths.count, sizeof(*places->of_path));
    int64_t at = places->of_path ? place_of(places, &by_key, &nowhere) : -ENOMEM;
    for (size_t i = 1; i < calls->paths.count && at >= 0; i++) {
        const struct call_path *path = &calls->paths.items[i];
        const struct call_function *function = &calls->functions.items[path->function - 1];
        at = places->of_path[path->parent];
        if (function->context) {
            const struct place place = inside(calls, places->items.items[at], function);
            at = place_of(places, &by_key, &place);
        }
        places->of_path[i] = at >= 0 ? (uint32_t)at : 0;
    }
    map64_free(&by_key);
    return at < 0 ? (int)at : 0;
}

static void free_places(struct places *places)
{
    vec_free(&places->items);
    free(places->of_path);
}

/* Returns the index of a function's calls at a place, or adds it. -ENOMEM. */
static int64_t made_at(struct calls *calls, struct map64 *by_key, const struct places *places,
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

/* ---- The walk -------------------------------------------------------------------------------- */

struct walk {
    struct calls *calls;
    uint64_t *total_ns;            /* by path */
    uint32_t *first, *next, *edge; /* by path; edge: 1 + index, 0: no caller */
    uint32_t *made;                /* by path: 1 + index, 0: not a function, or no place */
    uint32_t *open_functions, *open_edges, *open_made;
    struct places places;
};

static void add_numbers(struct call_numbers *sum, const struct call_path *path, uint64_t total_ns,
                        bool outermost)
{
    sum->calls += path->calls;
    sum->own_ns += path->own_ns;
    if (!outermost)
        return;
    sum->primitive += path->calls;
    sum->total_ns += total_ns;
}

static void enter(struct walk *walk, uint32_t at)
{
    struct calls *calls = walk->calls;
    const struct call_path *path = &calls->paths.items[at];
    struct call_function *function = &calls->functions.items[path->function - 1];
    uint32_t edge = walk->edge[at];
    if (function->context)
        return;
    function->off_ns += path->off_ns;
    add_numbers(&function->sum, path, walk->total_ns[at],
                walk->open_functions[path->function - 1]++ == 0);
    if (edge)
        add_numbers(&calls->edges.items[edge - 1].sum, path, walk->total_ns[at],
                    walk->open_edges[edge - 1]++ == 0);
    if (walk->made[at])
        add_numbers(&calls->made.items[walk->made[at] - 1].sum, path, walk->total_ns[at],
                    walk->open_made[walk->made[at] - 1]++ == 0);
}

static void leave(struct walk *walk, uint32_t at)
{
    if (walk->made[at])
        walk->open_made[walk->made[at] - 1]--;
    if (walk->calls->functions.items[walk->calls->paths.items[at].function - 1].context)
        return;
    walk->open_functions[walk->calls->paths.items[at].function - 1]--;
    if (walk->edge[at])
        walk->open_edges[walk->edge[at] - 1]--;
}

/* Visits all paths, parents first. */
static void go_through(struct walk *walk)
{
    uint32_t at = walk->first[0];
    while (at != 0) {
        enter(walk, at);
        if (walk->first[at]) {
            at = walk->first[at];
            continue;
        }
        while (at != 0 && !walk->next[at]) {
            leave(walk, at);
            at = walk->calls->paths.items[at].parent;
        }
        if (at != 0) {
            leave(walk, at);
            at = walk->next[at];
        }
    }
}

static bool is_context(const struct calls *calls, uint32_t path)
{
    uint32_t function = calls->paths.items[path].function;
    return function && calls->functions.items[function - 1].context;
}

/* Moves the time of a place that is not a function to the parent. */
static void give_to_parent(struct walk *walk, uint32_t at)
{
    struct calls *calls = walk->calls;
    struct call_path *path = &calls->paths.items[at], *parent = &calls->paths.items[path->parent];
    uint64_t own_ns = path->own_ns + path->unplaced_ns;
    parent->own_ns += path->own_ns;
    parent->unplaced_ns += path->unplaced_ns;
    parent->off_ns += path->off_ns;
    calls->totals.own_ns -= path->parent == 0 ? path->own_ns : 0;
    walk->total_ns[at] -= own_ns;
    walk->total_ns[path->parent] -= own_ns;
    path->own_ns = path->unplaced_ns = path->off_ns = 0;
}

/* Returns the nearest function around a path; 0: outside of all. */
static uint32_t caller_of(const struct calls *calls, uint32_t path)
{
    uint32_t at = calls->paths.items[path].parent;
    while (is_context(calls, at))
        at = calls->paths.items[at].parent;
    return calls->paths.items[at].function;
}

static int find_made(struct walk *walk)
{
    struct calls *calls = walk->calls;
    struct map64 by_key = {0};
    int64_t made = find_places(calls, &walk->places);
    for (uint32_t i = 1; i < calls->paths.count && made >= 0 && walk->places.items.count > 1; i++) {
        if (is_context(calls, i))
            continue;
        made = made_at(calls, &by_key, &walk->places, i);
        walk->made[i] = made >= 0 ? (uint32_t)made + 1 : 0;
    }
    map64_free(&by_key);
    return made < 0 ? (int)made : 0;
}

/* Parents have smaller indices than their children. */
static int find_edges(struct walk *walk)
{
    struct calls *calls = walk->calls;
    struct map64 edges = {0};
    int64_t edge = 0;
    for (size_t i = calls->paths.count - 1; i > 0 && edge >= 0; i--) {
        const struct call_path *path = &calls->paths.items[i];
        walk->total_ns[i] += path->own_ns + path->unplaced_ns;
        walk->total_ns[path->parent] += walk->total_ns[i];
        if (is_context(calls, (uint32_t)i))
            give_to_parent(walk, (uint32_t)i);
        walk->next[i] = walk->first[path->parent];
        walk->first[path->parent] = (uint32_t)i;
        uint32_t caller = is_context(calls, (uint32_t)i) ? 0 : caller_of(calls, (uint32_t)i);
        edge = caller ? calls_edge_of(calls, &edges, caller, path->function) : 0;
        walk->edge[i] = caller && edge >= 0 ? (uint32_t)edge + 1 : 0;
    }
    map64_free(&edges);
    return edge < 0 ? (int)edge : 0;
}

int calls_add_up(struct calls *calls)
{
    size_t count = calls->paths.count;
    struct walk walk = {calls,
                        calloc(count, sizeof(*walk.total_ns)),
                        calloc(count, sizeof(*walk.first)),
                        calloc(count, sizeof(*walk.next)),
                        calloc(count, sizeof(*walk.edge)),
                        calloc(count, sizeof(*walk.made)),
                        calloc(calls->functions.count + 1, sizeof(*walk.open_functions)),
                        NULL,
                        NULL,
                        {.of_path = NULL}};
    bool all =
        walk.total_ns && walk.first && walk.next && walk.edge && walk.made && walk.open_functions;
    int error = all ? find_edges(&walk) : -ENOMEM;
    if (!error)
        error = find_made(&walk);
    if (!error) {
        walk.open_edges = calloc(calls->edges.count + 1, sizeof(*walk.open_edges));
        walk.open_made = calloc(calls->made.count + 1, sizeof(*walk.open_made));
        error = walk.open_edges && walk.open_made ? 0 : -ENOMEM;
    }
    if (!error)
        go_through(&walk);
    calls->totals.path_count = (uint32_t)count - 1;
    free(walk.total_ns);
    free(walk.first);
    free(walk.next);
    free(walk.edge);
    free(walk.open_functions);
    free(walk.open_edges);
    free(walk.made);
    free(walk.open_made);
    free_places(&walk.places);
    return error;
}

/* ---- Order ----------------------------------------------------------------------------------- */

struct sorting {
    const struct calls *calls;
    const struct call_function *functions; /* in their original order */
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int by_names(const struct calls *calls, const struct call_function *a,
                    const struct call_function *b)
{
    int order = call_compare_labels(calls->trace, a->label, b->label);
    if (order == 0)
        order = strcmp(calls_name(calls->trace, a), calls_name(calls->trace, b));
    return order ? order : compare(b->group, a->group);
}

/* Places of calls; and callers of the range that are not inside of it. */
static bool is_left_out(const struct calls *calls, const struct call_function *function)
{
    return function->context ||
           (calls->options.range && function->sum.calls == 0 && function->sum.own_ns == 0);
}

static int most_first(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    const struct call_function *a = &sorting->functions[*(const uint32_t *)left];
    const struct call_function *b = &sorting->functions[*(const uint32_t *)right];
    int order = is_left_out(sorting->calls, a) - is_left_out(sorting->calls, b);
    if (order == 0)
        order = compare(a->sum.own_ns, b->sum.own_ns);
    if (order == 0)
        order = compare(a->sum.calls, b->sum.calls);
    return order ? order : by_names(sorting->calls, a, b);
}

static int by_caller(const void *left, const void *right, void *context)
{
    const struct call_edge *a = left, *b = right;
    const struct calls *calls = context;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    int order = compare(a->sum.total_ns, b->sum.total_ns);
    if (order == 0)
        order = compare(a->sum.calls, b->sum.calls);
    return order ? order
                 : by_names(calls, &calls->functions.items[a->callee],
                            &calls->functions.items[b->callee]);
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

/* `place` maps old indices of functions to new ones. */
static void sort_made(struct calls *calls, const uint32_t *place)
{
    for (size_t i = 0; i < calls->made.count; i++)
        calls->made.items[i].function = place[calls->made.items[i].function];
    if (calls->made.count > 0)
        qsort_r(calls->made.items, calls->made.count, sizeof(*calls->made.items), by_place, calls);
}

static void renumber(struct calls *calls, const uint32_t *order, uint32_t *place,
                     struct call_function *sorted)
{
    for (size_t i = 0; i < calls->functions.count; i++) {
        sorted[i] = calls->functions.items[order[i]];
        place[order[i]] = (uint32_t)i;
        calls->totals.sources |= sorted[i].sources;
        if (sorted[i].max_ns == 0 || sorted[i].resumed)
            sorted[i].min_ns = sorted[i].max_ns = 0;
    }
    memcpy(calls->functions.items, sorted, calls->functions.count * sizeof(*sorted));
    for (size_t i = 0; i < calls->edges.count; i++) {
        calls->edges.items[i].caller = place[calls->edges.items[i].caller];
        calls->edges.items[i].callee = place[calls->edges.items[i].callee];
    }
    sort_made(calls, place);
    struct call_function *functions = calls->functions.items;
    while (calls->functions.count > 0 && is_left_out(calls, &functions[calls->functions.count - 1]))
        calls->functions.count--;
    size_t kept = 0;
    for (size_t i = 0; i < calls->edges.count; i++) {
        const struct call_edge edge = calls->edges.items[i];
        if (edge.caller < calls->functions.count && edge.callee < calls->functions.count)
            calls->edges.items[kept++] = edge;
    }
    calls->edges.count = kept;
}

int calls_sort(struct calls *calls)
{
    size_t count = calls->functions.count;
    uint32_t *order = calloc(count + 1, sizeof(*order)), *place = calloc(count + 1, sizeof(*place));
    struct call_function *sorted = calloc(count + 1, sizeof(*sorted));
    int error = order && place && sorted ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && !error; i++)
        order[i] = i;
    if (!error && count > 0) {
        qsort_r(order, count, sizeof(*order), most_first,
                &(struct sorting){calls, calls->functions.items});
        renumber(calls, order, place, sorted);
    }
    if (!error && calls->edges.count > 0)
        qsort_r(calls->edges.items, calls->edges.count, sizeof(*calls->edges.items), by_caller,
                calls);
    free(order);
    free(place);
    free(sorted);
    return error;
}
