/* SPDX-License-Identifier: MIT */
/* GPU time is divided among the stacks of its launches, without loss. */
#include "gpu_stacks.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <string.h>

static struct maker *maker;
static uint32_t queue, launches, kernel, wait; /* a lane, a set of samples, scopes */
static char told[4096];
static uint64_t sums[LAUNCHED_VALUES];

static uint32_t scope(uint16_t role)
{
    const struct scope cupti = {.observer = OBSERVER_CUPTI, .role = role};
    return (uint32_t)trace_scope_add(maker_trace(maker), &cupti);
}

static uint32_t begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, -1, "program", 0);
    queue = (uint32_t)trace_lane_of(maker_trace(maker), LANE_QUEUE, process, 7);
    kernel = scope(QUEUE_ROLE_KERNEL);
    wait = scope(QUEUE_ROLE_WAIT);
    const struct sample_set set = {.name = maker_string(maker, "launches"),
                                   .flags = SAMPLE_SET_LAUNCH,
                                   .count = 1,
                                   .types = {VALUE_TYPE_CALLS}};
    launches = (uint32_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
    return maker_thread(maker, process, 100, "main");
}

static void add_span(uint32_t thread, int64_t origin, const char *name, int64_t ns)
{
    bool waits = strcmp(name, "wait") == 0;
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = origin + 10,
                                       .end_ns = MAKER_BEGIN_NS + origin + 10 + ns,
                                       .lane = queue,
                                       .scope = waits ? wait : kernel,
                                       .origin_ns = MAKER_BEGIN_NS + origin,
                                       .name = maker_string(maker, name)});
}

/* `count`: the launches that the sample represents. */
static void add_launch(uint32_t thread, int64_t time, const char *function, int64_t count)
{
    static int64_t counts[64];
    static unsigned used;
    const struct maker_frame frame = {.kind = FRAME_PYTHON, .function = function, .file = "p.py"};
    int64_t *place = &counts[used++ % 64];
    *place = count;
    maker_sample(maker, &(struct sample){.time_ns = time,
                                         .thread = thread,
                                         .set = (uint16_t)launches,
                                         .stack = maker_stack(maker, 0, &frame),
                                         .values = place,
                                         .value_count = 1});
}

/* "function/kernel 20, ..." in the order of the samples. */
static int take(void *context, const struct item *item)
{
    const struct trace *trace = context;
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t frames[16], count = stacks_frames(stacks, item->sample->stack, frames, 16);
    char *at = told + strlen(told);
    at += sprintf(at, "%s", at == told ? "" : ", ");
    for (uint32_t i = 0; i < count; i++)
        at += sprintf(at, "%s%s", i ? "/" : "",
                      trace_string(trace, stacks_label_of(stacks, frames[i])->text)->bytes);
    sprintf(at, " %d", (int)item->sample->values[LAUNCHED_TIME]);
    for (int i = 0; i < LAUNCHED_VALUES; i++)
        sums[i] += (uint64_t)item->sample->values[i];
    return 0;
}

static void check(bool by_range, const char *expected)
{
    struct gpu_stacks *stacks = NULL;
    const struct gpu_stacks_options options = {.by_range = by_range};
    maker_finish(maker, 100000);
    struct pass_source source = maker_pass_source(maker);
    told[0] = 0;
    memset(sums, 0, sizeof(sums));
    CHECK_INT(gpu_stacks_read(&source, &PASS_SELECT_ALL, &options, &stacks), 0);
    const struct sink sink = {take, maker_trace(maker), 0};
    CHECK_INT(gpu_stacks_report(stacks, &sink), 0);
    CHECK_STR(told, expected);
    for (int i = 0; i < LAUNCHED_VALUES; i++)
        CHECK_INT(sums[i], gpu_stacks_totals(stacks)->values[i]);
    gpu_stacks_destroy(stacks);
    maker_destroy(maker);
}

TEST(if_all_launches_have_stacks_each_has_its_own_time)
{
    uint32_t thread = begin();
    add_launch(thread, 100, "first", 1);
    add_span(thread, 100, "spin", 70);
    add_launch(thread, 200, "second", 1);
    add_span(thread, 200, "spin", 30);
    add_launch(thread, 300, "first", 1);
    add_span(thread, 300, "spin", 1);
    check(false, "second/spin 30, first/spin 71");
}

/* Of 7 + 7 + 7 ns, in the ratio of 1 to 2: 7 and 14; 22 has a remainder. */
TEST(what_has_no_stack_is_divided_by_what_sampled_launches_stand_for)
{
    uint32_t thread = begin();
    add_launch(thread, 100, "first", 1);
    add_span(thread, 100, "spin", 7);
    add_launch(thread, 200, "second", 2);
    add_span(thread, 200, "spin", 7);
    add_span(thread, 300, "spin", 8);
    check(false, "second/spin 15, first/spin 7");
}

TEST(without_any_stack_there_are_ranges)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 50, "step");
    add_span(thread, 100, "spin", 7);
    maker_pop(maker, thread, 150);
    add_span(thread, 200, "spin", 5);
    check(false, "step/[stack not sampled]/spin 7, [stack not sampled]/spin 5");
}

/* The thread is that of the report, not of the launch. */
TEST(what_has_no_launch_says_so)
{
    uint32_t thread = begin();
    add_span(thread, 100, "spin", 7);
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = 200,
                                       .end_ns = MAKER_BEGIN_NS + 205,
                                       .lane = queue,
                                       .scope = kernel,
                                       .origin_ns = EVENT_NO_ORIGIN,
                                       .name = maker_string(maker, "spin")});
    check(false, "[stack not sampled]/spin 7, [launch not known]/spin 5");
}

TEST(ranges_are_no_frames_where_they_are_shown_anyway)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 50, "step");
    add_span(thread, 100, "spin", 7);
    maker_pop(maker, thread, 150);
    check(true, "[stack not sampled]/spin 7");
}

TEST(waits_are_no_work)
{
    uint32_t thread = begin();
    add_launch(thread, 100, "first", 1);
    add_span(thread, 100, "spin", 7);
    add_span(thread, 200, "wait", 900);
    check(false, "first/spin 7");
}

/* Stacks of one name are not used for another name, or for the same one in other ranges. */
TEST(names_and_paths_are_apart)
{
    uint32_t thread = begin();
    add_launch(thread, 100, "first", 9);
    add_span(thread, 100, "spin", 7);
    add_span(thread, 200, "copy", 5);
    maker_push(maker, thread, 250, "step");
    add_span(thread, 300, "spin", 3);
    maker_pop(maker, thread, 350);
    check(false, "first/spin 7, [stack not sampled]/copy 5, step/[stack not sampled]/spin 3");
}
