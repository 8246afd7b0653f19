/* SPDX-License-Identifier: MIT */
/* Processes that belong to the start of a command, and the accounting of their time. */
#include "launch.h"
#include "made_sample.h"
#include "own_time.h"
#include "test.h"
#include "trace_maker.h"

#include <stdlib.h>

enum { PID = 100, EXEC_NS = 500000, END_NS = 900000 };

enum { SHELL, HELPER, GRANDCHILD, DAEMON, KILLED, ANNOTATED, PROGRAM, WORKER, PROCESSES };

static struct maker *maker;
static uint32_t threads[PROCESSES];

static void add(int32_t pid, int32_t parent, int64_t start, int64_t end, enum process_end how)
{
    uint32_t ordinal = maker_process(maker, pid, parent, "program", start);
    struct trace_process *process = trace_process(maker_trace(maker), ordinal);
    process->end_ns = MAKER_BEGIN_NS + end;
    process->end = (uint8_t)how;
    threads[ordinal] = maker_thread(maker, ordinal, pid, "main");
}

/* A shell with children that becomes the program `exec_ns` after its start. */
static void begin(int64_t exec_ns)
{
    maker = maker_create();
    add(PID, -1, 1, exec_ns, PROCESS_EXEC);
    add(101, SHELL, 10, 20, PROCESS_EXITED);
    add(102, HELPER, 11, 19, PROCESS_EXITED);
    add(103, SHELL, 12, exec_ns + 1, PROCESS_EXITED); /* still running when the program begins */
    add(104, SHELL, 13, 18, PROCESS_SIGNALED);
    add(105, SHELL, 14, 17, PROCESS_EXITED);
    add(PID, -1, exec_ns, exec_ns + END_NS, PROCESS_EXITED);
    add(106, PROGRAM, exec_ns + 1, exec_ns + 2, PROCESS_EXITED);
    trace_process(maker_trace(maker), ANNOTATED)->event_count = 1;
}

TEST(programs_before_the_last_exec_start_the_command)
{
    static const bool expected[PROCESSES] = {[SHELL] = true, [HELPER] = true, [GRANDCHILD] = true};
    struct launch_counts counts;
    begin(EXEC_NS);
    maker_thread(maker, HELPER, 201, "second");
    bool *launches = launch_find(maker_trace(maker), &counts);
    CHECK(launches != NULL);
    for (unsigned i = 0; i < PROCESSES; i++)
        CHECK_INT(launches[i], expected[i]);
    CHECK_INT(counts.processes, 3);
    CHECK_INT(counts.threads, 4);
    free(launches);
    maker_destroy(maker);
}

static void check_none(void)
{
    struct launch_counts counts;
    bool *launches = launch_find(maker_trace(maker), &counts);
    CHECK(launches != NULL);
    for (unsigned i = 0; i < trace_process_count(maker_trace(maker)); i++)
        CHECK(!launches[i]);
    CHECK_INT(counts.processes, 0);
    CHECK_INT(counts.threads, 0);
    free(launches);
    maker_destroy(maker);
}

TEST(what_ran_for_long_before_an_exec_is_work)
{
    begin(LAUNCH_MAX_NS + 2ll);
    check_none();
}

TEST(children_of_a_command_without_exec_are_no_start)
{
    maker = maker_create();
    add(PID, -1, 0, END_NS, PROCESS_EXITED);
    add(101, SHELL, 10, 20, PROCESS_EXITED);
    add(102, SHELL, 30, 40, PROCESS_EXEC);
    add(102, SHELL, 40, 50, PROCESS_EXITED);
    check_none();
    maker = maker_create();
    check_none();
}

TEST(an_annotated_program_that_replaces_itself_is_no_start)
{
    begin(EXEC_NS);
    trace_process(maker_trace(maker), SHELL)->event_count = 1;
    check_none();
}

TEST(parents_that_go_round_end)
{
    begin(EXEC_NS);
    trace_process(maker_trace(maker), HELPER)->parent = GRANDCHILD;
    struct launch_counts counts;
    free(launch_find(maker_trace(maker), &counts));
    CHECK_INT(counts.processes, 1);
    maker_destroy(maker);
}

static uint32_t stack_of(enum frame_kind kind, const char *function, const char *file)
{
    bool python = kind == FRAME_PYTHON;
    struct maker_frame frame = {.kind = kind,
                                .function = function,
                                .file = python ? file : "",
                                .module = python ? "" : file};
    return maker_stack(maker, 0, &frame);
}

static void run_in(struct own_time *own, unsigned process, uint32_t stack, int64_t cpu_ns)
{
    struct sample sample = {.stack = stack, .thread = threads[process]};
    sample = made_cpu(sample, cpu_ns);
    CHECK_INT(own_time_add(own, &sample), 0);
}

TEST(time_of_the_start_is_one_row_and_all_adds_up)
{
    const struct own_row *rows;
    uint64_t sum_ns = 0;
    begin(EXEC_NS);
    uint32_t shell = stack_of(FRAME_NATIVE, "execute", "/usr/bin/bash");
    uint32_t tool = stack_of(FRAME_NATIVE, "main", "/usr/bin/env");
    uint32_t shared = stack_of(FRAME_NATIVE, "main", "/usr/bin/gzip");
    uint32_t own_tool = stack_of(FRAME_NATIVE, "main", "/home/me/configure");
    uint32_t work = stack_of(FRAME_PYTHON, "work", "/src/a.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    run_in(own, SHELL, shell, 20);
    run_in(own, GRANDCHILD, tool, 10);
    run_in(own, HELPER, shared, 5);
    run_in(own, HELPER, own_tool, 7);
    run_in(own, WORKER, shared, 6); /* so this program is not only a part of the start */
    run_in(own, PROGRAM, work, 400);
    CHECK_INT(own_time_finish(own), 0);
    uint32_t count = own_time_rows(own, false, &rows);
    CHECK_INT(count, 4);
    for (uint32_t i = 0; i < count; i++)
        sum_ns += rows[i].cpu_ns;
    CHECK_INT(sum_ns, 448);
    CHECK_INT(rows[0].cpu_ns, 400);
    CHECK_INT(rows[1].cpu_ns + rows[2].cpu_ns, 7 + 11);
    CHECK_INT(rows[3].purpose, PURPOSE_LAUNCH);
    CHECK_INT(rows[3].cpu_ns, 30);
    own_time_destroy(own);
    maker_destroy(maker);
}
