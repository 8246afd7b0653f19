/* SPDX-License-Identifier: MIT */
/* The Chrome trace event format (JSON), for ui.perfetto.dev, chrome://tracing and many others.
 *
 * A pushed range is one complete event ("X"). Readers nest those by time and, if begin and end are
 * equal, by their place in the file: a range that begins together with the one around it is
 * therefore held until that one is written. Gaps lie on a separate thread, "NAME: lost", because a
 * complete event that overlaps another would be dropped; a gap that would overlap is an instant
 * there. Samples become flame charts and states. Thread-safety: none. */
#include "call_label.h"
#include "chrome_annotations.h"
#include "chrome_gpu.h"
#include "chrome_rows.h"
#include "chrome_writer.h"
#include "counter_groups.h"
#include "event.h"
#include "export.h"
#include "export_ids.h"
#include "flow_arrows.h"
#include "trace_devices.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counters: an event with one argument, for a group one argument a series. The format has no units:
 * that of a counter is the name of its argument, that of a series is appended to its name. JSON has
 * no NaN and no infinity: such values are left out and counted. */

struct chrome_counters {
    struct chrome_writer *writer;
    struct chrome_gpu *gpu;
    struct counter_groups groups;
    struct export_text label, series; /* of the one being written */
    uint64_t left_out;                /* values */
};

/* Counters are numbers: values that readers would not take as numbers are converted. */
static struct fact value_fact(const struct event *event, const char *name)
{
    struct fact fact = {.name = name, .kind = event->value_kind, .value = event->value};
    if (fact.kind == VALUE_BOOL) {
        fact.kind = VALUE_UINT64;
        fact.value.uint64 = fact.value.uint64 != 0;
    }
    if (fact.kind == VALUE_UINT64 && fact.value.uint64 > CHROME_EXACT_MAX) {
        fact.kind = VALUE_DOUBLE;
        fact.value.float64 = (double)event->value.uint64;
    } else if (fact.kind == VALUE_INT64 && !chrome_is_exact(fact.value.int64)) {
        fact.kind = VALUE_DOUBLE;
        fact.value.float64 = (double)event->value.int64;
    }
    return fact;
}

static int add_text(struct export_text *text, const char *bytes)
{
    return export_text_add(text, bytes, strlen(bytes));
}

/* "value", the unit, or "series [unit]". */
static int series_name(struct chrome_counters *counters, const struct counter_run *run,
                       const struct event *event)
{
    const struct trace *trace = counters->writer->trace;
    struct export_text *series = &counters->series;
    uint32_t unit_string = counter_unit(&counters->groups, event);
    const char *unit = trace_string(trace, unit_string)->bytes;
    series->count = 0;
    if (!run->group_length)
        return add_text(series, unit_string ? unit : "value");
    int error = add_text(series, trace_string(trace, event->name)->bytes + run->group_length + 1);
    if (error || !unit_string)
        return error;
    error = add_text(series, " [");
    error = error ? error : add_text(series, unit);
    return error ? error : add_text(series, "]");
}

/* The counter's name, or that of the group, with the domain. */
static int run_name(struct chrome_counters *counters, const struct counter_run *run)
{
    const struct event *first = &run->events[0];
    struct export_text *label = &counters->label;
    int error = export_counter_label(counters->writer->trace, first, label);
    if (error || !run->group_length)
        return error;
    label->count -= trace_string(counters->writer->trace, first->name)->length - run->group_length;
    label->items[label->count] = 0;
    return 0;
}

/* Place of a counter: a thread, or the device if it has a lane. */
struct counter_place {
    const char *name;
    uint32_t pid; /* of the device */
    bool on_device;
};

static void put_begin(struct chrome_counters *counters, const struct event *event,
                      const struct counter_place *place)
{
    struct chrome_writer *writer = counters->writer;
    char text[CHROME_GPU_PLACE];
    chrome_begin_text(writer, 'C', place->name);
    if (!place->on_device) {
        chrome_place(writer, event->thread, event->time_ns);
        return;
    }
    snprintf(text, sizeof(text), ",\"pid\":%u,\"tid\":0", place->pid);
    out_text(writer->out, text);
    chrome_micros(writer, "ts", event->time_ns - writer->origin_ns);
}

