/* SPDX-License-Identifier: MIT */
/* Pairing: against a plain model for random streams, and by hand for gaps, edges and ends. */
#include "slices.h"
#include "test.h"

enum { OUT_MAX = 100000 };

struct out {
    char what; /* o opened, p pushed, s started, m mark, c counter, l lost */
    uint32_t name, thread, end_thread, depth, flags, parent;
    int64_t begin_ns, end_ns, child_ns;
};

static struct out out[OUT_MAX];
static size_t out_count;

static int take_slice(char what, const struct slice *slice)
{
    out[out_count++] = (struct out){
        .what = what,
        .name = slice->begin->name,
        .thread = slice->begin->thread,
        .end_thread = slice->end_thread,
        .depth = slice->depth,
        .flags = slice->flags,
        .parent = slice->depth ? slice->parents[slice->depth - 1]->name : 0,
        .begin_ns = slice->begin->time_ns,
        .end_ns = slice->end_ns,
        .child_ns = slice->child_ns,
    };
    CHECK(out_count < OUT_MAX);
    return 0;
}

static int on_pushed(void *context, const struct slice *slice)
{
    (void)context;
    return take_slice('p', slice);
}

static int on_started(void *context, const struct slice *slice)
{
    (void)context;
    return take_slice('s', slice);
}

static int take_event(char what, const struct event *event, uint32_t depth)
{
    out[out_count++] = (struct out){.what = what,
                                    .name = event->name,
                                    .thread = event->thread,
                                    .depth = depth,
                                    .begin_ns = event->time_ns};
    return 0;
}

static int on_opened(void *context, const struct event *begin, const struct slice_values *values,
                     uint32_t depth)
{
    CHECK_INT(values->count, 0);
    return *(bool *)context ? take_event('o', begin, depth) : 0;
}

static int on_mark(void *context, const struct event *event, const struct slice_values *values)
{
    (void)context;
    CHECK_INT(values->count, 0);
    return take_event('m', event, 0);
}

static int on_counter(void *context, const struct event *event)
{
    (void)context;
    return take_event('c', event, 0);
}

static int on_lost(void *context, const struct event *event)
{
    (void)context;
    return take_event('l', event, 0);
}

static bool with_opened;
static const struct slice_sink sink = {
    .opened = on_opened,
    .pushed = on_pushed,
    .started = on_started,
    .mark = on_mark,
    .counter = on_counter,
    .lost = on_lost,
    .context = &with_opened,
};
static struct trace *trace;
static struct slices *slices;

/* Two processes: threads 0 and 1 in the first, 2 in the second. */
static void begin_slices(void)
{
    trace = trace_create();
    for (int i = 0; i < 2; i++)
        trace_process_add(trace);
    for (uint32_t i = 0; i < 3; i++)
        trace_thread_add(trace, i / 2);
    slices = slices_create(trace, &sink);
    CHECK(slices);
    out_count = 0;
}

static void end_slices(void)
{
    slices_destroy(slices);
    trace_destroy(trace);
}

static void feed(struct event event)
{
    struct event_batch batch = {event.thread, 1, &event, {0}, 0};
    CHECK_INT(slices_feed(slices, &batch), 0);
}

static void push(uint32_t thread, int64_t time_ns, uint32_t name)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_PUSH, .name = name});
}

static void pop(uint32_t thread, int64_t time_ns, uint64_t depth)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_POP, .depth = depth});
}

static void start(uint32_t thread, int64_t time_ns, uint64_t id, uint32_t name)
{
    feed((struct event){
        .thread = thread, .time_ns = time_ns, .kind = EVENT_START, .id = id, .name = name});
}

static void end(uint32_t thread, int64_t time_ns, uint64_t id)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_END, .id = id});
}

static void lost(uint32_t thread, int64_t time_ns, int64_t end_ns, uint64_t depth)
{
    feed((struct event){.thread = thread,
                        .time_ns = time_ns,
                        .end_ns = end_ns,
                        .kind = EVENT_LOST,
                        .depth = depth});
}

static void check_slice(size_t index, uint32_t name, int64_t begin_ns, int64_t end_ns,
                        uint32_t flags)
{
    CHECK(index < out_count);
    CHECK_INT(out[index].name, name);
    CHECK_INT(out[index].begin_ns, begin_ns);
    CHECK_INT(out[index].end_ns, end_ns);
    CHECK_INT(out[index].flags, flags);
}

