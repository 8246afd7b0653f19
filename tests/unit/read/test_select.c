/* SPDX-License-Identifier: MIT */
/* A part of a recording equals the same part of the whole one, lane by lane and in order of time:
 * compares all ranges of random events with those of the selection. */
#include "made_sample.h"
#include "pass.h"
#include "test.h"

#include <stdlib.h>

enum { THREADS = 4, TRACKS = 3, EVENTS = 600, NAMES = 5, RANGES_MAX = 4 * EVENTS, END_NS = 100000 };

enum { BATCH_MAX = 40 }; /* events of a thread are reported together */

static const char *const names[NAMES] = {"load", "parse", "loop", "store", "wait"};

/* A range, in sortable form. */
struct told {
    int64_t begin_ns, end_ns, child_ns;
    uint32_t name, thread, lane;
    uint32_t flags, depth, end_thread, arg_count;
    bool inside; /* of a wanted range, or a wanted range itself */
};

struct list {
    struct told items[RANGES_MAX];
    uint32_t count, opened;
    uint64_t begins[LANE_TRACK + 1], ends[LANE_TRACK + 1]; /* counted events, or cuts */
    const char *range;
    const struct trace *trace;
    const struct pass_selection *selection;
    struct pass_counts counts;
    int64_t last_ns; /* in order of time; else INT64_MIN */
    bool in_time;
};

static struct event events[EVENTS];
static uint32_t arrival[EVENTS]; /* ordinals of events, in order of arrival */
static struct list whole, part, in_time;

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static bool is_named(const struct list *list, uint32_t name)
{
    return list->range && strcmp(trace_string(list->trace, name)->bytes, list->range) == 0;
}

static void check_order(struct list *list, const struct item *item)
{
    int64_t told_ns = item->kind == ITEM_OPENED ? item->begin_ns : item->end_ns;
    CHECK(!list->in_time || told_ns >= list->last_ns ||
          (item->flags & (ITEM_UNFINISHED | ITEM_CUT_END)));
    list->last_ns = told_ns > list->last_ns ? told_ns : list->last_ns;
}

static void count_ends(struct list *list, const struct item *item)
{
    uint32_t none = ITEM_UNFINISHED | ITEM_END_LOST | ITEM_END_TOLD;
    list->begins[item->lane] += item->kind == ITEM_OPENED;
    list->ends[item->lane] +=
        item->kind == ITEM_ORPHAN || (item->kind == ITEM_SPAN && !(item->flags & none));
}

static int take(void *context, const struct item *item)
{
    struct list *list = context;
    CHECK(item->event->time_ns >= list->selection->from_ns);
    CHECK(item->begin_ns >= list->selection->from_ns && item->end_ns <= list->selection->to_ns);
    check_order(list, item);
    list->opened += item->kind == ITEM_OPENED;
    count_ends(list, item);
    if (item->kind != ITEM_SPAN)
        return 0;
    CHECK(list->count < RANGES_MAX);
    struct told *told = &list->items[list->count++];
    *told = (struct told){.begin_ns = item->begin_ns,
                          .end_ns = item->end_ns,
                          .child_ns = item->child_ns,
                          .name = item->event->name,
                          .thread = item->event->thread,
                          .lane = item->lane,
                          .flags = item->flags & ~(uint32_t)ITEM_END_TOLD,
                          .depth = item->depth,
                          .end_thread = item->end_thread,
                          .arg_count = item->args.count,
                          .inside = !list->range || is_named(list, item->event->name)};
    for (uint32_t i = 0; i < item->depth; i++)
        told->inside = told->inside || is_named(list, item->parents[i]->name);
    return 0;
}

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    for (int i = 0; i < 2; i++)
        trace_process_add(trace);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread_add(trace, i / 2);
    for (uint64_t i = 0; i < TRACKS; i++)
        trace_lane_add(trace, 100 + i);
    for (uint32_t i = 0; i < NAMES; i++)
        CHECK_INT(trace_string_add(trace, names[i], strlen(names[i])), i + 1);
    trace_session(trace)->end_ns = END_NS;
    return trace;
}

/* An overlapping range that any thread of the process may end; 0: all are closed. */
static uint64_t take_open(uint64_t open[8], uint64_t *random)
{
    uint64_t *slot = &open[next_random(random) % 8], id = *slot;
    *slot = 0;
    return id;
}

