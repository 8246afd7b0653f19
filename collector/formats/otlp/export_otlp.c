/* SPDX-License-Identifier: MIT */
/* OpenTelemetry's traces (OTLP): ranges as spans, as TracesData in protocol buffers, or as JSON,
 * a message a line.
 *
 * Ids are those that a program writes into its traceparent and its logs: the trace is session and
 * process, the span annot_current(). Where that is not known, and off the threads, it is a hash of
 * all that tells a range from others. A range is written when it ends, if it lasted long enough, or
 * if somebody may name it: a range inside of it that is written, a link, the span of another
 * service. Memory: the open ranges, with at most OTLP_EVENTS_MAX marks each; 40 bytes for each of
 * FLOWS_MAX flows. Thread-safety: none. */
#include "hash.h"
#include "hash_map.h"
#include "otlp_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FLOWS_MAX = 1 << 20 };

/* A range, and the last one that was open at its depth. */
struct open_span {
    int64_t begin_ns;
    uint64_t id;
    uint64_t repeats; /* how many before it began at that time and depth */
    bool kept;        /* it is written, however short it is */
    size_t first_mark, first_link;
    uint32_t marks_dropped, links_dropped;
};

struct span_lane {
    VEC(struct open_span) spans; /* by depth */
    VEC(struct otlp_mark) marks;
    VEC(struct arg) args; /* of the marks */
    VEC(struct otlp_context) links;
};

struct state {
    const struct trace *trace;
    struct otlp_spans spans;
    struct otlp_batches batches;
    int64_t min_ns;
    uint64_t session;
    struct span_lane *lanes; /* of threads, of lanes, of what is neither */
    uint32_t thread_count, lane_count;
    struct map64 flows; /* to 1 + index of where it was last */
    VEC(struct otlp_context) origins;
    struct span_counts counts, *ret_counts;
};

/* ---- Ids ------------------------------------------------------------------------------------- */

static uint32_t process_of(const struct state *s, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(s->trace, thread);
    return entry ? entry->process : UINT32_MAX;
}

/* As annot_trace_context() writes it. */
static struct otlp_context context_of(const struct state *s, uint32_t thread, uint64_t span)
{
    const struct trace_process *process = trace_process_get(s->trace, process_of(s, thread));
    struct otlp_context context = {{s->session, process ? process->identity : 0}, span};
    if ((context.trace[0] | context.trace[1]) == 0)
        context.trace[1] = 1; /* 0 is none */
    return context;
}

