/* SPDX-License-Identifier: MIT */
/* See line_sink.h. Thread-safety: none. */
#include "line_sink.h"

#include <stddef.h>

static int put(const struct line_sink *sink, struct line *line)
{
    const struct trace_thread *thread = trace_thread_get(sink->trace, line->thread);
    line->process = thread ? thread->process : LINE_NONE;
    return sink->put(sink->context, line);
}

static int put_begin(const struct line_sink *sink, const struct item *item)
{
    if (sink->complete)
        return 0;
    return put(sink, &(struct line){.kind = LINE_BEGIN,
                                    .lane = item->lane,
                                    .time_ns = item->begin_ns,
                                    .thread = item->event->thread,
                                    .event = item->event,
                                    .args = item->args,
                                    .number = item->number,
                                    .depth = item->depth});
}

static int put_span(const struct line_sink *sink, const struct item *item)
{
    bool complete = sink->complete;
    if (!complete && (item->flags & ITEM_END_TOLD))
        return 0;
    return put(sink, &(struct line){.kind = complete ? LINE_RANGE : LINE_END,
                                    .lane = item->lane,
                                    .time_ns = complete ? item->begin_ns : item->end_ns,
                                    .thread = complete ? item->event->thread : item->end_thread,
                                    .event = item->event,
                                    .args = complete ? item->args : item_end_args(item),
                                    .number = item->number,
                                    .span = item,
                                    .depth = item->depth});
}

static int put_point(const struct line_sink *sink, enum line_kind kind, const struct item *item)
{
    struct line line = {.kind = kind,
                        .lane = item->lane,
                        .time_ns = item->begin_ns,
                        .thread = item->event->thread,
                        .event = item->event,
                        .depth = item->depth};
    if (item->kind == ITEM_INSTANT) /* others have no key-values to show */
        line.args = item->args;
    return put(sink, &line);
}

/* An end that ended nothing, as far as anybody knows. */
static int put_lone_end(const struct line_sink *sink, const struct item *item)
{
    return sink->complete ? 0
                          : put(sink, &(struct line){.kind = LINE_END,
                                                     .lane = item->lane,
                                                     .time_ns = item->begin_ns,
                                                     .thread = item->event->thread,
                                                     .event = item->event});
}

static int put_sample(const struct line_sink *sink, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(sink->trace);
    bool off = sample_role(sets, sample) == SAMPLE_ROLE_OFF_CPU;
    return put(sink, &(struct line){
                         .kind = off ? LINE_OFF_CPU : LINE_SAMPLE,
                         .time_ns = sample->time_ns,
                         .thread = sample->thread,
                         .sample = sample,
                     });
}

static int take(void *context, const struct item *item)
{
    const struct line_sink *sink = context;
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(sink, item);
    case ITEM_SPAN:
        return put_span(sink, item);
    case ITEM_INSTANT:
        return put_point(sink, line_is_log(sink->trace, &item->args) ? LINE_LOG : LINE_MARK, item);
    case ITEM_COUNTER:
        return put_point(sink, LINE_COUNTER, item);
    case ITEM_FLOW:
        return put_point(sink, LINE_FLOW_BEGIN + (item->event->kind - EVENT_FLOW_BEGIN), item);
    case ITEM_LOST:
        return put_point(sink, LINE_LOST, item);
    case ITEM_EDGE:
        return sink->complete ? 0 : put_point(sink, LINE_EDGE, item);
    case ITEM_ORPHAN:
        return put_lone_end(sink, item);
    case ITEM_SAMPLE:
        return put_sample(sink, item->sample);
    default:
        return 0;
    }
}

struct sink line_sink_of(struct line_sink *sink, bool samples)
{
    return (struct sink){.take = take,
                         .context = sink,
                         .wants = WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS | WANT_TIME_ORDER |
                                  (samples ? WANT_SAMPLES : 0)};
}
