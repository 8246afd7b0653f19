/* SPDX-License-Identifier: MIT */
/* The own function that a stack counts for, sums of functions and waits, and the use of wall
 * time. */
#include "code_owner.h"
#include "made_sample.h"
#include "own_time.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"
#include "wait_kind.h"
#include "wall.h"

#include <stdlib.h>

static struct maker *maker;
static uint32_t workers[2];

#define STDLIB   "/usr/lib/python3.11/"
#define PACKAGES "/srv/venv/lib/python3.11/site-packages/"

static uint32_t push(uint32_t stack, enum frame_kind kind, const char *function, const char *place)
{
    bool python = kind == FRAME_PYTHON;
    struct maker_frame frame = {.kind = kind, .function = function};
    frame.file = python ? place : "";
    frame.module = python ? "" : place;
    frame.line = python ? (int32_t)(stack % 7) + 10 : 0; /* lines of one function are one row */
    frame.first_line = python ? 10 : 0;
    frame.address = python ? 0 : stack + 16u;
    return maker_stack(maker, stack, &frame);
}

static void begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, 1, "python a.py", 0);
    workers[0] = maker_thread(maker, process, 100, "main");
    workers[1] = maker_thread(maker, process, 101, "helper");
}

static void wait_in(struct own_time *own, uint32_t stack, enum wait_reason reason, int64_t wake_ns)
{
    struct sample sample = {.stack = stack,
                            .thread = workers[0],
                            .reason = (uint8_t)reason,
                            .time_ns = 1000,
                            .end_ns = 5000,
                            .flags = wake_ns ? 0 : SAMPLE_UNFINISHED};
    sample = made_wait(sample, wake_ns);
    CHECK_INT(own_time_add(own, &sample), 0);
}

static void run_in(struct own_time *own, uint32_t thread, uint32_t stack, int64_t cpu_ns)
{
    struct sample sample = made_cpu((struct sample){.stack = stack, .thread = thread}, cpu_ns);
    CHECK_INT(own_time_add(own, &sample), 0);
}

static const char *name_of(uint32_t label)
{
    static char name[64];
    code_name(maker_trace(maker), label, name, sizeof(name));
    return name;
}

static void check_wait(const struct own_wait *wait, const char *name, enum wait_reason reason,
                       uint64_t count, uint64_t blocked_ns)
{
    CHECK_STR(name_of(wait->label), name);
    CHECK_INT(wait->reason, reason);
    CHECK_INT(wait->count, count);
    CHECK_INT(wait->blocked_ns, blocked_ns);
}

