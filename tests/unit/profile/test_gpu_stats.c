/* SPDX-License-Identifier: MIT */
/* GPU work by name, queue and range: small programs compared with sums by hand, and random ones
 * with sums over every nanosecond. */
#include "code_owner.h"
#include "gpu_stats.h"
#include "made_sample.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct maker *maker;
static uint32_t main_thread, process, device, queues[2];

static void begin(void)
{
    maker = maker_create();
    struct trace *trace = maker_trace(maker);
    process = maker_process(maker, 100, -1, "train", 0);
    main_thread = maker_thread(maker, process, 100, "main");
    device = (uint32_t)trace_lane_of(trace, LANE_DEVICE, process, 0);
    for (unsigned i = 0; i < 2; i++) {
        queues[i] = (uint32_t)trace_lane_of(trace, LANE_QUEUE, process, 7 + i);
        CHECK(trace_lane_set_parent(trace, queues[i], device));
    }
}

struct work {
    uint32_t thread, lane;
    int64_t origin, begin, end; /* origin < 0: unknown */
    enum queue_role role;
    const char *name;
};

static void add(const struct work *work)
{
    bool known = work->origin >= 0;
    maker_event(
        maker, &(struct event){.kind = EVENT_SPAN,
                               .thread = work->thread,
                               .time_ns = work->begin,
                               .end_ns = MAKER_BEGIN_NS + work->end,
                               .lane = work->lane,
                               .origin_ns = known ? MAKER_BEGIN_NS + work->origin : EVENT_NO_ORIGIN,
                               .name = maker_string(maker, work->name),
                               .scope = maker_observed(maker, "CUDA", OBSERVER_CUPTI, work->role)});
}

static void add_kernel(unsigned queue, int64_t origin, int64_t from, int64_t to, const char *name)
{
    add(&(struct work){main_thread, queues[queue], origin, from, to, QUEUE_ROLE_KERNEL, name});
}

static void add_copy(const char *direction, int64_t origin, int64_t from, int64_t bytes)
{
    add(&(struct work){main_thread, queues[0], origin, from, from + 10, QUEUE_ROLE_COPY, "copy"});
    maker_value_int(maker, "size [bytes]", bytes);
    maker_value_text(maker, "direction", direction);
}

struct results {
    struct range_stats *ranges;
    struct gpu_stats *gpu;
};

static int tell(void *context, uint32_t row, const struct item *span)
{
    return gpu_stats_ended(((struct results *)context)->gpu, row, span);
}

/* `end`: length of the recording. */
static struct results *collect(int64_t end, enum range_grouping grouping)
{
    struct results *results = calloc(1, sizeof(*results));
    maker_finish(maker, end);
    const struct pass_source source = maker_pass_source(maker);
    const struct range_stats_options options = {.grouping = grouping, .watch = {tell, results}};
    results->ranges = range_stats_create(source.trace, &options);
    results->gpu = gpu_stats_create(source.trace, results->ranges, grouping);
    const struct sink sinks[] = {range_stats_sink(results->ranges), gpu_stats_sink(results->gpu)};
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, sinks, 2);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(range_stats_finish(results->ranges, pass), 0);
    CHECK_INT(gpu_stats_finish(results->gpu, MAKER_BEGIN_NS, MAKER_BEGIN_NS + end), 0);
    pass_destroy(pass);
    return results;
}

static void release(struct results *results)
{
    gpu_stats_destroy(results->gpu);
    range_stats_destroy(results->ranges);
    free(results);
    maker_destroy(maker);
}

static const struct gpu_range *find_range(const struct results *results, const char *label)
{
    const struct gpu_range *ranges;
    uint32_t count = gpu_stats_ranges(results->gpu, &ranges);
    char text[256];
    for (uint32_t i = 0; i < count; i++) {
        range_stats_label(results->ranges, ranges[i].row, text, sizeof(text));
        if (strcmp(text, label) == 0)
            return &ranges[i];
    }
    return NULL;
}

static const struct gpu_range *range_of(const struct results *results, const char *label)
{
    const struct gpu_range *range = find_range(results, label);
    if (!range)
        test_fail(__FILE__, __LINE__, "no range %s", label);
    return range;
}

static const struct gpu_row *row_of(const struct results *results, const char *name)
{
    const struct gpu_row *const *rows;
    uint32_t count = gpu_stats_rows(results->gpu, &rows);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(trace_string(maker_trace(maker), rows[i]->name)->bytes, name) == 0)
            return rows[i];
    test_fail(__FILE__, __LINE__, "no row %s", name);
}

