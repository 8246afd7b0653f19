/* SPDX-License-Identifier: MIT */
/* Any sequence of events, put in order of time, of which a part is selected: what comes out lies in
 * the part, and all that begins in it ends in it.
 *
 * Four bytes choose: from, to, threads, ranges. 7 bytes are an event, as in fuzz_export.c: kind and
 * number of key-values, thread, name, time step, depth or id, value, attributes. */
#include "event_select.h"
#include "slices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, NAMES = 4, CHOICE_BYTES = 4, EVENT_BYTES = 7, VALUES_MAX = 3, BEGIN_NS = 1000 };

struct input {
    const uint8_t *at, *end;
    int64_t times[THREADS];
    struct event events[1 + VALUES_MAX];
};

struct counts {
    uint64_t opened, pushed, track_opened, track_closed, marks;
    int64_t from_ns, to_ns;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct trace *make_trace(void)
{
    static const char *const names[NAMES] = {"load", "loop", "store", "x"};
    struct trace *trace = trace_create();
    assert(trace);
    for (uint32_t i = 0; i < NAMES; i++)
        assert(trace_string_add(trace, names[i], strlen(names[i])) > 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process_add(trace);
        trace_thread_add(trace, i / 2);
    }
    for (uint64_t i = 0; i < 3; i++)
        trace_track_add(trace, i + 1);
    trace_process(trace, 0)->end_ns = BEGIN_NS + 2000; /* others last as long as the recording */
    return trace;
}

static int next_batch(void *context, struct event_batch *ret_batch)
{
    struct input *in = context;
    if (in->end - in->at < EVENT_BYTES)
        return 0;
    const uint8_t *bytes = in->at;
    uint32_t value_count = bytes[0] >> 6;
    struct event event = {.kind = bytes[0] % EVENT_KIND_COUNT, .thread = bytes[1] % THREADS};
    event.name = bytes[2] % (NAMES + 2);
    event.time_ns = in->times[event.thread] += (int8_t)bytes[3] < -100 ? -5 : bytes[3];
    event.time_ns += BEGIN_NS;
    event.id = bytes[4] % 8;
    event.level = bytes[6] >> 5;
    event.end_ns = event.time_ns + bytes[6];
    in->events[0] = event;
    for (uint32_t i = 0; i < value_count; i++)
        in->events[1 + i] = (struct event){
            .kind = EVENT_PAYLOAD, .thread = event.thread, .time_ns = event.time_ns, .name = i};
    in->at += EVENT_BYTES;
    *ret_batch = (struct event_batch){
        .thread = event.thread, .count = 1 + value_count, .events = in->events};
    return 1;
}

static void check_slice(const struct counts *counts, const struct slice *slice)
{
    assert(slice->begin->time_ns >= counts->from_ns && slice->end_ns >= slice->begin->time_ns);
}

static int on_opened(void *context, const struct event *begin, const struct slice_values *values,
                     uint32_t depth)
{
    (void)begin, (void)values, (void)depth;
    ((struct counts *)context)->opened++;
    return 0;
}

static int on_pushed(void *context, const struct slice *slice)
{
    ((struct counts *)context)->pushed++;
    check_slice(context, slice);
    return 0;
}

static int on_started(void *context, const struct slice *slice)
{
    check_slice(context, slice);
    return 0;
}

static int on_track_opened(void *context, const struct event *begin,
                           const struct slice_values *values, uint32_t depth)
{
    (void)begin, (void)values, (void)depth;
    ((struct counts *)context)->track_opened++;
    return 0;
}

static int on_track_closed(void *context, const struct slice *slice)
{
    ((struct counts *)context)->track_closed++;
    check_slice(context, slice);
    return 0;
}

static bool wants(void *context, uint32_t thread)
{
    return *(const uint8_t *)context >> thread & 1;
}

static void feed(struct event_select *select, struct slices *slices, const struct counts *counts)
{
    struct event *events;
    uint32_t count;
    while (event_select_next(select, &events, &count) == 1) {
        assert(events->time_ns >= counts->from_ns && events->time_ns <= counts->to_ns);
        assert(events->kind != EVENT_PAYLOAD);
        const struct event_batch batch = {
            .thread = events->thread, .count = count, .events = events};
        assert(slices_feed(slices, &batch) == 0);
    }
    assert(slices_finish(slices) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < CHOICE_BYTES)
        return 0;
    uint8_t threads = bytes[2];
    struct counts counts = {.from_ns = bytes[0] ? BEGIN_NS + 4 * bytes[0] : INT64_MIN,
                            .to_ns = bytes[1] ? BEGIN_NS + 8 * bytes[1] : INT64_MAX};
    const struct event_selection selection = {
        .from_ns = counts.from_ns,
        .to_ns = counts.to_ns > counts.from_ns ? counts.to_ns : INT64_MAX,
        .range = bytes[3] & 1 ? "lo*" : NULL,
        .wants = threads ? wants : NULL,
        .context = &threads,
    };
    counts.to_ns = selection.to_ns;
    struct input in = {.at = bytes + CHOICE_BYTES, .end = bytes + size};
    const struct event_order_source source = {.next = next_batch, .context = &in};
    const struct slice_sink sink = {.opened = on_opened,
                                    .pushed = on_pushed,
                                    .started = on_started,
                                    .track_opened = on_track_opened,
                                    .track_closed = on_track_closed,
                                    .context = &counts};
    struct trace *trace = make_trace();
    struct event_order *order = event_order_create(&source);
    const struct event_stream stream = event_order_stream(order);
    struct event_select *select = event_select_create(trace, &selection, &stream);
    struct slices *slices = slices_create(trace, &sink);
    assert(order && select && slices);
    slices_in_order(slices);
    feed(select, slices, &counts);
    assert(counts.opened == counts.pushed && counts.track_opened == counts.track_closed);
    slices_destroy(slices);
    event_select_destroy(select);
    event_order_destroy(order);
    trace_destroy(trace);
    return 0;
}
