/* SPDX-License-Identifier: MIT */
/* A part of a recording is what the whole one says of that part: random events, all ranges of them
 * by slices.c, and the same of what was selected. */
#include "event_select.h"
#include "slices.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, TRACKS = 3, EVENTS = 600, NAMES = 5, RANGES_MAX = 4 * EVENTS, END_NS = 100000 };

static const char *const names[NAMES] = {"load", "parse", "loop", "store", "wait"};

/* A range, in a form that can be sorted. */
struct told {
    int64_t begin_ns, end_ns;
    uint32_t name, thread, kind;
    uint32_t flags;
    bool inside; /* of a range that is wanted, or one itself */
};

struct list {
    struct told items[RANGES_MAX];
    uint32_t count, open;
    const char *range;
    const struct trace *trace;
};

static struct event events[EVENTS];
static struct list whole, part;

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static bool is_named(const struct list *list, uint32_t name)
{
    return list->range && strcmp(trace_string(list->trace, name)->bytes, list->range) == 0;
}

static int add(struct list *list, const struct slice *slice, uint32_t kind)
{
    struct told *told = &list->items[list->count++];
    *told = (struct told){slice->begin->time_ns, slice->end_ns, slice->begin->name,
                          slice->begin->thread,  kind,          slice->flags,
                          !list->range};
    told->inside = told->inside || is_named(list, slice->begin->name);
    for (uint32_t i = 0; i < slice->depth; i++)
        told->inside = told->inside || is_named(list, slice->parents[i]->name);
    CHECK(list->count < RANGES_MAX);
    return 0;
}

static int on_pushed(void *context, const struct slice *slice)
{
    return add(context, slice, 0);
}

static int on_started(void *context, const struct slice *slice)
{
    return add(context, slice, 1);
}

static int on_closed(void *context, const struct slice *slice)
{
    return add(context, slice, 2);
}

static int on_opened(void *context, const struct event *begin, const struct slice_values *values,
                     uint32_t depth)
{
    struct list *list = context;
    (void)begin;
    (void)values;
    (void)depth;
    list->open++;
    return 0;
}

static struct slices *make_slices(struct list *list, const struct trace *trace, const char *range)
{
    const struct slice_sink sink = {.opened = on_opened,
                                    .pushed = on_pushed,
                                    .started = on_started,
                                    .track_closed = on_closed,
                                    .context = list};
    list->count = list->open = 0;
    list->range = range;
    list->trace = trace;
    struct slices *slices = slices_create(trace, &sink);
    slices_in_order(slices);
    return slices;
}

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    for (int i = 0; i < 2; i++)
        trace_process_add(trace);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread_add(trace, i / 2);
    for (uint64_t i = 0; i < TRACKS; i++)
        trace_track_add(trace, 100 + i);
    for (uint32_t i = 0; i < NAMES; i++)
        CHECK_INT(trace_string_add(trace, names[i], strlen(names[i])), i + 1);
    trace_session(trace)->end_ns = END_NS;
    return trace;
}

/* An overlapping range that any thread of the process ends; 0: none is open. */
static uint64_t take_open(uint64_t open[8], uint64_t *random)
{
    uint64_t *slot = &open[next_random(random) % 8], id = *slot;
    *slot = 0;
    return id;
}

/* What a thread could do: depths fit, ids of overlapping ranges are its process's. */
static void make_events(uint64_t seed)
{
    uint64_t random = seed, depth[THREADS] = {0}, open[2][8] = {0};
    int64_t now_ns = 1000;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t thread = (uint32_t)(next_random(&random) % THREADS);
        struct event event = {.thread = thread,
                              .name = 1 + (uint32_t)(next_random(&random) % NAMES),
                              .time_ns = now_ns += (int64_t)(next_random(&random) % 100)};
        uint64_t what = next_random(&random) % 20;
        event.id = next_random(&random) % 8;
        if (what < 6 && depth[thread] < 6) {
            event.kind = EVENT_PUSH;
            depth[thread]++;
        } else if (what < 11 && depth[thread] > 0) {
            event.kind = EVENT_POP;
            event.depth = depth[thread] -= what == 10 && depth[thread] > 1 ? 2 : 1;
        } else if (what == 11) {
            event.kind = EVENT_LOST;
            event.end_ns = now_ns += 40;
            event.depth = depth[thread] /= 2;
        } else if (what < 15) {
            uint64_t *slot = &open[thread / 2][i % 8];
            event.id = what == 12 ? i + 1 : take_open(open[thread / 2], &random);
            event.kind = what != 12 && event.id ? EVENT_END : EVENT_START;
            event.id = event.id ? event.id : i + 1;
            *slot = event.kind == EVENT_START ? event.id : *slot;
        } else if (what < 19) {
            event.kind = what < 17 ? EVENT_TRACK_BEGIN : EVENT_TRACK_END;
            event.id %= TRACKS;
        } else {
            event.kind = EVENT_MARK;
        }
        if (event.kind != EVENT_POP && event.kind != EVENT_LOST && event.kind < EVENT_FLOW_BEGIN &&
            event.kind != EVENT_START && event.kind != EVENT_END)
            event.id = 0;
        events[i] = event;
    }
}

struct feed {
    uint32_t next;
};

static int next_event(void *context, struct event **ret_events, uint32_t *ret_count)
{
    static struct event copy;
    struct feed *feed = context;
    if (feed->next == EVENTS)
        return 0;
    copy = events[feed->next++];
    *ret_events = &copy;
    *ret_count = 1;
    return 1;
}

static int feed_slices(struct slices *slices, const struct event *event)
{
    const struct event_batch batch = {.thread = event->thread, .count = 1, .events = event};
    return slices_feed(slices, &batch);
}

