/* SPDX-License-Identifier: MIT */
/* Tasks of pools: joined from the reports of both sides, in any reading order. */
#include "report.h"
#include "test.h"
#include "trace_maker.h"

static struct maker *maker;
static uint32_t parent, taker, worker, thread;

static void make(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 10, 0, "python3 a.py", 0);
    uint32_t child = maker_process(maker, 11, 10, "python3 a.py", 0);
    parent = maker_thread(maker, process, 10, "main");
    taker = maker_thread(maker, process, 12, "results");
    worker = maker_thread(maker, child, 11, "main");
    thread = maker_thread(maker, process, 13, "thread");
}

static enum pool_role role_of(const char *name)
{
    return strcmp(name, "submit") == 0     ? POOL_ROLE_SUBMIT
           : strcmp(name, "starting") == 0 ? POOL_ROLE_START_UP
           : strcmp(name, "prepare") == 0  ? POOL_ROLE_INITIALIZER
           : strcmp(name, "send") == 0     ? POOL_ROLE_SEND
           : strcmp(name, "unpickle") == 0 ? POOL_ROLE_UNPICKLE
                                           : POOL_ROLE_RUN;
}

static void push_as(uint32_t where, int64_t time, const char *name, uint8_t flags)
{
    const struct event event = {.kind = EVENT_PUSH,
                                .flags = flags,
                                .thread = where,
                                .time_ns = time,
                                .name = maker_string(maker, name),
                                .scope =
                                    maker_observed(maker, "pool", OBSERVER_POOL, role_of(name))};
    maker_event(maker, &event);
}

static void push(uint32_t where, int64_t time, const char *name)
{
    push_as(where, time, name, 0);
}

static bool in_pieces; /* unpickling by a traced function that returns before the end */

static void cut(uint32_t where, int64_t time)
{
    if (!in_pieces)
        return;
    maker_pop(maker, where, time);
    push_as(where, time, "unpickle", EVENT_CONTINUES);
}

static void point(uint32_t where, int64_t time, enum event_kind kind, uint64_t id)
{
    const struct maker_point made = {
        .kind = kind, .id = id, .name = kind == EVENT_FLOW_BEGIN ? "task" : NULL};
    maker_point(maker, where, time, &made);
}

/* Handed over at 100; submitted `since` earlier. */
static void submit(uint64_t id, int64_t since)
{
    push(parent, 100, "send");
    if (since)
        maker_value_int(maker, "submitted_ns_ago", since);
    point(parent, 100, EVENT_FLOW_BEGIN, id);
    maker_pop(maker, parent, 110);
}

/* Up to "send", which begins 2 later. */
static void work_and_send(uint64_t id, int64_t begin, int64_t length)
{
    push(worker, begin - 20, "unpickle");
    maker_value_int(maker, "bytes", 70);
    cut(worker, begin - 18);
    cut(worker, begin - 7);
    maker_pop(maker, worker, begin - 5);
    push(worker, begin, "square");
    maker_value_int(maker, "chunk", 3);
    point(worker, begin + 1, EVENT_FLOW_STEP, id);
    maker_pop(maker, worker, begin + length);
    push(worker, begin + length + 2, "send");
}

static void work(uint64_t id, int64_t begin, int64_t length)
{
    work_and_send(id, begin, length);
    maker_pop(maker, worker, begin + length + 10);
}