TEST(nested_ranges_know_parents_and_children)
{
    begin_slices();
    push(0, 10, 1);
    push(0, 20, 2);
    push(1, 21, 9);
    pop(0, 30, 1);
    push(0, 40, 3);
    pop(0, 45, 1);
    pop(0, 50, 0);
    pop(1, 60, 0);
    CHECK_INT(slices_finish(slices), 0);
    CHECK_INT(out_count, 4);
    check_slice(0, 2, 20, 30, 0);
    CHECK_INT(out[0].parent, 1);
    CHECK_INT(out[0].depth, 1);
    check_slice(2, 1, 10, 50, 0);
    CHECK_INT(out[2].child_ns, 15);
    CHECK_INT(out[2].depth, 0);
    check_slice(3, 9, 21, 60, 0);
    end_slices();
}

TEST(gap_closes_what_the_producer_says_is_closed)
{
    begin_slices();
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    lost(0, 40, 90, 1);
    push(0, 100, 4);
    pop(0, 110, 1);
    pop(0, 120, 0);
    CHECK_INT(out_count, 5);
    check_slice(0, 3, 30, 90, SLICE_END_LOST);
    check_slice(1, 2, 20, 90, SLICE_END_LOST);
    CHECK_INT(out[2].what, 'l');
    check_slice(3, 4, 100, 110, 0);
    check_slice(4, 1, 10, 120, 0);
    CHECK_INT(slices_orphan_count(slices), 0);
    end_slices();
}

TEST(ranges_pushed_inside_a_gap_do_not_shift_the_others)
{
    begin_slices();
    push(0, 10, 1);
    lost(0, 20, 30, 3); /* two pushes were lost */
    push(0, 40, 2);
    CHECK_INT(out_count, 1);
    pop(0, 50, 3);
    check_slice(1, 2, 40, 50, 0);
    CHECK_INT(out[1].parent, 1);
    pop(0, 60, 2); /* of a range nobody saw */
    pop(0, 70, 1);
    CHECK_INT(slices_orphan_count(slices), 2);
    pop(0, 80, 0);
    check_slice(2, 1, 10, 80, 0);
    end_slices();
}

TEST(pops_missing_without_notice_end_at_the_next_pop)
{
    begin_slices();
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    pop(0, 40, 0);
    check_slice(0, 3, 30, 40, SLICE_END_LOST);
    check_slice(1, 2, 20, 40, SLICE_END_LOST);
    check_slice(2, 1, 10, 40, 0);
    pop(0, 50, 0);
    pop(0, 60, UINT64_MAX);
    push(0, 70, 4);
    CHECK_INT(slices_orphan_count(slices), 2);
    end_slices();
}

TEST(edge_ends_the_ranges_of_its_thread)
{
    begin_slices();
    push(0, 10, 1);
    push(1, 11, 2);
    feed((struct event){.thread = 0, .time_ns = 50, .kind = EVENT_EDGE});
    CHECK_INT(out_count, 1);
    check_slice(0, 1, 10, 50, SLICE_UNFINISHED);
    push(0, 60, 3);
    pop(0, 70, 0);
    check_slice(1, 3, 60, 70, 0);
    end_slices();
}

TEST(unfinished_ranges_end_with_their_process_or_the_recording)
{
    begin_slices();
    trace_process(trace, 0)->end_ns = 500;
    trace_session(trace)->end_ns = 1000;
    push(0, 10, 1);
    push(0, 20, 2);
    push(2, 30, 3);
    start(1, 40, 7, 4);
    start(2, 50, 7, 5);
    CHECK_INT(slices_finish(slices), 0);
    CHECK_INT(out_count, 5);
    check_slice(0, 2, 20, 500, SLICE_UNFINISHED);
    check_slice(1, 1, 10, 500, SLICE_UNFINISHED);
    CHECK_INT(out[1].child_ns, 480);
    check_slice(2, 3, 30, 1000, SLICE_UNFINISHED);
    check_slice(3, 4, 40, 500, SLICE_UNFINISHED);
    check_slice(4, 5, 50, 1000, SLICE_UNFINISHED);
    end_slices();
}