TEST(threads_that_do_the_same_are_all_busy)
{
    enum { MANY = 64 };

    begin();
    uint32_t work = push(0, FRAME_PYTHON, "work", "/src/a.py");
    uint32_t first = maker_thread(maker, 0, 200, "worker");
    for (int i = 1; i < MANY; i++)
        maker_thread(maker, 0, 200 + i, "worker");
    struct own_time *own = own_time_create(maker_trace(maker));
    for (uint32_t i = 0; i < MANY; i++)
        run_in(own, first + i, work, i == 0 ? 4 : 100);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(own_time_totals(own)->busy_count, MANY - 1);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(a_wait_belongs_to_the_own_function_that_asked_for_it)
{
    const struct own_wait *found;
    begin();
    uint32_t start = push(0, FRAME_NATIVE, "_start", "/usr/bin/python3");
    uint32_t main = push(start, FRAME_PYTHON, "main", "/src/a.py");
    uint32_t get =
        push(push(main, FRAME_PYTHON, "take", "/src/q.py"), FRAME_PYTHON, "get", STDLIB "queue.py");
    uint32_t lock = push(push(get, FRAME_NATIVE, "take_lock", "/usr/lib/libpython3.11.so.1.0"),
                         FRAME_NATIVE, "futex_wait", "/lib/x86_64-linux-gnu/libc.so.6");
    uint32_t serve =
        push(push(0, FRAME_NATIVE, "main", "/srv/server"), FRAME_NATIVE, "serve", "/srv/server");
    uint32_t read =
        push(push(serve, FRAME_NATIVE, "read", "/lib/libc.so.6"), FRAME_KERNEL, "pipe_read", "");
    uint32_t shell = push(0, FRAME_NATIVE, "waitchld", "/usr/bin/bash");
    struct own_time *own = own_time_create(maker_trace(maker));
    wait_in(own, lock, WAIT_LOCK, 3000);
    wait_in(own, get, WAIT_LOCK, 2000);
    wait_in(own, lock, WAIT_GIL, 2500);
    wait_in(own, read, WAIT_PIPE, 0);
    wait_in(own, shell, WAIT_CHILD, 0); /* it waits for its child */
    wait_in(own, 0, WAIT_SLEEP, 1050);
    wait_in(own, read, WAIT_PREEMPTED, 0); /* it only lacked a CPU */
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(own_time_waits(own, &found), 5);
    check_wait(&found[0], "serve", WAIT_PIPE, 1, 4000);
    CHECK_INT(found[0].unfinished, 1);
    check_wait(&found[1], "take", WAIT_LOCK, 2, 3000);
    CHECK_INT(found[1].max_ns, 2000);
    check_wait(&found[2], "take", WAIT_GIL, 1, 1500);
    CHECK_INT(found[3].label, 0);
    CHECK_INT(found[3].blocked_ns, 50);
    check_wait(&found[4], "", WAIT_CHILD, 1, 4000);
    CHECK(found[4].helper);
    CHECK_INT(own_time_totals(own)->blocked_ns, 8550);
    CHECK_INT(own_time_totals(own)->idle_ns, 4000);
    CHECK_INT(own_time_totals(own)->runnable_ns, 2000 + 3000 + 2500 + 3950 + 4000);
    own_time_destroy(own);
    own_time_destroy(NULL);
    maker_destroy(maker);
}

/* Checks the function with most CPU time, and the purpose of the last row. */
static void check_rows(struct own_time *own, const char *first, enum code_purpose last)
{
    const struct own_row *rows;
    CHECK_INT(own_time_finish(own), 0);
    uint32_t count = own_time_rows(own, false, &rows);
    CHECK(count > 0);
    CHECK_STR(name_of(rows[0].label), first);
    CHECK_INT(rows[count - 1].purpose, last);
}

TEST(waits_without_a_stack_and_cause_are_one_sum)
{
    begin();
    struct own_time *own = own_time_create(maker_trace(maker));
    wait_in(own, 0, WAIT_UNKNOWN, 3000);
    wait_in(own, 0, WAIT_UNKNOWN, 3000);
    CHECK_INT(own_time_size(own), 1);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(what_libraries_do_counts_for_the_function_that_called_them)
{
    begin();
    uint32_t main = push(0, FRAME_PYTHON, "main", "/src/a.py");
    uint32_t dumps = push(main, FRAME_PYTHON, "dumps", STDLIB "json/__init__.py");
    uint32_t array = push(main, FRAME_PYTHON, "array", PACKAGES "numpy/core.py");
    uint32_t import = push(main, FRAME_PYTHON, "_find_and_load", "<frozen importlib._bootstrap>");
    uint32_t module = push(import, FRAME_PYTHON, "<module>", "/src/b.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    run_in(own, workers[0], dumps, 300);
    run_in(own, workers[0], array, 200);
    run_in(own, workers[0], import, 50);
    run_in(own, workers[0], module, 20); /* imported, and own */
    check_rows(own, "main", PURPOSE_IMPORT);
    const struct own_row *rows;
    CHECK_INT(own_time_rows(own, true, &rows), 3);
    CHECK_INT(rows[0].cpu_ns, 500);
    CHECK_STR(name_of(rows[1].label), "<module>");
    CHECK_INT(rows[2].cpu_ns, 50);
    own_time_destroy(own);
    maker_destroy(maker);
}

static const char *owner_of(uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(maker_trace(maker));
    const struct frame *frame = stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
    return code_owner_name(code_owner_of(maker_trace(maker), frame->label));
}

TEST(text_and_scripts_are_own_but_for_what_libraries_make)
{
    static const struct {
        const char *owner, *function, *file;
    } rows[] = {
        {"own", "formula", "<string>"},
        {"own", "Made.method", "<string>"},
        {"stdlib", "__create_fn__.<locals>.__init__", "<string>"},
        {"stdlib", "__eq__", "<string>"},
        {"stdlib", "<lambda>", "<string>"},
        {"own", "f", "<stdin>"},
        {"own", "f", "<ipython-input-3-1b2c>"},
        {"own", "f", "/tmp/ipykernel_17/2512.py"},
        {"own", "f", "<doctest a.b[0]>"},
        {"stdlib", "join", "<frozen posixpath>"},
        {"library", "<module>", "/srv/venv/bin/black"},
        {"library", "main", PACKAGES "black/__init__.py"},
        {"own", "<module>", "/home/me/project/bin/tool"},
    };

    begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        push(0, FRAME_PYTHON, rows[i].function, rows[i].file);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(owner_of(push(0, FRAME_PYTHON, rows[i].function, rows[i].file)), rows[i].owner);
    maker_destroy(maker);
}

TEST(a_forked_worker_begins_where_it_was_begun)
{
    begin();
    uint32_t main = push(0, FRAME_PYTHON, "main", "/src/a.py");
    uint32_t worker =
        push(main, FRAME_PYTHON, "BaseProcess._bootstrap", STDLIB "multiprocessing/process.py");
    uint32_t idle = push(worker, FRAME_PYTHON, "worker", STDLIB "multiprocessing/pool.py");
    uint32_t task = push(idle, FRAME_PYTHON, "task", "/src/a.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    run_in(own, workers[0], idle, 500);
    run_in(own, workers[0], task, 400);
    check_rows(own, "task", PURPOSE_POOL);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(where_nothing_is_own_packages_are_and_then_all_code)
{
    begin();
    uint32_t tool = push(push(0, FRAME_PYTHON, "<module>", "/usr/bin/black"), FRAME_PYTHON,
                         "format", PACKAGES "black/linegen.py");
    uint32_t sub = push(tool, FRAME_PYTHON, "sub", STDLIB "re.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    run_in(own, workers[0], sub, 500);
    check_rows(own, "format", PURPOSE_NONE);
    CHECK_INT(own_time_totals(own)->level, OWN_PACKAGES);
    own_time_destroy(own);
    maker_destroy(maker);
    begin();
    uint32_t gzip = push(0, FRAME_NATIVE, "deflate", "/usr/bin/gzip");
    own = own_time_create(maker_trace(maker));
    run_in(own, workers[0], gzip, 500);
    check_rows(own, "deflate", PURPOSE_NONE);
    own_time_destroy(own);
    maker_destroy(maker);
}

/* ---- Wall time ------------------------------------------------------------------------------- */

struct off {
    uint32_t thread;
    enum wait_reason reason;
    int64_t begin, wake, end;
    uint32_t stack;
};

static void off(struct own_time *own, struct wall *wall, const struct off *off)
{
    struct sample sample = {.thread = off->thread,
                            .stack = off->stack,
                            .reason = (uint8_t)off->reason,
                            .time_ns = MAKER_BEGIN_NS + off->begin,
                            .end_ns = MAKER_BEGIN_NS + off->end};
    sample = made_wait(sample, off->reason == WAIT_PREEMPTED ? 0 : MAKER_BEGIN_NS + off->wake);
    CHECK_INT(own_time_add(own, &sample), 0);
    CHECK_INT(wall_add(wall, &sample), 0);
}

TEST(each_moment_of_the_wall_time_counts_once)
{
    const struct wall_wait *waits;
    begin();
    uint32_t main = push(0, FRAME_PYTHON, "main", "/src/a.py");
    uint32_t fetch = push(0, FRAME_PYTHON, "fetch", "/src/a.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    struct wall *wall = wall_create(maker_trace(maker), &PASS_SELECT_ALL);
    maker_finish(maker, 1000);
    trace_session(maker_trace(maker))->processors = 2;
    /* main runs to 100, waits for the helper to 700 and is ready to 720; the helper is seen from 50
     * to 900 and sleeps from 200 to 500, ready to 530 */
    off(own, wall, &(struct off){workers[0], WAIT_LOCK, 100, 700, 720, main});
    off(own, wall, &(struct off){workers[1], WAIT_SLEEP, 200, 500, 530, fetch});
    off(own, wall, &(struct off){workers[1], WAIT_PREEMPTED, 880, 900, 900, fetch});
    off(own, wall, &(struct off){workers[1], WAIT_SLEEP, 50, 60, 60, fetch});
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(wall_finish(wall, own, MAKER_BEGIN_NS, MAKER_BEGIN_NS + 1000), 0);
    const struct wall_totals *totals = wall_totals(wall);
    CHECK_INT(totals->wall_ns, 1000);
    CHECK_INT(totals->blocked_ns, 300);
    CHECK_INT(totals->runnable_ns, 30);
    CHECK_INT(totals->running_ns, 670);
    CHECK_INT(totals->absent_ns, 0);
    CHECK_INT(totals->full_ns, 40 + 160); /* 60 to 100, 720 to 880 */
    CHECK_INT(totals->busy_ns, 100 + 280 + 140 + 350);
    CHECK_INT(totals->contended_ns, 30 + 20 + 20);
    CHECK_INT(wall_waits(wall, &waits), 1);
    CHECK_STR(name_of(waits[0].label), "fetch"); /* main only waits for it */
    CHECK_INT(waits[0].reason, WAIT_SLEEP);
    CHECK_INT(waits[0].time_ns, 300);
    wall_destroy(wall);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(short_waits_are_no_time_in_which_a_thread_ran)
{
    begin();
    struct own_time *own = own_time_create(maker_trace(maker));
    struct wall *wall = wall_create(maker_trace(maker), &PASS_SELECT_ALL);
    maker_finish(maker, 1000);
    /* from 200 to 800 it has 100 of recorded waits, and 300 of short ones */
    off(own, wall, &(struct off){workers[0], WAIT_SLEEP, 400, 500, 500, 0});
    struct sample sums = {.set = SAMPLE_SET_SHORT_WAITS,
                          .thread = workers[0],
                          .time_ns = MAKER_BEGIN_NS + 200,
                          .end_ns = MAKER_BEGIN_NS + 800,
                          SAMPLE_VALUES(200, 100)};
    CHECK_INT(wall_add(wall, &sums), 0);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(wall_finish(wall, own, MAKER_BEGIN_NS, MAKER_BEGIN_NS + 1000), 0);
    const struct wall_totals *totals = wall_totals(wall);
    CHECK(llabs((long long)totals->running_ns - 600) <= 2);
    CHECK(llabs((long long)totals->short_ns - 200) <= 2);
    CHECK(llabs((long long)totals->runnable_ns - 100) <= 2);
    CHECK_INT(totals->blocked_ns, 100);
    wall_destroy(wall);
    own_time_destroy(own);
    maker_destroy(maker);
}

/* The command takes the time, not a concurrent thread that runs until its end. */
TEST(a_wait_for_a_command_is_not_a_heartbeats)
{
    const struct wall_wait *waits;
    begin();
    uint32_t build = push(0, FRAME_PYTHON, "build", "/src/a.py");
    uint32_t beat = push(0, FRAME_PYTHON, "beat", "/src/a.py");
    uint32_t command = maker_process(maker, 300, 100, "python b.py", 0);
    uint32_t other = maker_thread(maker, command, 300, "main");
    struct own_time *own = own_time_create(maker_trace(maker));
    struct wall *wall = wall_create(maker_trace(maker), &PASS_SELECT_ALL);
    maker_finish(maker, 1000);
    off(own, wall, &(struct off){workers[1], WAIT_SLEEP, 0, 1000, 1000, beat});
    off(own, wall, &(struct off){workers[0], WAIT_CHILD, 0, 1000, 1000, build});
    off(own, wall, &(struct off){other, WAIT_LOCK, 0, 700, 700, 0});
    off(own, wall, &(struct off){other, WAIT_DISK, 700, 1000, 1000, beat});
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(wall_finish(wall, own, MAKER_BEGIN_NS, MAKER_BEGIN_NS + 1000), 0);
    CHECK_INT(wall_waits(wall, &waits), 2);
    CHECK_STR(name_of(waits[0].label), "build");
    CHECK_INT(waits[0].reason, WAIT_CHILD);
    CHECK_INT(waits[0].time_ns, 700);
    CHECK_INT(waits[1].reason, WAIT_DISK); /* the command itself waits for the disk */
    CHECK_INT(waits[1].time_ns, 300);
    wall_destroy(wall);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(the_stack_tells_what_a_lock_is_for)
{
    static const struct {
        const char *file, *function, *name, *phrase;
    } cases[] = {
        {STDLIB "threading.py", "Thread.join", "join", "waiting for a thread to end"},
        {STDLIB "threading.py", "join", "join", "waiting for a thread to end"},
        {STDLIB "concurrent/futures/_base.py", "Future.result", "future", "waiting for a future"},
        {STDLIB "concurrent/futures/_base.py", "as_completed", "future", "waiting for a future"},
        {STDLIB "queue.py", "Queue.get", "queue", "waiting for a queue"},
        {STDLIB "threading.py", "Lock.acquire", "lock", "waiting for a lock"},
        {STDLIB "other.py", "Thread.join", "lock", "waiting for a lock"},
        {"/src/threading_too.py", "join", "lock", "waiting for a lock"},
        {"/src/queue.py", "get", "lock", "waiting for a lock"}, /* own code */
    };

    enum { CASES = sizeof(cases) / sizeof(*cases) };

    begin();
    uint32_t main = push(0, FRAME_PYTHON, "main", "/src/a.py"), stacks[CASES];
    for (size_t i = 0; i < CASES; i++)
        stacks[i] = push(push(push(main, FRAME_PYTHON, cases[i].function, cases[i].file),
                              FRAME_PYTHON, "Condition.wait", STDLIB "threading.py"),
                         FRAME_NATIVE, "futex_wait", "/lib/x86_64-linux-gnu/libc.so.6");
    struct own_time *own = own_time_create(maker_trace(maker));
    for (size_t i = 0; i < CASES; i++)
        wait_in(own, stacks[i], WAIT_LOCK, 3000);
    CHECK_INT(own_time_finish(own), 0);
    for (size_t i = 0; i < CASES; i++) {
        unsigned kind = wait_kind_of(own, stacks[i], WAIT_LOCK);
        CHECK_STR(wait_kind_name(kind), cases[i].name);
        CHECK_STR(wait_phrase(kind), cases[i].phrase);
        CHECK_INT(wait_kind_of(own, stacks[i], WAIT_SLEEP), WAIT_SLEEP); /* only for locks */
    }
    const struct own_wait *found;
    uint32_t count = own_time_waits(own, &found);
    unsigned joins = 0;
    for (uint32_t i = 0; i < count; i++)
        joins += found[i].kind == WAIT_KIND_JOIN ? (unsigned)found[i].count : 0;
    CHECK_INT(joins, 2);
    own_time_destroy(own);
    maker_destroy(maker);
}

TEST(a_queue_in_c_is_no_lock)
{
    static const struct {
        const char *module, *function, *name;
    } cases[] = {
        {"/lib/python3.11/lib-dynload/_queue.cpython-311-x86_64-linux-gnu.so", "0x1234", "queue"},
        {"/usr/bin/python3.11", "_queue_SimpleQueue_get", "queue"},
        {"/usr/bin/python3.11", "lock_PyThread_acquire_lock", "lock"},
        {"/lib/_queue_of_mine.so", "get", "lock"},
    };

    begin();
    uint32_t main = push(0, FRAME_PYTHON, "main", "/src/a.py");
    struct own_time *own = own_time_create(maker_trace(maker));
    uint32_t stacks[sizeof(cases) / sizeof(*cases)];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        stacks[i] = push(push(main, FRAME_NATIVE, cases[i].function, cases[i].module), FRAME_NATIVE,
                         "futex_wait", "/lib/x86_64-linux-gnu/libc.so.6");
        wait_in(own, stacks[i], WAIT_LOCK, 3000);
    }
    CHECK_INT(own_time_finish(own), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(wait_kind_name(wait_kind_of(own, stacks[i], WAIT_LOCK)), cases[i].name);
    own_time_destroy(own);
    maker_destroy(maker);
}

struct crowd {
    uint64_t crowded_ns, contended_ns;
};

/* `ready` of four threads are always ready, and none runs, on two processors. */
static struct crowd crowd(int ready)
{
    begin();
    uint32_t third = maker_thread(maker, 0, 102, "worker");
    uint32_t fourth = maker_thread(maker, 0, 103, "worker");
    const uint32_t threads[] = {workers[0], workers[1], third, fourth};
    struct own_time *own = own_time_create(maker_trace(maker));
    struct wall *wall = wall_create(maker_trace(maker), &PASS_SELECT_ALL);
    maker_finish(maker, 1000);
    trace_session(maker_trace(maker))->processors = 2;
    for (int i = 0; i < 4; i++) {
        int64_t begin = i < ready ? 0 : 999;
        off(own, wall, &(struct off){threads[i], WAIT_PREEMPTED, begin, 1000, 1000, 0});
    }
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(wall_finish(wall, own, MAKER_BEGIN_NS, MAKER_BEGIN_NS + 1000), 0);
    const struct wall_host *hosts;
    CHECK_INT(wall_hosts(wall, &hosts), 1);
    struct crowd found = {hosts[0].crowded_ns, wall_totals(wall)->contended_ns};
    wall_destroy(wall);
    own_time_destroy(own);
    maker_destroy(maker);
    return found;
}

TEST(a_crowd_has_the_processors_or_is_twice_as_large)
{
    CHECK_INT(crowd(3).crowded_ns, 1); /* other programs use them, until a fourth thread appears */
    CHECK_INT(crowd(3).contended_ns, 999);
    CHECK_INT(crowd(4).crowded_ns, 1000);
    CHECK_INT(crowd(4).contended_ns, 0);
}

/* Two threads on the only processor of the first host, one on the second, which has eight. */
TEST(threads_have_the_processors_of_their_own_host_alone)
{
    begin();
    struct trace *trace = maker_trace(maker);
    uint32_t other = maker_process(maker, 100, 1, "python b.py", 0);
    uint32_t alone = maker_thread(maker, other, 100, "main");
    for (uint32_t i = 0; i < 2; i++) {
        trace_host_add(trace);
        trace_host(trace, i)->processors = i ? 8 : 1;
        trace_process(trace, i ? other : 0)->host = i;
    }
    struct own_time *own = own_time_create(trace);
    struct wall *wall = wall_create(trace, &PASS_SELECT_ALL);
    maker_finish(maker, 1000);
    trace_session(trace)->processors = 9;
    off(own, wall, &(struct off){workers[0], WAIT_PREEMPTED, 0, 400, 400, 0});
    off(own, wall, &(struct off){workers[1], WAIT_PREEMPTED, 400, 900, 900, 0});
    off(own, wall, &(struct off){alone, WAIT_PREEMPTED, 0, 100, 100, 0});
    off(own, wall, &(struct off){workers[1], WAIT_SLEEP, 0, 400, 400, 0});
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(wall_finish(wall, own, MAKER_BEGIN_NS, MAKER_BEGIN_NS + 1000), 0);
    const struct wall_host *hosts;
    CHECK_INT(wall_hosts(wall, &hosts), 2);
    CHECK_INT(hosts[0].host, 1); /* the busiest */
    CHECK_INT(hosts[0].busy_ns, 900);
    CHECK_INT(hosts[0].runnable_ns, 100);
    CHECK_INT(hosts[0].crowded_ns, 0);
    CHECK_INT(hosts[1].busy_ns, 600); /* the helper is seen until 900 */
    CHECK_INT(hosts[1].runnable_ns, 400 + 500);
    CHECK_INT(hosts[1].crowded_ns, 500);
    const struct wall_totals *totals = wall_totals(wall);
    CHECK_INT(totals->runnable_ns, 100);
    CHECK_INT(totals->starved_ns, 400); /* on the first, also while the second runs */
    CHECK_INT(totals->contended_ns, 400);
    CHECK_INT(totals->full_ns, 0);
    wall_destroy(wall);
    own_time_destroy(own);
    maker_destroy(maker);
}
