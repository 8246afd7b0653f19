/* SPDX-License-Identifier: MIT */
/* Long turns of event loops: where their time went, and the tasks that they delayed. */
#include "report.h"
#include "test.h"
#include "trace_maker.h"

#define MS INT64_C(1000000)

static struct maker *maker;
static uint32_t loop, track, slow, other, select_stack;

static uint32_t own_frame(uint32_t parent, const char *function, const char *file)
{
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = function, .file = file, .line = 7, .first_line = 5};
    return maker_stack(maker, parent, &frame);
}

static void make(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 10, 0, "python3 a.py", 0);
    loop = maker_thread(maker, process, 10, "main");
    uint32_t main = own_frame(0, "main", "/src/a.py");
    uint32_t turn = own_frame(main, "Handle._run", "/usr/lib/python3.11/asyncio/events.py");
    slow = own_frame(turn, "slow", "/src/a.py");
    other = own_frame(turn, "other", "/src/a.py");
    select_stack = own_frame(main, "select", "/usr/lib/python3.11/selectors.py");
    track = maker_track(maker, process, 100, "task", -1);
}

/* A task continues at `time` after awaiting for `ms`. */
static void went_on(int64_t time, double ms, const char *awaits)
{
    const struct event mark = {
        .kind = EVENT_TRACK_MARK,
        .thread = loop,
        .time_ns = time,
        .lane = track,
        .name = maker_string(maker, "awaited"),
        .scope = maker_observed(maker, "asyncio", OBSERVER_ASYNCIO, ASYNCIO_ROLE_AWAITED)};
    maker_event(maker, &mark);
    maker_value(maker, "ms", VALUE_DOUBLE, (union value){.float64 = ms});
    maker_value_text(maker, "awaits", awaits);
}

/* A turn that ends at `end`. */
static void turn(int64_t end, double ms)
{
    const struct event mark = {
        .kind = EVENT_MARK,
        .thread = loop,
        .time_ns = end,
        .name = maker_string(maker, "event loop blocked"),
        .scope = maker_observed(maker, "asyncio", OBSERVER_ASYNCIO, ASYNCIO_ROLE_BLOCKED)};
    maker_event(maker, &mark);
    maker_value(maker, "ms", VALUE_DOUBLE, (union value){.float64 = ms});
}

static void run(uint32_t stack, int64_t time)
{
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .thread = loop,
                                  .time_ns = time,
                                  .stack = stack,
                                  SAMPLE_VALUES(10 * MS)};
    maker_sample(maker, &sample);
}

/* Off the CPU until `wake`, then ready until the end. */
static void off(uint32_t stack, int64_t begin, int64_t wake, int64_t end)
{
    const struct sample sample = {
        .thread = loop, .time_ns = begin, .end_ns = end, .stack = stack, .reason = WAIT_SLEEP};
    maker_wait(maker, &sample, wake);
}

/* Own times of the same samples determine a stack's function. */
static int take_own(void *own, const struct item *item)
{
    return own_time_add(own, item->sample);
}

static struct loop_blocks *read_all(void)
{
    maker_finish(maker, 10000 * MS);
    const struct pass_source source = maker_pass_source(maker);
    struct loop_blocks *blocks = loop_blocks_create(maker_trace(maker));
    struct own_time *own = own_time_create(maker_trace(maker));
    const struct sink sinks[] = {loop_blocks_sink(blocks, true), {take_own, own, WANT_SAMPLES}};
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, sinks, 2), 0);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(loop_blocks_finish(blocks, own), 0);
    own_time_destroy(own);
    return blocks;
}

static void check_place(const struct loop_place *place, const char *name, uint32_t count,
                        int64_t time_ms, int64_t waiting_ms)
{
    char text[64];
    code_name(maker_trace(maker), place->label, text, sizeof(text));
    CHECK_STR(text, name);
    CHECK_INT(place->count, count);
    CHECK_INT(place->time_ns, time_ms * MS);
    CHECK_INT(place->blocked_ns, waiting_ms * MS);
}

static void finish(struct loop_blocks *blocks)
{
    loop_blocks_destroy(blocks);
    maker_destroy(maker);
}

/* A loop that runs inside of a turn of another one: the outer turn keeps the time before and after
 * the long turn inside. */
