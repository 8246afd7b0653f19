/* SPDX-License-Identifier: MIT */
/* Work on queues has the open ranges of its launching thread and the stack of the launch, however
 * late it is reported. */
#include "pass.h"
#include "pass_state.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <string.h>

static struct maker *maker;
static uint32_t queue, launches; /* a lane, a set of samples */
static char told[4096];

static uint32_t begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, -1, "program", 0);
    queue = (uint32_t)trace_lane_of(maker_trace(maker), LANE_QUEUE, process, 7);
    const struct sample_set set = {.name = maker_string(maker, "launches"),
                                   .flags = SAMPLE_SET_LAUNCH,
                                   .count = 1,
                                   .types = {VALUE_TYPE_CALLS}};
    launches = (uint32_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
    return maker_thread(maker, process, 100, "main");
}

/* Begins 10 after its launch and lasts 5. */
static void add_kernel(uint32_t thread, int64_t origin, const char *name)
{
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = origin + 10,
                                       .end_ns = MAKER_BEGIN_NS + origin + 15,
                                       .lane = queue,
                                       .origin_ns = MAKER_BEGIN_NS + origin,
                                       .name = maker_string(maker, name)});
}

static void add_launch(uint32_t thread, int64_t time, const char *function)
{
    static const int64_t one = 1;
    const struct maker_frame frame = {.kind = FRAME_PYTHON, .function = function, .file = "p.py"};
    maker_sample(maker, &(struct sample){.time_ns = time,
                                         .thread = thread,
                                         .set = (uint16_t)launches,
                                         .stack = maker_stack(maker, 0, &frame),
                                         .values = &one,
                                         .value_count = 1});
}

static char *print_path(char *at, const struct trace *trace, uint32_t path)
{
    const struct range_path *node = stacks_get_path(trace_stacks_get(trace), path);
    if (path == 0)
        return at;
    at = print_path(at, trace, node->parent);
    const char *sign = node->kind == RANGE_PATH_INHERITED ? "^" : "";
    return at + sprintf(at, "%s%s/", sign, trace_string(trace, node->name)->bytes);
}

/* "step/kernel 20", and the launching function: "(train)". */
static int take(void *context, const struct item *item)
{
    const struct trace *trace = context;
    const struct stacks *stacks = trace_stacks_get(trace);
    char *at = told + strlen(told);
    if (item->kind != ITEM_SPAN || item->lane != LANE_QUEUE)
        return 0;
    at += sprintf(at, "%s", at == told ? "" : ", ");
    at = print_path(at, trace, item->path);
    at += sprintf(at, "%s %d", trace_string(trace, item->event->name)->bytes,
                  (int)(item->begin_ns - MAKER_BEGIN_NS));
    if (item->stack) {
        const struct stack *stack = stacks_get_stack(stacks, item->stack);
        const struct label *label =
            stacks_get_label(stacks, stacks_get_frame(stacks, stack->frame)->label);
        sprintf(at, " (%s)", trace_string(trace, label->text)->bytes);
    }
    return 0;
}

static void check_selected(uint32_t wants, const struct pass_selection *selection,
                           const char *expected)
{
    const struct sink sink = {take, maker_trace(maker), WANT_EVENTS | wants};
    struct pass_source source = maker_pass_source(maker);
    maker_rewind(maker);
    told[0] = 0;
    CHECK_INT(pass_read(&source, selection, &sink, 1), 0);
    CHECK_STR(told, expected);
}

/* Checks lanes, combinations with other wants, and order of time. */
static void check(const char *expected)
{
    maker_finish(maker, 100000);
    check_selected(WANT_ORIGINS, &PASS_SELECT_ALL, expected);
    check_selected(WANT_ORIGINS | WANT_PATHS | WANT_TIMES | WANT_SAMPLES, &PASS_SELECT_ALL,
                   expected);
    check_selected(WANT_ORIGINS | WANT_TIME_ORDER, &PASS_SELECT_ALL, expected);
}

TEST(work_that_is_told_late_has_the_ranges_of_its_launch)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "train");
    maker_push(maker, thread, 20, "forward");
    maker_pop(maker, thread, 40);
    maker_push(maker, thread, 50, "backward");
    maker_pop(maker, thread, 70);
    maker_pop(maker, thread, 80);
    add_kernel(thread, 5, "init");
    add_kernel(thread, 25, "gemm");
    add_kernel(thread, 45, "copy");
    add_kernel(thread, 60, "gemm");
    add_kernel(thread, 90, "last");
    check("init 15, train/forward/gemm 35, train/copy 55, train/backward/gemm 70, last 100");
    maker_destroy(maker);
}