/* step [0, 1000): load [0, 300), forward [300, 500); two overlapping kernels on two queues. */
static struct results *collect_step(enum range_grouping grouping)
{
    begin();
    maker_push(maker, main_thread, 0, "step");
    maker_push(maker, main_thread, 0, "load");
    maker_pop(maker, main_thread, 300);
    maker_push(maker, main_thread, 300, "forward");
    maker_pop(maker, main_thread, 500);
    maker_pop(maker, main_thread, 1000);
    add_kernel(0, 310, 400, 600, "gemm");
    add_kernel(1, 320, 550, 700, "gemm");
    add_kernel(0, 600, 800, 850, "relu");
    add_kernel(0, 1100, 1200, 1300, "tail");
    return collect(2000, grouping);
}

TEST(ranges_have_what_they_launched_and_the_time_in_which_nothing_ran)
{
    struct results *results = collect_step(RANGE_BY_PATH);
    const struct gpu_range *step = range_of(results, "step");
    const struct gpu_range *load = range_of(results, "step/load");
    const struct gpu_range *forward = range_of(results, "step/forward");
    const struct gpu_totals *totals = gpu_stats_totals(results->gpu);
    CHECK_INT(step->count, 3);
    CHECK_INT(step->total_ns, 200 + 150 + 50);
    CHECK_INT(step->self_ns, 50);
    CHECK_INT(step->idle_ns, 1000 - 300 - 50);
    CHECK_INT(step->idle_self_ns, 1000 - 300 - 50 - 300 - 100);
    CHECK_INT(step->starved_ns, 310 + 150); /* until the first launch, and from the last end */
    CHECK_INT(forward->count, 2);
    CHECK_INT(forward->total_ns, 350);
    CHECK_INT(forward->self_ns, 350);
    CHECK_INT(forward->idle_ns, 100);
    CHECK_INT(gpu_stats_quantile(results->gpu, &forward->delays, 0.5), 90);
    CHECK(labs((long)gpu_stats_quantile(results->gpu, &forward->delays, 1) - 230) <= 2);
    CHECK_INT(load->count, 0);
    CHECK_INT(load->idle_ns, 300);
    CHECK_INT(load->starved_ns, 300);
    CHECK_INT(forward->starved_ns, 10);
    CHECK_INT(totals->outside.total_ns, 100);
    CHECK_INT(totals->total_ns, 500);
    CHECK_INT(totals->count, 4);
    release(results);
}

TEST(by_process_the_same_is_true_and_by_name_idle_time_is_not_told)
{
    struct results *results = collect_step(RANGE_BY_PROCESS);
    CHECK_INT(range_of(results, "step/forward")->total_ns, 350);
    CHECK_INT(range_of(results, "step")->idle_ns, 650);
    release(results);
    results = collect_step(RANGE_BY_NAME);
    CHECK_INT(range_of(results, "forward")->total_ns, 350);
    CHECK_INT(range_of(results, "step")->total_ns, 400);
    CHECK_INT(range_of(results, "step")->stay_ns, 0);
    CHECK(!find_range(results, "load"));
    release(results);
}

TEST(queues_and_devices_are_busy_while_at_least_one_span_runs)
{
    struct results *results = collect_step(RANGE_BY_PATH);
    const struct gpu_queue *rows;
    CHECK_INT(gpu_stats_queues(results->gpu, &rows), 3);
    CHECK(rows[0].is_device && !rows[1].is_device && !rows[2].is_device);
    CHECK_INT(rows[0].lane, device);
    CHECK_INT(rows[0].count, 4);
    CHECK_INT(rows[0].total_ns, 500);
    CHECK_INT(rows[0].busy_ns, 450);
    CHECK_INT(rows[0].gap_count, 2);
    CHECK_INT(rows[0].longest_gap_ns, 350);
    CHECK_INT(rows[0].starved_ns, 310 + 250 + 700);
    CHECK_INT(rows[1].starved_ns, 0);
    CHECK_INT(rows[0].life_ns, 2000);
    CHECK_INT(rows[0].first_ns, MAKER_BEGIN_NS + 400);
    CHECK_INT(rows[0].last_ns, MAKER_BEGIN_NS + 1300);
    CHECK_INT(rows[1].busy_ns, 350);
    CHECK_INT(rows[2].busy_ns, 150);
    CHECK_INT(rows[2].gap_count, 0);
    release(results);
}

