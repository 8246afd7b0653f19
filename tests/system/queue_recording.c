/* SPDX-License-Identifier: MIT */
/* A recording of two programs that launch work for queues, as a GPU's driver would report it: the
 * work is known seconds later, all at once and out of order.
 *
 *     queue_recording FILE SPANS [late|ordered|volumes [STEP_NS [imported|gpu]]]
 *
 * "ordered": the same, but reported at once and in order; "volumes": in several files. A launch
 * comes each STEP_NS (1 ms), and a batch holds 50 ms. "gpu": the spans are kernels and copies as
 * libannot-gpu reports them; "imported": the same with the same key-values, of another observer.
 *
 * Each process has two contexts with a stream 7 each, and a CPU lane without overlaps. Prints the
 * truth: a row for each span, {"pid", "context", "name", "begin", "end", "origin"}, with times
 * since the session's begin. */
#include "store.h"
#include "trace_maker.h"
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, CONTEXTS = 2, STREAM = 7, BATCH_NS = 50000000 };

#define LATE_NS INT64_C(10000000000)

static struct maker *maker;
static uint64_t random_state = 1;
static uint32_t step_ns = 1000000, turn = 50; /* so many spans are added in one */
static enum observer observer;                /* of spans with key-values; or the program */

enum { SHAPES = 8, SHAPE_VALUES = 5, COPY_VALUES = 2 };

static struct arg values[SHAPES * SHAPE_VALUES + COPY_VALUES];

static uint32_t draw(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % limit;
}

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "queue_recording: error %d\n", -error);
    exit(1);
}

static uint32_t queue_of(uint32_t process, uint32_t context)
{
    struct trace *trace = maker_trace(maker);
    char name[32];
    int64_t ordinal = trace_lane_of(trace, LANE_QUEUE, process, (uint64_t)context << 32 | STREAM);
    must((int)ordinal);
    snprintf(name, sizeof(name), "context %u stream %u", context, (unsigned)STREAM);
    trace_lane(trace, (uint32_t)ordinal)->name = maker_string(maker, name);
    return (uint32_t)ordinal;
}

static struct arg number_value(const char *key, uint64_t value)
{
    return (struct arg){
        .key = maker_string(maker, key), .kind = VALUE_UINT64, .value = {.uint64 = value}};
}

static struct arg text_value(const char *key, const char *text)
{
    return (struct arg){.key = maker_string(maker, key),
                        .kind = VALUE_STRING,
                        .value = {.string = maker_string(maker, text)}};
}

static void make_values(void)
{
    struct arg *value = values;
    for (unsigned i = 0; i < SHAPES; i++) {
        char grid[16];
        snprintf(grid, sizeof(grid), "%u, 1, 1", 1u << i);
        *value++ = text_value(QUEUE_KEY_GRID, grid);
        *value++ = text_value(QUEUE_KEY_BLOCK, "256, 1, 1");
        *value++ = number_value(QUEUE_KEY_REGISTERS, 32);
        *value++ = number_value(QUEUE_KEY_SHARED, 0);
        *value++ = number_value(QUEUE_KEY_OCCUPANCY, 75);
    }
    *value++ = number_value(QUEUE_KEY_BYTES, 4096);
    *value = text_value(QUEUE_KEY_DIRECTION, "HtoD");
}

static void describe(struct event *span, bool is_copy)
{
    span->scope =
        maker_observed(maker, "CUDA", observer, is_copy ? QUEUE_ROLE_COPY : QUEUE_ROLE_KERNEL);
    span->args = is_copy ? SHAPES * SHAPE_VALUES : SHAPE_VALUES * draw(SHAPES);
    span->arg_count = is_copy ? COPY_VALUES : SHAPE_VALUES;
}

/* Number i is launched at step i, by a thread of its process, inside of a range of it. */
static struct event make_span(uint32_t number)
{
    static const char *const names[] = {"gemm", "copy", "reduce"};
    uint32_t process = number % PROCESSES, context = 1 + draw(CONTEXTS);
    int64_t origin_ns = MAKER_BEGIN_NS + (int64_t)number * step_ns + 1000;
    struct event span = {.kind = EVENT_SPAN,
                         .thread = process,
                         /* no two at one time: their order would be that of their coming */
                         .time_ns = origin_ns + 5000 + (int64_t)draw(3) * step_ns + number % 3,
                         .name = maker_string(maker, names[draw(3)]),
                         .lane = queue_of(process, context),
                         .origin_ns = origin_ns};
    span.end_ns = span.time_ns + 1 + draw(4 * step_ns);
    if (observer)
        describe(&span, span.name == maker_string(maker, "copy"));
    printf("{\"pid\": %u, \"context\": %u, \"name\": \"%s\", \"begin\": %" PRId64
           ", \"end\": %" PRId64 ", \"origin\": %" PRId64 "}\n",
           100 * (process + 1), context, trace_string(maker_trace(maker), span.name)->bytes,
           span.time_ns - MAKER_BEGIN_NS, span.end_ns - MAKER_BEGIN_NS,
           span.origin_ns - MAKER_BEGIN_NS);
    return span;
}