/* Makes a valid event: depths match, ids of overlapping ranges belong to the process. */
static struct event make_event(uint64_t *random, uint32_t index)
{
    static uint64_t depth[THREADS], open[2][8];
    static int64_t now_ns;
    if (index == 0) {
        memset(depth, 0, sizeof(depth));
        memset(open, 0, sizeof(open));
        now_ns = 1000;
    }
    uint32_t thread = (uint32_t)(next_random(random) % THREADS);
    struct event event = {.thread = thread,
                          .name = 1 + (uint32_t)(next_random(random) % NAMES),
                          .time_ns = now_ns += (int64_t)(next_random(random) % 100),
                          .kind = EVENT_MARK};
    uint64_t what = next_random(random) % 20, track = next_random(random) % TRACKS;
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
    } else if (what > 11 && what < 15) {
        event.id = what == 12 ? 0 : take_open(open[thread / 2], random);
        event.kind = event.id ? EVENT_END : EVENT_START;
        event.id = event.id ? event.id : index + 1;
        if (event.kind == EVENT_START)
            open[thread / 2][index % 8] = event.id;
    } else if (what > 14 && what < 19) {
        event.kind = what < 17 ? EVENT_TRACK_BEGIN : EVENT_TRACK_END;
        event.lane = (uint32_t)track;
    } else if (what == 19 && track == 0) {
        event.kind = EVENT_EDGE;
        depth[thread] = 0;
    }
    return event;
}

/* Each thread reports its events of the interval at once, one thread after the other. */
static void mix(uint32_t first)
{
    uint32_t at = first;
    for (uint32_t k = 0; k < THREADS * BATCH_MAX; k++) {
        uint32_t index = first + k % BATCH_MAX;
        if (events[index].thread == k / BATCH_MAX)
            arrival[at++] = index;
    }
}

/* `mixed`: threads report their events in batches, else each event arrives at its time. */
static void make_events(uint64_t seed, bool mixed)
{
    uint64_t random = seed;
    for (uint32_t i = 0; i < EVENTS; i++) {
        events[i] = make_event(&random, i);
        arrival[i] = i;
    }
    for (uint32_t first = 0; mixed && first < EVENTS; first += BATCH_MAX)
        mix(first);
}

struct feed {
    uint32_t next;
    struct event events[BATCH_MAX];
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    struct feed *feed = context;
    uint32_t first = feed->next, count = 0;
    if (first == EVENTS)
        return 0;
    while (feed->next < EVENTS && feed->next / BATCH_MAX == first / BATCH_MAX &&
           events[arrival[feed->next]].thread == events[arrival[first]].thread)
        feed->events[count++] = events[arrival[feed->next++]];
    *ret_batch = (struct event_batch){
        .thread = feed->events->thread,
        .count = count,
        .events = feed->events,
        .settled_ns = events[first - first % BATCH_MAX].time_ns,
    };
    return 1;
}

/* `range`: the name that marks ranges as inside; the selection's one is for the pass. */
static void read_list(struct list *list, struct trace *trace,
                      const struct pass_selection *selection, const char *range)
{
    struct feed feed = {0};
    const struct pass_source source = {
        .trace = trace, .next_events = next_events, .context = &feed};
    const struct sink sink = {take, list,
                              WANT_EVENTS | WANT_BEGINS | (list->in_time ? WANT_TIME_ORDER : 0)};
    list->count = list->opened = 0;
    memset(list->begins, 0, sizeof(list->begins));
    memset(list->ends, 0, sizeof(list->ends));
    list->range = range;
    list->trace = trace;
    list->selection = selection;
    list->last_ns = INT64_MIN;
    struct pass *pass = pass_create(&source, selection, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    list->counts = *pass_counts(pass);
    CHECK_INT(list->counts.late, 0);
    CHECK_INT(list->opened, list->count);
    pass_destroy(pass);
}

/* Cuts the whole list to the selection; unfinished ranges are cut like others. */
static void cut_whole(const struct pass_selection *selection)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < whole.count; i++) {
        struct told told = whole.items[i];
        bool empty = told.begin_ns == told.end_ns;
        bool out = empty ? told.begin_ns < selection->from_ns || told.begin_ns >= selection->to_ns
                         : told.end_ns <= selection->from_ns || told.begin_ns >= selection->to_ns;
        if (out || !told.inside || !pass_selects_thread(selection, told.thread))
            continue;
        if (told.begin_ns < selection->from_ns) {
            told.begin_ns = selection->from_ns;
            told.flags |= ITEM_CUT_BEGIN;
        }
        if (told.end_ns >= selection->to_ns) {
            told.end_ns = selection->to_ns;
            told.flags = (told.flags & ITEM_CUT_BEGIN) | ITEM_CUT_END;
            told.end_thread = told.thread;
        }
        whole.items[kept++] = told;
    }
    whole.count = kept;
}