static uint64_t id_of(const struct state *s, const struct item *item, uint64_t repeats)
{
    const struct event *event = item->event;
    bool has_lane = item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
    const uint64_t words[] = {item->lane,
                              has_lane ? event->lane : event->thread,
                              item->depth,
                              (uint64_t)event->time_ns,
                              item->lane == LANE_PROCESS ? event->id : 0,
                              repeats};
    const struct hash128 seed = {s->session, 0};
    uint64_t id = item->number ? item->number : hash128_bytes(words, sizeof(words), seed).low;
    return id ? id : 1;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static struct span_lane *lane_of(const struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    uint32_t place = s->thread_count + s->lane_count; /* neither */
    if (item->lane == LANE_THREAD && event->thread < s->thread_count)
        place = event->thread;
    else if ((item->lane == LANE_TRACK || item->lane == LANE_QUEUE) && event->lane < s->lane_count)
        place = s->thread_count + event->lane;
    return &s->lanes[place];
}

/* The range of the item begins. NULL: out of memory. */
static struct open_span *open_span(struct state *s, struct span_lane *lane, const struct item *item)
{
    while (lane->spans.count <= item->depth)
        if (vec_push(&lane->spans, (struct open_span){.begin_ns = INT64_MIN}) != 0)
            return NULL;
    struct open_span *span = &lane->spans.items[item->depth];
    uint64_t repeats = span->begin_ns == item->event->time_ns ? span->repeats + 1 : 0;
    *span = (struct open_span){.begin_ns = item->event->time_ns,
                               .id = id_of(s, item, repeats),
                               .repeats = repeats,
                               .first_mark = lane->marks.count,
                               .first_link = lane->links.count};
    return span;
}

/* The innermost range around an item; NULL: there is none. */
static struct open_span *span_around(const struct span_lane *lane, const struct item *item)
{
    return item->depth > 0 && item->depth <= lane->spans.count ? &lane->spans.items[item->depth - 1]
                                                               : NULL;
}

/* ---- What happens in ranges ------------------------------------------------------------------ */

static void forget_marks(struct span_lane *lane, size_t count)
{
    if (count >= lane->marks.count)
        return;
    lane->args.count = lane->marks.items[count].first_arg;
    lane->marks.count = count;
}

static int take_mark(struct state *s, const struct item *item)
{
    struct span_lane *lane = lane_of(s, item);
    struct open_span *span = span_around(lane, item);
    struct otlp_mark mark = {*item->event, lane->args.count};
    if (!span) {
        s->counts.marks += item->kind == ITEM_INSTANT;
        return 0;
    }
    if (lane->marks.count - span->first_mark >= OTLP_EVENTS_MAX) {
        span->marks_dropped++;
        s->counts.marks++;
        return 0;
    }
    mark.event.arg_count = (uint16_t)item->args.count;
    if (vec_reserve(&lane->args, item->args.count) != 0)
        return -ENOMEM;
    if (item->args.count)
        memcpy(lane->args.items + lane->args.count, item->args.items,
               item->args.count * sizeof(*item->args.items));
    lane->args.count += item->args.count;
    return vec_push(&lane->marks, mark);
}

/* The flow goes on from here. */
static int note_origin(struct state *s, uint64_t flow, struct otlp_context context)
{
    const uint64_t *known = map64_find(&s->flows, flow);
    if (known) {
        s->origins.items[*known - 1] = context;
        return 0;
    }
    if (s->origins.count >= FLOWS_MAX) {
        s->counts.flows++;
        return 0;
    }
    return vec_push(&s->origins, context) ? -ENOMEM : map64_put(&s->flows, flow, s->origins.count);
}

static int take_arrival(struct state *s, struct span_lane *lane, struct open_span *span,
                        const struct otlp_context *origin)
{
    span->kept = true;
    if (lane->links.count - span->first_link < OTLP_LINKS_MAX)
        return vec_push(&lane->links, *origin);
    span->links_dropped++;
    s->counts.flows++;
    return 0;
}

static int take_flow(struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    struct span_lane *lane = lane_of(s, item);
    struct open_span *span = span_around(lane, item);
    if (!span || !event->id) {
        s->counts.flows++;
        return 0;
    }
    const uint64_t *origin = map64_find(&s->flows, event->id);
    int error = 0;
    if (event->kind != EVENT_FLOW_BEGIN && origin)
        error = take_arrival(s, lane, span, &s->origins.items[*origin - 1]);
    else if (event->kind != EVENT_FLOW_BEGIN)
        s->counts.flows++;
    if (error || event->kind == EVENT_FLOW_END)
        return error;
    span->kept = true;
    return note_origin(s, event->id, context_of(s, event->thread, span->id));
}

/* ---- Ranges that have ended ------------------------------------------------------------------ */

static int write_span(struct state *s, const struct item *item, const struct span_lane *lane,
                      const struct open_span *span)
{
    const struct open_span *around = span_around(lane, item);
    const struct otlp_span told = {
        .item = item,
        .context = context_of(s, item->event->thread, span->id),
        .parent = around ? around->id : 0,
        .marks = lane->marks.items + span->first_mark,
        .mark_args = lane->args.items,
        .links = lane->links.items + span->first_link,
        .mark_count = (uint32_t)(lane->marks.count - span->first_mark),
        .link_count = (uint32_t)(lane->links.count - span->first_link),
        .marks_dropped = span->marks_dropped,
        .links_dropped = span->links_dropped,
    };
    int error = otlp_put_span(&s->spans, &told);
    size_t size;
    const uint8_t *bytes = otlp_bytes(&s->spans.w, &size);
    s->counts.spans++;
    return error ? error
                 : otlp_batches_add(&s->batches, process_of(s, item->event->thread), bytes, size);
}

/* What happened in a range that is not written happened in the one around it. */
static void hand_up(struct state *s, struct span_lane *lane, const struct open_span *span,
                    struct open_span *around)
{
    size_t first = around ? around->first_mark : span->first_mark;
    size_t most = first + (around ? OTLP_EVENTS_MAX : 0);
    size_t dropped = lane->marks.count > most ? lane->marks.count - most : 0;
    s->counts.brief++;
    s->counts.marks += dropped;
    forget_marks(lane, most);
    if (around)
        around->marks_dropped += span->marks_dropped + (uint32_t)dropped;
}

static int take_range(struct state *s, const struct item *item)
{
    struct span_lane *lane = lane_of(s, item);
    bool known = item->depth < lane->spans.count && item->lane != LANE_QUEUE &&
                 item->lane != LANE_PROCESS &&
                 lane->spans.items[item->depth].begin_ns == item->event->time_ns;
    struct open_span *span = known ? &lane->spans.items[item->depth] : open_span(s, lane, item);
    if (!span)
        return -ENOMEM;
    struct open_span *around = span_around(lane, item);
    if (!span->kept && item->end_ns - item->event->time_ns < s->min_ns) {
        hand_up(s, lane, span, around);
        return 0;
    }
    int error = write_span(s, item, lane, span);
    if (around)
        around->kept = true;
    forget_marks(lane, span->first_mark);
    lane->links.count = span->first_link;
    return error;
}

static int take_begin(struct state *s, const struct item *item)
{
    if (item->lane == LANE_PROCESS)
        return 0;
    return open_span(s, lane_of(s, item), item) ? 0 : -ENOMEM;
}

static int take(void *state, const struct item *item)
{
    switch (item->kind) {
    case ITEM_OPENED:
        return take_begin(state, item);
    case ITEM_SPAN:
        return take_range(state, item);
    case ITEM_INSTANT:
    case ITEM_LOST:
        return take_mark(state, item);
    case ITEM_FLOW:
        return take_flow(state, item);
    default:
        return 0;
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

static int begin(struct state *s, const struct export_job *job, bool json)
{
    s->trace = job->source->trace;
    s->session = trace_session_get(s->trace)->id;
    s->thread_count = trace_thread_count(s->trace);
    s->lane_count = trace_lane_count(s->trace);
    s->lanes = calloc(s->thread_count + s->lane_count + 1ul, sizeof(*s->lanes));
    s->ret_counts = job->options->ret_spans;
    if (options_parse_time(job->options->min_duration, &s->min_ns) != 0)
        return -EINVAL;
    int error = otlp_spans_init(&s->spans, s->trace, json);
    if (!error)
        error = otlp_batches_init(&s->batches, job, json);
    return s->lanes ? error : -ENOMEM;
}

static int begin_proto(void *state, const struct export_job *job)
{
    return begin(state, job, false);
}

static int begin_json(void *state, const struct export_job *job)
{
    return begin(state, job, true);
}

static int end(void *state)
{
    struct state *s = state;
    s->counts.marks += s->spans.marks_dropped;
    s->counts.values = s->spans.values_dropped;
    if (s->ret_counts)
        *s->ret_counts = s->counts;
    return otlp_batches_finish(&s->batches);
}

static void destroy(void *state)
{
    struct state *s = state;
    for (size_t i = 0; s->lanes && i <= (size_t)s->thread_count + s->lane_count; i++) {
        vec_free(&s->lanes[i].spans);
        vec_free(&s->lanes[i].marks);
        vec_free(&s->lanes[i].args);
        vec_free(&s->lanes[i].links);
    }
    free(s->lanes);
    map64_free(&s->flows);
    vec_free(&s->origins);
    otlp_spans_fini(&s->spans);
    otlp_batches_fini(&s->batches);
}

static const struct option_spec options[] = {
    {"min-duration", 0, OPTION_TEXT, EXPORT_AT(min_duration), "TIME",
     "leave out ranges that took less, 1ms without it; 0 leaves out none", "1ms"},
    EXPORT_OPTION_SERVICE,
    {0},
};

#define OTLP_WANTS (WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS | WANT_TIME_ORDER)

const struct exporter export_otlp = {
    .name = "otlp",
    .extension = ".otlp.pb",
    .summary = "ranges as spans of OpenTelemetry, in protocol buffers",
    .carries = "ranges from --min-duration on, with marks and flows",
    .viewer = "with an OpenTelemetry collector",
    .lacks = EXPORT_LACKS_COUNTERS | EXPORT_LACKS_SAMPLES | EXPORT_LACKS_WAITS |
             EXPORT_LACKS_OTHER_SAMPLES,
    .binary = true,
    .options = options,
    .wants = OTLP_WANTS,
    .state_size = sizeof(struct state),
    .begin = begin_proto,
    .take = take,
    .end = end,
    .destroy = destroy,
};

extern const struct exporter export_otlp_json;
const struct exporter export_otlp_json = {
    .name = "otlp-json",
    .extension = ".otlp.jsonl",
    .summary = "the same in JSON, a message a line",
    .carries = "ranges from --min-duration on, with marks and flows",
    .viewer = "with an OpenTelemetry collector",
    .lacks = EXPORT_LACKS_COUNTERS | EXPORT_LACKS_SAMPLES | EXPORT_LACKS_WAITS |
             EXPORT_LACKS_OTHER_SAMPLES,
    .options = options,
    .wants = OTLP_WANTS,
    .state_size = sizeof(struct state),
    .begin = begin_json,
    .take = take,
    .end = end,
    .destroy = destroy,
};
