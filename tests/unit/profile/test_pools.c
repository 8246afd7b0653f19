/* SPDX-License-Identifier: MIT */
/* Pools: the workers of each, and their activities while the pool was in use. */
#include "pool_tasks.h"
#include "test.h"
#include "trace_maker.h"

enum { ID = 77, OTHER_ID = 78 };

static struct maker *maker;
static uint32_t parent, workers[3];

static void make(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 10, 0, "python3 a.py", 0);
    parent = maker_thread(maker, process, 10, "main");
    for (int i = 0; i < 3; i++) {
        uint32_t child = maker_process(maker, 11 + i, 10, "python3 a.py", 0);
        workers[i] = maker_thread(maker, child, 11 + i, "main");
    }
}

static void tell(uint32_t where, int64_t time, enum event_kind kind, enum pool_role role)
{
    const struct event event = {.kind = kind,
                                .thread = where,
                                .time_ns = time,
                                .name = maker_string(maker, "square"),
                                .scope = maker_observed(maker, "pool", OBSERVER_POOL, role)};
    maker_event(maker, &event);
}

static void tell_pool(int64_t time, int64_t id, const char *name)
{
    tell(parent, time, EVENT_MARK, POOL_ROLE_MADE);
    maker_value_int(maker, "pool", id);
    maker_value_text(maker, "name", name);
    maker_value_text(maker, "start_method", "spawn");
    maker_value_int(maker, "workers", 3);
}

static void join(int worker, int64_t time, int64_t id)
{
    tell(workers[worker], time, EVENT_MARK, POOL_ROLE_WORKER);
    maker_value_int(maker, "pool", id);
}

static void call(int64_t time, int64_t id, const char *method)
{
    tell(parent, time, EVENT_PUSH, POOL_ROLE_SUBMIT);
    maker_value_int(maker, "pool", id);
    maker_value_text(maker, "method", method);
    maker_value_int(maker, "chunk", 4);
    maker_pop(maker, parent, time + 1);
}

static void point(uint32_t where, int64_t time, enum event_kind kind, uint64_t flow)
{
    const struct maker_point made = {
        .kind = kind, .id = flow, .name = kind == EVENT_FLOW_BEGIN ? "task" : NULL};
    maker_point(maker, where, time, &made);
}

/* Unpickles for 10, runs for `length`, sends for 5. */
static void work(int worker, uint64_t flow, int64_t begin, int64_t length)
{
    uint32_t where = workers[worker];
    tell(where, begin, EVENT_PUSH, POOL_ROLE_UNPICKLE);
    maker_value_int(maker, "bytes", 70);
    maker_pop(maker, where, begin + 10);
    tell(where, begin + 10, EVENT_PUSH, POOL_ROLE_RUN);
    maker_value_int(maker, "chunk", 4);
    point(where, begin + 10, EVENT_FLOW_STEP, flow);
    maker_pop(maker, where, begin + 10 + length);
    tell(where, begin + 10 + length, EVENT_PUSH, POOL_ROLE_SEND);
    maker_pop(maker, where, begin + 15 + length);
}

static struct pool_tasks *read_all(void)
{
    maker_finish(maker, 100000);
    const struct pass_source source = maker_pass_source(maker);
    struct pool_tasks *tasks = pool_tasks_create(maker_trace(maker));
    const struct sink sink = pool_tasks_sink(tasks);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK_INT(pool_tasks_finish(tasks), 0);
    return tasks;
}

/* busy, before, between, after, start */
static void check_worker(const struct pool_worker *worker, uint32_t thread, const uint64_t *times)
{
    CHECK_INT(worker->thread, thread);
    CHECK_INT(worker->busy_ns, times[0]);
    CHECK_INT(worker->before_ns, times[1]);
    CHECK_INT(worker->between_ns, times[2]);
    CHECK_INT(worker->after_ns, times[3]);
    CHECK_INT(worker->start_ns, times[4]);
    CHECK_INT(worker->use_ns, times[0] + times[1] + times[2] + times[3]);
}

