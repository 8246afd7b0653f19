/* SPDX-License-Identifier: MIT */
/* Thread states of the Perfetto trace for incomplete recordings. */
#include "export.h"
#include "proto_text.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

enum { MS = 1000000, DONE = 8, RUNNABLE = 2, RUNNING = 3, SLEEPING = 4, IO = 5 };

static struct maker *two_threads(void)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 50, -1, "a", 0);
    maker_thread(maker, process, 50, "");
    maker_thread(maker, process, 51, "");
    *trace_sampling(maker_trace(maker)) =
        (struct trace_sampling){.revision = 1, .off_cpu = true, .frequency_hz = 1000};
    return maker;
}

static void wait_for(struct maker *maker, uint32_t thread, uint16_t cpu, int64_t from, int64_t to)
{
    maker_wait(
        maker,
        &(struct sample){
            .thread = thread, .cpu = cpu, .reason = WAIT_PIPE, .time_ns = from, .end_ns = to},
        to);
}

static void run_at(struct maker *maker, uint32_t thread, uint16_t cpu, int64_t time)
{
    maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                         .thread = thread,
                                         .cpu = cpu,
                                         .time_ns = time,
                                         SAMPLE_VALUES(MS)});
}

static char *export_text(struct maker *maker)
{
    const struct pass_source source = maker_pass_source(maker);
    struct out_stream *out = out_stream_memory();
    const struct export_options options = {.scheduler = true};
    const struct export_job job = {.source = &source, .options = &options, .out = out};
    size_t size;
    CHECK(out != NULL);
    CHECK_INT(export_run(exporter_by_name("perfetto"), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto_text(bytes, size);
    out_stream_abandon(out);
    return text;
}

/* Returns true if the thread changes to the state at that time, on that CPU. */
static bool changes(const char *text, int64_t time, int tid, int state, int cpu)
{
    char part[160];
    snprintf(part, sizeof(part), "timestamp %lld task_state {cpu %d tid %d state %d ",
             (long long)(MAKER_BEGIN_NS + time), cpu, tid, state);
    return strstr(text, part) != NULL;
}

static size_t change_count(const char *text, int tid)
{
    char part[32];
    size_t count = 0;
    snprintf(part, sizeof(part), " tid %d state ", tid);
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

TEST(a_thread_runs_from_one_wait_to_the_next)
{
    struct maker *maker = two_threads();
    wait_for(maker, 0, 0, 1 * MS, 3 * MS);
    wait_for(maker, 0, 1, 5 * MS, 6 * MS);
    maker_finish(maker, 7 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 1 * MS, 50, SLEEPING, 0));
    CHECK(changes(text, 3 * MS, 50, RUNNING, 1));
    CHECK(changes(text, 5 * MS, 50, SLEEPING, 1));
    CHECK(changes(text, 6 * MS, 50, RUNNING, 1));
    CHECK_INT(change_count(text, 50), 4);
    CHECK_INT(change_count(text, 51), 0);
    free(text);
    maker_destroy(maker);
}

/* The first thread was off the CPU too briefly to be recorded, while the second ran there. */
TEST(a_run_inside_another_interrupts_it)
{
    struct maker *maker = two_threads();
    wait_for(maker, 0, 0, 0, 1 * MS);
    wait_for(maker, 1, 0, 0, 4 * MS);
    wait_for(maker, 1, 0, 5 * MS, 19 * MS);
    wait_for(maker, 0, 0, 9 * MS, 20 * MS);
    maker_finish(maker, 20 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 1 * MS, 50, RUNNING, 0));
    CHECK(changes(text, 4 * MS, 51, RUNNING, 0));
    CHECK(changes(text, 4 * MS, 50, RUNNABLE, 0));
    CHECK(changes(text, 5 * MS, 51, SLEEPING, 0));
    CHECK(changes(text, 5 * MS, 50, RUNNING, 0));
    CHECK(changes(text, 9 * MS, 50, SLEEPING, 0));
    free(text);
    maker_destroy(maker);
}

TEST(a_thread_that_is_seen_elsewhere_was_moved)
{
    struct maker *maker = two_threads();
    run_at(maker, 0, 0, 1 * MS);
    run_at(maker, 0, 0, 2 * MS);
    run_at(maker, 0, 1, 3 * MS);
    maker_finish(maker, 4 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 1 * MS, 50, RUNNING, 0));
    CHECK(changes(text, 3 * MS, 50, RUNNABLE, 0));
    CHECK(changes(text, 3 * MS, 50, RUNNING, 1));
    CHECK_INT(change_count(text, 50), 3);
    free(text);
    maker_destroy(maker);
}

TEST(a_wait_may_be_told_after_the_sample_behind_it)
{
    struct maker *maker = two_threads();
    run_at(maker, 0, 0, 1 * MS);
    run_at(maker, 0, 1, 9 * MS);
    wait_for(maker, 0, 1, 2 * MS, 8 * MS);
    maker_finish(maker, 10 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 1 * MS, 50, RUNNING, 0));
    CHECK(changes(text, 2 * MS, 50, SLEEPING, 0));
    CHECK(changes(text, 8 * MS, 50, RUNNING, 1));
    CHECK_INT(change_count(text, 50), 3);
    free(text);
    maker_destroy(maker);
}

