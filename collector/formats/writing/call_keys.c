/* SPDX-License-Identifier: MIT */
/* Sorts the keys, then adds up equal ones. */
#include "call_keys.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A key with its index before sorting. */
struct placed_key {
    struct call_key key;
    uint32_t index;
};

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int by_key(const void *left, const void *right)
{
    const struct call_key *a = left, *b = right;
    int order = compare_texts(a->file, b->file);
    if (order == 0)
        order = (a->line > b->line) - (a->line < b->line);
    if (order == 0)
        order = compare_texts(a->name, b->name);
    return order ? order : a->estimated - b->estimated;
}

static int by_placed_key(const void *left, const void *right)
{
    const struct placed_key *a = left, *b = right;
    int order = by_key(&a->key, &b->key);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_callee(const void *left, const void *right)
{
    const struct call_edge *a = left, *b = right;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return (a->caller > b->caller) - (a->caller < b->caller);
}

static int by_caller(const void *left, const void *right)
{
    const struct call_edge *a = left, *b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return (a->callee > b->callee) - (a->callee < b->callee);
}

static struct call_key key_of(const struct trace *trace, const struct call_function *function)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, function->label);
    uint32_t path = stacks_get_source(stacks, label->source)->path;
    return (struct call_key){.file = path ? trace_string(trace, path)->bytes : NULL,
                             .line = label->first_line,
                             .name = calls_name(trace, function),
                             .estimated = function->sources & CALLS_ESTIMATED,
                             .sum = function->sum};
}

static void add(struct call_numbers *sum, const struct call_numbers *more)
{
    sum->calls += more->calls;
    sum->primitive += more->primitive;
    sum->own_ns += more->own_ns;
    sum->total_ns += more->total_ns;
}

/* Keeps one of each; `place` gets the new index of each function. */
static void take_keys(struct call_keys *keys, const struct placed_key *placed, uint32_t count,
                      uint32_t *place)
{
    for (uint32_t i = 0; i < count; i++) {
        if (keys->key_count > 0 && by_key(&keys->keys[keys->key_count - 1], &placed[i].key) == 0)
            add(&keys->keys[keys->key_count - 1].sum, &placed[i].key.sum);
        else
            keys->keys[keys->key_count++] = placed[i].key;
        place[placed[i].index] = keys->key_count - 1;
    }
}

static void take_edges(struct call_keys *keys, const struct call_edge *edges, uint32_t count,
                       const uint32_t *place)
{
    for (uint32_t i = 0; i < count; i++) {
        keys->edges[i] = edges[i];
        keys->edges[i].caller = place[edges[i].caller];
        keys->edges[i].callee = place[edges[i].callee];
    }
    keys->edge_count = count;
}

static void join_edges(struct call_keys *keys, bool callees)
{
    uint32_t kept = 0;
    if (keys->edge_count > 0)
        qsort(keys->edges, keys->edge_count, sizeof(*keys->edges), callees ? by_callee : by_caller);
    for (uint32_t i = 0; i < keys->edge_count; i++) {
        if (kept > 0 && by_callee(&keys->edges[kept - 1], &keys->edges[i]) == 0)
            add(&keys->edges[kept - 1].sum, &keys->edges[i].sum);
        else
            keys->edges[kept++] = keys->edges[i];
    }
    keys->edge_count = kept;
}

static int call_keys_make(struct call_keys *keys, const struct trace *trace,
                          const struct calls *calls, bool callees)
{
    const struct call_function *functions;
    const struct call_edge *edges;
    uint32_t count = calls_functions(calls, &functions), edge_count = calls_edges(calls, &edges);
    struct placed_key *placed = calloc((size_t)count + 1, sizeof(*placed));
    uint32_t *place = calloc((size_t)count + 1, sizeof(*place));
    keys->keys = calloc((size_t)count + 1, sizeof(*keys->keys));
    keys->edges = calloc((size_t)edge_count + 1, sizeof(*keys->edges));
    bool made = placed && place && keys->keys && keys->edges;
    for (uint32_t i = 0; i < count && made; i++)
        placed[i] = (struct placed_key){key_of(trace, &functions[i]), i};
    if (made && count > 0)
        qsort(placed, count, sizeof(*placed), by_placed_key);
    if (made) {
        take_keys(keys, placed, count, place);
        take_edges(keys, edges, edge_count, place);
        join_edges(keys, callees);
    }
    free(placed);
    free(place);
    return made ? 0 : -ENOMEM;
}

void call_keys_fini(struct call_keys *keys)
{
    free(keys->keys);
    free(keys->edges);
    *keys = (struct call_keys){0};
}

/* ---- Exporters ------------------------------------------------------------------------------- */

int calls_export_begin(void *state, const struct export_job *job)
{
    struct calls_export *export = state;
    export->job = job;
    export->calls = calls_create(job->source->trace, &(struct calls_options){0});
    if (!export->calls)
        return -ENOMEM;
    export->sink = calls_sink(export->calls);
    return 0;
}

int calls_export_take(void *state, const struct item *item)
{
    const struct calls_export *export = state;
    return export->sink.take(export->sink.context, item);
}

int calls_export_finish(const struct calls_export *export, bool by_callee, struct call_keys *keys)
{
    *keys = (struct call_keys){0};
    int error = calls_finish(export->calls);
    if (!error && calls_totals(export->calls)->calls == 0)
        error = -ENODATA;
    return error ? error
                 : call_keys_make(keys, export->job->source->trace, export->calls, by_callee);
}

void calls_export_destroy(void *state)
{
    const struct calls_export *export = state;
    calls_destroy(export->calls);
}
