/* SPDX-License-Identifier: MIT */
/* See line_source.h. An event goes through the pairing of slices.c, which calls back for what it
 * makes of it while the event is fed. Thread-safety: none. */
#include "line_source.h"

#include "line_facts.h"
#include "range_number.h"

#include <errno.h>
#include <stdlib.h>

struct line_source {
    struct line_source_options options;
    struct event_order *order;
    struct event_select *select;
    struct sample_order *samples;
    struct slices *slices;
    struct range_numbers numbers;
    struct line_facts facts;
    /* What is next of each kind. */
    struct event *events;
    uint32_t event_count; /* 0: none is there */
    const struct sample *sample;
    /* The event that is being fed. */
    const struct event *present;
    bool told;                      /* a line tells of it */
    bool finishing;                 /* what comes now was ended by nobody */
    VEC(struct slice_value) values; /* of a start */
    int64_t settled_ns;
};

/* ---- Lines of events ------------------------------------------------------------------------- */

static int put_line(struct line_source *source, struct line *line)
{
    const struct trace_thread *thread = trace_thread_get(source->options.trace, line->thread);
    line->process = thread ? thread->process : LINE_NONE;
    source->told = true;
    return source->options.put(source->options.context, line);
}

static int put_begin(struct line_source *source, enum range_kind range, const struct event *begin,
                     const struct slice_values *values, uint32_t depth)
{
    if (source->options.complete)
        return 0;
    return put_line(source, &(struct line){.kind = LINE_BEGIN,
                                           .range = range,
                                           .time_ns = begin->time_ns,
                                           .thread = begin->thread,
                                           .event = begin,
                                           .values = *values,
                                           .depth = depth});
}

static int put_finished(struct line_source *source, enum range_kind range,
                        const struct slice *slice)
{
    bool complete = source->options.complete;
    uint32_t end_thread = range == RANGE_PUSHED ? slice->begin->thread : slice->end_thread;
    return put_line(source,
                    &(struct line){.kind = complete ? LINE_RANGE : LINE_END,
                                   .range = range,
                                   .time_ns = complete ? slice->begin->time_ns : slice->end_ns,
                                   .thread = complete ? slice->begin->thread : end_thread,
                                   .event = slice->begin,
                                   .values = complete ? slice->values : slice_end_values(slice),
                                   .slice = slice,
                                   .depth = slice->depth});
}

static int on_opened(void *context, const struct event *begin, const struct slice_values *values,
                     uint32_t depth)
{
    return put_begin(context, RANGE_PUSHED, begin, values, depth);
}

static int on_pushed(void *context, const struct slice *slice)
{
    return put_finished(context, RANGE_PUSHED, slice);
}

/* A start that finds its end, which came before it and is told. */
static bool is_told_end(const struct line_source *source)
{
    return !source->finishing && source->present->kind == EVENT_START && !source->options.complete;
}

static int on_started(void *context, const struct slice *slice)
{
    struct line_source *source = context;
    if (is_told_end(source) && !slice->flags)
        return 0;
    return put_finished(source, RANGE_OVERLAPPING, slice);
}

static int on_point(struct line_source *source, enum line_kind kind, const struct event *event,
                    const struct slice_values *values)
{
    struct line line = {
        .kind = kind, .time_ns = event->time_ns, .thread = event->thread, .event = event};
    if (values)
        line.values = *values;
    return put_line(source, &line);
}

static int on_mark(void *context, const struct event *event, const struct slice_values *values)
{
    const struct line_source *source = context;
    bool is_log = line_severity(source->options.trace, values) != EXPORT_SEVERITY_NONE;
    return on_point(context, is_log ? LINE_LOG : LINE_MARK, event, values);
}

static int on_counter(void *context, const struct event *event)
{
    return on_point(context, LINE_COUNTER, event, NULL);
}

static int on_lost(void *context, const struct event *event)
{
    return on_point(context, LINE_LOST, event, NULL);
}

static int on_flow(void *context, const struct event *event)
{
    return on_point(context, LINE_FLOW_BEGIN + (event->kind - EVENT_FLOW_BEGIN), event, NULL);
}

static int on_track_opened(void *context, const struct event *begin,
                           const struct slice_values *values, uint32_t depth)
{
    return put_begin(context, RANGE_TRACK, begin, values, depth);
}

static int on_track_closed(void *context, const struct slice *slice)
{
    return put_finished(context, RANGE_TRACK, slice);
}

