/* SPDX-License-Identifier: MIT */
/* The recording of lines_trace.h: two threads ran these lines, of 100 ms in all.
 *
 *     short() in app.py     line 5: 3 hits, 30 ms (25 ms in traced callees)
 *                           line 6: 300 hits, 6 ms; line 7: 3 hits, 300 us
 *     long() in app.py      lines 11 to 50: one hit each, 1 us; line 30: 40 ms
 *     load() in json        line 299: 2 hits, 20 ms */
#include "lines_trace.h"

#include <stdio.h>

enum { LONG_FIRST = 10, LONG_LAST = 50, LONG_HOT = 30 };

static const int64_t us = 1000;

#define OWN_FILE "/home/me/app.py"

struct made {
    struct maker *maker;
    uint32_t thread;
    uint16_t set;
};

static void count(struct made *made, const struct maker_frame *frame, int64_t hits, int64_t time_ns)
{
    const struct sample sample = {.set = made->set,
                                  .thread = made->thread,
                                  .time_ns = 1,
                                  .end_ns = 100000 * us,
                                  .stack = maker_stack(made->maker, 0, frame),
                                  .value_count = 2,
                                  .values = (const int64_t[]){hits, time_ns}};
    maker_sample(made->maker, &sample);
}

static void count_own(struct made *made, const char *name, int line, int64_t hits, int64_t time_ns)
{
    int first = line < LONG_FIRST ? 4 : LONG_FIRST;
    count(made,
          &(struct maker_frame){.kind = FRAME_PYTHON,
                                .function = name,
                                .file = OWN_FILE,
                                .line = line,
                                .first_line = first},
          hits, time_ns);
}

static uint16_t add_set(struct maker *maker, const char *name, uint16_t count, uint16_t time)
{
    const struct sample_set set = {.name = maker_string(maker, name),
                                   .flags =
                                       SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
                                   .count = 2,
                                   .types = {count, time}};
    return (uint16_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
}

static void count_lines(struct made *made)
{
    count_own(made, "Shape.short", 5, 1, 10000 * us);
    count_own(made, "Shape.short", 6, 200, 4000 * us);
    count_own(made, "Shape.short", 7, 3, 300 * us);
    for (int line = LONG_FIRST + 1; line <= LONG_LAST; line++)
        count_own(made, "long", line, 1, line == LONG_HOT ? 40000 * us : us);
}

static void count_others(struct made *made)
{
    count_own(made, "Shape.short", 5, 2, 20000 * us);
    count_own(made, "Shape.short", 6, 100, 2000 * us);
    count(made,
          &(struct maker_frame){.kind = FRAME_PYTHON,
                                .function = "loads",
                                .file = "/usr/lib/python3.11/json/__init__.py",
                                .line = 346,
                                .first_line = 299},
          2, 20000 * us);
}

/* The text of app.py. */
static void keep_text(struct maker *maker)
{
    static const char begin[] = "import json\n\n\n"
                                "    def short(self, n):\n        time.sleep(0.01)\n"
                                "        while n: n -= 1\n        return n\n\n\n"
                                "def long(\n";
    struct stacks *stacks = trace_stacks(maker_trace(maker));
    const uint8_t hash[16] = {1};
    char text[8192];
    int length = snprintf(text, sizeof(text), "%s", begin);
    for (int line = LONG_FIRST + 1; line <= LONG_LAST; line++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "    step(%d)\n", line);
    snprintf(text + length, sizeof(text) - (size_t)length, "\n    # the end\n    return 1\n\n\n%s",
             "def other():\n    pass\n");
    for (uint32_t i = 1; i < stacks_source_count(stacks); i++) {
        uint32_t path = stacks_get_source(stacks, i)->path;
        if (path == maker_string(maker, OWN_FILE))
            stacks_keep_source(stacks, i, maker_string(maker, text), hash);
    }
}

struct maker *lines_trace_create(void)
{
    struct maker *maker = maker_create();
    struct made made = {.maker = maker};
    uint32_t process = maker_process(maker, 900, -1, "python3 app.py", 0);
    made.set = add_set(maker, "lines", VALUE_TYPE_CALLS, VALUE_TYPE_WALL);
    made.thread = maker_thread(maker, process, 900, "");
    count_lines(&made);
    made.thread = maker_thread(maker, process, 901, "worker");
    count_others(&made);
    made.set = add_set(maker, "lines: callees", VALUE_TYPE_CALLEES, VALUE_TYPE_CALLEE_TIME);
    count_own(&made, "Shape.short", 5, 4, 25000 * us);
    keep_text(maker);
    maker_finish(maker, 100000 * us);
    return maker;
}
