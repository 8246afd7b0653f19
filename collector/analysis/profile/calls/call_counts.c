/* SPDX-License-Identifier: MIT */
/* Spans of calls. Children end before their parents: their times are kept at the depth of the
 * enclosing call until that ends. */
#include "call_counts.h"

#include "call_sums.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATHS_DEFAULT = 1000000,
    OPEN_MAX = 1 << 20,
    FIRST_CALLS = 2000, /* first calls of a function, with own times kept */
    FIRST_LIMIT = 4 << 20,
    RANGES_MAX = 256, /* ranges with separate calls, as a program may generate names */
};

struct calls *calls_create(const struct trace *trace, const struct calls_options *options)
{
    struct calls *calls = calloc(1, sizeof(*calls));
    const struct call_path none = {0};
    if (!calls)
        return NULL;
    calls->first = histogram_pool_create(FIRST_LIMIT);
    if (!calls->first || vec_push(&calls->paths, none) != 0) {
        calls_destroy(calls);
        return NULL;
    }
    calls->trace = trace;
    calls->options = *options;
    if (calls->options.path_limit == 0)
        calls->options.path_limit = PATHS_DEFAULT;
    return calls;
}

void calls_destroy(struct calls *calls)
{
    if (!calls)
        return;
    for (size_t i = 0; i < calls->lanes.count; i++)
        vec_free(&calls->lanes.items[i].open);
    histogram_pool_destroy(calls->first);
    path_matches_fini(&calls->matches);
    vec_free(&calls->named);
    vec_free(&calls->lanes);
    vec_free(&calls->paths);
    vec_free(&calls->functions);
    vec_free(&calls->edges);
    vec_free(&calls->made);
    vec_free(&calls->coroutines);
    map64_free(&calls->coroutine_by_name);
    vec_free(&calls->stops);
    vec_free(&calls->sampled);
    vec_free(&calls->seen);
    map64_free(&calls->path_by_key);
    map64_free(&calls->lane_by_key);
    map64_free(&calls->function_by_name);
    wide_map_free(&calls->seen_by_key);
    map64_free(&calls->stop_by_key);
    wide_map_free(&calls->function_by_key);
    wide_map_free(&calls->sampled_by_key);
    free(calls->path_of_stack);
    free(calls);
}

static bool is_whole_scope(const struct scope *scope)
{
    return scope->observer == OBSERVER_PYTHON_CALLS &&
           (scope->role == CALLS_ROLE_WHOLE || scope->role == CALLS_ROLE_AWAITING);
}

static bool is_call_scope(const struct scope *scope)
{
    return (scope->observer == OBSERVER_PYTHON_CALLS && !is_whole_scope(scope)) ||
           scope->observer == OBSERVER_NATIVE_CALLS;
}

bool calls_any(const struct trace *trace)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    bool any = false;
    for (uint32_t i = 0; i < trace_scope_count(trace); i++)
        any = any || is_call_scope(trace_scope(trace, i));
    for (unsigned i = 0; i < sample_sets_count(sets); i++)
        any = any || sample_set_get(sets, i)->role == SAMPLE_ROLE_CALLS;
    return any;
}

bool calls_takes(const struct trace *trace, const struct event *event)
{
    return is_call_scope(trace_scope(trace, event->scope));
}

const char *calls_name(const struct trace *trace, const struct call_function *function)
{
    uint32_t text = function->label
                        ? stacks_get_label(trace_stacks_get(trace), function->label)->text
                        : function->name;
    return trace_string(trace, text)->bytes;
}

const struct call_totals *calls_totals(const struct calls *calls)
{
    return &calls->totals;
}

uint32_t calls_functions(const struct calls *calls, const struct call_function **ret_functions)
{
    *ret_functions = calls->functions.items;
    return (uint32_t)calls->functions.count;
}

uint32_t calls_edges(const struct calls *calls, const struct call_edge **ret_edges)
{
    *ret_edges = calls->edges.items;
    return (uint32_t)calls->edges.count;
}

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