TEST(starts_and_ends_meet_across_threads_in_any_order)
{
    begin_slices();
    start(0, 10, 7, 1);
    start(2, 11, 7, 2); /* the same id in another process */
    end(1, 20, 8);      /* before its start, in the file */
    end(1, 30, 7);
    start(0, 15, 8, 3);
    end(2, 40, 7);
    CHECK_INT(out_count, 3);
    check_slice(0, 1, 10, 30, 0);
    CHECK_INT(out[0].end_thread, 1);
    check_slice(1, 3, 15, 20, 0);
    CHECK_INT(out[1].end_thread, 1);
    check_slice(2, 2, 11, 40, 0);
    end(0, 50, 99);
    CHECK_INT(slices_finish(slices), 0);
    CHECK_INT(slices_orphan_count(slices), 1);
    CHECK_INT(out_count, 3);
    end_slices();
}

TEST(id_used_twice_ends_the_first_unfinished)
{
    begin_slices();
    start(0, 10, 7, 1);
    start(0, 20, 7, 2);
    end(0, 30, 7);
    check_slice(0, 1, 10, 20, SLICE_UNFINISHED);
    check_slice(1, 2, 20, 30, 0);
    end_slices();
}

TEST(other_events_and_opened_pass_through)
{
    begin_slices();
    with_opened = true;
    push(0, 10, 1);
    feed((struct event){.time_ns = 11, .kind = EVENT_MARK, .name = 2});
    feed((struct event){.time_ns = 12, .kind = EVENT_COUNTER, .name = 3});
    push(0, 13, 4);
    CHECK_INT(out_count, 4);
    CHECK_INT(out[0].what, 'o');
    CHECK_INT(out[1].what, 'm');
    CHECK_INT(out[2].what, 'c');
    CHECK_INT(out[3].depth, 1);
    with_opened = false;
    end_slices();
}

static int stop(void *context, const struct slice *slice)
{
    (void)context, (void)slice;
    return 42;
}

TEST(result_of_a_callback_stops_the_feeding)
{
    begin_slices();
    slices_destroy(slices);
    slices = slices_create(trace, &(struct slice_sink){.pushed = stop});
    push(0, 10, 1);
    struct event event = {.time_ns = 20, .kind = EVENT_POP};
    struct event_batch batch = {0, 1, &event, {0}, 0};
    CHECK_INT(slices_feed(slices, &batch), 42);
    end_slices();
}

static uint64_t random_state = 99;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* A thread of the plain model: every push keeps its name and time in an array. */
struct model {
    uint32_t names[64];
    int64_t times[64];
    uint32_t depth;
};

static void check_last(const struct model *model, int64_t end_ns)
{
    const struct out *last = &out[out_count - 1];
    CHECK_INT(last->name, model->names[model->depth]);
    CHECK_INT(last->begin_ns, model->times[model->depth]);
    CHECK_INT(last->end_ns, end_ns);
    CHECK_INT(last->depth, model->depth);
    CHECK_INT(last->flags, 0);
    CHECK_INT(last->parent, model->depth ? model->names[model->depth - 1] : 0);
}

TEST(random_nesting_agrees_with_a_plain_model)
{
    struct model models[3] = {0};
    size_t pops = 0;
    begin_slices();
    for (int64_t time_ns = 1; time_ns < 60000; time_ns++) {
        uint32_t thread = (uint32_t)(next_random() % 3);
        struct model *model = &models[thread];
        if (model->depth == 0 || (model->depth < 64 && next_random() % 2)) {
            uint32_t name = (uint32_t)(next_random() % 1000 + 1);
            model->names[model->depth] = name;
            model->times[model->depth++] = time_ns;
            push(thread, time_ns, name);
        } else {
            pop(thread, time_ns, --model->depth);
            check_last(model, time_ns);
            pops++;
        }
    }
    CHECK_INT(out_count, pops);
    CHECK_INT(slices_finish(slices), 0);
    CHECK_INT(out_count, pops + models[0].depth + models[1].depth + models[2].depth);
    end_slices();
}

TEST(ten_thousand_deep_push_nests_and_unwinds)
{
    begin_slices();
    for (uint32_t i = 0; i < 10000; i++)
        push(0, i, i + 1);
    for (uint32_t i = 10000; i-- > 0;)
        pop(0, 20000 + i, i);
    CHECK_INT(out_count, 10000);
    CHECK_INT(out[0].depth, 9999);
    CHECK_INT(out[0].parent, 9999);
    CHECK_INT(out[9999].depth, 0);
    end_slices();
}
