/* SPDX-License-Identifier: MIT */
/* The recording of sets_trace.h: 40 ms of one thread, load() until 14 ms, then step().
 *
 *     cpu                9 ms in load (9 samples), 24 ms in step (24)
 *     off-cpu            blocked 3 ms, runnable 1 ms, in load (1 stretch)
 *     alloc              load 3 x 4096 bytes; step 2 x 1 MiB and 100 bytes; an object each
 *     calls              of each 10 ms: load 100, 0, 0, 0; step 0, 20, 20, 30 calls
 *     paging             faults, a type of its own: load 5, step 7
 *     thermal            a level: 61000, 83000 mC */
#include "sets_trace.h"

#include <stdlib.h>

enum { THREAD = 0, SAMPLES_MAX = 128 };

static const int64_t ms = 1000000;

struct made {
    uint32_t load, step, in_load, in_train; /* stacks, paths */
    uint16_t alloc, calls, paging, thermal; /* sets */
    struct sample samples[SAMPLES_MAX];
    int64_t values[SAMPLES_MAX][3];
    size_t count;
};

static uint16_t add_set(struct maker *maker, const char *name, struct sample_set set)
{
    set.name = maker_string(maker, name);
    return (uint16_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
}

static uint16_t add_type(struct maker *maker, const char *name, const char *unit,
                         enum value_sum sum)
{
    const struct value_type type = {maker_string(maker, name), maker_string(maker, unit),
                                    (uint8_t)sum};
    return (uint16_t)value_types_add(trace_sets(maker_trace(maker)), &type);
}

static void make_sets(struct maker *maker, struct made *made)
{
    uint16_t faults = add_type(maker, "faults", "", VALUE_SUM_ADDS);
    uint16_t temperature = add_type(maker, "temperature", "mC", VALUE_SUM_LEVEL);
    made->alloc =
        add_set(maker, "alloc",
                (struct sample_set){.flags = SAMPLE_SET_EXACT | SAMPLE_SET_HEAP,
                                    .count = 2,
                                    .types = {VALUE_TYPE_ALLOC_BYTES, VALUE_TYPE_ALLOC_OBJECTS}});
    made->calls =
        add_set(maker, "calls",
                (struct sample_set){.flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                    .count = 3,
                                    .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL, VALUE_TYPE_CPU}});
    made->paging = add_set(maker, "paging", (struct sample_set){.count = 1, .types = {faults}});
    made->thermal =
        add_set(maker, "thermal", (struct sample_set){.count = 1, .types = {temperature}});
}

static uint32_t function(struct maker *maker, uint32_t parent, const char *name, int line)
{
    return maker_stack(
        maker, parent,
        &(struct maker_frame){FRAME_PYTHON, name, "/home/me/app/train.py", NULL, line, line, 0});
}

static void add(struct made *made, struct sample sample, const int64_t *values, uint8_t count)
{
    int64_t *kept = made->values[made->count];
    for (int i = 0; i < count; i++)
        kept[i] = values[i];
    sample.thread = THREAD;
    sample.native_end = STACK_COMPLETE;
    sample.python_end = STACK_COMPLETE;
    sample.values = kept;
    sample.value_count = count;
    made->samples[made->count++] = sample;
}

/* By the time at which they are reported. */
static int compare_times(const void *left, const void *right)
{
    int64_t a = sample_order_ns(left), b = sample_order_ns(right);
    return (a > b) - (a < b);
}

static void add_cpu(struct made *made)
{
    for (int at = 1; at < 39; at++) {
        bool load = at < 10;
        bool blocked = at >= 10 && at < 15;
        if (!blocked)
            add(made,
                (struct sample){.set = SAMPLE_SET_CPU,
                                .time_ns = at * ms,
                                .stack = load ? made->load : made->step,
                                .path = load ? made->in_load : made->in_train},
                &ms, 1);
    }
}

static void add_allocs(struct made *made)
{
    for (int i = 0; i < 6; i++) {
        const int64_t bytes = i < 3 ? 4096 : i < 5 ? 1 << 20 : 100;
        add(made,
            (struct sample){.set = made->alloc,
                            .time_ns = (2 + 3 * i) * ms + ms / 2,
                            .id = UINT64_C(0x7f0000001000) + 4096 * (uint64_t)i,
                            .stack = i < 3 ? made->load : made->step},
            (const int64_t[]){bytes, 1}, 2);
    }
}

static void add_calls(struct made *made)
{
    static const int64_t counts[] = {100, 20, 20, 30};
    for (int i = 0; i < 4; i++)
        add(made,
            (struct sample){.set = made->calls,
                            .time_ns = (1 + 10 * i) * ms,
                            .end_ns = (11 + 10 * i - (i == 3 ? 2 : 0)) * ms,
                            .stack = i == 0 ? made->load : made->step},
            (const int64_t[]){counts[i], 8 * ms, 7 * ms}, 3);
}

static void add_others(struct made *made)
{
    add(made, (struct sample){.set = made->paging, .time_ns = 3 * ms, .stack = made->load},
        (const int64_t[]){5}, 1);
    add(made, (struct sample){.set = made->paging, .time_ns = 23 * ms, .stack = made->step},
        (const int64_t[]){7}, 1);
    add(made, (struct sample){.set = made->thermal, .time_ns = 5 * ms}, (const int64_t[]){61000},
        1);
    add(made, (struct sample){.set = made->thermal, .time_ns = 30 * ms}, (const int64_t[]){83000},
        1);
    add(made,
        (struct sample){.set = SAMPLE_SET_OFF_CPU,
                        .time_ns = 10 * ms,
                        .end_ns = 14 * ms,
                        .stack = made->load,
                        .path = made->in_load,
                        .reason = WAIT_DISK},
        (const int64_t[]){3 * ms, ms}, 2);
}

struct maker *sets_trace_create(void)
{
    struct maker *maker = maker_create();
    static struct made made;
    made = (struct made){0};
    uint32_t process = maker_process(maker, 900, -1, "python3 train.py", 0);
    maker_thread(maker, process, 900, "");
    *trace_sampling(maker_trace(maker)) = (struct trace_sampling){
        .revision = 1, .rung = SAMPLING_BPF, .off_cpu = true, .frequency_hz = 1000};
    make_sets(maker, &made);
    uint32_t module = function(maker, 0, "<module>", 1);
    made.load = function(maker, module, "load", 10);
    made.step = function(maker, function(maker, module, "train", 20), "step", 30);
    made.in_load = maker_path(maker, 0, "load");
    made.in_train = maker_path(maker, 0, "train");
    maker_push(maker, THREAD, ms / 2, "load");
    maker_pop(maker, THREAD, 14 * ms + ms / 4);
    maker_push(maker, THREAD, 14 * ms + ms / 2, "train");
    maker_pop(maker, THREAD, 39 * ms);
    add_cpu(&made);
    add_allocs(&made);
    add_calls(&made);
    add_others(&made);
    qsort(made.samples, made.count, sizeof(made.samples[0]), compare_times);
    for (size_t i = 0; i < made.count; i++)
        maker_sample(maker, &made.samples[i]);
    maker_finish(maker, 40 * ms);
    return maker;
}