/* ---- Spans ----------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct call_lane *lane_of(struct calls *calls, const struct item *item)
{
    bool track = item->lane == LANE_TRACK;
    uint64_t key = calls_key(track ? 1 : 0, track ? item->event->lane : item->event->thread);
    const struct call_lane fresh = {.group = calls_group_of(calls, item->event->thread)};
    if (key == calls->last_key)
        return &calls->lanes.items[calls->last_lane];
    const uint64_t *found = map64_find(&calls->lane_by_key, key);
    if (!found && (map64_put(&calls->lane_by_key, key, calls->lanes.count) != 0 ||
                   vec_push(&calls->lanes, fresh) != 0))
        return NULL;
    calls->last_key = key;
    calls->last_lane = (uint32_t)(found ? *found : calls->lanes.count - 1);
    return &calls->lanes.items[calls->last_lane];
}

static bool is_same(const struct call_open *open, const struct event *event)
{
    return open->begin_ns == event->time_ns && open->name == event->name;
}

/* Returns 1 + the index of the function that a span calls. -ENOMEM. */
static int64_t function_of_event(struct calls *calls, const struct call_lane *lane,
                                 const struct event *event)
{
    uint64_t key = calls_key(lane->group, event->name);
    const uint64_t *found = map64_find(&calls->function_by_name, key);
    if (found)
        return (int64_t)*found;
    uint32_t label = trace_name_label(calls->trace, event->name);
    int64_t function = calls_function_of(calls, lane->group, label, event->name);
    bool kept = function > 0 && map64_put(&calls->function_by_name, key, (uint64_t)function) == 0;
    return kept ? function : -ENOMEM;
}

static bool is_programs(const struct scope *scope)
{
    return scope->observer == OBSERVER_PROGRAM || scope->observer == OBSERVER_NVTX ||
           scope->observer == OBSERVER_ITT || scope->observer == OBSERVER_INHERITED;
}

/* As calls_function_of, for a range that is a place of calls; 0: limit reached, or not a range of
 * the program. -ENOMEM. */
static int64_t range_of(struct calls *calls, uint32_t group, const struct event *event)
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

/* Opens an entry at a depth, below the path around it. 0 or -ENOMEM. */
static int open_at(struct calls *calls, struct call_lane *lane, uint32_t depth,
                   const struct event *event)
{
    struct call_open *open = &lane->open.items[depth];
    uint32_t around = depth ? lane->open.items[depth - 1].path : 0;
    *open = (struct call_open){.begin_ns = event->time_ns,
                               .name = event->name,
                               .path = around,
                               .is_call = calls_takes(calls->trace, event)};
    int64_t function =
        open->is_call ? function_of_event(calls, lane, event) : range_of(calls, lane->group, event);
    if (function == 0)
        return 0;
    int64_t path = function < 0 ? function : calls_path_of(calls, around, (uint32_t)function);
    if (path < 0)
        return (int)path;
    open->path = path ? (uint32_t)path : around; /* limit: callees belong to the caller around */
    open->function = open->is_call ? (uint32_t)function : 0;
    return 0;
}

/* Opens the entries of a span and of those around it. 0 or -ENOMEM. */
static int open_all(struct calls *calls, struct call_lane *lane, const struct item *item)
{
    uint32_t known = item->depth;
    while (lane->open.count <= item->depth) {
        const struct call_open none = {.begin_ns = INT64_MIN};
        if (vec_push(&lane->open, none) != 0)
            return -ENOMEM;
    }
    while (known > 0 && !is_same(&lane->open.items[known - 1], item->parents[known - 1]))
        known--;
    for (; known < item->depth; known++)
        if (open_at(calls, lane, known, item->parents[known]) != 0)
            return -ENOMEM;
    if (!is_same(&lane->open.items[item->depth], item->event))
        return open_at(calls, lane, item->depth, item->event);
    return 0;
}

/* Adds a span to its function. The spans of generators, which are suspended and resumed, are not
 * single calls. */
static void note_span(struct calls *calls, struct call_function *function, uint64_t length_ns,
                      uint64_t own_ns, const struct item *item)
{
    bool continues = item->event->flags & EVENT_CONTINUES;
    function->sources |= CALLS_EXACT;
    function->resumed = function->resumed || continues;
    if (item->flags & (ITEM_UNFINISHED | ITEM_END_LOST | ITEM_CUT_BEGIN | ITEM_CUT_END))
        return;
    if (!continues && function->first.count < FIRST_CALLS)
        histogram_add(calls->first, &function->first, own_ns);
    function->min_ns = length_ns < function->min_ns ? length_ns : function->min_ns;
    function->max_ns = length_ns > function->max_ns ? length_ns : function->max_ns;
}

/* Subtracts the time of a call from the own time of the innermost call around it. */
static void report_outer(struct call_lane *lane, uint32_t depth, uint64_t length_ns,
                         uint64_t off_ns)
{
    while (depth > 0 && !lane->open.items[depth - 1].is_call)
        depth--;
    if (depth == 0)
        return;
    lane->open.items[depth - 1].inner_ns += length_ns;
    lane->open.items[depth - 1].inner_off_ns += off_ns;
}