/* Compares the fields that the cut and the part have in common. */
static int compare(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    const int64_t keys[][2] = {{a->lane, b->lane},
                               {a->thread, b->thread},
                               {a->begin_ns, b->begin_ns},
                               {a->end_ns, b->end_ns},
                               {a->name, b->name},
                               {a->flags, b->flags},
                               {a->end_thread, b->end_thread}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int compare_all(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    const int64_t keys[][2] = {
        {a->depth, b->depth}, {a->child_ns, b->child_ns}, {a->arg_count, b->arg_count}};
    int order = compare(left, right);
    for (size_t i = 0; !order && i < sizeof(keys) / sizeof(*keys); i++)
        if (keys[i][0] != keys[i][1])
            order = keys[i][0] < keys[i][1] ? -1 : 1;
    return order;
}

static void sort(struct list *list, int (*order)(const void *, const void *))
{
    qsort(list->items, list->count, sizeof(*list->items), order);
}

/* Empty ranges at an edge may be present or not: they are invisible. */
static uint32_t drop_empty(struct list *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].begin_ns != list->items[i].end_ns)
            list->items[kept++] = list->items[i];
    return list->count = kept;
}

/* Counts of a part cover the reported events. */
static void check_counts(const struct list *list)
{
    static const uint8_t kinds[][2] = {[LANE_THREAD] = {EVENT_PUSH, EVENT_POP},
                                       [LANE_PROCESS] = {EVENT_START, EVENT_END},
                                       [LANE_TRACK] = {EVENT_TRACK_BEGIN, EVENT_TRACK_END}};
    for (int lane = LANE_THREAD; lane <= LANE_TRACK; lane++) {
        CHECK_INT(list->counts.events[kinds[lane][0]], list->begins[lane]);
        CHECK_INT(list->counts.events[kinds[lane][1]], list->ends[lane]);
    }
}

/* Both orders report the same items with the same content. */
static void check_orders(struct trace *trace, const struct pass_selection *selection)
{
    in_time.in_time = true;
    read_list(&part, trace, selection, NULL);
    read_list(&in_time, trace, selection, NULL);
    CHECK_INT(in_time.count, part.count);
    sort(&part, compare_all);
    sort(&in_time, compare_all);
    for (uint32_t i = 0; i < part.count; i++)
        CHECK(compare_all(&part.items[i], &in_time.items[i]) == 0);
    for (int kind = 0; kind < EVENT_KINDS; kind++)
        if (!pass_selects_all(selection) || kind != EVENT_TRACK_HIDDEN)
            CHECK_INT(in_time.counts.events[kind], part.counts.events[kind]);
    CHECK_INT(in_time.counts.orphans, part.counts.orphans);
    if (!pass_selects_all(selection))
        check_counts(&part);
}

static void check_part(struct trace *trace, const struct pass_selection *selection)
{
    read_list(&whole, trace, &PASS_SELECT_ALL, selection->range);
    check_orders(trace, selection);
    cut_whole(selection);
    CHECK_INT(drop_empty(&part), drop_empty(&whole));
    sort(&whole, compare);
    sort(&part, compare);
    for (uint32_t i = 0; i < whole.count; i++)
        CHECK(compare(&whole.items[i], &part.items[i]) == 0);
}

TEST(a_stretch_of_time_has_what_the_whole_says_of_it)
{
    struct trace *trace = make_trace();
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        make_events(seed, seed % 2);
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

/* The selection begins or ends at the time of one or of several events. */
TEST(edges_of_a_stretch_may_be_times_of_events)
{
    struct trace *trace = make_trace();
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        make_events(seed, seed % 2);
        for (uint32_t i = 0; i < EVENTS && seed % 4 == 0; i++) {
            events[i].time_ns -= events[i].time_ns % 500;
            events[i].end_ns = events[i].end_ns ? events[i].time_ns : 0;
        }
        selection.from_ns = event_order_ns(&events[seed]);
        check_part(trace, &selection);
        selection.to_ns = event_order_ns(&events[EVENTS / 2 + seed]);
        check_part(trace, &selection);
        selection.from_ns = INT64_MIN;
        check_part(trace, &selection);
    }
    trace_destroy(trace);
}