static void shuffle(struct event *spans, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = draw(i);
        struct event span = spans[i - 1];
        spans[i - 1] = spans[other];
        spans[other] = span;
    }
}

static int compare_spans(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void add_launches(struct store_writer *writer, uint32_t first, uint32_t count)
{
    struct event events[2];
    for (uint32_t i = first; i < first + count; i++) {
        int64_t begin_ns = MAKER_BEGIN_NS + (int64_t)i * step_ns;
        events[0] = (struct event){.kind = EVENT_PUSH,
                                   .thread = i % PROCESSES,
                                   .time_ns = begin_ns,
                                   .name = maker_string(maker, "launch")};
        events[1] =
            (struct event){.kind = EVENT_POP, .thread = i % PROCESSES, .time_ns = begin_ns + 2000};
        const struct event_batch batch = {.thread = i % PROCESSES, .count = 2, .events = events};
        must(store_writer_add(writer, &batch));
    }
    must(store_writer_flush(writer));
}

/* Those of one process are a batch; `own` has room for them. */
static void add_spans(struct store_writer *writer, const struct event *spans, uint32_t count,
                      struct event *own)
{
    for (uint32_t process = 0; process < PROCESSES; process++) {
        struct event_batch batch = {.thread = process, .events = own, .args = values};
        for (uint32_t i = 0; i < count; i++)
            if (spans[i].thread == process)
                own[batch.count++] = spans[i];
        must(store_writer_add_late(writer, 0, &batch));
    }
    must(store_writer_flush(writer));
}

int main(int argc, char **argv)
{
    uint32_t count = argc >= 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    bool ordered = argc > 3 && strcmp(argv[3], "ordered") == 0;
    bool volumes = argc > 3 && strcmp(argv[3], "volumes") == 0;
    const struct store_writer_options options = {
        .overwrite = true, .checkpoint_bytes = 20000, .volume_bytes = volumes ? 100000 : 0};
    struct store_writer *writer;
    step_ns = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : step_ns;
    turn = step_ns ? BATCH_NS / step_ns : 0;
    if (argc > 5)
        observer = strcmp(argv[5], "gpu") == 0 ? OBSERVER_CUPTI : OBSERVER_IMPORTER;
    bool whole = turn && count && count % turn == 0;
    struct event *spans = whole ? calloc(count + (size_t)turn, sizeof(*spans)) : NULL;
    if (!spans)
        return 2;
    struct event *own = spans + count;
    maker = maker_create();
    make_values();
    struct trace *trace = maker_trace(maker);
    for (int32_t i = 0; i < PROCESSES; i++) {
        uint32_t process = maker_process(maker, 100 * (i + 1), -1, i ? "second" : "first", 0);
        maker_thread(maker, process, 100 * (i + 1), "main");
    }
    must((int)trace_stream_add(trace, maker_string(maker, "driver")));
    for (uint32_t i = 0; i < count; i++)
        spans[i] = make_span(i);
    trace_session(trace)->end_ns = MAKER_BEGIN_NS + (int64_t)count * step_ns + LATE_NS;
    must(store_writer_create(argv[1], trace, &options, &writer));
    /* Ten seconds of launches are in the file before the first spans. */
    uint32_t ahead = ordered ? 0 : (uint32_t)(LATE_NS / step_ns);
    if (ordered)
        qsort(spans, count, sizeof(*spans), compare_spans);
    for (uint32_t first = 0; first < count + ahead; first += turn) {
        if (first < count)
            add_launches(writer, first, turn);
        if (first < ahead)
            continue;
        if (!ordered)
            shuffle(spans + (first - ahead), turn);
        add_spans(writer, spans + (first - ahead), turn, own);
    }
    must(store_writer_close(writer));
    maker_destroy(maker);
    free(spans);
    return 0;
}