TEST(a_workers_time_adds_up)
{
    const struct pool *pools;
    const struct pool_worker *found;
    make();
    tell_pool(90, ID, "Pool 1");
    call(100, ID, "map");
    join(0, 80, ID);
    work(0, 1, 120, 200); /* to 335 */
    work(0, 2, 400, 100); /* to 515 */
    join(1, 300, ID);
    work(1, 3, 310, 600); /* to 925 */
    join(2, 350, ID);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pools_all(pool_tasks_pools(tasks), &pools), 1);
    CHECK_INT(pools_workers(pool_tasks_pools(tasks), &found), 3);
    check_worker(&found[0], workers[0], (const uint64_t[]){330, 20, 65, 410, 0});
    check_worker(&found[1], workers[1], (const uint64_t[]){615, 10, 0, 0, 200});
    check_worker(&found[2], workers[2], (const uint64_t[]){0, 575, 0, 0, 250});
    CHECK_INT(found[0].task_count, 2);
    CHECK_INT(found[0].item_count, 8);
    CHECK_INT(found[0].run_ns, 300);
    CHECK_INT(found[2].task_count, 0);
    CHECK_STR(trace_string(maker_trace(maker), pools->name)->bytes, "Pool 1");
    CHECK_INT(pools->end_ns - pools->begin_ns, 825);
    CHECK_INT(pools->size, 3);
    CHECK_INT(pools->call_count, 1);
    CHECK_INT(pools->chunk_max, 4);
    CHECK_INT(pools->idle_count, 1);
    CHECK_INT(pools->busy_ns, 945);
    CHECK_INT(pools->use_ns, 825 + 625 + 575);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

/* As Executor.submit: its range does not name the pool. */
static void submit(int64_t time, uint64_t flow)
{
    tell(parent, time, EVENT_PUSH, POOL_ROLE_SUBMIT);
    point(parent, time + 1, EVENT_FLOW_BEGIN, flow);
    maker_pop(maker, parent, time + 2);
}

static void fetch(int64_t time, uint64_t flow)
{
    tell(parent, time, EVENT_PUSH, POOL_ROLE_UNPICKLE);
    maker_value_int(maker, "bytes", 30);
    point(parent, time + 1, EVENT_FLOW_END, flow);
    maker_pop(maker, parent, time + 2);
}

TEST(a_call_counts_if_its_worker_is_ended_while_it_sends_the_result)
{
    const struct pool *pools;
    make();
    tell_pool(90, ID, "Pool 1");
    join(0, 95, ID);
    submit(100, 1);
    work(0, 1, 120, 200);
    fetch(400, 1);
    submit(500, 2);
    tell(workers[0], 520, EVENT_PUSH, POOL_ROLE_RUN);
    point(workers[0], 521, EVENT_FLOW_STEP, 2);
    maker_pop(maker, workers[0], 700);
    tell(workers[0], 701, EVENT_PUSH, POOL_ROLE_SEND);
    fetch(800, 2);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pools_all(pool_tasks_pools(tasks), &pools), 1);
    CHECK_INT(pools->task_count, 2);
    CHECK_INT(pools->call_count, 2);
    CHECK_INT(pools->end_ns - pools->begin_ns, 700);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(two_pools_of_a_program_are_told_apart)
{
    const struct pool *pools;
    const struct pool_worker *found;
    make();
    tell_pool(90, ID, "Pool 1");
    tell_pool(91, OTHER_ID, "Pool 2");
    join(0, 92, OTHER_ID);
    join(1, 93, ID);
    call(100, ID, "map");
    call(200, OTHER_ID, "apply");
    call(300, OTHER_ID, "apply");
    work(0, 1, 220, 200);
    work(1, 2, 120, 200);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pools_all(pool_tasks_pools(tasks), &pools), 2);
    CHECK_INT(pools_workers(pool_tasks_pools(tasks), &found), 2);
    CHECK_INT(pools[0].id, ID);
    CHECK_INT(pools[0].task_count, 1);
    CHECK_INT(pools[1].call_count, 2);
    CHECK_INT(pools[1].method_count, 1);
    CHECK_INT(found[0].thread, workers[1]);
    CHECK_INT(found[0].pool, 0);
    CHECK_INT(found[1].pool, 1);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(a_pool_that_was_made_before_the_recording_has_no_name)
{
    const struct pool *pools;
    make();
    call(100, ID, "map");
    join(0, 110, ID);
    work(0, 1, 120, 200);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pools_all(pool_tasks_pools(tasks), &pools), 1);
    CHECK_INT(pools->name, 0);
    CHECK_INT(pools->worker_count, 1);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}