static int on_track_mark(void *context, const struct event *event,
                         const struct slice_values *values, uint32_t depth)
{
    struct line_source *source = context;
    bool is_log = line_severity(source->options.trace, values) != EXPORT_SEVERITY_NONE;
    return put_line(source, &(struct line){.kind = is_log ? LINE_LOG : LINE_MARK,
                                           .range = RANGE_TRACK,
                                           .time_ns = event->time_ns,
                                           .thread = event->thread,
                                           .event = event,
                                           .values = *values,
                                           .depth = depth});
}

/* An end that ended nothing, as far as anybody knows. */
static int put_lone_end(struct line_source *source, const struct event *event)
{
    enum range_kind range = event->kind == EVENT_POP   ? RANGE_PUSHED
                            : event->kind == EVENT_END ? RANGE_OVERLAPPING
                                                       : RANGE_TRACK;
    return put_line(source, &(struct line){.kind = LINE_END,
                                           .range = range,
                                           .time_ns = event->time_ns,
                                           .thread = event->thread,
                                           .event = event});
}

/* ---- Feeding --------------------------------------------------------------------------------- */

/* Before the pairing, which remembers the start but does not tell it. */
static int put_start(struct line_source *source, const struct event *events, uint32_t count)
{
    source->values.count = 0;
    if (vec_reserve(&source->values, count) != 0)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++)
        source->values.items[i - 1] =
            (struct slice_value){events[i].name, events[i].value_kind, events[i].value};
    const struct slice_values values = {source->values.items, count - 1};
    return put_begin(source, RANGE_OVERLAPPING, events, &values, 0);
}

static int feed(struct line_source *source, struct event *events, uint32_t count)
{
    const struct event_batch batch = {
        .thread = events->thread, .count = count, .events = events, .settled_ns = events->time_ns};
    uint64_t orphans = slices_orphan_count(source->slices);
    source->present = events;
    source->told = false;
    int status = events->kind == EVENT_START ? put_start(source, events, count) : 0;
    if (!status)
        status = slices_feed(source->slices, &batch);
    if (status || source->told || source->options.complete)
        return status;
    if (events->kind == EVENT_EDGE)
        return on_point(source, LINE_EDGE, events, NULL);
    bool orphan = slices_orphan_count(source->slices) > orphans;
    return orphan || events->kind == EVENT_END ? put_lone_end(source, events) : 0;
}

/* Recorded events on their way to the selection: pushes get the numbers that logs have. */
static int next_numbered(void *context, struct event **ret_events, uint32_t *ret_count)
{
    struct line_source *source = context;
    uint64_t number;
    int status = event_order_next(source->order, ret_events, ret_count);
    if (status <= 0)
        return status;
    struct event *event = *ret_events;
    int error = range_number_note(&source->numbers, source->options.trace, event, &number);
    if (event->kind == EVENT_PUSH)
        event->id = number;
    return error ? error : 1;
}

static int next_event(struct line_source *source)
{
    int status = source->select
                     ? event_select_next(source->select, &source->events, &source->event_count)
                     : next_numbered(source, &source->events, &source->event_count);
    if (status <= 0)
        source->event_count = 0;
    return status < 0 ? status : 0;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int next_sample(struct line_source *source)
{
    int status = source->samples ? sample_order_next(source->samples, &source->sample) : 0;
    if (status <= 0)
        source->sample = NULL;
    return status < 0 ? status : 0;
}

static int put_sample(struct line_source *source)
{
    struct sample sample = *source->sample;
    source->sample = NULL;
    const struct event_selection *selection = source->options.selection;
    if (!event_selection_wants(selection, sample.thread) ||
        !sample_cut(&sample, selection->from_ns, selection->to_ns))
        return 0;
    struct line line = {
        .kind = sample.kind == SAMPLE_OFF_CPU ? LINE_OFF_CPU : LINE_SAMPLE,
        .time_ns = sample.time_ns,
        .thread = sample.thread,
        .sample = &sample,
    };
    return put_line(source, &line);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Nobody ends the ranges of a process that is gone. A thread that has events behind that end is
 * left to the end. */
static int finish_process(struct line_source *source, uint32_t process)
{
    const struct trace *trace = source->options.trace;
    int64_t end_ns = trace_process_get(trace, process)->end_ns;
    int status = 0;
    source->finishing = true;
    for (uint32_t i = 0; !status && i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->process == process && thread->last_ns <= end_ns)
            status = slices_finish_thread(source->slices, i);
    }
    source->finishing = false;
    return status;
}

static bool is_wanted(const struct line_source *source, const struct line *line)
{
    const struct event_selection *selection = source->options.selection;
    const struct trace *trace = source->options.trace;
    if (selection->range || !event_selection_holds(selection, line->time_ns))
        return false;
    if (line->thread != LINE_NONE || !selection->wants)
        return line->thread == LINE_NONE || event_selection_wants(selection, line->thread);
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        if (trace_thread_get(trace, i)->process == line->process &&
            event_selection_wants(selection, i))
            return true;
    }
    return false;
}