static void read_whole(struct trace *trace, const char *range)
{
    struct slices *slices = make_slices(&whole, trace, range);
    for (uint32_t i = 0; i < EVENTS; i++)
        CHECK_INT(feed_slices(slices, &events[i]), 0);
    CHECK_INT(slices_finish(slices), 0);
    slices_destroy(slices);
}

static void read_part(struct trace *trace, const struct event_selection *selection)
{
    struct feed feed = {0};
    const struct event_stream stream = {.next = next_event, .context = &feed};
    struct slices *slices = make_slices(&part, trace, NULL);
    struct event_select *select = event_select_create(trace, selection, &stream);
    struct event *event;
    uint32_t count;
    int64_t last_ns = INT64_MIN;
    while (event_select_next(select, &event, &count) == 1) {
        CHECK(event_told_ns(event) >= last_ns);
        last_ns = event_told_ns(event);
        CHECK(event->time_ns >= selection->from_ns && event->time_ns <= selection->to_ns);
        CHECK_INT(feed_slices(slices, event), 0);
    }
    CHECK_INT(slices_finish(slices), 0);
    slices_destroy(slices);
    event_select_destroy(select);
}

/* What is left of the whole; its ranges that were never ended are cut like others. */
static void cut_whole(const struct event_selection *selection)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < whole.count; i++) {
        struct told told = whole.items[i];
        bool empty = told.begin_ns == told.end_ns;
        bool out = empty ? told.begin_ns < selection->from_ns || told.begin_ns >= selection->to_ns
                         : told.end_ns <= selection->from_ns || told.begin_ns >= selection->to_ns;
        if (out || !told.inside || !event_selection_wants(selection, told.thread))
            continue;
        if (told.begin_ns < selection->from_ns)
            told.begin_ns = selection->from_ns;
        if (told.end_ns >= selection->to_ns)
            told.end_ns = selection->to_ns;
        whole.items[kept++] = told;
    }
    whole.count = kept;
}

static int compare(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    const int64_t keys[][2] = {{a->kind, b->kind},
                               {a->thread, b->thread},
                               {a->begin_ns, b->begin_ns},
                               {a->end_ns, b->end_ns},
                               {a->name, b->name}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Ranges of no length at an edge may be told or not: nobody can see them. */
static uint32_t drop_empty(struct list *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].begin_ns != list->items[i].end_ns)
            list->items[kept++] = list->items[i];
    return list->count = kept;
}

static void check_part(struct trace *trace, const struct event_selection *selection)
{
    read_whole(trace, selection->range);
    read_part(trace, selection);
    cut_whole(selection);
    CHECK_INT(drop_empty(&part), drop_empty(&whole));
    qsort(whole.items, whole.count, sizeof(*whole.items), compare);
    qsort(part.items, part.count, sizeof(*part.items), compare);
    for (uint32_t i = 0; i < whole.count; i++)
        CHECK(compare(&whole.items[i], &part.items[i]) == 0);
}

TEST(a_stretch_of_time_has_what_the_whole_says_of_it)
{
    struct trace *trace = make_trace();
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct event_selection selection = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
        make_events(seed);
        check_part(trace, &selection);
        selection.from_ns = 1000 + (int64_t)(seed * 173 % 20000);
        check_part(trace, &selection);
        selection.to_ns = selection.from_ns + 1 + (int64_t)(seed * 977 % 9000);
        check_part(trace, &selection);
        seen += part.count;
        selection.from_ns = INT64_MIN;
        check_part(trace, &selection);
    }
    CHECK(seen > 1000);
    trace_destroy(trace);
}

static bool is_odd(void *context, uint32_t thread)
{
    (void)context;
    return thread % 2 == 1;
}

TEST(of_chosen_threads_everything_is_there)
{
    struct trace *trace = make_trace();
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const struct event_selection selection = {.from_ns = 5000, .to_ns = 15000, .wants = is_odd};
        make_events(seed);
        /* Of tracks the depth is that of all threads together: judged by other tests. */
        for (uint32_t i = 0; i < EVENTS; i++)
            if (event_is_of_track(events[i].kind))
                events[i].kind = EVENT_MARK;
        check_part(trace, &selection);
        CHECK(part.count > 0);
    }
    trace_destroy(trace);
}

/* Overlapping ranges count as inside when they begin on a thread that is: the whole list does not
 * know that, so there are none here; nor tracks, whose ranges may be inside by their thread. */
TEST(inside_of_a_name_are_the_ranges_below_it)
{
    struct trace *trace = make_trace();
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct event_selection selection = {
            .from_ns = INT64_MIN, .to_ns = INT64_MAX, .range = "load"};
        make_events(seed);
        for (uint32_t i = 0; i < EVENTS; i++) {
            bool other = events[i].kind == EVENT_START || events[i].kind == EVENT_END;
            if (other || event_is_of_track(events[i].kind))
                events[i].kind = EVENT_MARK;
        }
        check_part(trace, &selection);
        selection.from_ns = 4000;
        selection.to_ns = 12000;
        check_part(trace, &selection);
        seen += part.count;
    }
    CHECK(seen > 100);
    trace_destroy(trace);
}

TEST(names_may_be_patterns)
{
    struct trace *trace = make_trace();
    struct event_selection selection = {.from_ns = INT64_MIN, .to_ns = INT64_MAX, .range = "lo*"};
    make_events(7);
    read_part(trace, &selection);
    uint32_t both = part.count;
    selection.range = "load";
    read_part(trace, &selection);
    CHECK(part.count > 0 && part.count < both);
    selection.range = "operator[]"; /* no pattern matches it, but itself */
    read_part(trace, &selection);
    CHECK_INT(part.count, 0);
    trace_destroy(trace);
}