TEST(work_that_is_told_before_its_thread_has_come_so_far_waits)
{
    uint32_t thread = begin(), other = maker_thread(maker, 0, 101, "other");
    add_kernel(thread, 25, "gemm");
    add_kernel(other, 30, "sum");
    add_kernel(thread, 45, "copy");
    maker_push(maker, thread, 10, "train");
    maker_push(maker, thread, 20, "forward");
    maker_pop(maker, thread, 40);
    maker_push(maker, other, 28, "reduce");
    maker_finish(maker, 1000);
    check_selected(WANT_ORIGINS, &PASS_SELECT_ALL,
                   "train/forward/gemm 35, train/copy 55, reduce/sum 40");
    maker_destroy(maker);
}

TEST(an_unknown_origin_has_no_ranges)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "train");
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = 30,
                                       .end_ns = MAKER_BEGIN_NS + 40,
                                       .lane = queue,
                                       .origin_ns = EVENT_NO_ORIGIN,
                                       .name = maker_string(maker, "gemm")});
    check("gemm 30");
    maker_destroy(maker);
}

TEST(a_stack_belongs_to_the_launch_at_its_instant)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "train");
    add_launch(thread, 20, "forward");
    add_launch(thread, 60, "backward");
    add_kernel(thread, 20, "gemm");
    add_kernel(thread, 20, "bias");
    add_kernel(thread, 21, "relu");
    add_kernel(thread, 60, "gemm");
    check("train/gemm 30 (forward), train/bias 30 (forward), train/relu 31, "
          "train/gemm 70 (backward)");
    maker_destroy(maker);
}

TEST(a_forked_process_launches_inside_of_what_was_open_at_its_fork)
{
    uint32_t thread = begin();
    uint32_t child = maker_process(maker, 200, 100, "program", 50);
    uint32_t own = maker_thread(maker, child, 200, "main");
    struct trace_process *process = trace_process(maker_trace(maker), child);
    process->forked = true;
    process->fork_ns = MAKER_BEGIN_NS + 50;
    process->fork_thread = thread + 1;
    process->ns_pid = 200;
    queue = (uint32_t)trace_lane_of(maker_trace(maker), LANE_QUEUE, child, 8);
    maker_push(maker, thread, 10, "pool");
    maker_pop(maker, thread, 60);
    maker_push(maker, own, 70, "task");
    maker_pop(maker, own, 90);
    add_kernel(own, 65, "init");
    add_kernel(own, 80, "gemm");
    check("^pool/init 75, task/gemm 90");
    maker_destroy(maker);
}

/* A kernel belongs to the place of its launch, not to the time of its execution. */
TEST(a_range_selects_what_was_launched_inside_of_it)
{
    uint32_t thread = begin();
    struct pass_selection selection = PASS_SELECT_ALL;
    selection.range = "forward";
    maker_push(maker, thread, 10, "forward");
    maker_pop(maker, thread, 40);
    maker_push(maker, thread, 50, "backward");
    maker_pop(maker, thread, 70);
    add_kernel(thread, 38, "gemm");
    add_kernel(thread, 60, "gemm");
    add_kernel(thread, 65, "forward");
    maker_finish(maker, 1000);
    check_selected(WANT_ORIGINS, &selection, "forward/gemm 48, backward/forward 75");
    check_selected(0, &selection, "forward/gemm 48, backward/forward 75");
    check_selected(WANT_ORIGINS | WANT_TIME_ORDER, &selection,
                   "forward/gemm 48, backward/forward 75");
    maker_destroy(maker);
}

/* An API call is itself the launch. */
TEST(the_launching_call_is_none_of_the_ranges)
{
    uint32_t thread = begin();
    trace_thread(maker_trace(maker), thread)->probed = true;
    maker_push(maker, thread, 10, "train");
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = 20,
                                       .end_ns = MAKER_BEGIN_NS + 30,
                                       .lane = EVENT_OWN_LANE,
                                       .origin_ns = EVENT_NO_ORIGIN,
                                       .name = maker_string(maker, "cudaLaunchKernel")});
    maker_pop(maker, thread, 60);
    add_kernel(thread, 25, "gemm");
    check("train/gemm 35");
    maker_destroy(maker);
}
