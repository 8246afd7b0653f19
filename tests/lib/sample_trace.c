/* SPDX-License-Identifier: MIT */
/* The recording of sample_trace.h: a main process, two workers of which one was killed, a process
 * with a reused pid, a thread with a reused tid; names with every awkward character, equal times,
 * zero lengths, gaps, values of each kind. */
#include "sample_trace.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static void end_process(struct maker *maker, uint32_t process, enum process_end end, int32_t value)
{
    struct trace_process *entry = trace_process(maker_trace(maker), process);
    entry->end = end;
    entry->end_value = value;
}

/* Nesting, ties, a range of one nanosecond and one of zero length. */
static void add_nested(struct maker *maker, uint32_t thread)
{
    maker_push(maker, thread, 1000, "main");
    maker_push(maker, thread, 1000, "setup");  /* begins with its parent */
    maker_push(maker, thread, 1000, "import"); /* begins with its parent, too */
    maker_pop(maker, thread, 1500);
    maker_pop(maker, thread, 2000);
    maker_push(maker, thread, 2000, "load"); /* begins when its sibling ends */
    maker_push(maker, thread, 2500, "read");
    maker_pop(maker, thread, 2501);
    maker_push(maker, thread, 2600, "outer twin"); /* has the length of its child */
    maker_push(maker, thread, 2600, "inner twin");
    maker_pop(maker, thread, 2700);
    maker_pop(maker, thread, 2700);
    maker_push(maker, thread, 2800, "empty");
    maker_pop(maker, thread, 2800);
    maker_pop(maker, thread, 3000);
}

static void add_names(struct maker *maker, uint32_t thread)
{
    static char longest[1025];
    memset(longest, 'n', sizeof(longest) - 1);
    const char *names[] = {"quote \" back \\ slash /", "tab\tnew\nline\x01\x1f\x7f",
                           "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d", longest, ""};
    for (int i = 0; i < 5; i++) {
        maker_push(maker, thread, 4000 + 100 * i, names[i]);
        maker_pop(maker, thread, 4050 + 100 * i);
    }
}

static void add_values(struct maker *maker, uint32_t thread)
{
    struct event mark = {.kind = EVENT_MARK, .thread = thread, .time_ns = 5000};

    const struct {
        enum value_kind kind;
        union value value;
    } values[] = {
        {VALUE_INT64, {.int64 = -42}},
        {VALUE_UINT64, {.uint64 = UINT64_MAX}},
        {VALUE_DOUBLE, {.float64 = 0.1}},
        {VALUE_DOUBLE, {.float64 = NAN}},
        {VALUE_BOOL, {.uint64 = 1}},
        {VALUE_STRING, {.string = maker_string(maker, "text \"payload\"")}},
    };

    mark.name = maker_string(maker, "value");
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        mark.time_ns += 10;
        mark.value_kind = values[i].kind;
        mark.value = values[i].value;
        maker_event(maker, &mark);
    }
    struct event full = {.kind = EVENT_PUSH, .thread = thread, .time_ns = 5200};
    full.name = maker_string(maker, "coloured");
    full.scope = maker_scope(maker, "mylib", "io");
    full.level = 3;
    full.flags = EVENT_HAS_COLOR;
    full.color = 0xfff04a40;
    full.value_kind = VALUE_INT64;
    full.value.int64 = 7;
    maker_event(maker, &full);
    maker_pop(maker, thread, 5300);
    full.kind = EVENT_PUSH; /* only a domain, and only a category */
    full.time_ns = 5300;
    full.scope = maker_scope(maker, "mylib", NULL);
    full.level = full.flags = full.value_kind = 0;
    maker_event(maker, &full);
    maker_pop(maker, thread, 5400);
    full.time_ns = 5400;
    full.scope = maker_scope(maker, NULL, "io");
    maker_event(maker, &full);
    maker_pop(maker, thread, 5500);
}

static void add_counters(struct maker *maker, uint32_t thread)
{
    struct event counter = {.kind = EVENT_COUNTER, .thread = thread, .value_kind = VALUE_INT64};
    for (int i = 0; i < 4; i++)
        maker_counter(maker, thread, 6000 + 100 * i, "queue", i * 0.5);
    counter.name = maker_string(maker, "queue"); /* the same name in another domain */
    counter.scope = maker_scope(maker, "mylib", NULL);
    for (int i = 0; i < 4; i++) {
        counter.time_ns = 6050 + 100 * i;
        counter.value.int64 = 10 - i;
        maker_event(maker, &counter);
    }
    maker_counter(maker, thread, 6500, "not a number", NAN);
}