TEST(copies_count_by_direction_and_have_their_bytes)
{
    begin();
    maker_push(maker, main_thread, 0, "load");
    maker_pop(maker, main_thread, 100);
    add_copy("HtoD", 10, 200, 1000);
    add_copy("DtoH", 20, 210, 30);
    add_copy("HtoD", 30, 220, 500);
    add_copy("DtoD", 40, 230, 7);
    add_copy("HtoD", 140, 240, 9);
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_range *load = range_of(results, "load");
    CHECK_INT(load->moved[GPU_WAY_TO_DEVICE].bytes, 1500);
    CHECK_INT(load->moved[GPU_WAY_TO_DEVICE].time_ns, 20);
    CHECK_INT(load->moved[GPU_WAY_FROM_DEVICE].bytes, 30);
    CHECK_INT(load->moved[GPU_WAY_OTHER].bytes, 7);
    const struct gpu_row *const *rows;
    CHECK_INT(gpu_stats_rows(results->gpu, &rows), 3);
    CHECK_INT(rows[0]->bytes, 1509);
    CHECK_INT(rows[0]->count, 3);
    release(results);
}

TEST(kernels_of_a_name_are_one_row_whose_shape_is_the_most_frequent_one)
{
    begin();
    for (unsigned i = 0; i < 10; i++) {
        add_kernel(0, 10, 20 + 10 * i, 25 + 10 * i + i, "gemm");
        maker_value_text(maker, "grid", i % 3 ? "64,1,1" : "1,1,1");
        maker_value_text(maker, "block", "256,1,1");
        maker_value_int(maker, "registers", 40);
        maker_value_int(maker, "shared memory [bytes]", 1024);
        maker_value(maker, "occupancy [%]", VALUE_DOUBLE, (union value){.float64 = 62.5});
    }
    add(&(struct work){main_thread, queues[0], 5, 500, 900, QUEUE_ROLE_WAIT, "wait"});
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_row *gemm = row_of(results, "gemm");
    const struct gpu_shape *shape = gpu_stats_shape(results->gpu, gemm);
    CHECK_INT(gemm->count, 10);
    CHECK_INT(gemm->total_ns, 50 + 45);
    CHECK_INT(gemm->min_ns, 5);
    CHECK_INT(gemm->max_ns, 14);
    CHECK_INT(gemm->shape_count, 2);
    CHECK_STR(trace_string(maker_trace(maker), shape->grid)->bytes, "64,1,1");
    CHECK_INT(shape->count, 6);
    CHECK_INT(shape->registers, 40);
    CHECK_INT(shape->shared_bytes, 1024);
    CHECK(fabs(shape->occupancy - 62.5) < 1e-9);
    CHECK_INT(row_of(results, "wait")->total_ns, 400);
    CHECK_INT(gpu_stats_totals(results->gpu)->total_ns, 95); /* a wait is not work */
    release(results);
}

TEST(work_of_unknown_launches_is_nobodys)
{
    begin();
    maker_push(maker, main_thread, 0, "step");
    add_kernel(0, -1, 100, 150, "gemm");
    add_kernel(0, 200, 190, 240, "gemm"); /* before its launch: no delay */
    maker_pop(maker, main_thread, 900);
    struct results *results = collect(1000, RANGE_BY_PATH);
    CHECK_INT(gpu_stats_totals(results->gpu)->unknown.total_ns, 50);
    CHECK_INT(range_of(results, "step")->total_ns, 50);
    CHECK_INT(range_of(results, "step")->delays.count, 0);
    release(results);
}

static void add_call(const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = main_thread,
                                       .time_ns = (int64_t)begin_ns,
                                       .end_ns = MAKER_BEGIN_NS + (int64_t)end_ns,
                                       .lane = EVENT_OWN_LANE,
                                       .origin_ns = EVENT_NO_ORIGIN,
                                       .name = maker_string(maker, name),
                                       .scope = maker_observed(maker, "call", OBSERVER_CUPTI,
                                                               QUEUE_ROLE_CALL)});
}

