/* SPDX-License-Identifier: MIT */
/* Compares self, total and Python time of functions with a count sample by sample. */
#include "call_label.h"
#include "report.h"
#include "report_functions.h"
#include "test.h"
#include "trace_maker.h"

enum { FUNCTIONS = 12, SAMPLES = 3000, DEPTH_MAX = 20 };

static struct maker *maker;

static struct maker_frame frame_of(uint32_t function, int32_t line)
{
    static const char *const names[FUNCTIONS] = {"a", "b", "c", "d", "e", "f",
                                                 "g", "h", "i", "j", "k", "l"};
    bool python = function % 3 == 0;
    return (struct maker_frame){.kind = python ? FRAME_PYTHON : FRAME_NATIVE,
                                .function = names[function],
                                .file = python ? "/src/x.py" : "",
                                .module = python ? "" : "/lib/m.so",
                                .line = line,
                                .first_line = python ? (int32_t)function * 10 + 1 : 0,
                                .address = python ? 0 : function * 64u + (uint32_t)line};
}

static uint64_t random_state = 88172645463325252;

static uint32_t below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static uint32_t function_of_row(const struct function_row *row)
{
    const struct label *label = stacks_get_label(trace_stacks_get(maker_trace(maker)), row->label);
    return (uint32_t)(trace_string(maker_trace(maker), label->text)->bytes[0] - 'a');
}

static const struct sample_weight CPU_TIME;

TEST(functions_add_up_as_samples_say)
{
    static struct {
        uint32_t functions[DEPTH_MAX], depth, stack;
    } samples[SAMPLES];

    uint64_t self[FUNCTIONS] = {0}, total[FUNCTIONS] = {0}, python[FUNCTIONS] = {0};
    uint64_t counts[FUNCTIONS] = {0};
    maker = maker_create();
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].depth = below(DEPTH_MAX);
        for (uint32_t d = 0; d < samples[i].depth; d++) {
            samples[i].functions[d] = below(FUNCTIONS);
            struct maker_frame frame = frame_of(samples[i].functions[d], (int32_t)below(4));
            samples[i].stack = maker_stack(maker, samples[i].stack, &frame);
        }
    }
    struct frame_stats *stats = frame_stats_create(maker_trace(maker), CPU_TIME);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t weight = 1 + below(50);
        bool seen[FUNCTIONS] = {false}, found = false;
        frame_stats_add(stats, &(struct sample){.set = SAMPLE_SET_CPU,
                                                .stack = samples[i].stack,
                                                SAMPLE_VALUES(weight)});
        for (uint32_t d = samples[i].depth; d-- > 0;) {
            uint32_t function = samples[i].functions[d];
            self[function] += d + 1 == samples[i].depth ? weight : 0;
            total[function] += seen[function] ? 0 : weight;
            counts[function] += !seen[function];
            python[function] += !found && function % 3 == 0 ? weight : 0;
            found = found || function % 3 == 0;
            seen[function] = true;
        }
    }
    frame_stats_finish(stats);
    const struct function_row *rows;
    uint64_t before = UINT64_MAX;
    uint32_t count = frame_stats_sort(stats, FRAME_ORDER_TOTAL, &rows);
    CHECK_INT(count,
              FUNCTIONS +
                  1); /* all lines of a function are one row; plus the row without a function */
    CHECK_INT(rows[FUNCTIONS].label, 0);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        uint32_t function = function_of_row(&rows[i]);
        CHECK_INT(rows[i].self_ns, self[function]);
        CHECK_INT(rows[i].total_ns, total[function]);
        CHECK_INT(rows[i].python_ns, python[function]);
        CHECK_INT(rows[i].count, counts[function]);
        CHECK(rows[i].total_ns <= before);
        before = rows[i].total_ns;
    }
    uint64_t self_sum = 0, python_sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        self_sum += rows[i].self_ns;
        python_sum += rows[i].python_ns;
    }
    CHECK_INT(self_sum, frame_stats_totals(stats)->total_ns);
    CHECK_INT(python_sum, frame_stats_totals(stats)->total_ns);
    frame_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(the_collector_s_time_is_not_the_function_s_that_it_interrupts)
{
    maker = maker_create();
    struct maker_frame python = frame_of(0, 1), native = frame_of(1, 1);
    struct maker_frame collector = {.kind = FRAME_COLLECTOR, .function = "[garbage collector]"};
    uint32_t outer = maker_stack(maker, 0, &python);
    uint32_t inner = maker_stack(maker, maker_stack(maker, outer, &collector), &native);
    uint32_t finalizer = maker_stack(maker, inner, &python);
    struct frame_stats *stats = frame_stats_create(maker_trace(maker), CPU_TIME);
    const struct sample samples[] = {{.set = SAMPLE_SET_CPU, SAMPLE_VALUES(2), .stack = outer},
                                     {.set = SAMPLE_SET_CPU, SAMPLE_VALUES(7), .stack = inner},
                                     {.set = SAMPLE_SET_CPU, SAMPLE_VALUES(3), .stack = finalizer}};
    for (int i = 0; i < 3; i++)
        frame_stats_add(stats, &samples[i]);
    frame_stats_finish(stats);
    const struct function_row *rows;
    CHECK_INT(frame_stats_sort(stats, FRAME_ORDER_PYTHON, &rows), 3);
    CHECK_INT(rows[0].python_ns, 7);
    CHECK_INT(rows[0].total_ns, 10);
    CHECK_INT(rows[1].python_ns, 2 + 3);
    CHECK_INT(frame_stats_totals(stats)->python_ns, 12);
    frame_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(samples_without_a_stack_are_told)
{
    maker = maker_create();
    struct frame_stats *stats = frame_stats_create(maker_trace(maker), CPU_TIME);
    const struct function_row *rows;
    frame_stats_add(stats, &(struct sample){.set = SAMPLE_SET_CPU, SAMPLE_VALUES(7)});
    frame_stats_add(stats, &(struct sample){.set = SAMPLE_SET_CPU, SAMPLE_VALUES(5), .stack = 99});
    frame_stats_finish(stats);
    CHECK_INT(frame_stats_totals(stats)->total_ns, 12);
    CHECK_INT(frame_stats_totals(stats)->no_stack_ns, 12); /* a missing stack counts as none */
    CHECK_INT(frame_stats_sort(stats, FRAME_ORDER_SELF, &rows), 1);
    CHECK_INT(rows[0].label, 0);
    CHECK_INT(rows[0].self_ns, 12);
    CHECK_INT(rows[0].python_ns, 12);
    CHECK_INT(rows[0].count, 2);
    frame_stats_destroy(stats);
    maker_destroy(maker);
}