static int take_span(struct calls *calls, const struct item *item)
{
    if ((item->lane != LANE_THREAD && item->lane != LANE_TRACK) || item->depth > OPEN_MAX ||
        !calls_takes(calls->trace, item->event))
        return 0;
    struct call_lane *lane = lane_of(calls, item);
    if (!lane || open_all(calls, lane, item) != 0)
        return -ENOMEM;
    struct call_open *open = &lane->open.items[item->depth];
    uint64_t length_ns =
        item->end_ns > item->begin_ns ? (uint64_t)item->end_ns - (uint64_t)item->begin_ns : 0;
    uint64_t off_ns = item->off.blocked_ns + item->off.runnable_ns;
    bool continues = item->event->flags & EVENT_CONTINUES;
    uint32_t around = item->depth ? lane->open.items[item->depth - 1].path : 0;
    const struct call_count count = {
        .parent = around,
        .path = calls->paths.items[open->path].function == open->function ? open->path : 0,
        .function = open->function,
        .calls = continues ? 0 : 1,
        .own_ns = length_ns > open->inner_ns ? length_ns - open->inner_ns : 0,
        .off_ns = off_ns > open->inner_off_ns ? off_ns - open->inner_off_ns : 0};
    struct call_function *function = &calls->functions.items[open->function - 1];
    calls_add(calls, &count);
    calls->totals.span_count += !function->context;
    if (!function->context)
        note_span(calls, function, length_ns, count.own_ns, item);
    report_outer(lane, item->depth, length_ns, off_ns);
    open->begin_ns = INT64_MIN; /* a later span with this start is a new one */
    return 0;
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

/* Takes a span of a track that is a whole call of a coroutine, or its wait. 0 or -ENOMEM. */
static int take_whole(struct calls *calls, const struct item *item)
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

static void sort_coroutines(struct calls *calls)
{
    if (calls->coroutines.count > 0)
        qsort_r(calls->coroutines.items, calls->coroutines.count, sizeof(*calls->coroutines.items),
                longest_first, (void *)calls->trace);
}

/* ---- Inside of a range ----------------------------------------------------------------------- */

/* 1: matches, 0, -ENOMEM. */
static int is_range(struct calls *calls, uint32_t name)
{
    while (calls->named.count <= name)
        if (vec_push(&calls->named, 0) != 0)
            return -ENOMEM;
    uint8_t *known = &calls->named.items[name];
    if (*known == 0)
        *known =
            text_matches(calls->options.range, trace_string(calls->trace, name)->bytes) ? 1 : 2;
    return *known == 1;
}

/* True for spans inside of the range, or the range itself; for samples with the range on their
 * stack or path. 1, 0, -ENOMEM. */
static int is_inside(struct calls *calls, const struct item *item)
{
    const char *range = calls->options.range;
    if (!range || item->kind == ITEM_INSTANT)
        return 1;
    if (item->kind == ITEM_SAMPLE) {
        const struct sample_sets *sets = trace_sets_get(calls->trace);
        const struct sample *sample = item->sample;
        if (sample_role(sets, sample) != SAMPLE_ROLE_CALLS)
            return path_matches(&calls->matches, calls->trace, range, sample->path);
        bool inside = stack_is_inside(calls->trace, range, sample->stack);
        if (!inside)
            calls->totals.outside_sums += (uint64_t)sample_value(sets, sample, VALUE_TYPE_CALLS);
        return inside;
    }
    int match = is_range(calls, item->event->name);
    for (uint32_t i = 0; i < item->depth && match == 0; i++)
        match = is_range(calls, item->parents[i]->name);
    return match;
}

static int take(void *context, const struct item *item)
{
    struct calls *calls = context;
    int inside = is_inside(calls, item);
    if (inside != 1)
        return inside;
    if (item->kind == ITEM_SPAN && item->call && item->lane == LANE_TRACK &&
        is_whole_scope(trace_scope(calls->trace, item->event->scope)))
        return take_whole(calls, item);
    if (item->kind == ITEM_SPAN)
        return take_span(calls, item);
    if (item->kind == ITEM_SAMPLE)
        return calls_take_sample(calls, item->sample);
    return item->kind == ITEM_INSTANT ? calls_take_mark(calls, item) : 0;
}

struct sink calls_sink(struct calls *calls)
{
    uint32_t wants = WANT_EVENTS | (calls->options.off_cpu ? WANT_TIMES : 0);
    if (!calls->options.only_spans) /* with paths, samples come after the marks that precede them */
        wants |= WANT_SAMPLES | WANT_PATHS;
    return (struct sink){take, calls, wants};
}

int calls_finish(struct calls *calls)
{
    int error = calls_add_up(calls);
    if (!error)
        error = calls_estimate(calls);
    sort_coroutines(calls);
    return error ? error : calls_sort(calls);
}