TEST(calls_that_launch_are_no_ranges_but_their_time_is_known)
{
    begin();
    static const char *const calls[] = {"cuLaunchKernel", "cudaMemcpyAsync", "cudaMalloc"};
    trace_thread(maker_trace(maker), main_thread)->probed = true;
    maker_push(maker, main_thread, 0, "step");
    for (unsigned i = 0; i < 3; i++)
        add_call(calls[i], 100 + 100 * i, 130 + 100 * i);
    maker_pop(maker, main_thread, 900);
    add_kernel(0, 110, 500, 600, "gemm");
    add_kernel(0, 210, 600, 700, "gemm");
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_range *step = range_of(results, "step");
    CHECK_INT(step->total_ns, 200);
    CHECK_INT(step->self_ns, 200);
    CHECK_INT(step->idle_self_ns, 700);
    CHECK_INT(step->call_count, 2);
    CHECK_INT(step->call_ns, 60);
    CHECK(!find_range(results, "step/CUDA:cuLaunchKernel"));
    release(results);
}

TEST(a_call_of_the_runtime_and_that_of_the_driver_in_it_are_one_launch)
{
    begin();
    trace_thread(maker_trace(maker), main_thread)->probed = true;
    maker_push(maker, main_thread, 0, "step");
    add_call("cudaLaunchKernel", 100, 130);
    add_call("cuLaunchKernel", 105, 125);
    add_call("cuLaunchKernel", 200, 210);
    maker_pop(maker, main_thread, 900);
    add_kernel(0, 110, 500, 600, "gemm");
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_range *step = range_of(results, "step");
    CHECK_INT(step->call_count, 2);
    CHECK_INT(step->call_ns, 40);
    release(results);
}

static void add_node(const char *captured_in, int64_t from, int64_t to)
{
    add_kernel(0, 50, from, to, "gemm");
    maker_value_int(maker, "graph", 7);
    if (captured_in)
        maker_value_text(maker, "captured in", captured_in);
}

TEST(what_graphs_do_is_added_up_by_where_they_were_captured)
{
    begin();
    add_kernel(0, 40, 90, 100, "gemm");
    add_node("model/first", 100, 110);
    add_node("model/second", 110, 150);
    add_node(NULL, 150, 155);
    add_node("model/first", 200, 225);
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_from *rows;
    CHECK_INT(gpu_stats_captures(results->gpu, &rows), 3);
    CHECK_STR(trace_string(maker_trace(maker), rows[0].what)->bytes, "model/second");
    CHECK_INT(rows[0].time_ns, 40);
    CHECK_INT(rows[1].time_ns, 35);
    CHECK_INT(rows[1].count, 2);
    CHECK_INT(rows[2].what, 0);
    CHECK_INT(rows[2].time_ns, 5);
    release(results);
}

TEST(what_was_not_watched_is_neither_busy_nor_idle)
{
    begin();
    struct trace *trace = maker_trace(maker);
    uint32_t lane = (uint32_t)trace_lane_of(trace, LANE_QUEUE, process, UINT64_MAX);
    static const char *const names[] = {"overhead: window opens", "overhead: window shuts"};
    static const int64_t times[] = {100, 110, 300, 330, 600, 620, 700, 705};
    for (unsigned i = 0; i < 4; i++)
        add(&(struct work){main_thread, lane, -1, times[2 * i], times[2 * i + 1],
                           QUEUE_ROLE_OVERHEAD, names[i % 2]});
    maker_push(maker, main_thread, 0, "step");
    maker_pop(maker, main_thread, 200);
    maker_push(maker, main_thread, 200, "step");
    maker_pop(maker, main_thread, 650);
    add_kernel(0, 120, 150, 170, "gemm");
    add_kernel(0, 220, 630, 640, "gemm");
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_queue *rows;
    CHECK_INT(gpu_stats_queues(results->gpu, &rows), 2);
    CHECK_INT(rows[0].busy_ns, 30);
    CHECK_INT(rows[0].watched_ns, 190 + 80);
    CHECK_INT(rows[0].starved_ns, 10 + 50 + 60); /* from 120 and from 220 on, work was launched */
    CHECK_INT(rows[0].life_ns, 1000);
    CHECK_INT(range_of(results, "step")->stay_ns, 90 + 100 + 30);
    CHECK_INT(range_of(results, "step")->idle_ns, 90 + 100 + 30 - 30);
    CHECK_INT(range_of(results, "step")->starved_ns, 10 + 30 + 20 + 10);
    release(results);
}