/* Overlapping ranges, one that ends on another thread, and one without an end. */
static void add_overlapping(struct maker *maker, uint32_t thread, uint32_t other)
{
    maker_start(maker, thread, 7000, "request", 101);
    maker_start(maker, thread, 7100, "request", 102);
    maker_start(maker, thread, 7200, "request", 103);
    maker_end(maker, thread, 7300, 101);
    maker_end(maker, other, 7400, 102);
    maker_start(maker, thread, 7500, "request", 104);
    maker_start(maker, thread, 7500, "copy", 105);
    maker_end(maker, thread, 7600, 105);
    maker_end(maker, thread, 7700, 104);
}

static void add_worker(struct maker *maker, uint32_t thread)
{
    maker_push(maker, thread, 2000, "worker");
    maker_push(maker, thread, 2100, "analyse");
    maker_pop(maker, thread, 2200);
    maker_push(maker, thread, 2300, "analyse"); /* ends inside the gap */
    maker_lost(maker, thread, &(struct maker_gap){2400, 3000, 12, 1, LOSS_POOL_FULL});
    maker_lost(maker, thread, &(struct maker_gap){2400, 3000, 1, 1, LOSS_INTERRUPTED});
    maker_push(maker, thread, 3100, "analyse");
    maker_pop(maker, thread, 3200);
    maker_lost(maker, thread, &(struct maker_gap){3300, 3400, 2, 1, LOSS_NO_MEMORY});
    maker_push(maker, thread, 3500, "analyse"); /* open when the process is killed */
}

struct maker *sample_trace_create(void)
{
    struct maker *maker = maker_create();
    struct trace *trace = maker_trace(maker);
    uint32_t root = maker_process(maker, 4000, -1, "python pipeline.py --workers 2", 100);
    uint32_t killed = maker_process(maker, 4002, 0, "python pipeline.py --workers 2", 1800);
    uint32_t again = maker_process(maker, 4002, 0, "/usr/bin/sort -n", 6000);
    uint32_t main_thread = maker_thread(maker, root, 4000, "");
    uint32_t reader = maker_thread(maker, root, 4001, "reader");
    uint32_t worker = maker_thread(maker, killed, 4002, "");
    uint32_t sort = maker_thread(maker, again, 4002, "");
    uint32_t reader_again = maker_thread(maker, root, 4001, "reader");
    trace_process(trace, killed)->forked = true;
    trace_process(trace, killed)->end_ns = MAKER_BEGIN_NS + 4000;
    end_process(maker, root, PROCESS_EXITED, 0);
    end_process(maker, killed, PROCESS_SIGNALED, SIGKILL);
    end_process(maker, again, PROCESS_RUNNING, 0);
    add_nested(maker, main_thread);
    add_worker(maker, worker);
    add_names(maker, main_thread);
    add_values(maker, main_thread);
    add_counters(maker, main_thread);
    maker_push(maker, reader, 6900, "read file");
    add_overlapping(maker, main_thread, reader);
    maker_pop(maker, reader, 8000);
    maker_push(maker, reader_again, 7900, "read file"); /* overlaps, under the same tid */
    maker_pop(maker, reader_again, 8100);
    maker_push(maker, sort, 7000, "sort");
    maker_pop(maker, sort, 7800);
    maker_pop(maker, main_thread, 9000);
    struct trace_refusal refusal = {.pid = 4100,
                                    .comm = maker_string(maker, "sudo"),
                                    .reason = maker_string(maker, "a set-uid program")};
    if (trace_refusal_add(trace, &refusal) < 0)
        return NULL;
    trace_process(trace, root)->misuse[MISUSE_POP_EMPTY] = 1;
    trace_process(trace, root)->misuse[MISUSE_NAME_LEFT] = 40;
    trace_process(trace, killed)->misuse[MISUSE_NAME_LEFT] = 2;
    maker_finish(maker, 10000);
    return maker;
}