static int put_value(struct chrome_counters *counters, const struct counter_run *run,
                     const struct event *event)
{
    int error = series_name(counters, run, event);
    if (error)
        return error;
    struct fact fact = value_fact(event, counters->series.items);
    chrome_argument(counters->writer, &fact);
    return 0;
}

static bool is_number(const struct event *event)
{
    return event->value_kind != VALUE_DOUBLE || isfinite(event->value.float64);
}

static int put_run_at(struct chrome_counters *counters, const struct counter_run *run,
                      const struct counter_place *place)
{
    bool begun = false;
    int error = 0;
    for (uint32_t i = 0; !error && i < run->count; i++) {
        if (!is_number(&run->events[i]))
            continue;
        if (!begun)
            put_begin(counters, &run->events[0], place);
        begun = true;
        error = put_value(counters, run, &run->events[i]);
    }
    if (begun)
        chrome_end(counters->writer);
    return error;
}

/* For a counter of a device: beside the streams of each program that uses it. */
static int put_on_devices(struct chrome_counters *counters, const struct counter_run *run,
                          bool *ret_placed)
{
    const struct trace *trace = counters->writer->trace;
    const struct event *first = &run->events[0];
    char name[TRACE_DEVICE_COUNTER_SIZE];
    uint32_t lane = 0;
    int error = 0;
    while (!error && (lane = trace_device_next_lane(trace, first->thread, lane)) != 0) {
        struct counter_place place = {.on_device = true};
        place.pid = chrome_device_pid(counters->gpu, lane - 1);
        if (place.pid == UINT32_MAX)
            return -ENOMEM;
        const struct device_counter counter = {trace_string(trace, first->name)->bytes,
                                               first->thread, lane - 1};
        place.name = trace_device_counter(trace, &counter, name);
        error = put_run_at(counters, run, &place);
        *ret_placed = true;
    }
    return error;
}

static int put_run(void *context, const struct counter_run *run)
{
    struct chrome_counters *counters = context;
    bool placed = false;
    int error = run_name(counters, run);
    for (uint32_t i = 0; i < run->count; i++)
        counters->left_out += !is_number(&run->events[i]);
    if (!error)
        error = put_on_devices(counters, run, &placed);
    return error || placed
               ? error
               : put_run_at(counters, run, &(struct counter_place){.name = counters->label.items});
}

/* 0 or -ENOMEM; then fini all the same. */
static int chrome_counters_init(struct chrome_counters *counters, struct chrome_gpu *gpu)
{
    counters->gpu = gpu;
    counters->writer = gpu->writer;
    counters->groups.put = put_run;
    counters->groups.context = counters;
    return counter_groups_init(&counters->groups, counters->writer->trace);
}

static int chrome_counters_add(struct chrome_counters *counters, const struct event *event)
{
    if (event->thread >= counters->writer->thread_count)
        return 0;
    return counter_groups_add(&counters->groups, event);
}

static int chrome_counters_finish(struct chrome_counters *counters)
{
    return counter_groups_finish(&counters->groups);
}

static void chrome_counters_fini(struct chrome_counters *counters)
{
    counter_groups_fini(&counters->groups);
    vec_free(&counters->label);
    vec_free(&counters->series);
}

enum { HELD_MAX = 1 << 20 }; /* events of all threads; further ones are written unsorted */

struct held {
    struct event begin;
    struct arg *values; /* owned; NULL = without values */
    uint32_t value_count;
    int64_t end_ns;
    uint32_t flags, depth;
};

struct thread_state {
    VEC(struct held) held;
    uint32_t lost_tid; /* 0: without gaps so far */
    int64_t lost_begin_ns, lost_end_ns;
};

struct state {
    struct chrome_writer writer;
    struct export_ids ids;
    struct thread_state *threads;
    struct chrome_shelves shelves;
    struct chrome_counters counters;
    struct chrome_gpu gpu;
    struct flow_arrows flows;
    size_t held_count;
    struct chrome_rows rows;
};

/* ---- Names and order ------------------------------------------------------------------------- */

static void begin_metadata(struct state *s, const char *name, uint32_t pid, uint32_t tid)
{
    chrome_begin_text(&s->writer, 'M', name);
    chrome_number(&s->writer, "pid", pid);
    chrome_number(&s->writer, "tid", tid);
}