TEST(a_turn_keeps_its_time_around_a_turn_of_a_nested_loop)
{
    const struct loop_place *places;
    make();
    turn(1000 * MS, 100); /* inside the next one */
    went_on(1001 * MS, 95, "sleep");
    turn(1200 * MS, 400);
    went_on(1201 * MS, 390, "sleep");
    off(other, 810 * MS, 890 * MS, 890 * MS);
    off(slow, 905 * MS, 995 * MS, 995 * MS);
    run(other, 1100 * MS);
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_places(blocks, &places), 2);
    check_place(&places[0], "other", 1, 300, 80);
    check_place(&places[1], "slow", 1, 100, 90);
    CHECK_INT(loop_blocks_totals(blocks)->time_ns, 400 * MS);
    const struct loop_block *each;
    CHECK_INT(loop_blocks_each(blocks, &each), 2);
    CHECK_INT(each[0].end_ns - each[0].begin_ns, 400 * MS);
    finish(blocks);
}

TEST(turns_count_for_the_function_that_took_most_of_them)
{
    const struct loop_place *places;
    make();
    turn(400 * MS, 200);
    went_on(401 * MS, 210, "sleep");
    went_on(402 * MS, 180, "StreamReader.read");
    went_on(403 * MS, 300, "Queue.get");
    turn(900 * MS, 300);
    went_on(901 * MS, 290, "sleep");
    turn(1500 * MS, 100);
    went_on(1501 * MS, 95, "sleep");
    run(other, 210 * MS); /* in the first turn */
    off(slow, 220 * MS, 390 * MS, 390 * MS);
    off(select_stack, 400 * MS, 600 * MS, 600 * MS); /* between turns */
    off(slow, 620 * MS, 880 * MS, 880 * MS);
    run(other, 1420 * MS);
    run(other, 1430 * MS);
    run(slow, 1440 * MS);
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_places(blocks, &places), 2);
    check_place(&places[0], "slow", 2, 500, 430);
    CHECK_INT(places[0].max_ns, 300 * MS);
    CHECK_INT(places[0].reason, WAIT_SLEEP);
    check_place(&places[1], "other", 1, 100, 0);
    const struct loop_totals *totals = loop_blocks_totals(blocks);
    CHECK_INT(totals->count, 3);
    CHECK_INT(totals->loops, 1);
    CHECK_INT(totals->waiting, 2);
    CHECK_INT(totals->time_ns, 600 * MS);
    const struct loop_block *each;
    CHECK_INT(loop_blocks_each(blocks, &each), 3);
    CHECK_INT(each[1].end_ns - each[0].end_ns, 500 * MS);
    CHECK_INT(each[0].others, 2);
    CHECK_INT(each[0].place, 0);
    CHECK_INT(each[1].time_ns, 300 * MS);
    CHECK_INT(each[1].place, 0);
    CHECK_INT(each[2].begin_ns - each[0].begin_ns, 1200 * MS);
    CHECK_INT(each[2].place, 1);
    finish(blocks);
}

TEST(a_turn_counts_only_if_a_task_goes_on_right_after_it)
{
    const struct loop_place *places;
    make();
    turn(400 * MS, 200);
    went_on(401 * MS, 190, "Queue.get"); /* put there by the turn itself */
    went_on(402 * MS, 50, "sleep");      /* began in its second half */
    went_on(450 * MS, 240, "sleep");     /* would have slept anyway */
    turn(8000 * MS, 100);                /* without a delayed task */
    off(slow, 200 * MS, 390 * MS, 390 * MS);
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_places(blocks, &places), 0);
    CHECK_INT(loop_blocks_totals(blocks)->count, 0);
    finish(blocks);
}

TEST(time_without_a_processor_blocks_no_loop)
{
    const struct loop_place *places;
    make();
    turn(400 * MS, 200);
    went_on(401 * MS, 210, "sleep");
    turn(900 * MS, 200);
    went_on(901 * MS, 210, "sleep");
    off(slow, 210 * MS, 220 * MS, 390 * MS); /* waited for 10, was ready for 170 */
    off(slow, 710 * MS, 810 * MS, 860 * MS); /* 100, and 50 */
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_places(blocks, &places), 1);
    check_place(&places[0], "slow", 1, 150, 100);
    finish(blocks);
}

TEST(a_loop_inside_of_a_loop_counts_once)
{
    make();
    turn(300 * MS, 100);
    went_on(301 * MS, 110, "sleep");
    turn(400 * MS, 300); /* encloses it */
    went_on(401 * MS, 310, "sleep");
    turn(450 * MS, -5);
    turn(460 * MS, 1e300);
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_totals(blocks)->time_ns, 300 * MS);
    finish(blocks);
}

TEST(what_no_sample_shows_is_a_turn_all_the_same)
{
    const struct loop_place *places;
    make();
    turn(400 * MS, 200);
    went_on(401 * MS, 210, "sleep");
    struct loop_blocks *blocks = read_all();
    CHECK_INT(loop_blocks_places(blocks, &places), 1);
    CHECK_INT(places[0].label, 0);
    CHECK_INT(places[0].time_ns, 200 * MS);
    finish(blocks);
}
