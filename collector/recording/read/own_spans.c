/* SPDX-License-Identifier: MIT */
/* Puts spans that an outside observer reports of a thread between the thread's own events.
 *
 * They come late and in any order. So all events of a thread with such spans (trace_thread.probed)
 * wait here until no earlier one can come, or too many wait. Then they go on in order of time: at
 * equal times ends of spans first, then the thread's own events, then spans, the longest first.
 * Each span is followed by an EVENT_SPAN_END at its end.
 *
 * A range that begins inside of a span may outlast it; the waiting events show if it does: its
 * EVENT_PUSH goes on with an end_ns, its earliest end. Threads without such spans pass through
 * uncopied. Thread-safety: none. */
#include "own_spans.h"

#include "pass_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    HELD_MAX = 1 << 20,   /* waiting events; a chunk has fewer */
    BEHIND_MAX = 1 << 19, /* events of other threads waiting for a range with an unknown end */
};

struct held {
    struct event event;
    struct arg *args; /* owned; NULL: without key-values */
    int64_t key_ns;   /* its time, but not before the preceding event's */
};

typedef VEC(struct held) held_list;

struct own_lane {
    uint32_t thread;
    held_list events, spans;      /* in order of arrival; sorted by time, except new ones */
    size_t next_event, next_span; /* the first waiting ones */
    bool unsorted;                /* spans need sorting */
    VEC(int64_t) ends;            /* of spans passed on: a heap, the earliest first */
    int64_t latest_end_ns;        /* of all passed on */
    uint64_t depth;               /* open ranges at next_event, as the producer counts them */
    size_t scanned;               /* events before it do not end the range that begins there */
    int64_t last_ns, passed_ns;   /* of the last event that came; of the last passed on */
    int64_t hold_ns;              /* begin of a range with an unknown end, for which it waits */
};

struct own_spans {
    struct own_source source;
    VEC(struct own_lane) lanes;
    VEC(uint32_t) lane_of; /* by thread: index + 1 */
    size_t at;             /* the next lane of this round, which passes on all before the limit */
    int64_t limit_ns;
    int64_t settled_ns, told_ns; /* of the source, and as passed on */
    int64_t hold_ns;             /* of all lanes */
    size_t held, behind;
    bool forced, final; /* this round: unknown ends are not waited for; the source has ended */
    bool ended, has_parked;
    struct event_batch parked; /* of another thread: its arrival began the round */
    VEC(struct event) out;
    VEC(struct arg) out_args;
    uint64_t late_count;
};

struct own_spans *own_spans_create(const struct own_source *source)
{
    struct own_spans *own = calloc(1, sizeof(*own));
    if (!own)
        return NULL;
    own->source = *source;
    own->settled_ns = own->limit_ns = own->told_ns = INT64_MIN;
    own->hold_ns = INT64_MAX;
    return own;
}

static void free_list(held_list *list, size_t first)
{
    for (size_t i = first; i < list->count; i++)
        free(list->items[i].args);
    vec_free(list);
}

void own_spans_destroy(struct own_spans *own)
{
    if (!own)
        return;
    for (size_t i = 0; i < own->lanes.count; i++) {
        struct own_lane *lane = &own->lanes.items[i];
        free_list(&lane->events, lane->next_event);
        free_list(&lane->spans, lane->next_span);
        vec_free(&lane->ends);
    }
    vec_free(&own->lanes);
    vec_free(&own->lane_of);
    vec_free(&own->out);
    vec_free(&own->out_args);
    free(own);
}