static void put_metadata(struct state *s, const char *name, uint32_t pid, uint32_t tid,
                         const struct fact *argument)
{
    begin_metadata(s, name, pid, tid);
    chrome_argument(&s->writer, argument);
    chrome_end(&s->writer);
}

static struct fact text_fact(const char *name, const char *text)
{
    return (struct fact){.name = name, .kind = VALUE_STRING, .text = text};
}

static struct fact count_fact(const char *name, uint64_t count)
{
    return (struct fact){.name = name, .kind = VALUE_UINT64, .value = {.uint64 = count}};
}

static void describe_process(struct state *s, uint32_t process)
{
    const struct trace *trace = s->writer.trace;
    uint32_t pid = s->ids.pids[process];
    char label[EXPORT_LABEL_SIZE], notes[8 * EXPORT_NOTE_SIZE];
    size_t used = 0, length;
    struct fact fact = text_fact("name", label);
    trace_process_label(trace, process, label, sizeof(label));
    put_metadata(s, "process_name", pid, pid, &fact);
    fact = count_fact("sort_index", s->ids.process_rank[process]);
    put_metadata(s, "process_sort_index", pid, pid, &fact);
    for (unsigned i = 0; i < 6; i++) {
        char note[EXPORT_NOTE_SIZE];
        length = export_process_note(&s->ids, trace, process, i, note);
        if (!length)
            break;
        used += (size_t)snprintf(notes + used, sizeof(notes) - used, "%s%s", i ? ", " : "", note);
    }
    fact = text_fact("labels", notes);
    if (used)
        put_metadata(s, "process_labels", pid, pid, &fact);
}

static uint32_t pid_of(const struct state *s, uint32_t thread)
{
    uint32_t process = trace_thread_get(s->writer.trace, thread)->process;
    bool known = process < trace_process_count(s->writer.trace);
    return known ? s->ids.pids[process] : s->ids.tids[thread];
}

static void describe_thread(struct state *s, uint32_t thread, uint32_t tid, const char *suffix)
{
    char label[EXPORT_LABEL_SIZE + 8];
    size_t length = export_thread_label(&s->ids, s->writer.trace, thread, label);
    snprintf(label + length, sizeof(label) - length, "%s", suffix);
    struct fact fact = text_fact("name", label);
    put_metadata(s, "thread_name", pid_of(s, thread), tid, &fact);
    uint64_t rank = suffix[0] ? chrome_row_rank(&s->ids, thread, CHROME_ROW_KINDS)
                              : chrome_thread_rank(&s->ids, thread);
    fact = count_fact("sort_index", rank);
    put_metadata(s, "thread_sort_index", pid_of(s, thread), tid, &fact);
}

/* ---- Flows ----------------------------------------------------------------------------------- */

/* Points of flows are instants of their threads, with arrows ("s", "f") between these. Readers bind
 * an arrow to the thread's innermost slice at that time. Without an instant, the Perfetto UI takes
 * a complete event that is over already. */

/* Both ends of an arrow need the same name, category and id. */
static void put_arrow_end(struct chrome_writer *writer, char phase, const struct flow_point *point,
                          uint64_t arrow)
{
    chrome_begin_text(writer, phase, FLOW_UNNAMED);
    chrome_place(writer, point->thread, point->time_ns);
    chrome_text(writer, "cat", FLOW_UNNAMED);
    chrome_number(writer, "id", arrow);
    if (phase == 'f')
        chrome_text(writer, "bp", "e"); /* binds to the enclosing slice, not to the next */
    chrome_end(writer);
}

static int put_flow(void *context, const struct flow_place *place)
{
    struct chrome_writer *writer = context;
    const struct flow_point *point = place->point;
    uint32_t name = point->name ? point->name : place->name;
    uint32_t category = chrome_category(writer, point->scope);
    struct flow_text text;
    struct fact flow = flow_fact(point, &text);
    if (point->thread >= writer->thread_count)
        return 0;
    if (name)
        chrome_begin(writer, 'i', name);
    else
        chrome_begin_text(writer, 'i', FLOW_UNNAMED);
    chrome_place(writer, point->thread, point->time_ns);
    chrome_text(writer, "s", "t");
    if (category)
        chrome_string(writer, "cat", category);
    chrome_argument(writer, &flow);
    chrome_end(writer);
    if (place->arrives)
        put_arrow_end(writer, 'f', point, place->arrives);
    for (uint32_t i = 0; i < place->leave_count; i++)
        put_arrow_end(writer, 's', point, place->leaves + i);
    return 0;
}

