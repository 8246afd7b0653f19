/* SPDX-License-Identifier: MIT */
/* Who held memory: at the peak of all processes, at the end of each, and in a part of the time. */
#include "heap_stats.h"

#include "sample_weight.h"
#include "test.h"
#include "trace_maker.h"

#include <math.h>
#include <string.h>

#define MS  INT64_C(1000000)
#define MIB INT64_C(1048576)

static struct maker *maker;
static uint32_t processes[2], threads[2], stacks[2];
static uint16_t allocated, freed;

static uint16_t add_set(const char *name, struct sample_set set)
{
    set.name = maker_string(maker, name);
    set.flags = SAMPLE_SET_HEAP;
    return (uint16_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
}

static uint32_t function(const char *name, int line)
{
    return maker_stack(
        maker, 0, &(struct maker_frame){FRAME_PYTHON, name, "/home/me/a.py", NULL, line, line, 0});
}

static void make(void)
{
    maker = maker_create();
    for (int i = 0; i < 2; i++) {
        processes[i] = maker_process(maker, 10 + i, 0, "python3 a.py", 0);
        threads[i] = maker_thread(maker, processes[i], 10 + i, "main");
        stacks[i] = function(i ? "second" : "first", 7 + i);
    }
    allocated = add_set(
        "heap", (struct sample_set){.count = 2,
                                    .types = {VALUE_TYPE_ALLOC_BYTES, VALUE_TYPE_ALLOC_OBJECTS}});
    freed = add_set("heap-freed",
                    (struct sample_set){.count = 3,
                                        .types = {VALUE_TYPE_FREE_BYTES, VALUE_TYPE_FREE_OBJECTS,
                                                  VALUE_TYPE_LIFETIME}});
}

/* A sample that stands for 4 blocks of the process's function. */
static void allocate(int process, int64_t time, int64_t bytes)
{
    const struct sample sample = {.time_ns = time,
                                  .thread = threads[process],
                                  .stack = stacks[process],
                                  .set = allocated,
                                  SAMPLE_VALUES(bytes, 4)};
    maker_sample(maker, &sample);
}

static void release(int process, int64_t time, int64_t bytes, int64_t lifetime)
{
    const struct sample sample = {.time_ns = time,
                                  .thread = threads[process],
                                  .stack = stacks[process],
                                  .set = freed,
                                  SAMPLE_VALUES(bytes, 4, lifetime)};
    maker_sample(maker, &sample);
}

static void end_process(int process, int64_t time)
{
    trace_process(maker_trace(maker), processes[process])->end_ns = MAKER_BEGIN_NS + time;
}

static struct heap_stats *read_all(void)
{
    const struct pass_source source = maker_pass_source(maker);
    struct heap_stats *stats = heap_stats_create(maker_trace(maker));
    const struct sink sink = heap_stats_sink(stats);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK_INT(heap_stats_finish(stats), 0);
    return stats;
}

/* The sum of a value over all samples. */
static struct sample_weight weight;
static uint64_t sum;

static int add_weight(void *context, const struct item *item)
{
    const struct sample_sets *sets = trace_sets_get(context);
    if (sample_weight_takes(weight, sets, item->sample))
        sum += sample_weight_of(weight, sets, item->sample);
    return 0;
}

static int64_t value_sum(const char *name)
{
    struct trace *trace = maker_trace(maker);
    const struct sink sink = {add_weight, trace, WANT_SAMPLES};
    struct pass_source source = maker_pass_source(maker);
    CHECK_INT(sample_weight_find(trace, name, &weight), 0);
    CHECK_INT(heap_stats_find_peak(&source, &PASS_SELECT_ALL), 0);
    sum = 0;
    source = maker_pass_source(maker);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    return (int64_t)sum;
}

TEST(peak_is_of_all_processes_and_held_of_each_at_its_end)
{
    const struct heap_row *rows;
    const struct heap_process *of;
    make();
    allocate(0, 10 * MS, 8 * MIB);
    allocate(1, 20 * MS, 4 * MIB); /* the peak: 12 MiB */
    release(0, 25 * MS, 2 * MIB, 15 * MS);
    end_process(0, 30 * MS); /* held 6 MiB */
    allocate(1, 40 * MS, 5 * MIB);
    release(1, 45 * MS, 5 * MIB, 5 * MS); /* temporary */
    maker_finish(maker, 100 * MS);
    struct heap_stats *stats = read_all();
    const struct heap_totals *totals = heap_stats_totals(stats);
    CHECK_INT(totals->sums.peak, 12 * MIB);
    CHECK_INT(totals->peak_ns, MAKER_BEGIN_NS + 20 * MS);
    CHECK_INT(totals->sums.held, 10 * MIB);
    CHECK_INT(totals->sums.temporary, 5 * MIB);
    CHECK_INT(heap_stats_rows(stats, &rows), 2);
    CHECK_INT(rows[0].peak, 8 * MIB);
    CHECK_INT(rows[0].held, 6 * MIB);
    CHECK_INT(rows[1].peak, 4 * MIB);
    CHECK_INT(rows[1].held, 4 * MIB);
    CHECK_INT(rows[1].allocated, 9 * MIB);
    CHECK_INT(heap_stats_processes(stats, &of), 2);
    CHECK_INT(of[0].sums.process, processes[1]);
    CHECK_INT(of[0].peak, 9 * MIB);
    CHECK_INT(of[0].peak_ns, MAKER_BEGIN_NS + 40 * MS);
    CHECK_INT(value_sum("heap:peak"), 12 * MIB);
    CHECK_INT(value_sum("heap:held"), 10 * MIB);
    CHECK_INT(value_sum("heap:allocated"), 17 * MIB);
    CHECK_INT(value_sum("heap:temporary"), 5 * MIB);
    heap_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(functions_of_annot_are_one_row_without_a_name)
{
    const char *file = "/usr/lib/python3/dist-packages/pyannot/observe/__init__.py";
    const struct heap_row *rows;
    make();
    stacks[0] =
        maker_stack(maker, 0, &(struct maker_frame){FRAME_PYTHON, "load", file, NULL, 9, 9, 0});
    allocate(0, 10 * MS, 8 * MIB);
    stacks[0] =
        maker_stack(maker, 0, &(struct maker_frame){FRAME_PYTHON, "wait", file, NULL, 5, 5, 0});
    allocate(0, 20 * MS, 4 * MIB);
    stacks[0] = maker_stack(maker, stacks[1],
                            &(struct maker_frame){FRAME_PYTHON, "wait", file, NULL, 5, 5, 0});
    allocate(0, 30 * MS, 2 * MIB); /* called by an own function: its */
    maker_finish(maker, 100 * MS);
    struct heap_stats *stats = read_all();
    CHECK_INT(heap_stats_rows(stats, &rows), 2);
    CHECK_INT(rows[0].allocated, 12 * MIB);
    CHECK_INT(rows[0].label, 0);
    CHECK_INT(rows[0].line, HEAP_LINE_ANNOT);
    CHECK_INT(rows[1].allocated, 2 * MIB);
    CHECK(rows[1].label != 0);
    heap_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(a_window_has_blocks_of_its_time_as_held_at_its_end)
{
    make();
    allocate(0, 10 * MS, 8 * MIB);
    allocate(1, 20 * MS, 4 * MIB);
    end_process(1, 25 * MS); /* holds nothing later */
    allocate(0, 30 * MS, 3 * MIB);
    release(0, 40 * MS, 8 * MIB, 30 * MS); /* of before the window */
    release(0, 45 * MS, MIB, 15 * MS);
    release(0, 60 * MS, 2 * MIB, 30 * MS); /* after the window */
    maker_finish(maker, 100 * MS);
    const struct trace_heap_window window = {.from_ns = MAKER_BEGIN_NS + 15 * MS,
                                             .at_ns = MAKER_BEGIN_NS + 50 * MS};
    trace_heap_window_set(maker_trace(maker), &window);
    struct heap_stats *stats = read_all();
    const struct heap_totals *totals = heap_stats_totals(stats);
    CHECK_INT(totals->sums.held, 2 * MIB);
    CHECK_INT(totals->sums.peak, 4 * MIB);
    CHECK_INT(totals->sums.allocated, 7 * MIB);
    CHECK_INT(value_sum("heap:held"), 2 * MIB);
    heap_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(deviations_are_of_blocks_that_are_sampled_by_chance)
{
    const struct heap_row *rows;
    make();
    for (int i = 1; i <= 100; i++)
        allocate(0, i * MS, 4096);
    maker_finish(maker, 200 * MS);
    struct heap_stats *stats = read_all();
    CHECK_INT(heap_stats_rows(stats, &rows), 1);
    CHECK(fabs(rows[0].peak_variance - 100 * 4096.0 * 4096 * 3 / 4) < 1);
    CHECK(fabs(rows[0].peak_variance - rows[0].held_variance) < 1);
    heap_stats_destroy(stats);
    maker_destroy(maker);
}

TEST(long_recordings_are_replayed_in_parts)
{
    enum { PAIRS = 300000 };

    make();
    for (int64_t i = 0; i < PAIRS; i++) {
        allocate(0, 2 * i + 1, i == PAIRS / 2 ? 100 : 10);
        release(0, 2 * i + 2, i == PAIRS / 2 ? 100 : 10, 1);
    }
    maker_finish(maker, 100 * MS);
    struct heap_stats *stats = read_all();
    const struct heap_totals *totals = heap_stats_totals(stats);
    CHECK_INT(totals->sums.peak, 100);
    CHECK_INT(totals->peak_ns, MAKER_BEGIN_NS + PAIRS + 1);
    CHECK_INT(totals->sums.held, 0);
    CHECK_INT(totals->sums.allocated, 10 * PAIRS + 90);
    heap_stats_destroy(stats);
    maker_destroy(maker);
}