uint64_t own_spans_late_count(const struct own_spans *own)
{
    return own->late_count;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct own_lane *need_lane(struct own_spans *own, uint32_t thread)
{
    while (own->lane_of.count <= thread)
        if (vec_push(&own->lane_of, 0) != 0)
            return NULL;
    uint32_t *index = &own->lane_of.items[thread];
    const struct own_lane fresh = {.thread = thread,
                                   .last_ns = INT64_MIN,
                                   .passed_ns = INT64_MIN,
                                   .latest_end_ns = INT64_MIN,
                                   .hold_ns = INT64_MAX};
    if (*index == 0 && vec_push(&own->lanes, fresh) != 0)
        return NULL;
    if (*index == 0)
        *index = (uint32_t)own->lanes.count;
    return &own->lanes.items[*index - 1];
}

/* Frees the room of items passed on. Returns their number. */
static size_t forget_passed(held_list *list, size_t *next)
{
    size_t gone = *next;
    if (gone == 0 || gone * 2 < list->count)
        return 0;
    list->count -= gone;
    memmove(list->items, list->items + gone, list->count * sizeof(*list->items));
    *next = 0;
    return gone;
}

/* A late span begins at the time that its thread has reached. */
static struct held place_span(struct own_spans *own, const struct own_lane *lane,
                              const struct event *event)
{
    struct held held = {.event = *event, .key_ns = event->time_ns};
    if (!event_is_own_span(event))
        return held;
    own->late_count += event->time_ns < lane->passed_ns;
    held.event.time_ns = held.key_ns = time_latest(event->time_ns, lane->passed_ns);
    held.event.end_ns = time_latest(event->end_ns, held.key_ns);
    return held;
}

/* 0 or -ENOMEM. */
static int put(struct own_spans *own, held_list *list, struct held held, const struct args *args)
{
    if (vec_reserve(list, 1) != 0)
        return -ENOMEM;
    if (args->count) {
        held.args = malloc(args->count * sizeof(*args->items));
        if (!held.args)
            return -ENOMEM;
        memcpy(held.args, args->items, args->count * sizeof(*args->items));
    }
    list->items[list->count++] = held;
    own->held++;
    return 0;
}

/* Counters of a late stream are not in the order of the thread either. */
static int take_event(struct own_spans *own, struct own_lane *lane, const struct event *event,
                      const struct args *args, bool late)
{
    if (event->kind == EVENT_SPAN || (late && event->kind == EVENT_COUNTER)) {
        lane->unsorted = true;
        return put(own, &lane->spans, place_span(own, lane, event), args);
    }
    lane->last_ns = time_latest(lane->last_ns, event_order_ns(event));
    return put(own, &lane->events, (struct held){.event = *event, .key_ns = lane->last_ns}, args);
}

int own_spans_take(struct own_spans *own, const struct event_batch *batch)
{
    struct own_lane *lane = need_lane(own, batch->thread);
    int error = lane ? 0 : -ENOMEM;
    for (uint32_t i = 0; !error && i < batch->count; i++) {
        const struct args args = event_args(batch, &batch->events[i]);
        error = take_event(own, lane, &batch->events[i], &args, batch->late != 0);
    }
    return error;
}

static int compare_spans(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    if (a->key_ns != b->key_ns)
        return a->key_ns < b->key_ns ? -1 : 1;
    if (a->event.end_ns != b->event.end_ns)
        return a->event.end_ns > b->event.end_ns ? -1 : 1;
    return a->event.name < b->event.name ? -1 : a->event.name > b->event.name;
}

/* ---- Going on -------------------------------------------------------------------------------- */

/* The next waiting item of the lane's thread. */
struct next {
    int64_t key_ns;

    enum { NEXT_END, NEXT_EVENT, NEXT_SPAN } what;
};

static struct next find_next(const struct own_lane *lane)
{
    struct next next = {INT64_MAX, NEXT_END};
    if (lane->next_span < lane->spans.count)
        next = (struct next){lane->spans.items[lane->next_span].key_ns, NEXT_SPAN};
    if (lane->next_event < lane->events.count &&
        lane->events.items[lane->next_event].key_ns <= next.key_ns)
        next = (struct next){lane->events.items[lane->next_event].key_ns, NEXT_EVENT};
    if (lane->ends.count && lane->ends.items[0] <= next.key_ns)
        next = (struct next){lane->ends.items[0], NEXT_END};
    return next;
}

static bool is_empty(const struct own_lane *lane)
{
    return lane->next_span == lane->spans.count && lane->next_event == lane->events.count &&
           lane->ends.count == 0;
}

/* 0 or -ENOMEM. */
static int add_end(struct own_lane *lane, int64_t end_ns)
{
    if (vec_reserve(&lane->ends, 1) != 0)
        return -ENOMEM;
    int64_t *ends = lane->ends.items;
    size_t at = lane->ends.count++;
    for (; at && ends[(at - 1) / 2] > end_ns; at = (at - 1) / 2)
        ends[at] = ends[(at - 1) / 2];
    ends[at] = end_ns;
    lane->latest_end_ns = time_latest(lane->latest_end_ns, end_ns);
    return 0;
}

static int64_t take_end(struct own_lane *lane)
{
    int64_t *ends = lane->ends.items;
    int64_t first_ns = ends[0], last_ns = ends[--lane->ends.count];
    size_t at = 0, count = lane->ends.count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && ends[child + 1] < ends[child];
        if (ends[child] >= last_ns)
            break;
        ends[at] = ends[child];
        at = child;
    }
    ends[at] = last_ns;
    return first_ns;
}

