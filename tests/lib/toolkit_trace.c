/* SPDX-License-Identifier: MIT */
/* The recording of toolkit_trace.h: a client and a server with a worker that is killed. Times here
 * are microseconds. */
#include "toolkit_trace.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

enum { US = 1000 };

/* Threads by ordinal. */
enum { CLIENT, CLIENT_POOL, SERVER, WORKER };

static void flow(struct maker *maker, uint32_t thread, int64_t time, enum event_kind kind,
                 uint64_t id)
{
    maker_point(maker, thread, time, &(struct maker_point){kind, id, NULL});
}

/* `parent`: the enclosing track (ordinal), or -1. */
static uint32_t add_track(struct maker *maker, uint32_t process, int64_t parent, const char *name)
{
    uint64_t id = UINT64_C(0xabcde00000000000) + trace_lane_count(maker_trace(maker)) + 1;
    return maker_track(maker, process, id, name, parent);
}

static void track_begin(struct maker *maker, uint32_t thread, int64_t time, uint32_t track,
                        const char *name)
{
    maker_point(maker, thread, time, &(struct maker_point){EVENT_TRACK_BEGIN, track, name});
}

static void track_end(struct maker *maker, uint32_t thread, int64_t time, uint32_t track)
{
    maker_point(maker, thread, time, &(struct maker_point){EVENT_TRACK_END, track, NULL});
}

static void track_mark(struct maker *maker, uint32_t thread, int64_t time, uint32_t track,
                       const char *name)
{
    maker_point(maker, thread, time, &(struct maker_point){EVENT_TRACK_MARK, track, name});
}

/* Common keys, and keys that readers of formats would change or drop. */
static void add_values(struct maker *maker)
{
    struct event full = {.kind = EVENT_PUSH,
                         .thread = CLIENT,
                         .time_ns = 20 * US,
                         .name = maker_string(maker, "values"),
                         .scope = maker_scope(maker, "mylib", NULL),
                         .value_kind = VALUE_INT64,
                         .value.int64 = -7};
    maker_event(maker, &full);
    maker_value_int(maker, "rows", 42);
    maker_value_int(maker, "size [bytes]", 4096);
    maker_value_int(maker, "http.status_code", 200);
    maker_value_text(maker, "http.request.method", "GET");
    for (int i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof(key), "shape[%d]", i);
        maker_value_int(maker, key, 10 * (i + 1));
    }
    maker_value_int(maker, "late[2]", 5);
    maker_value_int(maker, "rows", 43);
    maker_value_int(maker, "domain", 1);
    maker_value_int(maker, "", 2);
    maker_value_int(maker, "exact", INT64_C(9007199254740992));
    maker_value_int(maker, "large", INT64_C(9007199254740993));
    maker_value_int(maker, "smallest", INT64_MIN);
    maker_value(maker, "unsigned", VALUE_UINT64, (union value){.uint64 = UINT64_MAX});
    maker_value(maker, "tenth", VALUE_DOUBLE, (union value){.float64 = 0.1});
    maker_value(maker, "not a number", VALUE_DOUBLE, (union value){.float64 = NAN});
    maker_value(maker, "infinite", VALUE_DOUBLE, (union value){.float64 = -INFINITY});
    maker_value(maker, "yes", VALUE_BOOL, (union value){.uint64 = 1});
    maker_value(maker, "nothing", VALUE_NONE, (union value){0});
    maker_value_text(maker, "quote \" \\ \xc3\xa4", "line\nbreak");
    maker_push(maker, CLIENT, 20 * US, "inner"); /* begins with it */
    maker_value_int(maker, "rows", 1);
    maker_pop(maker, CLIENT, 30 * US);
    maker_pop(maker, CLIENT, 40 * US);
    maker_mark(maker, CLIENT, 45 * US, "mark");
    maker_value_int(maker, "rows", 2);
    maker_start(maker, CLIENT, 46 * US, "copy", 900);
    maker_value_int(maker, "bytes", 3);
    maker_end(maker, CLIENT_POOL, 60 * US, 900);
}

/* A request that waits for its answer; a broadcast; a reused number; ends without a begin. */
static void add_flows(struct maker *maker)
{
    struct event sent = {.kind = EVENT_FLOW_BEGIN,
                         .thread = CLIENT,
                         .time_ns = 110 * US,
                         .id = 1001,
                         .name = maker_string(maker, "request"),
                         .scope = maker_scope(maker, NULL, "net")};
    maker_push(maker, SERVER, 115 * US, "handle"); /* in another process, first in the file */
    flow(maker, SERVER, 120 * US, EVENT_FLOW_STEP, 1001);
    maker_pop(maker, SERVER, 150 * US);
    maker_push(maker, WORKER, 125 * US, "work");
    flow(maker, WORKER, 130 * US, EVENT_FLOW_END, 1001);
    maker_pop(maker, WORKER, 160 * US);
    maker_push(maker, CLIENT, 100 * US, "GET /x");
    maker_push(maker, CLIENT, 101 * US, "connect");
    maker_pop(maker, CLIENT, 105 * US);
    maker_event(maker, &sent);
    maker_pop(maker, CLIENT, 170 * US);
    flow(maker, CLIENT, 180 * US, EVENT_FLOW_BEGIN, 7); /* with two ends, outside of all ranges */
    flow(maker, SERVER, 185 * US, EVENT_FLOW_END, 7);
    flow(maker, WORKER, 186 * US, EVENT_FLOW_END, 7);
    for (int i = 0; i < 2; i++) {
        flow(maker, CLIENT, (200 + 20 * i) * US, EVENT_FLOW_BEGIN, 8);
        flow(maker, WORKER, (205 + 20 * i) * US, EVENT_FLOW_END, 8);
    }
    flow(maker, CLIENT, 240 * US, EVENT_FLOW_BEGIN, 9); /* its end was lost */
    flow(maker, WORKER, 245 * US, EVENT_FLOW_END, UINT64_MAX);
    flow(maker, WORKER, 250 * US, EVENT_FLOW_STEP, 0);
}