/* Its last sample is at 5 ms, so it does not run until the end. */
TEST(a_thread_without_samples_is_gone)
{
    struct maker *maker = two_threads();
    wait_for(maker, 0, 0, 0, 1 * MS);
    for (int at = 2; at <= 5; at++)
        run_at(maker, 0, 0, at * MS);
    maker_finish(maker, 100 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 7 * MS, 50, DONE, 0));
    free(text);
    maker_destroy(maker);
}

/* Two periods after its last sample, at the actual rate; of two rates, at the lower one. */
TEST(a_thread_is_gone_after_periods_of_its_rate)
{
    for (int slowed = 0; slowed < 2; slowed++) {
        struct maker *maker = two_threads();
        struct trace_sampling *sampling = trace_sampling(maker_trace(maker));
        sampling->frequency_hz = 100;
        sampling->first_hz = 1000;
        sampling->slowed = slowed;
        wait_for(maker, 0, 0, 0, 1 * MS);
        run_at(maker, 0, 0, 5 * MS);
        maker_finish(maker, 100 * MS);
        char *text = export_text(maker);
        CHECK(changes(text, (slowed ? 25 : 7) * MS, 50, DONE, 0));
        free(text);
        maker_destroy(maker);
    }
}

TEST(the_end_of_a_thread_and_of_a_process_are_told)
{
    struct maker *maker = two_threads();
    struct trace *trace = maker_trace(maker);
    wait_for(maker, 0, 0, 0, 1 * MS);
    wait_for(maker, 1, 1, 0, 1 * MS);
    trace_thread(trace, 1)->serial = 0;
    trace_thread(trace, 1)->first_ns = MAKER_BEGIN_NS;
    trace_thread(trace, 1)->last_ns = MAKER_BEGIN_NS + 2 * MS;
    trace_process(trace, 0)->end = PROCESS_EXITED;
    trace_process(trace, 0)->end_ns = MAKER_BEGIN_NS + 3 * MS;
    maker_finish(maker, 100 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 2 * MS, 51, DONE, 1));
    CHECK(changes(text, 3 * MS, 50, DONE, 0));
    free(text);
    maker_destroy(maker);
}

TEST(what_is_waited_for_has_a_name_and_a_slice)
{
    struct maker *maker = two_threads();
    maker_wait(maker,
               &(struct sample){.reason = WAIT_PAGE_FAULT, .time_ns = 1 * MS, .end_ns = 3 * MS},
               2 * MS);
    maker_finish(maker, 4 * MS);
    char *text = export_text(maker);
    CHECK(changes(text, 1 * MS, 50, IO, 0));
    CHECK(changes(text, 2 * MS, 50, RUNNABLE, 0));
    CHECK(strstr(text, "kernel_symbol {iid 4 name \"page fault\"}"));
    CHECK(
        strstr(text, "timestamp 5000001999999 pid 50 blocked_reason {pid 50 caller 4 io_wait 1}"));
    CHECK(strstr(text, "name \"main: run state\"") && strstr(text, "name \"page fault\"}}"));
    free(text);
    maker_destroy(maker);
}

TEST(without_switches_there_are_no_states)
{
    struct maker *maker = two_threads();
    trace_sampling(maker_trace(maker))->off_cpu = false;
    run_at(maker, 0, 0, 1 * MS);
    maker_finish(maker, 2 * MS);
    char *text = export_text(maker);
    CHECK_INT(change_count(text, 50), 0);
    CHECK(strstr(text, "streaming_profile {callstack 1 timestamp_delta_us 1000}"));
    CHECK(!strstr(text, "run state"));
    free(text);
    maker_destroy(maker);
}

/* Samples of one lane precede those of another, but their times are encoded as differences. */
TEST(samples_are_told_in_order_of_time)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 50, -1, "a", 0);
    uint32_t first = maker_thread(maker, process, 50, ""),
             second = maker_thread(maker, process, 51, "");
    for (int i = 0; i < 3; i++)
        run_at(maker, first, 0, (2 + 2 * i) * MS);
    for (int i = 0; i < 3; i++)
        run_at(maker, second, 0, (1 + 2 * i) * MS);
    maker_finish(maker, 10 * MS);
    char *text = export_text(maker);
    const char *at = text;
    for (int i = 1; i <= 6; i++) {
        at = strstr(at, "streaming_profile {callstack 1 timestamp_delta_us 1000}");
        CHECK(at != NULL);
        at++;
    }
    free(text);
    maker_destroy(maker);
}

/* Number of spans of the row with that name, on any thread. */
static int slice_count(const char *text, const char *name)
{
    char part[64];
    int count = 0;
    snprintf(part, sizeof(part), "name \"%s\"", name);
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

TEST(the_row_of_states_has_all_of_a_threads_life)
{
    struct maker *maker = two_threads();
    run_at(maker, 0, 0, 1 * MS);
    wait_for(maker, 0, 0, 2 * MS, 3 * MS);
    maker_wait(maker, &(struct sample){.reason = WAIT_PIPE, .time_ns = 5 * MS, .end_ns = 7 * MS},
               6 * MS);
    maker_wait(maker,
               &(struct sample){.reason = WAIT_PREEMPTED, .time_ns = 8 * MS, .end_ns = 9 * MS}, 0);
    maker_finish(maker, 10 * MS);
    char *text = export_text(maker);
    CHECK_INT(slice_count(text, "running"), 4);
    CHECK_INT(slice_count(text, "pipe"), 2 + 1); /* includes its name for the kernel's states */
    CHECK_INT(slice_count(text, "runnable"), 2);
    free(text);
    maker_destroy(maker);
}