/* The end of a truncated recording is unknown. */
TEST(a_recording_may_have_no_end)
{
    struct trace *trace = make_trace();
    trace_session(trace)->end_ns = 0;
    trace_process(trace, 1)->end_ns = 1000 + 25 * EVENTS;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        make_events(seed, seed % 2);
        check_orders(trace, &selection);
        selection.from_ns = 5000;
        check_orders(trace, &selection);
        selection.to_ns = 15000;
        check_orders(trace, &selection);
    }
    trace_destroy(trace);
}

static bool is_odd(void *context, uint32_t thread)
{
    (void)context;
    return thread % 2 == 1;
}

static void no_ranges_of_others(bool starts_too)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        bool other = events[i].kind == EVENT_START || events[i].kind == EVENT_END;
        if ((other && starts_too) || event_has_lane(events[i].kind))
            events[i].kind = EVENT_MARK;
    }
}

TEST(of_chosen_threads_everything_is_there)
{
    struct trace *trace = make_trace();
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const struct pass_selection selection = {.from_ns = 5000, .to_ns = 15000, .wants = is_odd};
        make_events(seed, seed % 2);
        check_orders(trace, &selection);
        /* The depth on tracks counts all threads: other tests check it. */
        no_ranges_of_others(false);
        check_part(trace, &selection);
        CHECK(part.count > 0);
    }
    trace_destroy(trace);
}

/* Overlapping ranges count as inside if they begin on a thread that is; the whole list lacks that
 * information, so the comparison has none of them, nor tracks, whose ranges may be inside by their
 * thread. */
TEST(inside_of_a_name_are_the_ranges_below_it)
{
    struct trace *trace = make_trace();
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        selection.range = "load";
        make_events(seed, seed % 2);
        check_orders(trace, &selection);
        no_ranges_of_others(true);
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
    struct pass_selection selection = PASS_SELECT_ALL;
    selection.range = "lo*";
    make_events(7, true);
    check_orders(trace, &selection);
    uint32_t both = part.count;
    selection.range = "load";
    check_orders(trace, &selection);
    CHECK(part.count > 0 && part.count < both);
    selection.range = "operator[]"; /* only itself matches it as a pattern */
    check_orders(trace, &selection);
    CHECK_INT(part.count, 0);
    trace_destroy(trace);
}

TEST(of_a_stretch_off_the_cpu_the_part_inside_is_taken)
{
    struct sample sample = made_wait((struct sample){.time_ns = 10, .end_ns = 50}, 40);
    struct sample copy = sample;
    int64_t values[SAMPLE_VALUES_MAX];
    CHECK(!sample_cut(NULL, &copy, 50, 60, values) && !sample_cut(NULL, &copy, 0, 10, values));
    CHECK(sample_cut(NULL, &copy, 20, 45, values));
    CHECK_INT(copy.time_ns, 20);
    CHECK_INT(copy.end_ns, 45);
    CHECK_INT(copy.values[0], 20);
    CHECK_INT(copy.values[1], 5);
    copy = sample;
    CHECK(sample_cut(NULL, &copy, 42, 100, values));
    CHECK_INT(copy.values[0], 0);
    CHECK_INT(copy.values[1], 8);
    copy = sample;
    CHECK(sample_cut(NULL, &copy, 0, 30, values)); /* woken later */
    CHECK_INT(copy.values[0], 20);
    CHECK_INT(copy.values[1], 0);
    CHECK_INT(sample.values[0], 30); /* unchanged */
}

TEST(of_short_waits_each_part_of_the_interval_has_its_share)
{
    int64_t waits[2] = {301, 7}, values[SAMPLE_VALUES_MAX], sums[2] = {0};
    struct sample sample = {.set = SAMPLE_SET_SHORT_WAITS, .time_ns = 100, .end_ns = 1000};
    sample.values = waits;
    sample.value_count = 2;
    for (int64_t from_ns = 0; from_ns < 1200; from_ns += 70) {
        struct sample copy = sample;
        if (!sample_cut(NULL, &copy, from_ns, from_ns + 70, values))
            continue;
        CHECK(copy.time_ns >= 100 && copy.end_ns <= 1000 && copy.end_ns <= from_ns + 70);
        CHECK(copy.values[0] >= 22 || copy.end_ns - copy.time_ns < 70);
        sums[0] += copy.values[0];
        sums[1] += copy.values[1];
    }
    CHECK_INT(sums[0], 301); /* parts add up to the whole */
    CHECK_INT(sums[1], 7);
}
