/* SPDX-License-Identifier: MIT */
/* A recording of programs of which an outside observer reports spans: late, out of order, with
 * their own times, between ranges that the programs push.
 *
 *     probe_recording FILE STEPS [ordered|volumes]
 *
 * "ordered": the same, but reported at once and in order; "volumes": in several files.
 *
 * Each process has a thread with such spans and one without. Some spans do not nest: they are
 * reported to outlast the range around them, or to end inside of something that begins in them.
 * Prints the truth: a row for each range {"tid", "name", "begin", "end", "path", "crossed",
 * "parent"} and each sample {"tid", "time", "path"}, with times since the session's begin. */
#include "store.h"
#include "trace_maker.h"
#include "vec.h"
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, THREADS = 4, DEPTH_MAX = 12, WINDOWS = 200, LATE_WINDOWS = 40 };

struct range {
    struct event event;
    uint32_t path;       /* of the program's ranges */
    int64_t end_ns;      /* where it is shown to end */
    int64_t reported_ns; /* 0: there */
    int32_t parent;      /* index; -1 at the top */
    int32_t cut_by;      /* index of the range inside of which it is reported to end; -1: not cut */
    bool span, crossed;
};

struct thread {
    VEC(struct range) ranges;
    VEC(struct event) events, spans;
    VEC(struct sample) samples;
    int32_t open[DEPTH_MAX];
    int depth, pushed;
    size_t next_event, next_span, next_sample; /* to be written */
};

static struct maker *maker;
static struct thread threads[THREADS];
static uint32_t stack, scope;
static const int64_t cpu_ns = 1000; /* of each sample */
static uint64_t random_state = 1;

static uint32_t draw(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % limit;
}

static void must(int64_t error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "probe_recording: error %" PRId64 "\n", -error);
    exit(1);
}

static bool is_probed(uint32_t thread)
{
    return thread % 2 == 0;
}

/* ---- Truth ----------------------------------------------------------------------------------- */

static struct range *top_of(struct thread *thread)
{
    return thread->depth ? &thread->ranges.items[thread->open[thread->depth - 1]] : NULL;
}

static void open_range(uint32_t ordinal, int64_t now_ns, bool span)
{
    static const char *const names[2][4] = {{"load", "parse", "store", "sort"},
                                            {"malloc", "read", "write", "parse"}};
    struct thread *thread = &threads[ordinal];
    const struct range *top = top_of(thread);
    const char *name = names[span][draw(4)];
    uint32_t path = top ? top->path : 0;
    struct event event = {.kind = span ? EVENT_SPAN : EVENT_PUSH,
                          .thread = ordinal,
                          .time_ns = now_ns,
                          .name = maker_string(maker, name)};
    if (span) {
        event.lane = EVENT_OWN_LANE;
        event.origin_ns = EVENT_NO_ORIGIN;
        event.scope = scope;
    } else {
        path = maker_path(maker, path, name);
        must(vec_push(&thread->events, event));
        thread->pushed++;
    }
    must(vec_push(&thread->ranges,
                  ((struct range){.event = event,
                                  .path = path,
                                  .parent = thread->depth ? thread->open[thread->depth - 1] : -1,
                                  .cut_by = -1,
                                  .span = span})));
    thread->open[thread->depth++] = (int32_t)thread->ranges.count - 1;
}

static void close_top(uint32_t ordinal, int64_t now_ns)
{
    struct thread *thread = &threads[ordinal];
    struct range *top = top_of(thread);
    top->end_ns = now_ns;
    thread->depth--;
    if (top->span)
        return;
    const struct event pop = {.kind = EVENT_POP,
                              .thread = ordinal,
                              .time_ns = now_ns,
                              .depth = (uint64_t)--thread->pushed};
    must(vec_push(&thread->events, pop));
}

/* Spans that are innermost when a range ends may have been reported to last longer. */
static void end_range(uint32_t ordinal, int64_t now_ns)
{
    struct thread *thread = &threads[ordinal];
    int inner = thread->depth;
    while (inner > 0 && thread->ranges.items[thread->open[inner - 1]].span)
        inner--;
    bool cross = inner > 0 && inner < thread->depth && draw(4) == 0;
    int64_t reported_ns = now_ns + 1 + draw(draw(10) ? 40000 : 8000000);
    for (; cross && thread->depth > inner; reported_ns += draw(1000)) {
        struct range *top = top_of(thread);
        top->crossed = true;
        top->reported_ns = reported_ns;
        close_top(ordinal, now_ns);
    }
    close_top(ordinal, now_ns);
}

