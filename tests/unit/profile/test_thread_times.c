/* SPDX-License-Identifier: MIT */
/* Running, runnable and blocked add up over any span, and agree with a count nanosecond by
 * nanosecond. */
#include "test.h"
#include "thread_times.h"
#include "trace_maker.h"

enum { THREADS = 3, SPAN = 600, STRETCHES = 40, ROUNDS = 200 };

/* What each nanosecond of a thread was. */
enum state { RUNNING, RUNNABLE, BLOCKED };

static uint8_t truth[THREADS][SPAN];
static uint64_t random_state = 88172645463325252;

static uint32_t below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    trace_process_add(trace);
    for (int i = 0; i < THREADS; i++)
        trace_thread_add(trace, 0);
    return trace;
}

static void add(struct thread_times *times, uint32_t thread, int64_t begin, int64_t wake,
                int64_t end)
{
    struct sample sample = {.kind = SAMPLE_OFF_CPU,
                            .thread = thread,
                            .time_ns = begin + 1, /* so that a wake-up at 0 can be told */
                            .wake_ns = wake < 0 ? 0 : wake + 1,
                            .reason = wake < 0 ? WAIT_PREEMPTED : WAIT_LOCK,
                            .end_ns = end + 1};
    CHECK_INT(thread_times_add(times, &sample), 0);
    for (int64_t t = begin; t < end && t < SPAN; t++)
        truth[thread][t] = t < wake ? BLOCKED : RUNNABLE;
}

/* Stretches of each thread one behind the other, added from the last to the first. */
static void add_random(struct thread_times *times)
{
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        int64_t begins[STRETCHES], ends[STRETCHES], time = 0;
        int count = 0;
        while (count < STRETCHES && time < SPAN) {
            begins[count] = time += below(20);
            ends[count] = time += 1 + below(25);
            count++;
        }
        while (count-- > 0)
            add(times, thread, begins[count],
                below(3) ? begins[count] + below((uint32_t)(ends[count] - begins[count]) + 1) : -1,
                ends[count]);
    }
}

static void check_span(const struct thread_times *times, uint32_t thread, int64_t begin,
                       int64_t end)
{
    uint64_t counts[3] = {0};
    for (int64_t t = begin; t < end; t++)
        counts[truth[thread][t]]++;
    struct off_share share = thread_times_between(times, thread, begin + 1, end + 1);
    CHECK_INT(share.runnable_ns, counts[RUNNABLE]);
    CHECK_INT(share.blocked_ns, counts[BLOCKED]);
}

TEST(any_span_agrees_with_a_count_of_each_nanosecond)
{
    struct trace *trace = make_trace();
    for (int round = 0; round < ROUNDS; round++) {
        struct thread_times *times = thread_times_create(trace);
        memset(truth, RUNNING, sizeof(truth));
        add_random(times);
        thread_times_finish(times);
        for (int i = 0; i < 300; i++) {
            int64_t begin = below(SPAN), end = begin + below((uint32_t)(SPAN - begin) + 1);
            check_span(times, below(THREADS), begin, end);
        }
        thread_times_destroy(times);
    }
    trace_destroy(trace);
}

TEST(what_overlaps_counts_once)
{
    struct trace *trace = make_trace();
    struct thread_times *times = thread_times_create(trace);
    add(times, 0, 10, 40, 50); /* cut by the next one: 20 blocked */
    add(times, 0, 30, 35, 60); /* 5 blocked, 25 runnable */
    thread_times_finish(times);
    struct off_share share = thread_times_between(times, 0, 0, 1000);
    CHECK_INT(share.blocked_ns, 25);
    CHECK_INT(share.runnable_ns, 25);
    thread_times_destroy(times);
    trace_destroy(trace);
}

TEST(a_wait_that_nobody_ended_is_no_lack_of_a_cpu)
{
    struct trace *trace = make_trace();
    struct thread_times *times = thread_times_create(trace);
    struct sample deadlock = {.kind = SAMPLE_OFF_CPU,
                              .time_ns = 10,
                              .end_ns = 60,
                              .reason = WAIT_LOCK,
                              .flags = SAMPLE_UNFINISHED};
    CHECK_INT(thread_times_add(times, &deadlock), 0);
    thread_times_finish(times);
    CHECK_INT(thread_times_between(times, 0, 0, 1000).blocked_ns, 50);
    CHECK_INT(thread_times_between(times, 0, 0, 1000).runnable_ns, 0);
    thread_times_destroy(times);
    trace_destroy(trace);
}

TEST(other_threads_and_samples_on_a_cpu_are_nothing)
{
    struct trace *trace = make_trace();
    struct thread_times *times = thread_times_create(trace);
    struct sample sample = {.kind = SAMPLE_CPU, .time_ns = 5, .weight_ns = 100};
    CHECK_INT(thread_times_add(times, &sample), 0);
    add(times, 1, 10, 20, 30);
    thread_times_finish(times);
    CHECK_INT(thread_times_between(times, 0, 0, 1000).blocked_ns, 0);
    CHECK_INT(thread_times_between(times, 77, 0, 1000).blocked_ns, 0);
    CHECK_INT(thread_times_between(times, 1, 1000, 0).blocked_ns, 0);
    CHECK_INT(thread_times_between(times, 1, INT64_MIN, INT64_MAX).blocked_ns, 10);
    CHECK_INT(thread_times_refused(times), 0);
    thread_times_destroy(times);
    trace_destroy(trace);
}