static int put_fact(struct line_source *source, const struct line *line)
{
    int status = line->kind == LINE_PROCESS_END ? finish_process(source, line->process) : 0;
    if (!status && is_wanted(source, line))
        status = source->options.put(source->options.context, line);
    line_facts_take(&source->facts);
    return status;
}

/* ---- All together ---------------------------------------------------------------------------- */

/* The next line of the facts, if it comes before event and sample. */
static bool fact_is_next(const struct line_source *source, struct line *ret_line)
{
    int64_t other_ns = source->settled_ns;
    if (!line_facts_peek(&source->facts, ret_line))
        return false;
    if (source->event_count && event_told_ns(source->events) < other_ns)
        other_ns = event_told_ns(source->events);
    if (source->sample && sample_told_ns(source->sample) < other_ns)
        other_ns = sample_told_ns(source->sample);
    bool end = line_is_end(ret_line->kind);
    return end && other_ns != INT64_MAX ? ret_line->time_ns < other_ns
                                        : ret_line->time_ns <= other_ns;
}

static int step(struct line_source *source)
{
    struct line fact;
    if (fact_is_next(source, &fact))
        return put_fact(source, &fact);
    bool sample = source->sample && (!source->event_count || sample_told_ns(source->sample) <
                                                                 event_told_ns(source->events));
    if (sample)
        return put_sample(source);
    uint32_t count = source->event_count;
    source->event_count = 0;
    return feed(source, source->events, count);
}

int line_source_run(struct line_source *source)
{
    struct line fact;
    int status = line_facts_update(&source->facts, !source->options.live || source->finishing);
    while (!status) {
        if (!source->event_count)
            status = next_event(source);
        if (!status && !source->sample)
            status = next_sample(source);
        if (status || (!source->event_count && !source->sample && !fact_is_next(source, &fact)))
            break;
        status = step(source);
    }
    return status;
}

int line_source_finish(struct line_source *source)
{
    line_source_settle(source, INT64_MAX);
    int status = line_facts_update(&source->facts, true);
    if (!status)
        status = line_source_run(source);
    if (!status && source->select)
        status = event_select_finish(source->select);
    if (!status)
        status = line_source_run(source);
    source->finishing = true;
    return status ? status : slices_finish(source->slices);
}

void line_source_settle(struct line_source *source, int64_t settled_ns)
{
    source->settled_ns = settled_ns;
    event_order_settle(source->order, settled_ns);
    if (source->samples)
        sample_order_settle(source->samples, settled_ns);
}

uint64_t line_source_late_count(const struct line_source *source)
{
    return event_order_late_count(source->order) +
           (source->samples ? sample_order_late_count(source->samples) : 0);
}

static int make_parts(struct line_source *source, const struct slice_sink *sink)
{
    const struct line_source_options *options = &source->options;
    const struct event_stream numbered = {next_numbered, source, options->live};
    source->order = event_order_create(&options->events);
    source->slices = slices_create(options->trace, sink);
    if (!source->order || !source->slices)
        return -ENOMEM;
    slices_in_order(source->slices);
    if (!event_selection_is_all(options->selection)) {
        source->select = event_select_create(options->trace, options->selection, &numbered);
        if (!source->select)
            return -ENOMEM;
    }
    if (options->samples.next)
        source->samples = sample_order_create(&options->samples);
    return source->samples || !options->samples.next ? 0 : -ENOMEM;
}

int line_source_create(const struct line_source_options *options, struct line_source **ret_source)
{
    struct line_source *source = calloc(1, sizeof(*source));
    *ret_source = source;
    if (!source)
        return -ENOMEM;
    const struct slice_sink sink = {
        .opened = on_opened,
        .pushed = on_pushed,
        .started = on_started,
        .mark = on_mark,
        .counter = on_counter,
        .lost = on_lost,
        .flow = on_flow,
        .track_opened = on_track_opened,
        .track_closed = on_track_closed,
        .track_mark = on_track_mark,
        .context = source,
    };
    source->options = *options;
    source->options.events.live = source->options.samples.live = options->live;
    source->facts.trace = options->trace;
    source->settled_ns = options->live ? INT64_MIN : INT64_MAX;
    return make_parts(source, &sink);
}

void line_source_destroy(struct line_source *source)
{
    if (!source)
        return;
    event_select_destroy(source->select);
    event_order_destroy(source->order);
    sample_order_destroy(source->samples);
    slices_destroy(source->slices);
    range_numbers_fini(&source->numbers);
    line_facts_fini(&source->facts);
    vec_free(&source->values);
    free(source);
}