/* The span around it ends then, though it was reported to end later, inside of the new one. */
static void begin_range(uint32_t ordinal, int64_t now_ns, bool span)
{
    struct thread *thread = &threads[ordinal];
    struct range *top = top_of(thread);
    if (top && top->span && draw(8) == 0) {
        top->crossed = true;
        top->cut_by = (int32_t)thread->ranges.count;
        close_top(ordinal, now_ns);
    }
    open_range(ordinal, now_ns, span);
}

static void add_sample(uint32_t ordinal, int64_t now_ns)
{
    struct thread *thread = &threads[ordinal];
    const struct range *top = top_of(thread);
    bool known = draw(3) > 0;
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .thread = ordinal,
                                  .time_ns = now_ns,
                                  .stack = stack,
                                  .path = known && top ? top->path : 0,
                                  .flags = known ? SAMPLE_PATH_KNOWN : 0,
                                  .values = &cpu_ns,
                                  .value_count = 1};
    must(vec_push(&thread->samples, sample));
}

static void print_path(const struct thread *thread, int32_t at)
{
    if (at < 0)
        return;
    const struct range *range = &thread->ranges.items[at];
    print_path(thread, range->parent);
    printf("%s%s%s", range->parent < 0 ? "" : "/", range->span ? "probe:" : "",
           trace_string(maker_trace(maker), range->event.name)->bytes);
}

static void step(uint32_t ordinal, int64_t now_ns)
{
    struct thread *thread = &threads[ordinal];
    bool span = is_probed(ordinal) && draw(2);
    uint32_t what = draw(100);
    if (what < 30) {
        add_sample(ordinal, now_ns);
        const struct sample *sample = &thread->samples.items[thread->samples.count - 1];
        printf("{\"tid\": %d, \"time\": %" PRId64 ", \"path\": \"", 100 + (int)ordinal,
               sample->time_ns - MAKER_BEGIN_NS);
        print_path(thread, thread->depth ? thread->open[thread->depth - 1] : -1);
        printf("\"}\n");
    } else if (what < 65 && thread->depth < DEPTH_MAX) {
        begin_range(ordinal, now_ns, span);
    } else if (thread->depth > (draw(50) ? 2 : 0)) { /* the outermost range lasts long */
        end_range(ordinal, now_ns);
    }
}

static void happen(uint32_t ordinal, uint32_t steps)
{
    struct thread *thread = &threads[ordinal];
    int64_t now_ns = MAKER_BEGIN_NS + 1000;
    for (uint32_t i = 0; i < steps; i++) {
        now_ns += 2 + draw(10000);
        step(ordinal, now_ns);
    }
    while (thread->depth)
        close_top(ordinal, now_ns += 100);
    for (size_t i = 0; i < thread->ranges.count; i++) {
        struct range *range = &thread->ranges.items[i];
        printf("{\"tid\": %d, \"name\": \"%s\", \"begin\": %" PRId64 ", \"end\": %" PRId64
               ", \"crossed\": %s, \"parent\": %d, \"span\": %s, \"path\": \"",
               100 + (int)ordinal, trace_string(maker_trace(maker), range->event.name)->bytes,
               range->event.time_ns - MAKER_BEGIN_NS, range->end_ns - MAKER_BEGIN_NS,
               range->crossed ? "true" : "false", range->parent, range->span ? "true" : "false");
        print_path(thread, (int32_t)i);
        printf("\"}\n");
        if (!range->span)
            continue;
        range->event.end_ns = range->reported_ns ? range->reported_ns : range->end_ns;
        if (range->cut_by >= 0) {
            const struct range *by = &thread->ranges.items[range->cut_by];
            int64_t room_ns = by->end_ns - range->end_ns - 1;
            range->event.end_ns = range->end_ns + 1;
            if (room_ns > 0)
                range->event.end_ns += draw((uint32_t)(room_ns < 1000000 ? room_ns : 1000000));
            if (room_ns <= 0)
                range->event.end_ns = range->end_ns;
        }
        must(vec_push(&thread->spans, range->event));
    }
}

/* ---- Reports --------------------------------------------------------------------------------- */

