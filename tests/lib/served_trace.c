/* SPDX-License-Identifier: MIT */
/* The recording of served_trace.h. Three requests arrive at a server, each on its track below
 * "requests", which has no events; a flow leads from the server's range to the worker's, for the
 * third request without an end. The second request ends on another thread than it began on, and the
 * collector read that thread first. The worker reports a last word and is killed. */
#include "served_trace.h"

#include <stdio.h>

enum { SERVER, HELPER, WORKER, REQUESTS = 3 };

static const int64_t ms = 1000000;

static uint64_t flow_of(int request)
{
    return UINT64_C(0x1234500000000000) + (uint64_t)request;
}

static void point(struct maker *maker, uint32_t thread, int64_t time, struct maker_point point)
{
    maker_point(maker, thread, time, &point);
}

static void add_values(struct maker *maker, int request)
{
    maker_value_text(maker, "path", "/a/\"b\" & <c>\n");
    maker_value_int(maker, "size [bytes]", 1000 * request - 1500);
    maker_value(maker, "cached", VALUE_BOOL, (union value){.uint64 = request == 2});
    maker_value(maker, "load", VALUE_DOUBLE, (union value){.float64 = 0.25 * request});
    maker_value(maker, "key", VALUE_UINT64, (union value){.uint64 = UINT64_MAX});
}

/* The server takes a request and sends it to the worker. */
static void take_request(struct maker *maker, uint32_t track, int request)
{
    int64_t at = 10 * request * ms;
    point(maker, SERVER, at, (struct maker_point){EVENT_TRACK_BEGIN, track, "request"});
    add_values(maker, request);
    maker_push(maker, SERVER, at + ms, "take");
    maker_value_int(maker, "number", request);
    point(maker, SERVER, at + 2 * ms,
          (struct maker_point){EVENT_FLOW_BEGIN, flow_of(request), "send"});
    maker_pop(maker, SERVER, at + 3 * ms);
    point(maker, SERVER, at + 4 * ms, (struct maker_point){EVENT_TRACK_MARK, track, "sent"});
    point(maker, SERVER, at + 4 * ms, (struct maker_point){EVENT_TRACK_HIDDEN, track, NULL});
    point(maker, SERVER, at + 5 * ms, (struct maker_point){EVENT_TRACK_END, track, NULL});
}

static void work(struct maker *maker, int request)
{
    int64_t at = (10 * request + 3) * ms;
    maker_push(maker, WORKER, at, "work");
    point(maker, WORKER, at + ms / 2, (struct maker_point){EVENT_FLOW_END, flow_of(request), NULL});
    maker_mark(maker, WORKER, at + ms, "nearly");
    maker_severity(maker, "warning");
    if (request < REQUESTS - 1)
        maker_pop(maker, WORKER, at + 5 * ms);
}

static void count(struct maker *maker, int64_t time, const char *name, int64_t value)
{
    maker_event(maker, &(struct event){.kind = EVENT_COUNTER,
                                       .thread = SERVER,
                                       .time_ns = time,
                                       .name = maker_string(maker, name),
                                       .scope = maker_scope(maker, "net", NULL),
                                       .value_kind = VALUE_INT64,
                                       .value.int64 = value});
}

static void make_requests(struct maker *maker, const uint32_t *tracks)
{
    point(maker, HELPER, 29 * ms, (struct maker_point){EVENT_TRACK_END, tracks[2], NULL});
    for (int request = 1; request <= REQUESTS; request++) {
        take_request(maker, tracks[request], request);
        count(maker, (10 * request + 6) * ms, "queue/depth", REQUESTS - request);
        count(maker, (10 * request + 6) * ms, "queue/age", 7 * request);
        if (request != 2)
            point(maker, SERVER, (10 * request + 8) * ms,
                  (struct maker_point){EVENT_TRACK_END, tracks[request], NULL});
    }
    for (int request = 1; request < REQUESTS; request++)
        work(maker, request);
}

struct maker *served_trace_create(void)
{
    struct maker *maker = maker_create();
    struct trace *trace = maker_trace(maker);
    char name[32];
    uint32_t tracks[REQUESTS + 1];
    uint32_t server = maker_process(maker, 100, -1, "./server --port 80", 0);
    uint32_t worker = maker_process(maker, 101, (int32_t)server, "./worker", ms);
    maker_thread(maker, server, 100, "");
    maker_thread(maker, server, 102, "helper");
    maker_thread(maker, worker, 101, "");
    tracks[0] = maker_track(maker, server, 70, "requests", -1);
    for (uint32_t i = 1; i <= REQUESTS; i++) {
        snprintf(name, sizeof(name), "request %u", i);
        tracks[i] = maker_track(maker, server, 70 + i, name, tracks[0]);
    }
    make_requests(maker, tracks);
    trace_unit_set(trace, maker_string(maker, "net"), maker_string(maker, "queue/age"),
                   maker_string(maker, "ms"));
    struct trace_process *entry = trace_process(trace, worker);
    entry->note = maker_string(maker, "assertion failed: size < 4096");
    entry->note_thread = WORKER + 1;
    entry->note_ns = MAKER_BEGIN_NS + 40 * ms;
    entry->end = PROCESS_SIGNALED;
    entry->end_value = 6;
    entry->end_ns = MAKER_BEGIN_NS + 41 * ms;
    maker_finish(maker, 50 * ms);
    return maker;
}