static void fetch(uint64_t id, int64_t time)
{
    push(taker, time, "unpickle");
    maker_value_int(maker, "bytes", 30);
    cut(taker, time + 2);
    point(taker, time + 4, EVENT_FLOW_END, id);
    maker_pop(maker, taker, time + 5);
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

static void check_parts(const struct pool_function *function, const uint64_t *sums)
{
    uint64_t all = 0;
    for (int part = 0; part < POOL_WHOLE; part++) {
        CHECK_INT(function->parts[part].sum_ns, sums[part]);
        all += sums[part];
    }
    CHECK_INT(function->parts[POOL_WHOLE].sum_ns, all);
}

static void check_a_task(void)
{
    const struct pool_function *found;
    make();
    submit(7, 60);
    work(7, 1000, 500);
    fetch(7, 2000);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_STR(trace_string(maker_trace(maker), found->name)->bytes, "square");
    CHECK_INT(found->count, 1);
    CHECK_INT(found->item_count, 3);
    CHECK_INT(found->bytes_in, 70);
    CHECK_INT(found->bytes_out, 30);
    /* On its way to the worker from 40 to 980, written by the parent from 100 to 110. */
    check_parts(found, (const uint64_t[]){10, 0, 930, 20, 500, 10, 490, 4});
    CHECK_INT(found->parts[POOL_RUN].p50_ns, 500);
    CHECK_INT(found->parts[POOL_RUN].max_ns, 500);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(the_parts_of_a_task_follow_each_other)
{
    check_a_task();
}

TEST(so_do_they_where_calls_are_traced)
{
    in_pieces = true;
    check_a_task();
    in_pieces = false;
}

/* A worker whose process begins at 105 and is ready at 400. */
static void start_late(void)
{
    worker = maker_thread(maker, maker_process(maker, 14, 10, "python3 a.py", 105), 14, "main");
    push(worker, 200, "starting");
    maker_pop(maker, worker, 400);
}

TEST(what_a_worker_needs_to_start_is_not_waiting_behind_others)
{
    const struct pool_function *found;
    make();
    submit(7, 60); /* at 40; written until 110 */
    start_late();
    work(7, 1000, 500);
    fetch(7, 2000);
    submit(8, 0);
    work(8, 3000, 500); /* it was ready long before */
    fetch(8, 4000);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->count, 2);
    CHECK_INT(found->parts[POOL_HAND_OVER].sum_ns, 10 + 10);
    CHECK_INT(found->parts[POOL_START].sum_ns, 290 + 290);
    CHECK_INT(found->parts[POOL_QUEUED].sum_ns, (940 - 300) + (2880 - 300));
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(an_initializer_belongs_to_the_start_of_its_worker)
{
    const struct pool_function *found;
    make();
    submit(7, 60);
    start_late();
    push(worker, 450, "prepare");
    maker_pop(maker, worker, 900);
    work(7, 1000, 500);
    fetch(7, 2000);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->parts[POOL_START].sum_ns, 900 - 110);
    CHECK_INT(found->parts[POOL_QUEUED].sum_ns, 940 - 10 - (900 - 110));
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(a_task_that_is_written_when_its_worker_has_it_was_handed_over_until_then)
{
    const struct pool_function *found;
    make();
    push(parent, 100, "send");
    point(parent, 100, EVENT_FLOW_BEGIN, 7);
    work(7, 1000, 500);
    fetch(7, 2000);
    maker_pop(maker, parent, 5000);
    push(parent, 6000, "send"); /* without an end */
    point(parent, 6000, EVENT_FLOW_BEGIN, 8);
    work(8, 7000, 500);
    fetch(8, 8000);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->count, 2);
    CHECK_INT(found->parts[POOL_HAND_OVER].sum_ns, 880 + 980);
    CHECK_INT(found->parts[POOL_QUEUED].sum_ns, 0);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

static void cpu(uint32_t where, int64_t time, uint64_t weight)
{
    maker_sample(
        maker, &(struct sample){
                   .set = SAMPLE_SET_CPU, .thread = where, .time_ns = time, SAMPLE_VALUES(weight)});
}

TEST(cpu_time_stands_beside_each_part_as_far_as_it_is_known)
{
    const struct pool_function *found;
    make();
    submit(7, 60);
    work(7, 1000, 500);
    fetch(7, 2000);
    cpu(parent, 105, 1);
    cpu(worker, 990, 2);
    cpu(worker, 1200, 3);
    cpu(worker, 1506, 4);
    cpu(taker, 2003, 5);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);

    const enum pool_part parts[] = {POOL_HAND_OVER, POOL_UNPICKLE, POOL_RUN, POOL_SEND, POOL_FETCH};

    uint64_t one_ns = found->cpu_ns[POOL_HAND_OVER];
    CHECK(one_ns > 0);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_INT(found->cpu_ns[parts[i]], (i + 1) * one_ns);
        CHECK(found->cpu_known & 1u << parts[i]);
    }
    CHECK_INT(found->cpu_ns[POOL_WHOLE], 15 * one_ns);
    CHECK(!(found->cpu_known & (1u << POOL_QUEUED | 1u << POOL_START | 1u << POOL_WAITING)));
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(it_does_not_matter_which_thread_is_read_first)
{
    const struct pool_function *found;
    make();
    fetch(7, 2000);
    work(7, 1000, 500);
    submit(7, 60);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    check_parts(found, (const uint64_t[]){10, 0, 930, 20, 500, 10, 490, 4});
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(a_result_that_is_read_while_it_is_written_was_sent_then)
{
    const struct pool_function *found;
    make();
    submit(7, 0);
    work(7, 1000, 500); /* "send" ends at 1510 */
    fetch(7, 1506);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    check_parts(found, (const uint64_t[]){10, 0, 870, 20, 500, 6, 0, 4});
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(a_worker_that_is_ended_in_send_has_sent_what_was_received)
{
    const struct pool_function *found;
    make();
    submit(7, 60);
    work(7, 1000, 500);
    fetch(7, 1900);
    submit(8, 0);
    work_and_send(8, 2000, 300); /* without later parts */
    fetch(8, 2600);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->count, 2);
    CHECK_INT(found->received_count, 1);
    CHECK_INT(found->unfinished_count, 0);
    CHECK_INT(found->bytes_out, 60);
    check_parts(found, (const uint64_t[]){10 + 10, 0, 930 + 1870, 20 + 20, 500 + 300, 10 + 300, 390,
                                          4 + 4});
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(a_worker_that_is_ended_in_send_before_anything_arrived_is_not_through)
{
    const struct pool_function *found;
    make();
    submit(8, 0);
    work_and_send(8, 2000, 300);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->count, 0);
    CHECK_INT(found->received_count, 0);
    CHECK_INT(found->unfinished_count, 1);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(threads_queue_and_run_and_have_a_row_of_their_own)
{
    const struct pool_function *found;
    make();
    submit(7, 0);
    work(7, 1000, 500);
    fetch(7, 2000);
    push(parent, 3000, "submit");
    point(parent, 3001, EVENT_FLOW_BEGIN, 8);
    maker_pop(maker, parent, 3002);
    push(thread, 3100, "square");
    point(thread, 3101, EVENT_FLOW_END, 8);
    maker_pop(maker, thread, 3400);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 2);
    CHECK(!found[0].is_local && found[1].is_local);
    check_parts(&found[1], (const uint64_t[]){0, 0, 99, 0, 300, 0, 0, 0});
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(what_is_not_whole_is_told_apart)
{
    const struct pool_function *found;
    make();
    submit(7, 0); /* never begun */
    submit(8, 0); /* killed inside */
    push(worker, 1000, "square");
    point(worker, 1001, EVENT_FLOW_STEP, 8);
    submit(9, 0);
    fetch(9, 5000); /* without its worker's part */
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 1);
    CHECK_INT(found->count, 0);
    CHECK_INT(found->unfinished_count, 1);
    CHECK_INT(pool_tasks_unseen(tasks), 2);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(flows_of_others_are_no_tasks)
{
    const struct pool_function *found;
    make();
    maker_push(maker, worker, 100, "request");
    point(worker, 101, EVENT_FLOW_BEGIN, 5);
    point(worker, 102, EVENT_FLOW_STEP, 6);
    maker_pop(maker, worker, 103);
    push(parent, 200, "submit"); /* of a job, which ends at its first task */
    const struct maker_point job = {.kind = EVENT_FLOW_BEGIN, .id = 70, .name = "job"};
    maker_point(maker, parent, 201, &job);
    maker_pop(maker, parent, 202);
    push(taker, 300, "send");
    point(taker, 301, EVENT_FLOW_END, 70);
    maker_pop(maker, taker, 302);
    push(worker, 400, "start-up"); /* a range of the program with pyannot's name */
    point(worker, 401, EVENT_FLOW_BEGIN, 71);
    maker_pop(maker, worker, 402);
    struct pool_tasks *tasks = read_all();
    CHECK_INT(pool_tasks_functions(tasks, &found), 0);
    CHECK_INT(pool_tasks_unseen(tasks), 0);
    pool_tasks_destroy(tasks);
    maker_destroy(maker);
}

TEST(of_a_program_without_pools_nothing_is_asked_for)
{
    struct maker *other = maker_create();
    struct pool_tasks *tasks = pool_tasks_create(maker_trace(other));
    CHECK_INT(pool_tasks_sink(tasks).wants, 0);
    maker_observed(other, "pool", OBSERVER_POOL, POOL_ROLE_WORKER);
    CHECK(pool_tasks_sink(tasks).wants & WANT_BEGINS);
    pool_tasks_destroy(tasks);
    maker_destroy(other);
}