static bool ends_range(const struct event *event, uint64_t level)
{
    return (event_traits[event->kind] & EVENT_CLOSES) && event->kind != EVENT_RESUME &&
           event_depth_after(event, 0) <= level;
}

/* End of the range that begins at next_event, or a time after the ends of all spans passed on at
 * which it is still open. False: not yet known. */
static bool find_end(const struct own_spans *own, struct own_lane *lane, int64_t *ret_end_ns)
{
    int64_t limit_ns = lane->latest_end_ns;
    size_t at = lane->scanned > lane->next_event ? lane->scanned : lane->next_event + 1;
    for (; at < lane->events.count; at++) {
        const struct held *held = &lane->events.items[at];
        *ret_end_ns = held->key_ns;
        if (held->key_ns > limit_ns || ends_range(&held->event, lane->depth))
            return true;
    }
    lane->scanned = at;
    bool outlasts = own->final || own->settled_ns > limit_ns;
    *ret_end_ns = outlasts ? INT64_MAX : lane->last_ns;
    return outlasts || own->forced;
}

static int put_out(struct own_spans *own, const struct held *held)
{
    struct event event = held->event;
    event.args = (uint32_t)own->out_args.count;
    if (vec_push(&own->out, event) != 0 || vec_reserve(&own->out_args, event.arg_count) != 0)
        return -ENOMEM;
    if (event.arg_count)
        memcpy(own->out_args.items + event.args, held->args, event.arg_count * sizeof(*held->args));
    own->out_args.count += event.arg_count;
    return 0;
}

static int pass_on(struct own_spans *own, struct held *held)
{
    int error = put_out(own, held);
    free(held->args);
    held->args = NULL;
    own->held--;
    return error;
}

static int pass_end(struct own_spans *own, struct own_lane *lane)
{
    const struct held end = {
        .event = {.kind = EVENT_SPAN_END, .thread = lane->thread, .time_ns = take_end(lane)}};
    return put_out(own, &end);
}

static int pass_span(struct own_spans *own, struct own_lane *lane)
{
    struct held *held = &lane->spans.items[lane->next_span++];
    bool instant = event_is_own_span(&held->event) && held->event.origin_ns != EVENT_NO_ORIGIN;
    if (instant)
        held->event.kind = EVENT_MARK;
    int error = event_is_own_span(&held->event) ? add_end(lane, held->event.end_ns) : 0;
    return error ? error : pass_on(own, held);
}

/* Passes on an event. 1; 0: the end of its range is unknown; -ENOMEM. */
static int pass_event(struct own_spans *own, struct own_lane *lane)
{
    struct held *held = &lane->events.items[lane->next_event];
    if (held->event.kind == EVENT_PUSH && lane->latest_end_ns > held->key_ns) {
        if (!find_end(own, lane, &held->event.end_ns))
            return 0;
        lane->scanned = 0;
    }
    lane->depth = event_depth_after(&held->event, lane->depth);
    lane->next_event++;
    return pass_on(own, held) != 0 ? -ENOMEM : 1;
}