TEST(a_window_that_rests_watches_nothing)
{
    begin();
    struct trace *trace = maker_trace(maker);
    uint32_t lane = (uint32_t)trace_lane_of(trace, LANE_QUEUE, process, UINT64_MAX);

    static const struct {
        const char *name;
        int64_t begin_ns, end_ns;
    } edges[] = {{"overhead: window opens", 100, 110},
                 {"overhead: window rests", 200, 200},
                 {"overhead: window goes on", 400, 400},
                 {"overhead: window rests", 500, 500},
                 {"overhead: window shuts", 520, 530}};

    for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        add(&(struct work){main_thread, lane, -1, edges[i].begin_ns, edges[i].end_ns,
                           QUEUE_ROLE_OVERHEAD, edges[i].name});
    maker_push(maker, main_thread, 0, "step");
    maker_pop(maker, main_thread, 190);
    maker_push(maker, main_thread, 190, "left out");
    maker_pop(maker, main_thread, 390);
    add_kernel(0, 120, 150, 170, "gemm");
    add_kernel(0, 120, 205, 215, "gemm"); /* launched before */
    struct results *results = collect(1000, RANGE_BY_PATH);
    const struct gpu_queue *rows;
    CHECK_INT(gpu_stats_queues(results->gpu, &rows), 2);
    CHECK_INT(rows[0].watched_ns, 90 + 10 + 100);
    CHECK_INT(range_of(results, "step")->idle_ns, 80 - 20);
    CHECK_INT(range_of(results, "left out")->stay_ns, 10 + 10);
    CHECK_INT(range_of(results, "left out")->idle_ns, 10);
    release(results);
}

static uint32_t stack_in(const char *function)
{
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = function, .file = "/src/train.py", .line = 12};
    return maker_stack(maker, 0, &frame);
}

static const char *own_function(const struct own_time *own, uint32_t row)
{
    static char name[64];
    code_name(maker_trace(maker), own_time_row(own, row)->label, name, sizeof(name));
    return name;
}

/* Adds a sample to the recording and to own_time. */
static void add_sample(struct own_time *own, struct sample sample)
{
    maker_sample(maker, &sample);
    CHECK_INT(own_time_add(own, &sample), 0);
}

static void add_wait(struct own_time *own, uint32_t thread, uint32_t stack, const int64_t times[3])
{
    const struct sample wait = {.thread = thread,
                                .stack = stack,
                                .time_ns = times[0],
                                .end_ns = times[2],
                                .reason = WAIT_SLEEP};
    add_sample(own, made_wait(wait, times[1]));
}

TEST(what_the_launching_thread_did_is_known_while_nothing_was_launched)
{
    begin();
    uint32_t helper = maker_thread(maker, process, 101, "helper");
    uint32_t load = stack_in("load"), step = stack_in("step");
    struct own_time *own = own_time_create(maker_trace(maker));
    add_wait(own, main_thread, load, (int64_t[]){10, 280, 300});
    add_wait(own, helper, load, (int64_t[]){10, 900, 900});
    add_kernel(0, 320, 330, 400, "gemm");
    add_wait(own, main_thread, step, (int64_t[]){350, 500, 500});
    add_sample(
        own, made_cpu((struct sample){.thread = main_thread, .stack = step, .time_ns = 700}, 100));
    add_kernel(0, 720, 740, 800, "gemm");
    struct results *results = collect(1000, RANGE_BY_PATH);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(gpu_stats_find_sources(results->gpu, own), 0);
    const struct gpu_host_place *places;
    CHECK_INT(gpu_stats_host_places(results->gpu, &places), 2);
    CHECK_STR(own_function(own, places[0].row), "load");
    CHECK_INT(places[0].blocked_ns, 270);
    CHECK_INT(places[0].runnable_ns, 20);
    CHECK_INT(places[0].cpu_ns, 0);
    CHECK_INT(places[0].line, 12);
    CHECK_STR(own_function(own, places[1].row), "step");
    CHECK_INT(places[1].blocked_ns, 100); /* from the end of the kernel on */
    CHECK_INT(places[1].cpu_ns, 70);      /* from 650 to the launch */
    own_time_destroy(own);
    release(results);
}

/* ---- Random programs ------------------------------------------------------------------------- */

enum { SPAN = 4000, STEPS = 12 };

static uint64_t random_state = 3;

static int64_t next_random(int64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)below);
}

/* Sums of "outer" and "outer/inner", which are open in turn. */
struct sums {
    uint64_t total, self, idle, starved, count;
};

/* By nanosecond: work was running; launched work had not ended. */
struct maps {
    bool busy[SPAN + 1000], asked[SPAN + 1000];
};