static int by_end(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static int by_begin(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void shuffle(struct event *spans, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = draw((uint32_t)i);
        struct event span = spans[i - 1];
        spans[i - 1] = spans[other];
        spans[other] = span;
    }
}

static void add_events(struct store_writer *writer, uint32_t ordinal, int64_t until_ns)
{
    struct thread *thread = &threads[ordinal];
    const struct event *events = thread->events.items + thread->next_event;
    struct event_batch batch = {.thread = ordinal, .events = events};
    while (thread->next_event < thread->events.count && events[batch.count].time_ns < until_ns) {
        batch.count++;
        thread->next_event++;
    }
    if (batch.count)
        must(store_writer_add(writer, &batch));
    size_t first = thread->next_sample;
    while (thread->next_sample < thread->samples.count &&
           thread->samples.items[thread->next_sample].time_ns < until_ns)
        thread->next_sample++;
    if (thread->next_sample > first)
        must(store_writer_add_samples(writer, thread->samples.items + first,
                                      thread->next_sample - first));
}

static void add_spans(struct store_writer *writer, uint32_t ordinal, int64_t until_ns, bool ordered)
{
    struct thread *thread = &threads[ordinal];
    struct event *spans = thread->spans.items + thread->next_span;
    struct event_batch batch = {.thread = ordinal, .events = spans};
    while (thread->next_span < thread->spans.count && spans[batch.count].end_ns < until_ns) {
        batch.count++;
        thread->next_span++;
    }
    if (ordered && batch.count)
        qsort(spans, batch.count, sizeof(*spans), by_begin);
    else
        shuffle(spans, batch.count);
    if (batch.count)
        must(store_writer_add_late(writer, 0, &batch));
}

static void write_all(struct store_writer *writer, int64_t end_ns, bool ordered)
{
    int64_t window_ns = (end_ns - MAKER_BEGIN_NS) / WINDOWS;
    int late = ordered ? 0 : LATE_WINDOWS;
    for (int i = 1; i <= WINDOWS + late + 1; i++) {
        int64_t until_ns = i > WINDOWS ? INT64_MAX : MAKER_BEGIN_NS + i * window_ns;
        for (uint32_t thread = 0; thread < THREADS; thread++)
            add_events(writer, thread, until_ns);
        must(store_writer_flush(writer));
        int64_t told_ns = i - late > WINDOWS ? INT64_MAX : MAKER_BEGIN_NS + (i - late) * window_ns;
        for (uint32_t thread = 0; thread < THREADS && i > late; thread++)
            add_spans(writer, thread, told_ns, ordered);
        must(store_writer_flush(writer));
    }
    must(store_writer_close(writer));
}

int main(int argc, char **argv)
{
    uint32_t steps = argc >= 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    bool ordered = argc > 3 && strcmp(argv[3], "ordered") == 0;
    bool volumes = argc > 3 && strcmp(argv[3], "volumes") == 0;
    const struct store_writer_options options = {
        .overwrite = true, .checkpoint_bytes = 8000, .volume_bytes = volumes ? 40000 : 0};
    struct store_writer *writer;
    if (steps == 0)
        return 2;
    maker = maker_create();
    struct trace *trace = maker_trace(maker);
    for (int32_t i = 0; i < THREADS; i++) {
        if (is_probed((uint32_t)i))
            maker_process(maker, 100 + i, -1, i ? "second" : "first", 0);
        uint32_t thread = maker_thread(maker, (uint32_t)i / 2, 100 + i, "t");
        trace_thread(trace, thread)->probed = is_probed(thread);
    }
    scope = (uint32_t)trace_scope_add(
        trace, &(struct scope){.domain = maker_string(maker, "probe"), .observer = OBSERVER_PROBE});
    stack = maker_stack(maker, 0, &(struct maker_frame){.function = "work"});
    must(trace_stream_add(trace, maker_string(maker, "probe")));
    int64_t end_ns = MAKER_BEGIN_NS + ((int64_t)steps + 1000) * 6000;
    for (uint32_t i = 0; i < THREADS; i++) {
        happen(i, steps);
        if (threads[i].spans.count)
            qsort(threads[i].spans.items, threads[i].spans.count, sizeof(struct event), by_end);
    }
    trace_session(trace)->end_ns = end_ns;
    must(store_writer_create(argv[1], trace, &options, &writer));
    write_all(writer, end_ns, ordered);
    for (uint32_t i = 0; i < THREADS; i++) {
        vec_free(&threads[i].ranges);
        vec_free(&threads[i].events);
        vec_free(&threads[i].spans);
        vec_free(&threads[i].samples);
    }
    maker_destroy(maker);
    return 0;
}