/* 1; 0: no settled item; -ENOMEM. */
static int pass_next(struct own_spans *own, struct own_lane *lane)
{
    struct next next = find_next(lane);
    if (is_empty(lane) || (next.key_ns >= own->limit_ns && own->limit_ns != INT64_MAX))
        return 0;
    int status = next.what == NEXT_EVENT  ? pass_event(own, lane)
                 : next.what == NEXT_SPAN ? pass_span(own, lane)
                                          : pass_end(own, lane);
    if (next.what == NEXT_EVENT && status == 0)
        lane->hold_ns = next.key_ns;
    else
        lane->passed_ns = next.key_ns;
    return next.what == NEXT_EVENT || status < 0 ? status : 1;
}

/* Passes on the settled items of one lane. 0 or -ENOMEM. */
static int release(struct own_spans *own, struct own_lane *lane)
{
    int status;
    if (lane->unsorted)
        qsort(lane->spans.items + lane->next_span, lane->spans.count - lane->next_span,
              sizeof(*lane->spans.items), compare_spans);
    lane->unsorted = false;
    lane->hold_ns = INT64_MAX;
    do
        status = pass_next(own, lane);
    while (status > 0);
    own->hold_ns = time_earliest(own->hold_ns, lane->hold_ns);
    forget_passed(&lane->spans, &lane->next_span);
    size_t gone = forget_passed(&lane->events, &lane->next_event);
    lane->scanned = lane->scanned > gone ? lane->scanned - gone : 0;
    return status;
}

/* ---- One after the other --------------------------------------------------------------------- */

static void begin_round(struct own_spans *own)
{
    bool full = own->held >= HELD_MAX;
    bool live = own->source.live;
    own->final = own->ended && (!live || own->settled_ns == INT64_MAX);
    own->forced = full || own->behind > BEHIND_MAX || (own->ended && live);
    own->limit_ns = own->final || full ? INT64_MAX : own->settled_ns;
    own->hold_ns = INT64_MAX;
    own->behind = 0;
    own->at = 0;
}

static int take_batch(struct own_spans *own, const struct event_batch *batch)
{
    if (trace_thread_get(own->source.trace, batch->thread)->probed)
        return own_spans_take(own, batch);
    own->parked = *batch;
    own->has_parked = true;
    own->behind += own->hold_ns == INT64_MAX ? 0 : batch->count;
    return 0;
}

/* Reads a batch of the source, which begins a round if more is settled. 0 or -errno. */
static int read_on(struct own_spans *own)
{
    struct event_batch batch;
    int status = own->source.next(own->source.context, &batch);
    bool news = status > 0 && batch.settled_ns && batch.settled_ns > own->settled_ns;
    if (news)
        own->settled_ns = batch.settled_ns;
    own->ended = status == 0;
    if (status > 0)
        status = take_batch(own, &batch);
    if (news || own->ended || own->held >= HELD_MAX || own->behind > BEHIND_MAX)
        begin_round(own);
    return status;
}

/* Continues the round, lane by lane: 1, 0, -ENOMEM. */
static int next_of_round(struct own_spans *own, struct event_batch *ret_batch)
{
    own->out.count = own->out_args.count = 0;
    while (own->at < own->lanes.count && own->out.count == 0) {
        struct own_lane *lane = &own->lanes.items[own->at++];
        int error = release(own, lane);
        if (error)
            return error;
        *ret_batch = (struct event_batch){.thread = lane->thread,
                                          .count = (uint32_t)own->out.count,
                                          .events = own->out.items,
                                          .args = own->out_args.items};
    }
    return own->out.count > 0;
}

int own_spans_next(struct own_spans *own, struct event_batch *ret_batch)
{
    own->ended = own->ended && !own->source.live;
    for (;;) {
        int more = next_of_round(own, ret_batch);
        if (more == 0)
            own->told_ns = time_latest(own->told_ns, time_earliest(own->settled_ns, own->hold_ns));
        if (more == 0 && own->has_parked) {
            *ret_batch = own->parked;
            own->has_parked = false;
            more = 1;
        }
        if (more > 0)
            ret_batch->settled_ns = own->told_ns == INT64_MIN ? 0 : own->told_ns;
        if (more != 0 || own->ended)
            return more;
        more = read_on(own);
        if (more < 0)
            return more;
    }
}

void own_spans_settle(struct own_spans *own, int64_t settled_ns)
{
    own->settled_ns = time_latest(own->settled_ns, settled_ns);
}