static void add_random(int64_t from, int64_t to, struct maps *maps, struct sums *sums)
{
    for (int64_t i = next_random(6); i-- > 0;) {
        int64_t origin = from + next_random(to - from), at = origin + next_random(200);
        int64_t end = at + 1 + next_random(150);
        add_kernel((unsigned)next_random(2), origin, at, end, next_random(2) ? "a" : "b");
        sums->self += (uint64_t)(end - at);
        sums->count++;
        for (int64_t time = origin; time < end; time++) {
            maps->asked[time] = true;
            maps->busy[time] |= time >= at;
        }
    }
}

static uint64_t unset_in(const bool *map, int64_t from, int64_t to)
{
    uint64_t sum = 0;
    for (; from < to; from++)
        sum += !map[from];
    return sum;
}

static void look_at(const struct maps *maps, int64_t from, int64_t to, struct sums *sums)
{
    sums->idle += unset_in(maps->busy, from, to);
    sums->starved += unset_in(maps->asked, from, to);
}

TEST(random_programs_have_the_sums_of_every_nanosecond)
{
    for (unsigned round = 0; round < 60; round++) {
        struct maps *maps = calloc(1, sizeof(*maps));
        struct sums outer = {0}, inner = {0}, outside = {0};
        int64_t edges[STEPS][4]; /* outer begins, inner begins, ends, outer ends */
        begin();
        for (unsigned i = 0; i < STEPS; i++)
            for (unsigned j = 0; j < 4; j++)
                edges[i][j] = SPAN / STEPS * i + 60 * j + 10 + next_random(40);
        for (unsigned i = 0; i < STEPS; i++) {
            maker_push(maker, main_thread, edges[i][0], "outer");
            maker_push(maker, main_thread, edges[i][1], "inner");
            maker_pop(maker, main_thread, edges[i][2]);
            maker_pop(maker, main_thread, edges[i][3]);
            add_random(edges[i][0], edges[i][1], maps, &outer);
            add_random(edges[i][1], edges[i][2], maps, &inner);
            add_random(edges[i][3], edges[i][3] + 60, maps, &outside);
        }
        for (unsigned i = 0; i < STEPS; i++) {
            look_at(maps, edges[i][0], edges[i][3], &outer);
            look_at(maps, edges[i][1], edges[i][2], &inner);
        }
        struct results *results = collect(SPAN + 1000, RANGE_BY_PATH);
        const struct gpu_range *whole = range_of(results, "outer");
        const struct gpu_range *part = range_of(results, "outer/inner");
        const struct gpu_queue *rows;
        CHECK(gpu_stats_queues(results->gpu, &rows) >= 2);
        CHECK_INT(rows[0].busy_ns, SPAN + 1000 - unset_in(maps->busy, 0, SPAN + 1000));
        CHECK_INT(rows[0].starved_ns, unset_in(maps->asked, 0, SPAN + 1000));
        CHECK_INT(whole->total_ns, outer.self + inner.self);
        CHECK_INT(whole->self_ns, outer.self);
        CHECK_INT(whole->count, outer.count + inner.count);
        CHECK_INT(whole->idle_ns, outer.idle);
        CHECK_INT(whole->idle_self_ns, outer.idle - inner.idle);
        CHECK_INT(part->total_ns, inner.self);
        CHECK_INT(part->idle_ns, inner.idle);
        CHECK_INT(whole->starved_ns, outer.starved);
        CHECK_INT(part->starved_ns, inner.starved);
        CHECK_INT(gpu_stats_totals(results->gpu)->outside.total_ns, outside.self);
        release(results);
        free(maps);
    }
}

TEST(kernels_with_the_same_short_name_are_told_apart)
{
    begin();
    add_kernel(0, 10, 20, 30, "void map<ns::Add<float> >(int)");
    add_kernel(0, 30, 40, 50, "void map<ns::Mul<float> >(int)");
    add_kernel(0, 50, 60, 70, "void reduce<ns::Mul<float> >(int)");
    struct results *results = collect(100, RANGE_BY_PATH);
    static const char *const wanted[] = {"map<Add<…>>", "map<Mul<…>>", "reduce<…>"};
    const struct gpu_row *const *rows;
    char text[256];
    CHECK_INT(gpu_stats_rows(results->gpu, &rows), 3);
    for (unsigned i = 0; i < 3; i++) {
        gpu_stats_name(results->gpu, rows[i], text, sizeof(text));
        CHECK_STR(text, wanted[i]);
    }
    release(results);
}
