/* SPDX-License-Identifier: MIT */
/* Any sequence of events in both formats: each output is complete, and has every range, mark,
 * counter value and flow point of read/pass, with as many ends as begins.
 *
 * Each event is 7 bytes: kind and number of key-values, thread, name, time step (signed: times of a
 * thread may also go back), depth or id, value, attributes. Names, tracks and causes of loss may be
 * unknown.
 *
 * After a byte 0xff, the tracks are a device, its queues, and a queue without a device. Scopes have
 * the GPU observer and all roles, and key-values have the names of the GPU observer's. Then both
 * formats are complete, each arrow has both ends, and no duration is negative. */
#include "export.h"
#include "proto_text.h"
#include "trace_devices.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 5,
    NAMES = 8,
    SCOPES = 14,
    TRACKS = 6,
    EVENT_BYTES = 7,
    EVENTS_MAX = 400,
    VALUES_MAX = 3
};

struct input {
    const uint8_t *at, *end;
    int64_t times[THREADS + 1];
    bool gpu;
    struct event event;
    struct arg args[4];
};

struct counts {
    uint64_t pushed, started, marks, counters, lost, flows;
    uint64_t track_opened, track_closed, track_marks;
    uint64_t launched; /* spans on queues launched by a known thread */
    uint32_t thread_count;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A quote, a group's two series, and keys that some format would change. */
static const char *const names[NAMES] = {"\"",   "c/d",    "c/e",      "a [b]",
                                         "a[0]", "x.y.z.", "severity", "error"};

/* Two below the process, the others below these, one below itself. */
static void make_tracks(struct trace *trace)
{
    for (uint32_t i = 0; i < TRACKS; i++) {
        struct trace_lane *track = trace_lane(trace, (uint32_t)trace_lane_add(trace, i + 1ull));
        track->process = i / 2;
        track->name = i % 3;
        track->parent = i == TRACKS - 1 ? TRACKS : i / 2;
    }
}

static const char *const gpu_names[NAMES] = {
    "copy host to device", "GPU 0: \"", "cudaLaunchKernel", QUEUE_KEY_GRID,
    QUEUE_KEY_BYTES,       "device",    "correlation",      "64,1,1"};

static void add_device(struct trace *trace, uint32_t lane, uint32_t thread)
{
    struct trace_device *device = trace_device(trace, (uint32_t)trace_device_add(trace));
    assert(device);
    device->lane = lane;
    device->thread = thread;
    device->name = thread ? 2 : 0;
    device->uuid = 1;
}

/* A device with two queues for each process, and one queue without a parent. A thread has counters
 * of both devices. */
static void make_queues(struct trace *trace)
{
    for (uint32_t process = 0; process < 2; process++) {
        int64_t device = trace_lane_of(trace, LANE_DEVICE, process, process);
        trace_lane(trace, (uint32_t)device)->name = 2;
        add_device(trace, (uint32_t)device + 1, 0);
        for (uint64_t stream = 0; stream < 2; stream++) {
            int64_t queue =
                trace_lane_of(trace, LANE_QUEUE, process, UINT64_C(1) << 32 | (7 + stream));
            assert(queue >= 0 && trace_lane_set_parent(trace, (uint32_t)queue, (uint32_t)device));
        }
    }
    add_device(trace, 0, 3);
    assert(trace_lane_of(trace, LANE_QUEUE, 0, UINT32_MAX - 1) >= 0);
}

static struct trace *make_trace(bool gpu)
{
    struct trace *trace = trace_create();
    const char *const *texts = gpu ? gpu_names : names;
    assert(trace);
    for (uint32_t i = 0; i < NAMES; i++)
        assert(trace_string_add(trace, texts[i], strlen(texts[i])) > 0);
    for (uint32_t i = 1; i < SCOPES; i++) {
        const struct scope scope = {.domain = i % 4,
                                    .category = i / 4,
                                    .observer = gpu && i > 1 ? OBSERVER_CUPTI : 0,
                                    .role = (uint8_t)(gpu ? i - 1 : 0)};
        assert(trace_scope_add(trace, &scope) == i);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process(trace, (uint32_t)trace_process_add(trace))->pid = 70 + (int32_t)i / 4;
        trace_thread(trace, (uint32_t)trace_thread_add(trace, i / 2))->tid = 70 + (int32_t)i / 2;
    }
    if (gpu)
        make_queues(trace);
    else
        make_tracks(trace);
    trace_process(trace, 0)->note = 1;
    trace_session(trace)->begin_ns = 1000000;
    return trace;
}

static int next_event(void *context, struct event_batch *ret_batch)
{
    struct input *in = context;
    if (in->end - in->at < EVENT_BYTES)
        return 0;
    const uint8_t *bytes = in->at;
    struct event event = {.kind = bytes[0] % (EVENT_KINDS + 1)};
    uint32_t value_count = bytes[0] >> 6;
    event.thread = bytes[1] % THREADS;
    event.name = bytes[2] % (NAMES + 3);
    event.time_ns = in->times[event.thread] += (int8_t)bytes[3] < -100 ? -5 : bytes[3];
    event.time_ns += 2000000;
    event.id = bytes[4] % 16;
    event.lane = (uint32_t)event.id;
    event.value_kind = bytes[5] % 8; /* the last two are invalid */
    event.value.uint64 = bytes[5] * UINT64_C(0x8101010101010101);
    event.flags = bytes[6] & (EVENT_HAS_COLOR | EVENT_CONTINUES);
    event.scope = bytes[6] >> 1 & 15; /* the last two are unknown */
    event.level = bytes[6] >> 5;
    event.end_ns = event.time_ns + bytes[6];
    if (event.kind == EVENT_COUNTER)
        event.value_kind = VALUE_INT64 + bytes[5] % 4;
    if (in->gpu && event.kind == EVENT_SPAN)
        event.origin_ns = bytes[4] < 16 ? EVENT_NO_ORIGIN : event.time_ns - (int8_t)bytes[4];
    event.arg_count = (uint16_t)value_count;
    in->event = event;
    for (uint32_t i = 0; i < value_count; i++)
        in->args[i] = (struct arg){.key = (bytes[2] + i * bytes[5]) % (NAMES + 3),
                                   .kind = (bytes[5] + i) % 8u,
                                   .value = event.value};
    in->at += EVENT_BYTES;
    *ret_batch = (struct event_batch){
        .thread = event.thread, .count = 1, .events = &in->event, .args = in->args};
    return 1;
}

static struct input input_of(const uint8_t *bytes, size_t size)
{
    size_t most = (size_t)EVENT_BYTES * EVENTS_MAX;
    bool gpu = size > 0 && bytes[0] == 0xff;
    bytes += gpu;
    size -= gpu;
    return (struct input){.at = bytes, .end = bytes + (size < most ? size : most), .gpu = gpu};
}

static void count_on_track(struct counts *counts, const struct item *item)
{
    counts->track_opened += item->kind == ITEM_OPENED;
    counts->track_closed += item->kind == ITEM_SPAN;
    counts->track_marks += item->kind == ITEM_INSTANT;
}

static void count_counter(struct counts *counts, const struct event *event)
{
    bool number =
        event->value_kind != VALUE_DOUBLE || event->value.float64 - event->value.float64 == 0;
    counts->counters += number ? 1 : 1u << 16;
}

static int count(void *context, const struct item *item)
{
    struct counts *counts = context;
    if (item->lane == LANE_QUEUE) {
        counts->track_opened++;
        counts->track_closed++;
        counts->launched +=
            item->event->origin_ns != EVENT_NO_ORIGIN && item->event->thread < counts->thread_count;
        return 0;
    }
    if (item->lane == LANE_TRACK) {
        count_on_track(counts, item);
        return 0;
    }
    counts->pushed += item->kind == ITEM_SPAN && item->lane == LANE_THREAD;
    counts->started += item->kind == ITEM_SPAN && item->lane == LANE_PROCESS;
    counts->marks += item->kind == ITEM_INSTANT;
    counts->lost += item->kind == ITEM_LOST;
    counts->flows += item->kind == ITEM_FLOW;
    if (item->kind == ITEM_COUNTER)
        count_counter(counts, item->event);
    return 0;
}

static struct pass_source source_of(struct trace *trace, struct input *in)
{
    return (struct pass_source){.trace = trace, .next_events = next_event, .context = in};
}

static struct counts count_items(struct trace *trace, struct input in)
{
    struct counts counts = {.thread_count = trace_thread_count(trace)};
    const struct sink sink = {count, &counts, WANT_EVENTS | WANT_BEGINS};
    const struct pass_source source = source_of(trace, &in);
    assert(pass_read(&source, &PASS_SELECT_ALL, &sink, 1) == 0);
    assert(counts.track_opened == counts.track_closed);
    return counts;
}

static uint64_t count_of(const char *text, const char *part)
{
    uint64_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static struct out_stream *run_export(const char *format, struct trace *trace, struct input in)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = source_of(trace, &in);
    const struct export_options options = {.min_duration = "0"};
    const struct export_job job = {.source = &source, .options = &options, .out = out};
    assert(out && export_run(exporter_by_name(format), &job, NULL) == 0);
    return out;
}

static void check_perfetto(struct trace *trace, struct input in, const struct counts *counts)
{
    struct out_stream *out = run_export("perfetto", trace, in);
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto_text(bytes, size);
    uint64_t ranges =
        counts->pushed + counts->started + counts->lost + counts->track_opened + 1; /* "annot" */
    uint64_t instants =
        counts->marks + counts->track_marks + counts->flows + 1; /* the final message */
    /* The flows of spans on queues. Names from the recording come after their flows. */
    uint64_t launches = count_of(text, "name \"launch\" flow_id ");
    assert(launches <= counts->launched && !launches == !counts->launched);
    instants += launches;
    assert(!strchr(text, '!'));
    assert(count_of(text, "track_event {type 1") == ranges);
    assert(count_of(text, "track_event {type 2") == ranges);
    assert(count_of(text, "track_event {type 3") == instants);
    assert(count_of(text, " flow_id ") == count_of(text, " terminating_flow_id "));
    assert(count_of(text, "track_event {type 4") ==
           (counts->counters & 0xffff) + (counts->counters >> 16));
    free(text);
    out_stream_abandon(out);
}

/* Braces and brackets outside strings match, and no text follows. */
static void check_json_shape(const char *text)
{
    int depth = 0;
    bool string = false;
    for (const char *at = text; *at; at++) {
        if (string && *at == '\\')
            at++;
        else if (*at == '"')
            string = !string;
        else if (!string && (*at == '{' || *at == '['))
            depth++;
        else if (!string && (*at == '}' || *at == ']'))
            depth--;
        assert(depth > 0 || strcmp(at, "}\n") == 0 || strcmp(at, "\n") == 0);
    }
    assert(depth == 0 && !string);
}

static void check_chrome(struct trace *trace, struct input in, const struct counts *counts)
{
    struct out_stream *out = run_export("chrome", trace, in);
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    assert(strlen(text) == size);
    check_json_shape(text);
    assert(count_of(text, "{\"ph\":\"b\"") == counts->started + counts->track_opened);
    assert(count_of(text, "{\"ph\":\"e\"") == counts->started + counts->track_opened);
    assert(count_of(text, "{\"ph\":\"n\"") ==
           counts->track_marks + count_of(text, "names the line; nobody marked it"));
    uint64_t values = counts->counters & 0xffff; /* several of a group are one event */
    uint64_t counters = count_of(text, "{\"ph\":\"C\"");
    assert(counters <= values && (counters > 0) == (values > 0));
    assert(count_of(text, "{\"ph\":\"X\"") + count_of(text, "{\"ph\":\"i\"") ==
           counts->pushed + counts->lost + counts->marks + counts->flows + 1);
    assert(count_of(text, "{\"ph\":\"s\"") == count_of(text, "{\"ph\":\"f\""));
    assert(!strstr(text, ",,") && !strstr(text, "nan") && !strstr(text, "inf"));
    free(text);
    out_stream_abandon(out);
}

static void check_gpu_perfetto(struct trace *trace, struct input in)
{
    struct out_stream *out = run_export("perfetto", trace, in);
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto_text(bytes, size);
    assert(!strchr(text, '!'));
    assert(count_of(text, "track_event {type 1") == count_of(text, "track_event {type 2"));
    free(text);
    out_stream_abandon(out);
}

static void check_gpu_chrome(struct trace *trace, struct input in)
{
    struct out_stream *out = run_export("chrome", trace, in);
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    assert(strlen(text) == size);
    check_json_shape(text);
    assert(count_of(text, "{\"ph\":\"b\"") == count_of(text, "{\"ph\":\"e\""));
    assert(count_of(text, "{\"ph\":\"s\"") == count_of(text, "{\"ph\":\"f\""));
    assert(!strstr(text, "\"dur\":-") && !strstr(text, ",,"));
    free(text);
    out_stream_abandon(out);
}

/* Everything the pass reports is in each format, complete. */
static void check_others(struct trace *trace, struct input in, const struct counts *counts)
{
    uint64_t ranges = counts->pushed + counts->started + counts->track_closed;
    static const char *const formats[] = {"speedscope", "firefox", "csv",       "jsonl",
                                          "parquet",    "arrow",   "otlp-json", "otlp"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct out_stream *out = run_export(formats[i], trace, in);
        size_t size;
        const char *bytes = (const char *)out_stream_memory_bytes(out, &size);
        char *text = strndup(bytes, size);
        assert(text && (size > 0 || i == 3 || i >= 6));
        if (i == 0)
            assert(count_of(text, "{\"type\":\"O\"") == count_of(text, "{\"type\":\"C\""));
        if (i == 4)
            assert(size > 12 && memcmp(bytes + size - 4, "PAR1", 4) == 0);
        if (i == 5)
            assert(size > 32 && memcmp(bytes + size - 6, "ARROW1", 6) == 0);
        if (i == 6)
            assert(count_of(text, "\",\"kind\":1,\"startTime") == ranges);
        if (i < 3 || i == 6)
            assert(!strstr(text, "[,") && !strstr(text, ",]"));
        free(text);
        out_stream_abandon(out);
    }
}

/* Nsight Systems' format, if annot is built with SQLite. */
static void check_database(struct trace *trace, struct input in)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = source_of(trace, &in);
    const struct export_job job = {.source = &source, .out = out};
    int error = out ? export_run(exporter_by_name("nsys"), &job, NULL) : -ENOMEM;
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    assert(error == 0 || error == -ENOSYS);
    assert(error || (size > 100 && memcmp(bytes, "SQLite format 3", 16) == 0));
    out_stream_abandon(out);
}

