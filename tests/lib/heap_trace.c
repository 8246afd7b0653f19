/* SPDX-License-Identifier: MIT */
/* The recording of heap_trace.h: 40 ms of a server with a second thread, and of its child, which
 * ends after 30 ms.
 *
 *     function   process, thread, range   allocated          freed
 *     hold       910, main, load          40 x 1 MiB, 1024   none (at two lines)
 *     churn      910, main, step          30 x 2 MiB, 16     each after half a millisecond
 *     cache      910, loader              20 x 1 MiB, 256    all at 25 ms
 *     work       911, main                10 x 1 MiB, 1      none: held when it ends
 *
 * Samples of CPU time: one of 1 ms in hold. The peak is 72 MiB after 14 ms: 40 of hold, 20 of
 * cache, 10 of work, 2 of churn. */
#include "heap_trace.h"

#include <stdlib.h>

enum { SAMPLES_MAX = 256 };

static const int64_t ms = 1000000, MiB = 1 << 20;

struct made {
    uint16_t allocated, freed; /* sets */
    struct sample samples[SAMPLES_MAX];
    int64_t values[SAMPLES_MAX][3];
    size_t count;
};

/* Allocations of a function: each sample has these values, thread, stack and path. */
struct holder {
    uint32_t thread, stack, path;
    int64_t bytes, blocks;
};

/* Frees have the lifetime of their block as well. */
static uint16_t add_set(struct maker *maker, const char *name, uint16_t bytes)
{
    const struct sample_set set = {
        .name = maker_string(maker, name),
        .flags = SAMPLE_SET_HEAP,
        .count = bytes == VALUE_TYPE_FREE_BYTES ? 3 : 2,
        .types = {bytes, (uint16_t)(bytes + 1),
                  bytes == VALUE_TYPE_FREE_BYTES ? VALUE_TYPE_LIFETIME : VALUE_TYPE_NONE}};
    return (uint16_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
}

static struct sample *add(struct made *made, const struct holder *holder, uint16_t set,
                          int64_t time_ns)
{
    struct sample *sample = &made->samples[made->count];
    int64_t *values = made->values[made->count];
    values[0] = holder->bytes;
    values[1] = holder->blocks;
    made->count++;
    *sample = (struct sample){.set = set,
                              .time_ns = time_ns,
                              .id = 1,
                              .thread = holder->thread,
                              .stack = holder->stack,
                              .path = holder->path,
                              .native_end = STACK_COMPLETE,
                              .python_end = STACK_COMPLETE,
                              .values = values,
                              .value_count = 2};
    return sample;
}

/* A block that is allocated and freed. */
static void add_freed(struct made *made, const struct holder *holder, int64_t from_ns,
                      int64_t to_ns)
{
    add(made, holder, made->allocated, from_ns);
    struct sample *freed = add(made, holder, made->freed, to_ns);
    made->values[made->count - 1][2] = to_ns - from_ns;
    freed->value_count = 3;
}

static int by_time(const void *left, const void *right)
{
    int64_t a = sample_order_ns(left), b = sample_order_ns(right);
    return (a > b) - (a < b);
}

static uint32_t function(struct maker *maker, const char *name, int first_line, int line)
{
    uint32_t module = maker_stack(
        maker, 0,
        &(struct maker_frame){FRAME_PYTHON, "<module>", "/home/me/app/serve.py", NULL, 1, 1, 0});
    return maker_stack(maker, module,
                       &(struct maker_frame){FRAME_PYTHON, name, "/home/me/app/serve.py", NULL,
                                             line, first_line, 0});
}

static void add_blocks(struct maker *maker, struct made *made, int times)
{
    const struct holder hold = {0, function(maker, "hold", 10, 11), maker_path(maker, 0, "load"),
                                MiB, 1024};
    const struct holder churn = {0, function(maker, "churn", 20, 21), maker_path(maker, 0, "step"),
                                 2 * MiB, 16};
    const struct holder cache = {1, function(maker, "cache", 30, 31), 0, MiB, 256};
    const struct holder work = {2, function(maker, "work", 40, 41), 0, MiB, 1};
    struct holder again = hold;
    again.stack = function(maker, "hold", 10, 12);
    for (int i = 0; i < 40 * times; i++)
        add(made, i % 2 ? &again : &hold, made->allocated, ms + i * ms / 4 / times);
    for (int i = 0; i < 30; i++) {
        int64_t time_ns = 14 * ms + i * 8 * ms / 10;
        add_freed(made, &churn, time_ns, time_ns + ms / 2);
    }
    for (int i = 0; i < 20; i++)
        add_freed(made, &cache, 5 * ms + i * ms / 8, 25 * ms);
    for (int i = 0; i < 10; i++)
        add(made, &work, made->allocated, 12 * ms + i);
}

static void add_cpu_sample(struct maker *maker, uint32_t stack)
{
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .time_ns = ms / 2,
                                  .stack = stack,
                                  .native_end = STACK_COMPLETE,
                                  .python_end = STACK_COMPLETE,
                                  SAMPLE_VALUES(1000000)};
    maker_sample(maker, &sample);
}

static struct maker *create(int times)
{
    struct maker *maker = maker_create();
    static struct made made;
    made = (struct made){0};
    uint32_t server = maker_process(maker, 910, -1, "python3 serve.py", 0);
    maker_thread(maker, server, 910, "");
    maker_thread(maker, server, 912, "loader");
    uint32_t child = maker_process(maker, 911, 910, "python3 serve.py", 10 * ms);
    maker_thread(maker, child, 911, "");
    trace_process(maker_trace(maker), child)->end_ns = MAKER_BEGIN_NS + 30 * ms;
    *trace_sampling(maker_trace(maker)) =
        (struct trace_sampling){.revision = 1, .rung = SAMPLING_BPF, .frequency_hz = 1000};
    made.allocated = add_set(maker, "heap", VALUE_TYPE_ALLOC_BYTES);
    made.freed = add_set(maker, "heap-freed", VALUE_TYPE_FREE_BYTES);
    maker_push(maker, 0, ms, "load");
    maker_pop(maker, 0, 13 * ms);
    maker_push(maker, 0, 13 * ms + 1, "step");
    maker_pop(maker, 0, 39 * ms);
    add_blocks(maker, &made, times);
    add_cpu_sample(maker, function(maker, "hold", 10, 11));
    qsort(made.samples, made.count, sizeof(made.samples[0]), by_time);
    for (size_t i = 0; i < made.count; i++)
        maker_sample(maker, &made.samples[i]);
    maker_finish(maker, 40 * ms);
    return maker;
}

struct maker *heap_trace_create(void)
{
    return create(1);
}

struct maker *heap_trace_more_create(void)
{
    return create(2);
}
