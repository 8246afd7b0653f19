/* SPDX-License-Identifier: MIT */
/* Busy times of queues, devices and processes. See gpu_stats.h. */
#include "gpu_queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EACH = 1 << 16, FILL_FIRST_NS = 16 };

void gpu_queues_fini(struct gpu_queues *queues)
{
    for (size_t i = 0; i < queues->lanes.count; i++) {
        gpu_busy_free(&queues->lanes.items[i].busy);
        gpu_busy_free(&queues->lanes.items[i].launched);
    }
    for (size_t i = 0; i < queues->processes.count; i++) {
        gpu_busy_free(&queues->processes.items[i].busy);
        gpu_busy_free(&queues->processes.items[i].launched);
        gpu_busy_free(&queues->processes.items[i].watched);
        gpu_busy_free(&queues->processes.items[i].starved);
    }
    vec_free(&queues->edges);
    vec_free(&queues->syncs);
    vec_free(&queues->lanes);
    vec_free(&queues->processes);
    vec_free(&queues->rows);
    vec_free(&queues->has_queues);
}

int gpu_queues_init(struct gpu_queues *queues, const struct trace *trace)
{
    uint32_t count = trace_has_observer(trace, OBSERVER_CUPTI) ? trace_process_count(trace) : 0;
    if (vec_reserve(&queues->has_queues, count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        queues->has_queues.items[queues->has_queues.count++] = false;
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        const struct trace_lane *lane = trace_lane_get(trace, i);
        if (lane->kind == LANE_QUEUE && lane->process < count)
            queues->has_queues.items[lane->process] = true;
    }
    return 0;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Returns 1 + the lane of the device above a queue. */
static uint32_t device_of(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_lane *lane = trace_lane_get(trace, ordinal);
    for (unsigned i = 0; lane && i < TRACE_LANE_LEVELS && lane->parent != 0; i++) {
        ordinal = lane->parent - 1;
        lane = trace_lane_get(trace, ordinal);
        if (lane && lane->kind == LANE_DEVICE)
            return ordinal + 1;
    }
    return 0;
}

/* NULL: out of memory. */
static struct queue_busy *lane_at(struct gpu_queues *queues, const struct trace *trace,
                                  uint32_t ordinal, uint32_t thread)
{
    while (queues->lanes.count <= ordinal)
        if (vec_push(&queues->lanes, (struct queue_busy){0}) != 0)
            return NULL;
    struct queue_busy *lane = queues->lanes.items ? &queues->lanes.items[ordinal] : NULL;
    if (lane && lane->queue.count == 0) {
        const struct trace_lane *entry = trace_lane_get(trace, ordinal);
        const struct trace_thread *emitter = trace_thread_get(trace, thread);
        lane->queue = (struct gpu_queue){
            .lane = ordinal,
            .device = device_of(trace, ordinal),
            .process = entry     ? entry->process
                       : emitter ? emitter->process
                                 : 0,
            .is_device = entry && entry->kind == LANE_DEVICE,
            .first_ns = INT64_MAX,
            .last_ns = INT64_MIN,
        };
    }
    return lane;
}

static size_t gaps_of(const struct queue_busy *lane)
{
    return lane->busy.items.count + lane->launched.items.count;
}

/* Once there are more than GPU_GAPS_MAX gaps, closes the shortest, at least a quarter, so that this
 * is rare. */
static int limit_gaps(struct gpu_queues *queues)
{
    size_t count = 0;
    int error = 0;
    for (size_t i = 0; i < queues->lanes.count; i++)
        count += gaps_of(&queues->lanes.items[i]);
    if (count <= GPU_GAPS_MAX)
        return 0;
    while (count > (size_t)GPU_GAPS_MAX / 4 * 3 && !error) {
        queues->fill_ns = queues->fill_ns ? 2 * queues->fill_ns : FILL_FIRST_NS;
        count = 0;
        for (size_t i = 0; i < queues->lanes.count && !error; i++) {
            error = gpu_busy_fill(&queues->lanes.items[i].busy, queues->fill_ns);
            if (!error)
                error = gpu_busy_fill(&queues->lanes.items[i].launched, queues->fill_ns);
            count += gaps_of(&queues->lanes.items[i]);
        }
    }
    return error;
}

static bool is_alone(const struct gpu_queue *queue)
{
    return queue->is_device || queue->device == 0;
}

static int add_to(struct queue_busy *lane, const struct item *span, int64_t launched_ns)
{
    struct gpu_queue *queue = &lane->queue;
    queue->count++;
    queue->total_ns += (uint64_t)(span->end_ns - span->begin_ns);
    queue->first_ns = span->begin_ns < queue->first_ns ? span->begin_ns : queue->first_ns;
    queue->last_ns = span->end_ns > queue->last_ns ? span->end_ns : queue->last_ns;
    if (is_alone(queue) && gpu_busy_add(&lane->launched, launched_ns, span->end_ns) != 0)
        return -ENOMEM;
    return gpu_busy_add(&lane->busy, span->begin_ns, span->end_ns);
}

/* Adds a span to its queue and to its device; simultaneous work of several queues counts once. */
int gpu_queues_add(struct gpu_queues *queues, const struct trace *trace, const struct item *span,
                   int64_t launched_ns)
{
    uint32_t ordinal = span->event->lane;
    if (ordinal >= TRACE_LANES_MAX)
        return 0;
    struct queue_busy *lane = ordinal < queues->lanes.count ? &queues->lanes.items[ordinal] : NULL;
    if (!lane || lane->queue.count == 0)
        lane = lane_at(queues, trace, ordinal, span->event->thread);
    if (!lane || add_to(lane, span, launched_ns) != 0)
        return -ENOMEM;
    uint32_t device = lane->queue.device;
    lane = device == 0                        ? NULL
           : device - 1 < queues->lanes.count ? &queues->lanes.items[device - 1]
                                              : NULL;
    if (device != 0 && (!lane || lane->queue.count == 0))
        lane = lane_at(queues, trace, device - 1, span->event->thread);
    if (device != 0 && (!lane || add_to(lane, span, launched_ns) != 0))
        return -ENOMEM;
    return ++queues->added % LOOK_EACH == 0 ? limit_gaps(queues) : 0;
}

int gpu_queues_window(struct gpu_queues *queues, const struct trace *trace, const struct item *span,
                      bool opens)
{
    const struct trace_lane *lane = trace_lane_get(trace, span->event->lane);
    const struct gpu_edge edge = {opens ? span->end_ns : span->begin_ns, lane ? lane->process : 0,
                                  opens};
    return vec_push(&queues->edges, edge);
}

int gpu_queues_synced(struct gpu_queues *queues, const struct trace *trace, const struct item *span)
{
    const struct trace_lane *lane = trace_lane_get(trace, span->event->lane);
    const struct gpu_edge sync = {span->end_ns, lane ? lane->process : 0, false};
    return queues->syncs.count < GPU_SYNCS_MAX ? vec_push(&queues->syncs, sync) : 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* The part of an interval in which the process lived. */
static struct gpu_interval life_of(const struct trace *trace, uint32_t ordinal,
                                   struct gpu_interval of)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    if (process && process->start_ns > of.begin_ns)
        of.begin_ns = process->start_ns;
    if (process && process->end_ns != 0 && process->end_ns < of.end_ns)
        of.end_ns = process->end_ns;
    of.end_ns = of.end_ns > of.begin_ns ? of.end_ns : of.begin_ns;
    return of;
}

static int by_time(const void *left, const void *right)
{
    const struct gpu_edge *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->opens > b->opens) - (a->opens < b->opens);
}

static int add_watched(struct gpu_busy *watched, struct gpu_interval life, int64_t from_ns,
                       int64_t to_ns)
{
    return gpu_busy_add(watched, from_ns > life.begin_ns ? from_ns : life.begin_ns,
                        to_ns < life.end_ns ? to_ns : life.end_ns);
}

/* Watched are the times between windows' edges, and those with known work; without edges, the whole
 * life. 0 or -ENOMEM. */
static int find_watched(const struct gpu_queues *queues, struct process_busy *process,
                        struct gpu_interval life)
{
    int64_t open_ns = INT64_MIN; /* no report before the first edge */
    bool is_open = true;
    int error = 0;
    for (size_t i = 0; i < queues->edges.count && !error; i++) {
        const struct gpu_edge *edge = &queues->edges.items[i];
        if (edge->process != process->process)
            continue;
        if (is_open && !edge->opens)
            error = add_watched(&process->watched, life, open_ns, edge->time_ns);
        if (edge->opens && (!is_open || open_ns == INT64_MIN))
            open_ns = edge->time_ns;
        is_open = edge->opens;
    }
    if (is_open && !error)
        error = add_watched(&process->watched, life, open_ns, INT64_MAX);
    if (!error)
        error = gpu_busy_settle(&process->watched);
    if (!error)
        error = gpu_busy_join(&process->watched, &process->busy);
    return error ? error : gpu_busy_index(&process->watched);
}

static void describe(struct gpu_queue *queue, const struct gpu_busy *busy)
{
    queue->busy_ns = gpu_busy_total(busy);
    queue->gap_count = busy->items.count > 0 ? busy->items.count - 1 : 0;
    queue->longest_gap_ns = gpu_busy_longest_gap(busy);
}

static int compare_rows(const void *left, const void *right)
{
    const struct gpu_queue *a = left, *b = right;
    uint32_t first = a->is_device ? a->lane + 1 : a->device;
    uint32_t second = b->is_device ? b->lane + 1 : b->device;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (first != second) /* queues without a device last */
        return first - 1 < second - 1 ? -1 : 1;
    if (a->is_device != b->is_device)
        return a->is_device ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static struct process_busy *process_of(struct gpu_queues *queues, uint32_t process)
{
    for (size_t i = queues->processes.count; i-- > 0;)
        if (queues->processes.items[i].process == process)
            return &queues->processes.items[i];
    struct process_busy fresh = {.process = process};
    return vec_push(&queues->processes, fresh) == 0
               ? &queues->processes.items[queues->processes.count - 1]
               : NULL;
}

/* Adds the work of a device, or of a queue without one, to its process. 0 or -ENOMEM. */
static int finish_busy(struct gpu_queues *queues, struct queue_busy *lane)
{
    struct gpu_queue *queue = &lane->queue;
    struct process_busy *process = process_of(queues, queue->process);
    int error = gpu_busy_settle(&lane->busy);
    if (!error)
        describe(queue, &lane->busy);
    if (!error && is_alone(queue))
        error = process ? gpu_busy_move(&process->busy, &lane->busy) : -ENOMEM;
    gpu_busy_free(&lane->busy);
    return error;
}

/* True after the first launch and before the last end. */
static bool is_between(const struct gpu_interval *starved, const struct gpu_busy *launched)
{
    size_t count = launched->items.count;
    return count > 0 && starved->begin_ns >= launched->items.items[0].begin_ns &&
           starved->end_ns <= launched->items.items[count - 1].end_ns;
}

static int find_starved(struct gpu_queue *row, const struct gpu_busy *watched,
                        const struct gpu_busy *launched)
{
    struct gpu_busy starved;
    int error = gpu_busy_minus(&starved, watched, launched);
    for (size_t i = 0; i < starved.items.count; i++) {
        const struct gpu_interval *item = &starved.items.items[i];
        uint64_t time_ns = (uint64_t)item->end_ns - (uint64_t)item->begin_ns;
        bool brief = time_ns < GPU_STARVED_BRIEF_NS;
        row->starved_ns += time_ns;
        if (!is_between(item, launched)) {
            row->ends_ns += time_ns;
            continue;
        }
        row->starved_count++;
        row->brief_count += brief;
        row->brief_ns += brief ? time_ns : 0;
    }
    gpu_busy_free(&starved);
    return error;
}

/* Finishes a lane, once the watched time of its process is known, and moves its launched times to
 * the process. 0 or -ENOMEM. */
static int finish_lane(struct gpu_queues *queues, struct queue_busy *lane, struct gpu_interval life)
{
    struct gpu_queue *row = &lane->queue;
    struct process_busy *process = process_of(queues, row->process);
    int error = process ? gpu_busy_settle(&lane->launched) : -ENOMEM;
    if (error)
        return error;
    row->life_ns = (uint64_t)(life.end_ns - life.begin_ns);
    row->watched_ns = gpu_busy_total(&process->watched);
    if (is_alone(row))
        error = find_starved(row, &process->watched, &lane->launched);
    if (!error)
        error = gpu_busy_move(&process->launched, &lane->launched);
    gpu_busy_free(&lane->launched);
    return error ? error : vec_push(&queues->rows, *row);
}

static int finish_process(const struct gpu_queues *queues, struct process_busy *process,
                          struct gpu_interval life)
{
    int error = gpu_busy_index(&process->busy);
    return error ? error : find_watched(queues, process, life);
}

static int find_starved_of_process(struct process_busy *process)
{
    int error = gpu_busy_minus(&process->starved, &process->watched, &process->launched);
    return error ? error : gpu_busy_index(&process->starved);
}

void gpu_queues_count_synced(struct gpu_queues *queues, struct gpu_totals *totals)
{
    totals->sync_count = queues->syncs.count;
    if (queues->syncs.count > 1)
        qsort(queues->syncs.items, queues->syncs.count, sizeof(*queues->syncs.items), by_time);
    for (size_t i = 0; i < queues->processes.count; i++) {
        const struct process_busy *process = &queues->processes.items[i];
        const struct gpu_interval *starved = process->starved.items.items;
        size_t at = 0;
        for (size_t k = 0; k < queues->syncs.count; k++) {
            const struct gpu_edge *sync = &queues->syncs.items[k];
            while (at < process->starved.items.count && starved[at].end_ns <= sync->time_ns)
                at++;
            if (at == process->starved.items.count || sync->process != process->process ||
                starved[at].begin_ns > sync->time_ns ||
                !is_between(&starved[at], &process->launched))
                continue;
            totals->synced_count++;
            totals->synced_ns += (uint64_t)starved[at].end_ns - (uint64_t)starved[at].begin_ns;
            at++; /* another wait in the same time does not count */
        }
    }
}

int gpu_queues_finish(struct gpu_queues *queues, const struct trace *trace, int64_t from_ns,
                      int64_t to_ns, uint64_t *filled_ns)
{
    const struct gpu_interval all = {from_ns, to_ns};
    struct queue_busy *lanes = queues->lanes.items;
    int error = 0;
    for (size_t i = 0; i < queues->lanes.count && !error; i++)
        if (lanes[i].queue.count > 0)
            error = finish_busy(queues, &lanes[i]);
    if (queues->edges.count > 1)
        qsort(queues->edges.items, queues->edges.count, sizeof(*queues->edges.items), by_time);
    for (size_t i = 0; i < queues->processes.count && !error; i++) {
        struct process_busy *process = &queues->processes.items[i];
        *filled_ns += process->busy.filled_ns;
        error = finish_process(queues, process, life_of(trace, process->process, all));
    }
    for (size_t i = 0; i < queues->lanes.count && !error; i++)
        if (lanes[i].queue.count > 0)
            error = finish_lane(queues, &lanes[i], life_of(trace, lanes[i].queue.process, all));
    for (size_t i = 0; i < queues->processes.count && !error; i++)
        error = find_starved_of_process(&queues->processes.items[i]);
    if (queues->rows.count > 1)
        qsort(queues->rows.items, queues->rows.count, sizeof(*queues->rows.items), compare_rows);
    return error;
}

const struct process_busy *gpu_queues_of_process(const struct gpu_queues *queues, uint32_t process)
{
    for (size_t i = 0; i < queues->processes.count; i++)
        if (queues->processes.items[i].process == process)
            return &queues->processes.items[i];
    return NULL;
}