/* Packets fill the file, and their times do not go back. */
static void check_ctf(struct trace *trace, struct input in)
{
    struct out_stream *out = run_export("ctf", trace, in);
    size_t size, at = 0;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    uint64_t last_ns = 0, number = 0;
    while (at < size) {
        uint64_t head[7]; /* magic and stream, begin, end, content, packet, discarded, number */
        assert(size - at >= sizeof(head));
        memcpy(head, bytes + at, sizeof(head));
        assert(head[0] == 0xc1fc1fc1 && head[1] >= last_ns && head[2] >= head[1]);
        assert(head[3] == head[4] && head[4] / 8 <= size - at && head[6] == number++);
        last_ns = head[2];
        at += head[4] / 8;
    }
    assert(number > 0);
    out_stream_abandon(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input in = input_of(bytes, size);
    struct trace *trace = make_trace(in.gpu);
    struct counts counts = count_items(trace, in);
    if (in.gpu) {
        check_gpu_perfetto(trace, in);
        check_gpu_chrome(trace, in);
    } else {
        check_perfetto(trace, in, &counts);
        check_chrome(trace, in, &counts);
    }
    check_others(trace, in, &counts);
    check_ctf(trace, in);
    if (size % 8 == 0) /* it is slow */
        check_database(trace, in);
    trace_destroy(trace);
    return 0;
}
