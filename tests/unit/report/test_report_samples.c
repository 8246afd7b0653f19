/* SPDX-License-Identifier: MIT */
/* Sums over all samples: waits and lack of a CPU, complete stacks. */
#include "made_sample.h"
#include "report.h"
#include "test.h"

static struct sample stretch(enum wait_reason reason, int64_t wake_ns, int64_t end_ns)
{
    return made_wait((struct sample){.reason = (uint8_t)reason, .time_ns = 100, .end_ns = end_ns},
                     wake_ns);
}

TEST(a_deadlock_waits_for_its_lock_and_not_for_a_cpu)
{
    struct trace *trace = trace_create();
    struct sample_stats stats;
    struct sample deadlock = stretch(WAIT_LOCK, 0, 1100);
    struct sample preempted = stretch(WAIT_PREEMPTED, 0, 150);
    struct sample woken = stretch(WAIT_LOCK, 300, 310);
    deadlock.flags = SAMPLE_UNFINISHED;
    CHECK_INT(sample_stats_init(&stats, trace), 0);
    sample_stats_add(&stats, &deadlock);
    sample_stats_add(&stats, &preempted);
    sample_stats_add(&stats, &woken);
    CHECK_INT(stats.waits[WAIT_LOCK].total_ns, 1000 + 200);
    CHECK_INT(stats.waits[WAIT_LOCK].count, 2);
    CHECK_INT(stats.waits[WAIT_PREEMPTED].count, 0);
    CHECK_INT(stats.runnable.count, 2);
    CHECK_INT(stats.runnable.max_ns, 50);
    CHECK_INT(stats.waits[WAIT_LOCK].max_ns, 1000);
    CHECK_INT(stats.all.blocked_ns, 1200);
    CHECK_INT(stats.all.runnable_ns, 50 + 10);
    sample_stats_fini(&stats);
    trace_destroy(trace);
}

static uint64_t complete(enum stack_end native, enum stack_end python)
{
    struct trace *trace = trace_create();
    struct sample_stats stats;
    struct sample sample = {.set = SAMPLE_SET_CPU,
                            .stack = 1,
                            .native_end = (uint8_t)native,
                            .python_end = (uint8_t)python};
    CHECK_INT(sample_stats_init(&stats, trace), 0);
    sample_stats_add(&stats, &sample);
    uint64_t count = stats.complete_count;
    CHECK_INT(stats.walk_count, 1);
    sample_stats_fini(&stats);
    trace_destroy(trace);
    return count;
}

TEST(a_stack_of_a_thread_without_python_is_whole)
{
    CHECK_INT(complete(STACK_COMPLETE, STACK_COMPLETE), 1);
    CHECK_INT(complete(STACK_COMPLETE, STACK_NOT_WALKED), 1);
    CHECK_INT(complete(STACK_COMPLETE, STACK_NO_THREAD), 1);
    CHECK_INT(complete(STACK_NO_RULE, STACK_NO_THREAD), 0);
    CHECK_INT(complete(STACK_COMPLETE, STACK_BAD_FRAME), 0);
    CHECK_INT(complete(STACK_NO_MAPPING, STACK_COMPLETE), 0);
}
