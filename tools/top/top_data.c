/* SPDX-License-Identifier: MIT */
/* Sums of a window, or of the time since the reset, per row of a view. See top.h. */
#include "top.h"

#include "hash_map.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choosing the part ----------------------------------------------------------------------- */

static bool wants(void *context, uint32_t thread)
{
    const struct top_data *data = context;
    const struct top_view *view = data->view;
    const struct trace_thread *entry = trace_thread_get(data->trace, thread);
    if (view->one_thread)
        return thread == view->thread;
    return entry && entry->process == view->process;
}

/* Views of processes and threads list all of them, so that another one can be chosen. */
static bool is_limited(const struct top_view *view)
{
    return (view->one_process || view->one_thread) && view->kind != TOP_PROCESSES &&
           view->kind != TOP_THREADS;
}

static void choose_part(const struct top_session *session, int64_t to_ns, struct top_data *data)
{
    const struct recent *recent = session->recent;
    int64_t from_ns = to_ns - data->view->window_ns, kept_ns = recent_kept_ns(recent);
    if (data->total) {
        from_ns = recent_reset_ns(recent);
        to_ns = recent_last_ns(recent) > to_ns ? recent_last_ns(recent) : to_ns;
    } else if (from_ns < kept_ns) {
        from_ns = kept_ns;
    }
    data->part = (struct recent_part){.from_ns = from_ns, .to_ns = to_ns, .context = data};
    data->length_ns = to_ns > from_ns ? to_ns - from_ns : 1;
    if (is_limited(data->view))
        data->part.wants = wants;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void add_times(struct own_times *sum, const struct own_times *times)
{
    sum->cpu_ns += times->cpu_ns;
    sum->runnable_ns += times->runnable_ns;
    sum->blocked_ns += times->blocked_ns;
    sum->sample_count += times->sample_count;
    sum->gil_ns += times->gil_ns;
}

static int add_to_thread(void *context, const struct own_moment *moment,
                         const struct own_times *times)
{
    struct top_data *data = context;
    uint64_t gil_ns = moment->reason == WAIT_GIL ? times->blocked_ns : 0;
    add_times(&data->all, times);
    data->gil_wait_ns += gil_ns;
    if (moment->reason < WAIT_REASON_COUNT)
        data->waits[moment->reason] += times->blocked_ns;
    if (moment->thread < data->threads.count) {
        add_times(&data->threads.items[moment->thread].times, times);
        data->threads.items[moment->thread].gil_wait_ns += gil_ns;
    }
    return 0;
}

static int sum_threads(struct top_data *data)
{
    uint32_t count = trace_thread_count(data->trace);
    if (vec_reserve(&data->threads, count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        data->threads.items[i] = (struct top_thread){.thread = i};
    data->threads.count = count;
    return own_time_every(data->own, add_to_thread, data);
}

/* ---- Rows of functions, lines, waits, the GIL ------------------------------------------------ */

/* Index of the rows of a view. */
struct finding {
    struct top_data *data;
    struct map64 by_key;
    uint64_t *seen; /* per label: the last stack counted there */
    uint64_t thing;
};

/* NULL: out of memory. */
static struct top_row *row_of(struct finding *finding, uint64_t key, const struct own_row *place)
{
    struct top_data *data = finding->data;
    const uint64_t *found = map64_find(&finding->by_key, key);
    if (found)
        return &data->rows.items[*found];
    struct top_row row = {.place = *place, .process = UINT32_MAX, .thread = UINT32_MAX};
    if (map64_put(&finding->by_key, key, data->rows.count) != 0 || vec_push(&data->rows, row) != 0)
        return NULL;
    return &data->rows.items[data->rows.count - 1];
}

static void add_to_row(struct top_row *row, const struct own_times *times)
{
    row->cpu_ns += times->cpu_ns;
    row->runnable_ns += times->runnable_ns;
    row->blocked_ns += times->blocked_ns;
    row->gil_ns += times->gil_ns;
    row->count += times->sample_count;
}

static int add_functions(struct top_data *data)
{
    const struct own_row *rows;
    uint32_t count = own_time_rows(data->own, true, &rows);
    if (vec_reserve(&data->rows, count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        data->rows.items[i] = (struct top_row){.place = rows[i],
                                               .process = UINT32_MAX,
                                               .thread = UINT32_MAX,
                                               .cpu_ns = rows[i].cpu_ns,
                                               .runnable_ns = rows[i].runnable_ns,
                                               .blocked_ns = rows[i].blocked_ns,
                                               .count = rows[i].sample_count};
    data->rows.count = count;
    return 0;
}

/* Adds the CPU time of a stack once to each own function on it. */
static int add_total(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct finding *finding = context;
    const struct stacks *stacks = trace_stacks_get(finding->data->trace);
    bool in_python = false;
    if (times->cpu_ns == 0)
        return 0;
    finding->thing++;
    for (uint32_t at = moment->stack; at != 0 && !in_python;
         at = stacks_get_stack(stacks, at)->parent)
        in_python =
            stacks_get_frame(stacks, stacks_get_stack(stacks, at)->frame)->kind == FRAME_PYTHON;
    for (uint32_t at = moment->stack; at != 0; at = stacks_get_stack(stacks, at)->parent) {
        const struct frame *frame = stacks_get_frame(stacks, stacks_get_stack(stacks, at)->frame);
        if (frame->label == 0 || finding->seen[frame->label] == finding->thing ||
            !own_time_is_own(finding->data->own, frame, in_python))
            continue;
        finding->seen[frame->label] = finding->thing;
        struct top_row *row =
            row_of(finding, (uint64_t)frame->label + 1, &(struct own_row){.label = frame->label});
        if (!row)
            return -ENOMEM;
        row->total_ns += times->cpu_ns;
    }
    return 0;
}

/* Adds total times: callees included, also for functions without CPU time of their own. */
static int add_totals(struct finding *finding)
{
    struct top_data *data = finding->data;
    int error = 0;
    uint32_t labels = stacks_label_count(trace_stacks_get(data->trace));
    finding->seen = calloc((size_t)labels + 1, sizeof(*finding->seen));
    if (!finding->seen)
        return -ENOMEM;
    for (size_t i = 0; i < data->rows.count && !error; i++) {
        uint32_t label = data->rows.items[i].place.label;
        data->rows.items[i].total_ns = label ? 0 : data->rows.items[i].cpu_ns;
        if (label)
            error = map64_put(&finding->by_key, (uint64_t)label + 1, i);
    }
    return error ? error : own_time_each(data->own, add_total, finding);
}

static int add_to_line(void *context, const struct own_moment *moment,
                       const struct own_times *times)
{
    struct finding *finding = context;
    const struct own_time *own = finding->data->own;
    int32_t line = 0;
    uint32_t row = own_time_row_of(own, moment->stack, &line);
    if (row == UINT32_MAX)
        return 0;
    struct own_row place = *own_time_row(own, row);
    place.line = line;
    struct top_row *to =
        row_of(finding, ((uint64_t)row << 32 | (uint32_t)line) + UINT64_C(1), &place);
    if (!to)
        return -ENOMEM;
    add_to_row(to, times);
    return 0;
}

/* Rows per thread and own function: time that holds the GIL or waits for it. */
static int add_to_gil(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct finding *finding = context;
    const struct own_time *own = finding->data->own;
    int32_t line = 0;
    bool waits = moment->reason == WAIT_GIL;
    uint32_t row = own_time_row_of(own, moment->stack, &line);
    if ((times->gil_ns == 0 && !waits) || row == UINT32_MAX)
        return 0;
    struct top_row *to =
        row_of(finding, ((uint64_t)row << 32 | moment->thread) + 1, own_time_row(own, row));
    if (!to)
        return -ENOMEM;
    to->thread = moment->thread;
    to->process = trace_thread_get(finding->data->trace, moment->thread)->process;
    to->gil_ns += times->gil_ns;
    to->gil_wait_ns += waits ? times->blocked_ns : 0;
    return 0;
}

static int add_waits(struct top_data *data)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(data->own, &waits);
    for (uint32_t i = 0; i < count; i++) {
        struct top_row row = {.place = {.label = waits[i].label,
                                        .purpose = waits[i].purpose,
                                        .program = waits[i].program,
                                        .line = waits[i].line},
                              .reason = waits[i].reason,
                              .process = UINT32_MAX,
                              .thread = UINT32_MAX,
                              .blocked_ns = waits[i].blocked_ns,
                              .count = waits[i].count,
                              .max_ns = waits[i].max_ns,
                              .open = waits[i].unfinished};
        if (vec_push(&data->rows, row) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- Rows of threads, processes, ranges ------------------------------------------------------ */

static void take_thread(struct top_row *row, const struct top_thread *thread)
{
    add_to_row(row, &thread->times);
    row->gil_wait_ns += thread->gil_wait_ns;
}

static bool process_lives(const struct top_data *data, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(data->trace, process);
    return entry->end == PROCESS_RUNNING && entry->end_ns == 0;
}

/* True for threads of running processes, and for threads that ran or waited in this part. */
static bool is_there(const struct top_data *data, const struct top_thread *thread)
{
    const struct trace_thread *entry = trace_thread_get(data->trace, thread->thread);
    bool did = thread->times.cpu_ns + thread->times.runnable_ns + thread->times.blocked_ns > 0;
    return did || process_lives(data, entry->process);
}

static int add_threads(struct top_data *data)
{
    for (size_t i = 0; i < data->threads.count; i++) {
        const struct top_thread *thread = &data->threads.items[i];
        struct top_row row = {.thread = thread->thread,
                              .process = trace_thread_get(data->trace, thread->thread)->process};
        bool idle =
            thread->times.cpu_ns + thread->times.runnable_ns + thread->times.blocked_ns == 0;
        take_thread(&row, thread);
        if (!idle && vec_push(&data->rows, row) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_processes(struct top_data *data)
{
    uint32_t count = trace_process_count(data->trace);
    struct top_row *rows = calloc((size_t)count + 1, sizeof(*rows));
    int error = rows ? 0 : -ENOMEM;
    for (size_t i = 0; i < data->threads.count && !error; i++) {
        const struct top_thread *thread = &data->threads.items[i];
        uint32_t process = trace_thread_get(data->trace, thread->thread)->process;
        if (!is_there(data, thread))
            continue;
        take_thread(&rows[process], thread);
        rows[process].open++; /* threads */
    }
    for (uint32_t i = 0; i < count && !error; i++) {
        rows[i].process = i;
        rows[i].thread = UINT32_MAX;
        if (rows[i].open > 0 || process_lives(data, i))
            error = vec_push(&data->rows, rows[i]);
    }
    free(rows);
    return error;
}

static int add_ranges(const struct top_session *session, struct top_data *data)
{
    int error = recent_ranges_rows(session->ranges, &data->part, data->total, &data->ranges);
    for (size_t i = 0; i < data->ranges.items.count && !error; i++) {
        const struct recent_range *range = &data->ranges.items.items[i];
        struct top_row row = {.process = UINT32_MAX,
                              .thread = UINT32_MAX,
                              .label = range->label,
                              .range_kind = range->kind,
                              .count = range->count,
                              .total_ns = range->total_ns,
                              .cpu_ns = range->cpu_ns,
                              .open = range->open};
        error = vec_push(&data->rows, row);
    }
    return error;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The row of a function, or of a process; NULL: none. */
static struct top_row *memory_row(struct finding *finding, const struct top_memory_use *use)
{
    struct top_data *data = finding->data;
    uint32_t process = trace_thread_get(data->trace, use->thread)->process;
    if (data->part.wants && !data->part.wants(data->part.context, use->thread))
        return NULL;
    if (data->view->kind == TOP_FUNCTIONS) {
        uint32_t label = top_memory_function(data->trace, use->stack);
        return label ? row_of(finding, (uint64_t)label + 1, &(struct own_row){.label = label})
                     : NULL;
    }
    const uint64_t *found = map64_find(&finding->by_key, (uint64_t)process + 1);
    return found ? &data->rows.items[*found] : NULL;
}

/* 0 or -ENOMEM. */
static int index_processes(struct finding *finding)
{
    const struct top_data *data = finding->data;
    int error = 0;
    for (size_t i = 0; i < data->rows.count && !error; i++)
        error = map64_put(&finding->by_key, (uint64_t)data->rows.items[i].process + 1, i);
    return error;
}

/* A process that has ended holds nothing. */
static int add_use(void *context, const struct top_memory_use *use)
{
    struct finding *finding = context;
    struct top_data *data = finding->data;
    struct top_row *row = memory_row(finding, use);
    if (!row)
        return 0;
    if (process_lives(data, trace_thread_get(data->trace, use->thread)->process))
        row->live_sum += use->live;
    if (data->total)
        row->allocated += (uint64_t)use->allocated;
    return 0;
}

static int add_allocated(void *context, const struct sample *sample)
{
    struct finding *finding = context;
    const struct sample_sets *sets = trace_sets_get(finding->data->trace);
    int64_t bytes = sample_value(sets, sample, VALUE_TYPE_ALLOC_BYTES);
    const struct top_memory_use use = {.thread = sample->thread, .stack = sample->stack};
    struct top_row *row = bytes > 0 ? memory_row(finding, &use) : NULL;
    if (row)
        row->allocated += (uint64_t)bytes;
    return 0;
}

/* The sum of a part of the blocks is an estimate too: never below 0 for readers. */
static int add_memory(const struct top_session *session, struct finding *finding)
{
    struct top_data *data = finding->data;
    if (!data->memory || (data->view->kind != TOP_FUNCTIONS && data->view->kind != TOP_PROCESSES))
        return 0;
    int error = data->view->kind == TOP_PROCESSES ? index_processes(finding) : 0;
    if (!error)
        error = top_memory_each(data->memory, add_use, finding);
    if (!error && !data->total)
        error = recent_each(session->recent, &data->part, add_allocated, finding);
    for (size_t i = 0; i < data->rows.count && !error; i++) {
        struct top_row *row = &data->rows.items[i];
        row->live = row->live_sum > 0 ? (uint64_t)row->live_sum : 0;
        if (data->view->kind == TOP_PROCESSES)
            row->rss = top_memory_resident(data->memory, row->process);
    }
    return error;
}

/* ---- Putting it together --------------------------------------------------------------------- */

static int add_rows(const struct top_session *session, struct top_data *data)
{
    struct finding finding = {.data = data};
    int error = 0;
    switch (data->view->kind) {
    case TOP_LINES:
        error = own_time_each(data->own, add_to_line, &finding);
        break;
    case TOP_GIL:
        error = own_time_every(data->own, add_to_gil, &finding);
        break;
    case TOP_RANGES:
        error = add_ranges(session, data);
        break;
    case TOP_PROCESSES:
        error = add_processes(data);
        break;
    case TOP_THREADS:
        error = add_threads(data);
        break;
    case TOP_WAITS:
        error = add_waits(data);
        break;
    default:
        error = add_functions(data);
        if (!error)
            error = add_totals(&finding);
    }
    if (!error)
        error = add_memory(session, &finding);
    map64_free(&finding.by_key);
    free(finding.seen);
    return error;
}

int top_data_make(const struct top_session *session, const struct top_view *view, int64_t to_ns,
                  struct top_data *data)
{
    *data = (struct top_data){.trace = collector_trace(session->collector),
                              .command = session->command,
                              .memory = session->memory,
                              .view = view,
                              .total = view->total};
    choose_part(session, to_ns, data);
    data->own = own_time_create(data->trace);
    int error = data->own ? 0 : -ENOMEM;
    if (!error)
        error = data->total ? recent_sum_all(session->recent, &data->part, data->own)
                            : recent_sum(session->recent, &data->part, data->own);
    if (!error)
        error = own_time_finish(data->own);
    if (!error)
        error = sum_threads(data);
    return error ? error : add_rows(session, data);
}

void top_data_free(struct top_data *data)
{
    own_time_destroy(data->own);
    vec_free(&data->threads);
    vec_free(&data->rows);
    recent_ranges_free(&data->ranges);
    *data = (struct top_data){0};
}
