/* SPDX-License-Identifier: MIT */
/* The recordings of calls_trace.h: main() of app.py loads three files, of 100 ms in all.
 *
 *     function            calls   own    total
 *     main                    1    31      100 ms
 *     load                    3     6       60
 *     Parser.parse            9    45       54   three a file: it calls itself twice
 *     Parser.token           90     9        9   ten a parse
 *     list.sort               1     4        4   in C
 *     loads                   1     5        5   of the standard library */
#include "calls_trace.h"

#include "stacks.h"

#include <stdlib.h>

enum { FILES = 3, PARSES = 3, TOKENS = 10, COUNTED_TOKENS = 30 };

static const int64_t ms = 1000000;

struct made {
    struct maker *maker;
    enum calls_trace_way way;
    uint32_t thread, scope;
    uint32_t main, load, parse, token, sort, loads; /* labels */
    uint32_t tokens;
    int64_t now;
};

static const struct maker_frame frames[] = {
    {.kind = FRAME_PYTHON, .function = "main", .file = "/home/me/app.py", .first_line = 40},
    {.kind = FRAME_PYTHON, .function = "load", .file = "/home/me/app.py", .first_line = 30},
    {.kind = FRAME_PYTHON, .function = "Parser.parse", .file = "/home/me/app.py", .first_line = 12},
    {.kind = FRAME_PYTHON, .function = "Parser.token", .file = "/home/me/app.py", .first_line = 5},
    {.kind = FRAME_NATIVE, .function = "list.sort"},
    {.kind = FRAME_PYTHON,
     .function = "loads",
     .file = "/usr/lib/python3.11/json/__init__.py",
     .first_line = 299},
};

static uint32_t label_of(struct made *made, unsigned index)
{
    struct trace *trace = maker_trace(made->maker);
    uint32_t frame = maker_frame_of(trace, &frames[index]);
    return stacks_get_frame(trace_stacks_get(trace), frame)->label;
}

static void tell(struct made *made, enum event_kind kind, uint32_t label)
{
    struct event event = {
        .kind = (uint8_t)kind, .thread = made->thread, .time_ns = made->now, .scope = made->scope};
    event.name = (uint32_t)trace_label_name(maker_trace(made->maker), label);
    if (kind == EVENT_MARK) {
        event.value_kind = VALUE_BOOL;
        event.value.uint64 = 1;
    }
    maker_event(made->maker, &event);
}

static void leave(struct made *made)
{
    maker_pop(made->maker, made->thread, made->now);
}

/* A token takes 100 us; parse takes another 5 ms itself, nested calls included. */
static void parse(struct made *made, int nested)
{
    tell(made, EVENT_PUSH, made->parse);
    for (int i = 0; i < TOKENS; i++, made->tokens++) {
        bool counted = made->way == CALLS_TRACE_EXACT || made->tokens < COUNTED_TOKENS;
        if (counted)
            tell(made, EVENT_PUSH, made->token);
        made->now += ms / 10;
        if (counted)
            leave(made);
        if (made->way == CALLS_TRACE_ADAPTIVE && made->tokens == COUNTED_TOKENS - 1)
            tell(made, EVENT_MARK, made->token);
    }
    made->now += 5 * ms;
    if (nested > 1)
        parse(made, nested - 1);
    leave(made);
}

static void make_spans(struct made *made)
{
    tell(made, EVENT_PUSH, made->main);
    maker_push(made->maker, made->thread, made->now, "files");
    for (int i = 0; i < FILES; i++) {
        tell(made, EVENT_PUSH, made->load);
        made->now += 2 * ms;
        parse(made, PARSES);
        leave(made);
    }
    maker_pop(made->maker, made->thread, made->now);
    tell(made, EVENT_PUSH, made->sort);
    made->now += 4 * ms;
    leave(made);
    tell(made, EVENT_PUSH, made->loads);
    made->now += 5 * ms;
    leave(made);
    made->now += 31 * ms;
    leave(made);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void count(struct made *made, uint32_t stack, int64_t calls, int64_t own_ns)
{
    const struct sample sample = {.set = SAMPLE_SET_OWN,
                                  .thread = made->thread,
                                  .time_ns = 1,
                                  .end_ns = 100 * ms,
                                  .stack = stack,
                                  .value_count = 2,
                                  .values = (const int64_t[]){calls, own_ns}};
    maker_sample(made->maker, &sample);
}

static void make_sums(struct made *made)
{
    const struct sample_set set = {.name = maker_string(made->maker, "calls"),
                                   .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   .count = 2,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    if (sample_sets_add(trace_sets(maker_trace(made->maker)), &set) != SAMPLE_SET_OWN)
        abort();
    uint32_t in_main = maker_stack(made->maker, 0, &frames[0]);
    uint32_t at = maker_stack(made->maker, in_main, &frames[1]);
    count(made, in_main, 1, 31 * ms);
    count(made, at, FILES, FILES * 2 * ms);
    for (int i = 0; i < PARSES; i++) {
        at = maker_stack(made->maker, at, &frames[2]);
        count(made, at, FILES, (int64_t)FILES * 5 * ms);
        count(made, maker_stack(made->maker, at, &frames[3]), (int64_t)FILES * TOKENS,
              (int64_t)FILES * ms);
    }
    count(made, maker_stack(made->maker, in_main, &frames[4]), 1, 4 * ms);
    count(made, maker_stack(made->maker, in_main, &frames[5]), 1, 5 * ms);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void ran(struct made *made, uint32_t stack, int64_t time_ns)
{
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .thread = made->thread,
                                  .time_ns = time_ns,
                                  .stack = stack,
                                  SAMPLE_VALUES(1 * ms)};
    maker_sample(made->maker, &sample);
}

/* The 60 uncounted tokens take 6 ms; the samples hit 5 of them. */
static void make_samples(struct made *made)
{
    uint32_t at = maker_stack(made->maker, maker_stack(made->maker, 0, &frames[0]), &frames[1]);
    at = maker_stack(made->maker, at, &frames[2]);
    uint32_t in_token = maker_stack(made->maker, at, &frames[3]);
    ran(made, in_token, 4 * ms); /* a counted one */
    for (int i = 0; i < 5; i++) {
        ran(made, in_token, (30 + 4 * i) * ms);
        ran(made, at, (31 + 4 * i) * ms);
    }
}

struct maker *calls_trace_create(enum calls_trace_way way)
{
    struct made made = {.maker = maker_create(), .way = way};
    uint32_t process = maker_process(made.maker, 5000, 0, "python3 /home/me/app.py", 0);
    made.thread = maker_thread(made.maker, process, 5000, "MainThread");
    made.scope = maker_observed(made.maker, "", OBSERVER_PYTHON_CALLS, 0);
    uint32_t *const labels[] = {&made.main,  &made.load, &made.parse,
                                &made.token, &made.sort, &made.loads};
    for (unsigned i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        *labels[i] = label_of(&made, i);
    if (way == CALLS_TRACE_COUNTED)
        make_sums(&made);
    else
        make_spans(&made);
    if (way == CALLS_TRACE_ADAPTIVE)
        make_samples(&made);
    maker_finish(made.maker, 101 * ms);
    return made.maker;
}