/* Connections with requests on them: overlapping, nested, begun on one thread and ended on
 * another. */
static void add_tracks(struct maker *maker)
{
    uint32_t pool = add_track(maker, 0, -1, "pool"); /* has no events */
    uint32_t connections[2], requests[4];
    connections[0] = add_track(maker, 0, pool, "connection 1");
    connections[1] = add_track(maker, 0, pool, "connection 2");
    for (int i = 0; i < 4; i++)
        requests[i] = add_track(maker, 0, connections[i % 2], "request");
    uint32_t unnamed = add_track(maker, 1, -1, "");
    track_end(maker, CLIENT_POOL, 390 * US, connections[0]); /* before its begin, in the file */
    track_begin(maker, CLIENT, 300 * US, connections[0], "open");
    maker_value_text(maker, "peer", "10.0.0.1:443");
    track_begin(maker, CLIENT, 310 * US, requests[0], "GET /a");
    track_begin(maker, CLIENT, 312 * US, requests[0], "parse");
    track_mark(maker, CLIENT, 313 * US, requests[0], "header");
    maker_value_int(maker, "size [bytes]", 512);
    track_end(maker, CLIENT, 314 * US, requests[0]);
    track_begin(maker, CLIENT, 320 * US, requests[2], "GET /b");
    track_end(maker, CLIENT, 330 * US, requests[0]);
    track_begin(maker, CLIENT, 335 * US, connections[1], "open");
    track_begin(maker, CLIENT, 336 * US, requests[1], "GET /c");
    track_end(maker, CLIENT, 340 * US, requests[2]);
    track_end(maker, CLIENT, 345 * US, requests[1]);
    track_begin(maker, CLIENT, 350 * US, requests[3], "GET /d"); /* has no end */
    track_mark(maker, CLIENT, 395 * US, connections[0], "closed");
    struct event categorized = {.kind = EVENT_TRACK_BEGIN,
                                .thread = SERVER,
                                .time_ns = 360 * US,
                                .lane = (uint32_t)unnamed,
                                .name = maker_string(maker, "serve"),
                                .scope = maker_scope(maker, NULL, "net"),
                                .level = 2};
    maker_event(maker, &categorized);
    track_end(maker, WORKER, 370 * US, unnamed);
    track_end(maker, WORKER, 375 * US, unnamed); /* without a begin */
}

/* More names than can be lines, sequential except for two at a time. */
static void add_many_tracks(struct maker *maker)
{
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof(name), "job %d", 4711 + i);
        uint32_t track = add_track(maker, 1, -1, name);
        track_begin(maker, SERVER, (400 + 2 * i) * US, track, "job");
        track_end(maker, SERVER, (403 + 2 * i) * US, track);
    }
}

static void add_counters(struct maker *maker)
{
    maker_unit(maker, "net", "bytes");
    maker_unit(maker, "queue", "requests");
    for (int i = 0; i < 4; i++) {
        maker_counter(maker, SERVER, (500 + 10 * i) * US, "net/rx", 100 * i);
        maker_counter(maker, SERVER, (500 + 10 * i) * US, "net/tx", i == 2 ? NAN : 10 * i);
        maker_counter(maker, SERVER, (501 + 10 * i) * US, "queue", i);
        maker_counter(maker, SERVER, (502 + 10 * i) * US, "requests/s", 1000 - i);
    }
    maker_counter(maker, SERVER, 545 * US, "net/tx", 50); /* alone this time */
}

static void add_logs(struct maker *maker)
{
    static const char *const severities[] = {"debug", "info", "warning", "error", "fatal"};
    char text[64];
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof(text), "message of severity %d", i);
        maker_log(maker, WORKER, (600 + 10 * i) * US, severities[i], text);
    }
    struct event message = {.kind = EVENT_MARK,
                            .thread = WORKER,
                            .time_ns = 650 * US,
                            .name = maker_string(maker, "disk is full"),
                            .scope = maker_scope(maker, "mylib", NULL)};
    maker_event(maker, &message);
    maker_severity(maker, "error");
    maker_log(maker, WORKER, 660 * US, "unheard of", "no message of a log");
    maker_note(maker, WORKER, 690 * US, "assertion failed: rows > 0");
}

struct maker *toolkit_trace_create(void)
{
    struct maker *maker = maker_create();
    struct trace *trace = maker_trace(maker);
    uint32_t client = maker_process(maker, 4000, -1, "client", 0);
    uint32_t server = maker_process(maker, 4100, -1, "server", 0);
    maker_thread(maker, client, 4000, "");
    maker_thread(maker, client, 4001, "pool");
    maker_thread(maker, server, 4100, "");
    maker_thread(maker, server, 4101, "worker");
    trace_process(trace, server)->end = PROCESS_SIGNALED;
    trace_process(trace, server)->end_value = SIGABRT;
    trace_process(trace, server)->end_ns = MAKER_BEGIN_NS + 700 * US;
    trace_process(trace, client)->end = PROCESS_EXITED;
    maker_push(maker, CLIENT, 10 * US, "main");
    add_values(maker);
    add_flows(maker);
    add_tracks(maker);
    add_many_tracks(maker);
    add_counters(maker);
    add_logs(maker);
    maker_pop(maker, CLIENT, 790 * US);
    maker_finish(maker, 800 * US);
    return maker;
}