/* Members before the events are those that readers find without parsing the events. */
static void put_head(struct state *s, const struct export_job *job)
{
    struct out_stream *out = s->writer.out;
    out_text(out, "{");
    if (gpu_is_recorded(s->writer.trace))
        out_text(out, "\"schemaVersion\":1,");
    bool has_rank = (gpu_is_recorded(s->writer.trace) || job->options->rank) &&
                    chrome_put_rank(out, s->writer.trace, job->options);
    if (has_rank)
        chrome_put_base(&s->writer);
    out_text(out, "\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    struct out_stream *out = job->out;
    int error = export_ids_init(&s->ids, trace);
    if (error || chrome_writer_init(&s->writer, trace, &s->ids, out) < 0)
        return -ENOMEM;
    s->threads = calloc(s->writer.thread_count + 1u, sizeof(*s->threads));
    if (!s->threads)
        return -ENOMEM;
    put_head(s, job);
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        describe_process(s, s->ids.order[i]);
    for (uint32_t i = 0; i < s->writer.thread_count; i++)
        describe_thread(s, i, s->ids.tids[i], "");
    s->flows.place = put_flow;
    s->flows.context = &s->writer;
    if (chrome_shelves_init(&s->shelves, &s->writer) != 0 ||
        chrome_gpu_init(&s->gpu, &s->writer, &s->ids) != 0 ||
        chrome_counters_init(&s->counters, &s->gpu) != 0)
        return -ENOMEM;
    return chrome_rows_init(&s->rows, &s->writer, &s->ids, job);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void put_flags(struct state *s, uint32_t flags)
{
    struct fact fact = {.kind = VALUE_BOOL, .value = {.uint64 = 1}};
    if (flags & ITEM_UNFINISHED) {
        fact.name = "unfinished";
        chrome_argument(&s->writer, &fact);
    }
    if (flags & ITEM_END_LOST) {
        fact.name = "end_lost";
        chrome_argument(&s->writer, &fact);
    }
}

static void put_range(struct state *s, const struct event *event, const struct args *values,
                      int64_t end_ns, uint32_t flags)
{
    bool attributes = event->value_kind | event->scope | event->level |
                      (event->flags & EVENT_HAS_COLOR) | flags | values->count;
    if (!attributes && !s->gpu.any) {
        chrome_plain_range(&s->writer, event, end_ns);
        return;
    }
    chrome_begin(&s->writer, 'X', event->name);
    chrome_place(&s->writer, event->thread, event->time_ns);
    chrome_micros(&s->writer, "dur", end_ns - event->time_ns);
    if (s->gpu.any)
        chrome_gpu_attributes(&s->gpu, event, values);
    else
        chrome_attributes(&s->writer, event, values);
    put_flags(s, flags);
    chrome_end(&s->writer);
}

static int hold(struct state *s, const struct item *item)
{
    struct thread_state *thread = &s->threads[item->event->thread];
    const struct args *values = &item->args;
    struct held held = {
        .begin = *item->event,
        .end_ns = item->end_ns,
        .flags = item->flags & ITEM_LACKS_END,
        .depth = item->depth,
    };
    if (vec_push(&thread->held, held) != 0)
        return -ENOMEM;
    s->held_count++;
    if (!values->count)
        return 0;
    struct held *last = &thread->held.items[thread->held.count - 1];
    last->values = malloc(values->count * sizeof(*values->items));
    if (!last->values)
        return -ENOMEM;
    memcpy(last->values, values->items, values->count * sizeof(*values->items));
    last->value_count = values->count;
    return 0;
}

static void put_held(struct state *s, struct held *held)
{
    put_range(s, &held->begin, &(struct args){held->values, held->value_count}, held->end_ns,
              held->flags);
    free(held->values);
    held->values = NULL;
}

/* Writes the ranges held inside of the one being written, outer ranges first. All begin with that
 * range, so two held ranges of the same depth are already in order. */
static void release(struct state *s, struct thread_state *thread, uint32_t depth)
{
    size_t first = thread->held.count;
    uint32_t deepest = 0;
    while (first > 0 && thread->held.items[first - 1].depth > depth) {
        const struct held *held = &thread->held.items[--first];
        deepest = held->depth > deepest ? held->depth : deepest;
    }
    for (uint32_t level = depth + 1; level <= deepest; level++) {
        for (size_t i = first; i < thread->held.count; i++) {
            struct held *held = &thread->held.items[i];
            if (held->depth == level)
                put_held(s, held);
        }
    }
    s->held_count -= thread->held.count - first;
    thread->held.count = first;
}

static int take_nested(struct state *s, const struct item *item)
{
    const struct event *begin = item->event;
    if (begin->thread >= s->writer.thread_count)
        return 0;
    if (s->gpu.any && chrome_annotations_range(&s->gpu, item) != 0)
        return -ENOMEM;
    bool tied = item->depth > 0 && item->parents[item->depth - 1]->time_ns == begin->time_ns;
    if (tied && s->held_count < HELD_MAX)
        return hold(s, item);
    put_range(s, begin, &item->args, item->end_ns, item->flags & ITEM_LACKS_END);
    struct thread_state *thread = &s->threads[begin->thread];
    if (thread->held.count > 0)
        release(s, thread, item->depth);
    return 0;
}

/* ---- Marks, counters, gaps ------------------------------------------------------------------- */

static int take_mark(struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    if (event->thread >= s->writer.thread_count)
        return 0;
    chrome_begin(&s->writer, 'i', event->name);
    chrome_place(&s->writer, event->thread, event->time_ns);
    chrome_text(&s->writer, "s", "t");
    chrome_attributes(&s->writer, event, &item->args);
    chrome_end(&s->writer);
    chrome_gpu_mark(&s->gpu, event, &item->args);
    return 0;
}

static int take_lost(struct state *s, const struct event *event)
{
    if (event->thread >= s->writer.thread_count)
        return 0;
    struct thread_state *thread = &s->threads[event->thread];
    if (thread->lost_tid == 0) {
        thread->lost_tid = s->ids.next_synthetic++;
        thread->lost_end_ns = INT64_MIN;
        describe_thread(s, event->thread, thread->lost_tid, ": lost");
    }
    bool inside = event->time_ns >= thread->lost_begin_ns && event->end_ns <= thread->lost_end_ns;
    bool overlaps = event->time_ns < thread->lost_end_ns && !inside;
    char label[EXPORT_NOTE_SIZE];
    export_lost_label(event, label);
    chrome_begin_text(&s->writer, overlaps ? 'i' : 'X', label);
    chrome_number(&s->writer, "pid", pid_of(s, event->thread));
    chrome_number(&s->writer, "tid", thread->lost_tid);
    chrome_micros(&s->writer, "ts", event->time_ns - s->writer.origin_ns);
    if (overlaps)
        chrome_text(&s->writer, "s", "t");
    else
        chrome_micros(&s->writer, "dur", event->end_ns - event->time_ns);
    struct fact fact = count_fact("lost", event->value.uint64);
    chrome_argument(&s->writer, &fact);
    chrome_end(&s->writer);
    if (!overlaps) {
        thread->lost_begin_ns = event->time_ns;
        thread->lost_end_ns = event->end_ns;
    }
    return 0;
}

static int take_on_thread(struct state *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_SPAN:
        return take_nested(s, item);
    case ITEM_INSTANT:
        return take_mark(s, item);
    case ITEM_COUNTER:
        return chrome_counters_add(&s->counters, item->event);
    case ITEM_FLOW:
        return flow_arrows_add(&s->flows, item->event);
    case ITEM_LOST:
        return take_lost(s, item->event);
    case ITEM_SAMPLE:
        return chrome_rows_add(&s->rows, item->sample);
    default:
        return 0;
    }
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int error;
    if (item->lane == LANE_THREAD)
        return take_on_thread(s, item);
    if (item->lane == LANE_QUEUE && chrome_gpu_take(&s->gpu, item, &error))
        return error;
    return chrome_shelves_take(&s->shelves, item);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_session_fact(void *context, const struct fact *fact)
{
    struct state *s = context;
    out_text(s->writer.out, s->writer.any_argument ? ",\n" : "\n");
    s->writer.any_argument = true;
    chrome_fact(&s->writer, fact);
}

/* The annot_abort_note of each process, on the thread that called it. */
static void put_notes(struct state *s)
{
    for (uint32_t i = 0; i < s->ids.process_count; i++) {
        const struct trace_process *process = trace_process_get(s->writer.trace, i);
        uint32_t thread = process->note_thread - 1;
        bool known = process->note_thread && thread < s->writer.thread_count;
        int64_t time_ns = export_note_time_ns(s->writer.trace, i);
        if (!process->note)
            continue;
        chrome_begin(&s->writer, 'i', process->note);
        chrome_number(&s->writer, "pid", s->ids.pids[i]);
        chrome_number(&s->writer, "tid", known ? s->ids.tids[thread] : s->ids.pids[i]);
        chrome_micros(&s->writer, "ts", time_ns - s->writer.origin_ns);
        chrome_text(&s->writer, "s", known ? "t" : "p");
        chrome_argument(
            &s->writer,
            &(struct fact){.name = "last_word", .kind = VALUE_BOOL, .value = {.uint64 = 1}});
        chrome_end(&s->writer);
    }
}

static int end(void *state)
{
    struct state *s = state;
    int error = chrome_counters_finish(&s->counters);
    if (!error)
        error = flow_arrows_finish(&s->flows);
    if (!error)
        error = chrome_gpu_finish(&s->gpu);
    if (!error)
        error = chrome_rows_finish(&s->rows);
    if (error)
        return error;
    put_notes(s);
    out_text(s->writer.out, "\n]");
    chrome_put_devices(&s->gpu);
    out_text(s->writer.out, ",\"otherData\":{");
    s->writer.any_argument = false;
    session_facts(s->writer.trace, put_session_fact, s);
    struct fact fact = {.name = "begin_monotonic_ns", /* negative if it is before the boot */
                        .kind = VALUE_INT64,
                        .value = {.int64 = s->writer.origin_ns}};
    put_session_fact(s, &fact);
    fact = count_fact("counter_values_left_out", s->counters.left_out);
    if (s->counters.left_out)
        put_session_fact(s, &fact);
    fact = count_fact("gpu_launches_not_annotated", s->gpu.annotations.left_out);
    if (s->gpu.annotations.left_out)
        put_session_fact(s, &fact);
    fact = count_fact("flows_cut", s->flows.cut_count);
    if (s->flows.cut_count)
        put_session_fact(s, &fact);
    out_text(s->writer.out, "\n}}\n");
    return 0;
}

static void free_held(struct thread_state *thread)
{
    for (size_t i = 0; i < thread->held.count; i++)
        free(thread->held.items[i].values);
    vec_free(&thread->held);
}

static void destroy(void *state)
{
    struct state *s = state;
    for (uint32_t i = 0; s->threads && i < s->writer.thread_count; i++)
        free_held(&s->threads[i]);
    free(s->threads);
    chrome_shelves_fini(&s->shelves);
    chrome_gpu_fini(&s->gpu);
    chrome_counters_fini(&s->counters);
    flow_arrows_fini(&s->flows);
    chrome_rows_fini(&s->rows);
    chrome_writer_fini(&s->writer);
    export_ids_fini(&s->ids);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_FLAME_CHART,
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(CALL_STRIP_FOLDERS), /* readers show paths elsewhere */
    {"rank", 0, OPTION_TEXT, EXPORT_AT(rank), "N",
     "rank of the recording, for readers that compare ranks (default: RANK in annot's "
     "environment)",
     NULL},
    {"world-size", 0, OPTION_TEXT, EXPORT_AT(world_size), "N", "number of ranks", NULL},
    {0},
};

extern const struct exporter export_chrome;
const struct exporter export_chrome = {
    .name = "chrome",
    .extension = ".json",
    .summary = "Chrome trace events (JSON), for chrome://tracing and many viewers",
    .carries = "ranges, calls, marks, counters, flows, samples, thread states",
    .viewer = "at ui.perfetto.dev",
    .lacks = EXPORT_LACKS_NO_NUMBERS,
    .tells_missing = true,
    .options = options,
    .wants = WANT_EVENTS | WANT_SAMPLES | WANT_ORIGINS,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
