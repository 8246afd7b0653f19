/* SPDX-License-Identifier: MIT */
/* Implements process_memory.h. In each round the collector records live bytes, RSS and RSS of files
 * of a process, in this order, as far as they changed; at the end of the process it records zeros.
 */
#include "process_memory.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The end is a moment before the end of the process: an interpreter that ends frees its objects. */
#define BEFORE_END_NS INT64_C(100000000)

/* Values of one counter that may come in that time. */
enum { KEPT = 10 };

/* The last values of a counter: a ring. */
struct series {
    int64_t times_ns[KEPT], values[KEPT];
    uint32_t count;
};

/* The values of a process so far. */
struct state {
    struct series rss, files, live;
    struct process_memory_moment most;
    int64_t end_ns; /* 0: it still runs */
};

struct process_memory {
    const struct trace *trace;
    VEC(struct state) states; /* by process */
    VEC(struct process_memory_row) rows;
};

struct process_memory *process_memory_create(const struct trace *trace)
{
    struct process_memory *memory = calloc(1, sizeof(*memory));
    if (memory)
        memory->trace = trace;
    return memory;
}

void process_memory_destroy(struct process_memory *memory)
{
    if (!memory)
        return;
    vec_free(&memory->states);
    vec_free(&memory->rows);
    free(memory);
}

bool process_memory_any(const struct trace *trace)
{
    for (uint32_t i = 1; i < trace_scope_count(trace); i++)
        if (trace_scope(trace, i)->observer == OBSERVER_MEMORY)
            return true;
    return false;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* 0 or -ENOMEM. */
static int find_state(struct process_memory *memory, uint32_t process, struct state **ret_state)
{
    while (memory->states.count <= process)
        if (vec_push(&memory->states, ((struct state){0})) != 0)
            return -ENOMEM;
    *ret_state = &memory->states.items[process];
    return 0;
}

static void series_add(struct series *series, int64_t time_ns, int64_t value)
{
    uint32_t at = series->count++ % KEPT;
    series->times_ns[at] = time_ns;
    series->values[at] = value;
}

/* The last value that came by then, else the earliest that is kept; -1: none. */
static int64_t series_at(const struct series *series, int64_t time_ns)
{
    uint32_t first = series->count > KEPT ? series->count - KEPT : 0;
    uint32_t at = series->count;
    while (at > first + 1 && series->times_ns[(at - 1) % KEPT] > time_ns)
        at--;
    return at > 0 ? series->values[(at - 1) % KEPT] : -1;
}

/* RSS that stays varies by a few pages: then the first reading is the peak. */
static bool is_peak(const struct state *state, int64_t rss)
{
    return rss > state->most.rss + state->most.rss / 128;
}

static void take_rss(struct state *state, int64_t time_ns, int64_t rss)
{
    if (rss == 0) {
        state->end_ns = time_ns;
        return;
    }
    series_add(&state->rss, time_ns, rss);
    if (!is_peak(state, rss))
        return;
    state->most = (struct process_memory_moment){.time_ns = time_ns,
                                                 .rss = rss,
                                                 .files = series_at(&state->files, time_ns),
                                                 .live = series_at(&state->live, time_ns)};
}

/* Comes after the RSS of the same reading. */
static void take_files(struct state *state, int64_t time_ns, int64_t files)
{
    if (state->end_ns)
        return;
    series_add(&state->files, time_ns, files);
    if (state->most.time_ns == time_ns)
        state->most.files = files;
}

static struct process_memory_moment end_of(const struct state *state)
{
    int64_t time_ns = state->end_ns ? state->end_ns - BEFORE_END_NS : INT64_MAX;
    return (struct process_memory_moment){.time_ns = state->end_ns,
                                          .rss = series_at(&state->rss, time_ns),
                                          .files = series_at(&state->files, time_ns),
                                          .live = series_at(&state->live, time_ns)};
}

static int take(void *context, const struct item *item)
{
    struct process_memory *memory = context;
    const struct event *event = item->event;
    struct state *state;
    if (item->kind != ITEM_COUNTER || event->scope == 0 ||
        trace_scope(memory->trace, event->scope)->observer != OBSERVER_MEMORY)
        return 0;
    const char *name = trace_string(memory->trace, event->name)->bytes;
    int error = find_state(memory, trace_thread_get(memory->trace, event->thread)->process, &state);
    if (error)
        return error;
    if (strcmp(name, TRACE_COUNTER_HEAP_LIVE) == 0)
        series_add(&state->live, event->time_ns, event->value.int64);
    else if (strcmp(name, TRACE_COUNTER_RSS) == 0)
        take_rss(state, event->time_ns, event->value.int64);
    else if (strcmp(name, TRACE_COUNTER_RSS_FILES) == 0)
        take_files(state, event->time_ns, event->value.int64);
    return 0;
}

struct sink process_memory_sink(struct process_memory *memory)
{
    return (struct sink){take, memory, WANT_EVENTS};
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int most_first(const void *left, const void *right)
{
    const struct process_memory_row *a = left, *b = right;
    if (a->most.rss != b->most.rss)
        return a->most.rss < b->most.rss ? 1 : -1;
    return (a->process > b->process) - (a->process < b->process);
}

int process_memory_finish(struct process_memory *memory)
{
    int error = 0;
    for (uint32_t i = 0; i < memory->states.count && !error; i++) {
        const struct state *state = &memory->states.items[i];
        const struct process_memory_row row = {i, state->most, end_of(state)};
        if (state->most.rss > 0)
            error = vec_push(&memory->rows, row);
    }
    if (memory->rows.count > 0)
        qsort(memory->rows.items, memory->rows.count, sizeof(*memory->rows.items), most_first);
    return error;
}

uint32_t process_memory_rows(const struct process_memory *memory,
                             const struct process_memory_row **ret_rows)
{
    *ret_rows = memory->rows.items;
    return (uint32_t)memory->rows.count;
}

int64_t process_memory_rest(const struct process_memory_moment *moment)
{
    int64_t rest = moment->rss - moment->files - moment->live;
    return moment->live < 0 || moment->files < 0 || rest < 0 ? -1 : rest;
}
