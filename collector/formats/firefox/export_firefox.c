/* SPDX-License-Identifier: MIT */
/* Exports the processed profile of the Firefox Profiler, format version 60: a thread for each
 * thread and each shelf of tracks; CPU samples as samples; ranges, marks and waits as markers;
 * counters.
 *
 * All threads share one table of stacks and one of names. Tables are written column by column,
 * while events arrive row by row, so columns go through a spool. Times are milliseconds since the
 * recording began. Memory: 8 bytes a distinct stack. Thread-safety: none. */
#include "event.h"
#include "export.h"
#include "export_facts.h"
#include "export_ids.h"
#include "hash_map.h"
#include "json_writer.h"
#include "profile_frames.h"
#include "shelves.h"
#include "sorter.h"
#include "spool.h"
#include "stacks.h"
#include "strtab.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct out_stream;
struct sorter;
struct trace;

/* Indices into the profile's categories. */
enum firefox_category {
    FIREFOX_OTHER = 0,
    FIREFOX_PYTHON,
    FIREFOX_NATIVE,
    FIREFOX_KERNEL,
    FIREFOX_WAITS,
    FIREFOX_RANGES,
};

/* Columns of a thread's tables, one stream each. */
enum firefox_column {
    MARKER_DATA = 0,
    MARKER_NAME,
    MARKER_BEGIN,
    MARKER_END,
    MARKER_PHASE,
    MARKER_CATEGORY,
    SAMPLE_STACK,
    SAMPLE_TIME,
    SAMPLE_WEIGHT, /* CPU time, in milliseconds */
    SAMPLE_CPU,    /* the same in nanoseconds */
    FIREFOX_COLUMNS,
};

struct firefox_thread {
    uint32_t process, tid;
    bool is_main;
    char *name; /* owned */
    uint32_t streams[FIREFOX_COLUMNS];
    uint64_t markers, samples;
};

/* A counter of a process. */
struct firefox_counter {
    uint32_t process, name, domain;
    uint32_t times, values; /* streams */
    uint64_t count;
    double sum; /* of the written changes */
};

struct firefox {
    const struct export_job *job;
    const struct trace *trace;
    int64_t begin_ns;
    struct export_ids ids;
    struct profile_frames frames;
    struct spool spool;
    VEC(struct firefox_thread) threads;
    VEC(struct firefox_counter) counters;
    uint64_t cpu_ns, cpu_count; /* of all CPU samples */
    struct wide_map by_counter; /* index */
    struct sorter
        *values; /* doubles by counter and time, since several threads may set one counter */
    /* Stacks of the profile: a frame on a prefix stack. */
    struct map64 by_node;                     /* prefix + 1 and frame: index + 1 */
    struct map64 by_stack;                    /* stack + 1: index + 1 */
    VEC(uint32_t) node_frames, node_prefixes; /* prefix + 1; 0 for a root */
    struct out_stream *text;                  /* memory stream */
};

/* ---- The file -------------------------------------------------------------------------------- */

enum { LINE_SIZE = 256 };

static const char categories[] =
    "[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Python\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Native\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Waits\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Ranges\",\"color\":\"green\",\"subcategories\":[\"Other\"]}]";

static const char marker_schema[] =
    "[{\"name\":\"Range\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
    "\"chartLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
    "\"fields\":[{\"key\":\"values\",\"label\":\"Values\",\"format\":\"string\"}]},"
    "{\"name\":\"Wait\",\"display\":[\"marker-chart\",\"marker-table\"],"
    "\"chartLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\",\"fields\":[]}]";

static void put_text(struct firefox *fx, const char *text)
{
    json_string(fx->job->out, text, strlen(text));
}

static void put_integer(struct firefox *fx, int64_t number)
{
    uint8_t *at = out_reserve(fx->job->out, JSON_INTEGER_MAX);
    out_advance(fx->job->out, (size_t)(json_put_int(at, number) - at));
}

static void put_real(struct firefox *fx, double number)
{
    uint8_t *at = out_reserve(fx->job->out, JSON_DOUBLE_MAX);
    out_advance(fx->job->out, (size_t)(json_put_double(at, number) - at));
}

/* Writes a column of equal values: "1,1,1". */
static void put_same(struct firefox *fx, const char *name, const char *value, size_t count)
{
    out_text(fx->job->out, name);
    for (size_t i = 0; i < count; i++) {
        out_text(fx->job->out, i ? "," : "");
        out_text(fx->job->out, value);
    }
}

static int put_stream(struct firefox *fx, const char *name, uint32_t stream)
{
    out_text(fx->job->out, name);
    return spool_copy(&fx->spool, stream, fx->job->out);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void put_tables(struct firefox *fx, const struct firefox_thread *thread)
{
    char line[LINE_SIZE];
    put_stream(fx, ",\"samples\":{\"stack\":[", thread->streams[SAMPLE_STACK]);
    put_stream(fx, "],\"time\":[", thread->streams[SAMPLE_TIME]);
    put_stream(fx, "],\"weight\":[", thread->streams[SAMPLE_WEIGHT]);
    put_stream(fx, "],\"threadCPUDelta\":[", thread->streams[SAMPLE_CPU]);
    snprintf(line, sizeof(line), "],\"weightType\":\"tracing-ms\",\"length\":%" PRIu64 "}",
             thread->samples);
    out_text(fx->job->out, line);
    put_stream(fx, ",\"markers\":{\"data\":[", thread->streams[MARKER_DATA]);
    put_stream(fx, "],\"name\":[", thread->streams[MARKER_NAME]);
    put_stream(fx, "],\"startTime\":[", thread->streams[MARKER_BEGIN]);
    put_stream(fx, "],\"endTime\":[", thread->streams[MARKER_END]);
    put_stream(fx, "],\"phase\":[", thread->streams[MARKER_PHASE]);
    put_stream(fx, "],\"category\":[", thread->streams[MARKER_CATEGORY]);
    snprintf(line, sizeof(line), "],\"length\":%" PRIu64 "}", thread->markers);
    out_text(fx->job->out, line);
}

static void put_thread(struct firefox *fx, const struct firefox_thread *thread)
{
    struct out_stream *out = fx->job->out;
    const struct trace_process *process = NULL;
    char line[LINE_SIZE], label[PROFILE_TITLE_SIZE];
    bool known = thread->process < fx->ids.process_count;
    profile_process_title(fx->trace, thread->process, label);
    if (known)
        process = trace_process_get(fx->trace, thread->process);
    out_text(out, "{\"processType\":\"default\",\"pausedRanges\":[],\"showMarkersInTimeline\":true,"
                  "\"processStartupTime\":");
    bool began = process && process->start_ns > fx->begin_ns;
    put_real(fx, began ? (double)(process->start_ns - fx->begin_ns) / 1e6 : 0);
    out_text(out, ",\"processShutdownTime\":");
    if (process && process->end_ns > fx->begin_ns)
        put_real(fx, (double)(process->end_ns - fx->begin_ns) / 1e6);
    else
        out_text(out, "null");
    out_text(out, ",\"registerTime\":0,\"unregisterTime\":null,\"name\":");
    put_text(fx, thread->name);
    out_text(out, ",\"processName\":");
    put_text(fx, label);
    snprintf(line, sizeof(line), ",\"isMainThread\":%s,\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32,
             thread->is_main ? "true" : "false", known ? fx->ids.pids[thread->process] : 0,
             thread->tid);
    out_text(out, line);
    put_tables(fx, thread);
    out_text(out, "}");
}

/* The main thread of the process, or the first of its threads in the profile. */
static uint32_t main_thread_of(const struct firefox *fx, uint32_t process)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < fx->threads.count; i++) {
        const struct firefox_thread *thread = &fx->threads.items[i];
        if (thread->process == process && (thread->is_main || found == UINT32_MAX))
            found = i;
        if (thread->process == process && thread->is_main)
            break;
    }
    return found == UINT32_MAX ? 0 : found;
}

static void put_counter(struct firefox *fx, const struct firefox_counter *counter)
{
    struct out_stream *out = fx->job->out;
    char line[LINE_SIZE];
    const char *name = trace_string(fx->trace, counter->name)->bytes;
    uint32_t unit = trace_unit_find(fx->trace, counter->domain, counter->name);
    bool known = counter->process < fx->ids.process_count;
    out_text(out, "{\"category\":\"Other\",\"description\":");
    put_text(fx, trace_string(fx->trace, counter->domain)->bytes);
    out_text(out, ",\"name\":");
    put_text(fx, name);
    snprintf(line, sizeof(line), ",\"pid\":\"%" PRIu32 "\",\"mainThreadIndex\":%" PRIu32,
             known ? fx->ids.pids[counter->process] : 0, main_thread_of(fx, counter->process));
    out_text(out, line);
    out_text(out, ",\"display\":{\"graphType\":\"line-accumulated\",\"unit\":");
    put_text(fx, trace_string(fx->trace, unit)->bytes);
    out_text(out, ",\"color\":\"blue\",\"markerSchemaLocation\":null,\"sortWeight\":50,\"label\":");
    put_text(fx, name);
    put_stream(fx, "},\"samples\":{\"time\":[", counter->times);
    put_stream(fx, "],\"count\":[", counter->values);
    snprintf(line, sizeof(line), "],\"length\":%" PRIu64 "}}", counter->count);
    out_text(out, line);
}

/* ---- Shared tables --------------------------------------------------------------------------- */

static enum firefox_category category_of(const struct firefox *fx, size_t number)
{
    const struct profile_frame *frame = &fx->frames.frames.items[number];
    if (frame->kind == PROFILE_RANGE)
        return FIREFOX_RANGES;
    if (frame->kind != PROFILE_FUNCTION)
        return frame->kind == PROFILE_NO_STACK ? FIREFOX_OTHER : FIREFOX_WAITS;
    switch (stacks_get_label(trace_stacks_get(fx->trace), frame->id)->kind) {
    case FRAME_PYTHON:
        return FIREFOX_PYTHON;
    case FRAME_KERNEL:
        return FIREFOX_KERNEL;
    case FRAME_NATIVE:
    case FRAME_JIT:
        return FIREFOX_NATIVE;
    default:
        return FIREFOX_OTHER;
    }
}

static void put_frames(struct firefox *fx)
{
    struct out_stream *out = fx->job->out;
    size_t count = fx->frames.frames.count;
    put_same(fx, ",\"frameTable\":{\"address\":[", "-1", count);
    put_same(fx, "],\"inlineDepth\":[", "0", count);
    put_same(fx, "],\"subcategory\":[", "0", count);
    put_same(fx, "],\"nativeSymbol\":[", "null", count);
    put_same(fx, "],\"innerWindowID\":[", "0", count);
    put_same(fx, "],\"line\":[", "null", count);
    put_same(fx, "],\"column\":[", "null", count);
    out_text(out, "],\"category\":[");
    for (size_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        put_integer(fx, category_of(fx, i));
    }
    out_text(out, "],\"func\":[");
    for (size_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        put_integer(fx, (int64_t)i);
    }
    out_text(out, "],\"length\":");
    put_integer(fx, (int64_t)count);
    out_text(out, "}");
}

/* Writes for each function its name, by its own number, file and line. */
static int put_functions(struct firefox *fx, struct strtab *files)
{
    struct out_stream *out = fx->job->out;
    struct profile_frame_text text;
    size_t count = fx->frames.frames.count;
    put_same(fx, ",\"funcTable\":{\"isJS\":[", "false", count);
    put_same(fx, "],\"relevantForJS\":[", "false", count);
    put_same(fx, "],\"resource\":[", "-1", count);
    put_same(fx, "],\"columnNumber\":[", "null", count);
    out_text(out, "],\"name\":[");
    for (size_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        put_integer(fx, (int64_t)i);
    }
    out_text(out, "],\"source\":[");
    out_stream_memory_reset(fx->text); /* lines */
    for (size_t i = 0; i < count; i++) {
        uint8_t number[JSON_INTEGER_MAX];
        profile_frame_describe(fx->trace, fx->frames.prefixes, &fx->frames.frames.items[i], &text);
        int64_t file = text.file ? strtab_add(files, text.file, strlen(text.file)) : 0;
        profile_frame_text_fini(&text);
        if (file < 0)
            return -ENOMEM;
        out_text(out, i ? "," : "");
        out_text(fx->text, i ? "," : "");
        if (text.file)
            put_integer(fx, file);
        else
            out_text(out, "null");
        size_t size = text.line > 0 ? (size_t)(json_put_int(number, text.line) - number) : 0;
        out_write(fx->text, size ? (const void *)number : "null", size ? size : 4);
    }
    size_t size;
    const uint8_t *lines = out_stream_memory_bytes(fx->text, &size);
    out_text(out, "],\"lineNumber\":[");
    out_write(out, lines, size);
    out_text(out, "],\"length\":");
    put_integer(fx, (int64_t)count);
    out_text(out, "}");
    return out_error(fx->text);
}

static void put_stacks(struct firefox *fx)
{
    struct out_stream *out = fx->job->out;
    out_text(out, "\"stackTable\":{\"frame\":[");
    for (size_t i = 0; i < fx->node_frames.count; i++) {
        out_text(out, i ? "," : "");
        put_integer(fx, fx->node_frames.items[i]);
    }
    out_text(out, "],\"prefix\":[");
    for (size_t i = 0; i < fx->node_prefixes.count; i++) {
        out_text(out, i ? "," : "");
        if (fx->node_prefixes.items[i])
            put_integer(fx, fx->node_prefixes.items[i] - INT64_C(1));
        else
            out_text(out, "null");
    }
    out_text(out, "],\"length\":");
    put_integer(fx, (int64_t)fx->node_frames.count);
    out_text(out, "}");
}

/* Names of frames come first, with the frames' numbers; names of files follow. */
static void put_strings(struct firefox *fx, const struct strtab *files)
{
    struct out_stream *out = fx->job->out;
    struct profile_frame_text text;
    size_t count = fx->frames.frames.count;
    out_text(out, ",\"sources\":{\"id\":[");
    put_same(fx, "", "null", files->count);
    out_text(out, "],\"filename\":[");
    for (size_t i = 0; i < files->count; i++) {
        out_text(out, i ? "," : "");
        put_integer(fx, (int64_t)(count + i));
    }
    out_text(out, "],\"length\":");
    put_integer(fx, (int64_t)files->count);
    out_text(out, "},\"stringArray\":[");
    for (size_t i = 0; i < count; i++) {
        out_text(out, i ? ",\n" : "\n");
        profile_frame_describe(fx->trace, fx->frames.prefixes, &fx->frames.frames.items[i], &text);
        json_string(out, text.name, text.name_length);
        profile_frame_text_fini(&text);
    }
    for (size_t i = 0; i < files->count; i++) {
        out_text(out, count + i ? ",\n" : "\n");
        json_string(out, strtab_get(files, i)->bytes, strtab_get(files, i)->length);
    }
    out_text(out, "]");
}

static int put_shared(struct firefox *fx)
{
    struct strtab files = {0};
    out_text(fx->job->out, ",\"shared\":{");
    put_stacks(fx);
    put_frames(fx);
    int error = put_functions(fx, &files);
    out_text(fx->job->out,
             ",\"resourceTable\":{\"type\":[],\"lib\":[],\"name\":[],\"host\":[],\"length\":0}"
             ",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
             "\"length\":0}");
    put_strings(fx, &files);
    out_text(fx->job->out, "}");
    strtab_free(&files);
    return error;
}

/* ---- The profile ----------------------------------------------------------------------------- */

static void put_meta(struct firefox *fx)
{
    struct out_stream *out = fx->job->out;
    uint32_t hertz = trace_sampling_get(fx->trace)->frequency_hz;
    out_text(out,
             "{\"meta\":{\"version\":30,\"preprocessedProfileVersion\":60,\"processType\":0,"
             "\"stackwalk\":1,\"debug\":false,\"importedFrom\":\"annot\",\"platform\":\"Linux\","
             "\"oscpu\":\"Linux\",\"toolkit\":\"\",\"abi\":\"\",\"misc\":\"\",\"appBuildID\":\"\","
             "\"sourceURL\":\"\",\"symbolicationNotSupported\":true,\"symbolicated\":true,"
             "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
             "\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0},"
             "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
             "\"interval\":");
    if (trace_sampling_get(fx->trace)->first_hz &&
        fx->cpu_count) /* the rate was lowered during the recording: use the mean interval */
        put_real(fx, (double)fx->cpu_ns / (double)fx->cpu_count / 1e6);
    else
        put_real(fx, hertz ? 1e3 / hertz : 1);
    out_text(out, ",\"startTime\":");
    put_real(fx, (double)trace_session_get(fx->trace)->begin_realtime_ns / 1e6);
    out_text(out, ",\"product\":");
    put_text(fx, session_title(fx->trace));
    out_text(out, ",\"categories\":");
    out_text(out, categories);
    out_text(out, ",\"markerSchema\":");
    out_text(out, marker_schema);
    out_text(out, "},\"libs\":[],\"pages\":[]");
}

static int firefox_write(struct firefox *fx)
{
    struct out_stream *out = fx->job->out;
    put_meta(fx);
    int error = put_shared(fx);
    out_text(out, ",\"counters\":[");
    for (size_t i = 0; i < fx->counters.count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_counter(fx, &fx->counters.items[i]);
    }
    out_text(out, "],\"threads\":[");
    for (size_t i = 0; i < fx->threads.count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_thread(fx, &fx->threads.items[i]);
    }
    out_text(out, "\n]}\n");
    return error ? error : fx->spool.error;
}

struct firefox_marker {
    uint32_t name; /* frame */
    uint32_t category;
    int64_t begin_ns, end_ns;
    bool instant;
    const struct event *event; /* NULL for a wait */
    const struct args *args;
    int64_t stack; /* -1 without a stack */
};

/* ---- Columns --------------------------------------------------------------------------------- */

enum { CELL_SIZE = 64, SORT_BYTES = 4 << 20 };

/* 0 or -ENOMEM. Call fini in both cases. */
static int firefox_init(struct firefox *fx, const struct export_job *job)
{
    fx->job = job;
    fx->trace = job->source->trace;
    fx->begin_ns = trace_begin_ns(fx->trace);
    fx->text = out_stream_memory();
    fx->values = sorter_create(NULL, SORT_BYTES);
    spool_init(&fx->spool);
    int error = export_ids_init(&fx->ids, fx->trace);
    if (!error)
        error = profile_frames_init(&fx->frames, job);
    return error || !fx->text || !fx->values ? -ENOMEM : 0;
}

static void firefox_fini(struct firefox *fx)
{
    for (size_t i = 0; i < fx->threads.count; i++)
        free(fx->threads.items[i].name);
    vec_free(&fx->threads);
    vec_free(&fx->counters);
    vec_free(&fx->node_frames);
    vec_free(&fx->node_prefixes);
    wide_map_free(&fx->by_counter);
    map64_free(&fx->by_node);
    map64_free(&fx->by_stack);
    export_ids_fini(&fx->ids);
    profile_frames_fini(&fx->frames);
    spool_fini(&fx->spool);
    out_stream_abandon(fx->text);
    sorter_destroy(fx->values);
}

/* Returns the new thread's number, or -ENOMEM. */
static int64_t firefox_add_thread(struct firefox *fx, const struct firefox_thread *like,
                                  const char *name)
{
    struct firefox_thread thread = *like;
    thread.name = strdup(name);
    for (unsigned i = 0; i < FIREFOX_COLUMNS; i++)
        thread.streams[i] = spool_add(&fx->spool);
    if (thread.name && vec_push(&fx->threads, thread) == 0)
        return (int64_t)fx->threads.count - 1;
    free(thread.name);
    return -ENOMEM;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static int64_t add_node(struct firefox *fx, int64_t prefix, uint32_t frame)
{
    uint64_t key = ((uint64_t)(prefix + 1) << 32 | frame) + 1;
    const uint64_t *known = map64_find(&fx->by_node, key);
    if (known)
        return (int64_t)*known - 1;
    if (vec_push(&fx->node_frames, frame) != 0 ||
        vec_push(&fx->node_prefixes, (uint32_t)(prefix + 1)) != 0 ||
        map64_put(&fx->by_node, key, fx->node_frames.count) != 0)
        return -ENOMEM;
    return (int64_t)fx->node_frames.count - 1;
}

static int64_t firefox_stack(struct firefox *fx, uint32_t stack)
{
    uint32_t frames[PROFILE_DEPTH_MAX];
    const uint64_t *known = map64_find(&fx->by_stack, stack + UINT64_C(1));
    if (known)
        return (int64_t)*known - 1;
    int64_t count = profile_frames_stack(&fx->frames, stack, frames), node = -1;
    for (int64_t i = 0; i < count && (i == 0 || node >= 0); i++)
        node = add_node(fx, node, frames[i]);
    if (node < 0 || map64_put(&fx->by_stack, stack + UINT64_C(1), (uint64_t)node + 1) != 0)
        return -ENOMEM;
    return node;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Writes nanoseconds as milliseconds without rounding. */
static uint8_t *put_ms(uint8_t *at, int64_t time_ns)
{
    uint64_t rest = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    if (time_ns < 0)
        *at++ = '-';
    at = json_put_uint(at, rest / 1000000);
    *at++ = '.';
    for (uint64_t unit = 100000, part = rest % 1000000; unit > 0; unit /= 10)
        *at++ = (uint8_t)('0' + part / unit % 10);
    return at;
}

static uint8_t *begin_cell(uint8_t *at, bool first)
{
    if (!first)
        *at++ = ',';
    return at;
}

static void put_time(struct firefox *fx, uint32_t stream, bool first, int64_t time_ns)
{
    uint8_t text[CELL_SIZE], *at = put_ms(begin_cell(text, first), time_ns);
    spool_write(&fx->spool, stream, text, (size_t)(at - text));
}

static void put_number(struct firefox *fx, uint32_t stream, bool first, uint64_t number)
{
    uint8_t text[CELL_SIZE], *at = json_put_uint(begin_cell(text, first), number);
    spool_write(&fx->spool, stream, text, (size_t)(at - text));
}

static void put_value(struct json_doc *doc, const struct trace *trace, uint32_t kind,
                      union value value)
{
    if (kind == VALUE_STRING)
        json_doc_text(doc, NULL, trace_string(trace, value.string)->bytes);
    else if (kind == VALUE_DOUBLE)
        json_doc_double(doc, NULL, value.float64);
    else if (kind == VALUE_BOOL)
        json_doc_bool(doc, NULL, value.uint64 != 0);
    else if (kind == VALUE_INT64)
        json_doc_int(doc, NULL, value.int64);
    else
        json_doc_uint(doc, NULL, value.uint64);
}

/* Writes all key-values as one JSON text, {"rows":3}: a marker schema would need their names in
 * advance. */
static void put_details(struct firefox *fx, const struct firefox_marker *marker)
{
    const struct event *event = marker->event;
    struct out_stream *inner = out_stream_memory();
    struct json_doc doc = {.out = inner};
    size_t size;
    if (!inner) {
        fx->spool.error = -ENOMEM;
        return;
    }
    json_doc_object(&doc, NULL);
    if (event->value_kind) {
        json_doc_key(&doc, "payload", strlen("payload"), "");
        put_value(&doc, fx->trace, event->value_kind, event->value);
    }
    for (uint32_t i = 0; i < marker->args->count; i++) {
        const struct arg *arg = &marker->args->items[i];
        const struct trace_string *key = trace_string(fx->trace, arg->key);
        json_doc_key(&doc, key->bytes, key->length, "");
        put_value(&doc, fx->trace, arg->kind, arg->value);
    }
    json_doc_close(&doc);
    const char *bytes = (const char *)out_stream_memory_bytes(inner, &size);
    out_text(fx->text, ",\"values\":");
    json_string(fx->text, bytes, size);
    out_stream_abandon(inner);
}

static void put_data(struct firefox *fx, const struct firefox_marker *marker)
{
    uint8_t number[CELL_SIZE];
    out_text(fx->text, marker->event ? "{\"type\":\"Range\"" : "{\"type\":\"Wait\"");
    if (marker->event && (marker->event->value_kind || marker->args->count))
        put_details(fx, marker);
    if (marker->stack >= 0) {
        out_text(fx->text, ",\"cause\":{\"stack\":");
        out_write(fx->text, number, (size_t)(json_put_int(number, marker->stack) - number));
        out_text(fx->text, "}");
    }
    out_text(fx->text, "}");
}

/* Errors are kept in the spool. */
static void firefox_put_marker(struct firefox *fx, uint32_t thread,
                               const struct firefox_marker *marker)
{
    static const char plain[] = "{\"type\":\"Range\"}";
    struct firefox_thread *entry = &fx->threads.items[thread];
    bool first = entry->markers++ == 0;
    size_t size;
    spool_write(&fx->spool, entry->streams[MARKER_DATA], ",", !first);
    if (marker->event && !marker->event->value_kind && !marker->args->count) {
        spool_write(&fx->spool, entry->streams[MARKER_DATA], plain, sizeof(plain) - 1);
    } else {
        out_stream_memory_reset(fx->text);
        put_data(fx, marker);
        const uint8_t *bytes = out_stream_memory_bytes(fx->text, &size);
        spool_write(&fx->spool, entry->streams[MARKER_DATA], bytes, size);
    }
    put_number(fx, entry->streams[MARKER_NAME], first, marker->name);
    put_time(fx, entry->streams[MARKER_BEGIN], first, marker->begin_ns - fx->begin_ns);
    if (marker->instant)
        spool_write(&fx->spool, entry->streams[MARKER_END], first ? "null" : ",null",
                    first ? 4 : 5);
    else
        put_time(fx, entry->streams[MARKER_END], first, marker->end_ns - fx->begin_ns);
    put_number(fx, entry->streams[MARKER_PHASE], first, !marker->instant);
    put_number(fx, entry->streams[MARKER_CATEGORY], first, marker->category);
}

static void firefox_put_sample(struct firefox *fx, uint32_t thread, const struct sample *sample,
                               uint32_t stack)
{
    struct firefox_thread *entry = &fx->threads.items[thread];
    bool first = entry->samples++ == 0;
    int64_t cpu_ns = (int64_t)sample_cpu_ns(trace_sets_get(fx->trace), sample);
    fx->cpu_ns += (uint64_t)cpu_ns;
    fx->cpu_count += cpu_ns > 0;
    put_number(fx, entry->streams[SAMPLE_STACK], first, stack);
    put_time(fx, entry->streams[SAMPLE_TIME], first, sample->time_ns - fx->begin_ns);
    put_time(fx, entry->streams[SAMPLE_WEIGHT], first, cpu_ns);
    put_number(fx, entry->streams[SAMPLE_CPU], first, (uint64_t)cpu_ns);
}

/* ---- Counters -------------------------------------------------------------------------------- */

static int64_t find_counter(struct firefox *fx, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(fx->trace, event->thread);
    struct firefox_counter counter = {.process = thread ? thread->process : UINT32_MAX,
                                      .name = event->name,
                                      .domain = trace_scope_domain(fx->trace, event->scope)};
    const struct wide_key *key = WIDE_KEY(counter.process, counter.name, counter.domain);
    const uint64_t *known = wide_map_find(&fx->by_counter, key);
    if (known)
        return (int64_t)*known;
    counter.times = spool_add(&fx->spool);
    counter.values = spool_add(&fx->spool);
    if (wide_map_put(&fx->by_counter, key, fx->counters.count) != 0 ||
        vec_push(&fx->counters, counter) != 0)
        return -ENOMEM;
    return (int64_t)fx->counters.count - 1;
}

static int firefox_put_value(struct firefox *fx, const struct event *event)
{
    int64_t counter = find_counter(fx, event);
    if (counter < 0)
        return (int)counter;
    double value = event->value_kind == VALUE_DOUBLE   ? event->value.float64
                   : event->value_kind == VALUE_UINT64 ? (double)event->value.uint64
                                                       : (double)event->value.int64;
    if (!(value - value == 0)) /* JSON has no NaN and no infinity */
        return 0;
    struct sorter_key key = {.first = counter, .second = event->time_ns};
    return sorter_add(fx->values, key, &value, sizeof(value));
}

/* Writes the change of a counter, which viewers add up. The sum follows the rounded changes, so
 * each change corrects the rounding of earlier ones. */
static void put_change(struct firefox *fx, const struct sorter_key *key, const void *bytes)
{
    struct firefox_counter *counter = &fx->counters.items[key->first];
    uint8_t text[CELL_SIZE], *at;
    double value;
    memcpy(&value, bytes, sizeof(value));
    bool first = counter->count++ == 0;
    put_time(fx, counter->times, first, key->second - fx->begin_ns);
    double change = value - counter->sum;
    at = json_put_double(begin_cell(text, first), change);
    spool_write(&fx->spool, counter->values, text, (size_t)(at - text));
    counter->sum += change;
}

/* Call once, after the last value. 0 or -errno. */
static int firefox_finish_values(struct firefox *fx)
{
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int got = sorter_finish(fx->values);
    if (got < 0)
        return got;
    while ((got = sorter_next(fx->values, &key, &bytes, &size)) == 1)
        put_change(fx, &key, bytes);
    return got;
}

struct state {
    struct firefox fx;
    uint32_t *of_thread; /* thread of the profile + 1; 0 until added */
    uint32_t thread_count;
    struct track_groups groups;
    uint32_t *of_group; /* likewise, by track group */
};

/* ---- Threads --------------------------------------------------------------------------------- */

static int64_t profile_thread(struct state *s, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE];
    if (thread >= s->thread_count)
        return -ENOENT;
    if (s->of_thread[thread])
        return s->of_thread[thread] - INT64_C(1);
    uint32_t process = trace_thread_get(s->fx.trace, thread)->process;
    export_thread_label(&s->fx.ids, s->fx.trace, thread, label);
    const struct firefox_thread like = {.process = process,
                                        .tid = s->fx.ids.tids[thread],
                                        .is_main = s->fx.ids.thread_rank[thread] == 0};
    int64_t number = firefox_add_thread(&s->fx, &like, label);
    s->of_thread[thread] = number < 0 ? 0 : (uint32_t)number + 1;
    return number;
}

/* Each track group becomes a thread of its process. */
static int64_t track_thread(struct state *s, uint32_t lane)
{
    uint32_t group = track_groups_find(&s->groups, lane);
    if (s->of_group[group])
        return s->of_group[group] - INT64_C(1);
    const struct firefox_thread like = {.process = s->groups.groups.items[group].process,
                                        .tid = s->fx.ids.next_synthetic++};
    int64_t number = firefox_add_thread(&s->fx, &like, track_group_label(&s->groups, group).bytes);
    s->of_group[group] = number < 0 ? 0 : (uint32_t)number + 1;
    return number;
}

static bool has_lane(const struct item *item)
{
    return item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
}

static int64_t thread_of(struct state *s, const struct item *item)
{
    return has_lane(item) ? track_thread(s, item->event->lane)
                          : profile_thread(s, item->event->thread);
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int take_marker(struct state *s, const struct item *item)
{
    bool range = item->kind == ITEM_SPAN;
    int64_t thread = thread_of(s, item);
    int64_t name = profile_frames_range(&s->fx.frames, item->event);
    if (thread == -ENOENT)
        return 0;
    if (thread < 0 || name < 0)
        return -ENOMEM;
    const struct firefox_marker marker = {.name = (uint32_t)name,
                                          .category = FIREFOX_RANGES,
                                          .begin_ns = item->event->time_ns,
                                          .end_ns = range ? item->end_ns : item->event->time_ns,
                                          .instant = !range,
                                          .event = item->event,
                                          .args = &item->args,
                                          .stack = -1};
    firefox_put_marker(&s->fx, (uint32_t)thread, &marker);
    return 0;
}

static int take_wait(struct state *s, uint32_t thread, const struct sample *sample, int64_t stack)
{
    const struct profile_frame reason = {PROFILE_REASON, sample->reason, 0};
    int64_t name = profile_frames_add(&s->fx.frames, &reason);
    if (name < 0)
        return (int)name;
    const struct firefox_marker marker = {.name = (uint32_t)name,
                                          .category = FIREFOX_WAITS,
                                          .begin_ns = sample->time_ns,
                                          .end_ns = sample->end_ns,
                                          .stack = stack};
    firefox_put_marker(&s->fx, thread, &marker);
    return 0;
}

static int take_sample(struct state *s, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(s->fx.trace);
    enum sample_role role = sample_role(sets, sample);
    if (role != SAMPLE_ROLE_CPU && role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    int64_t thread = profile_thread(s, sample->thread);
    int64_t stack = thread < 0 ? thread : firefox_stack(&s->fx, sample->stack);
    if (thread == -ENOENT)
        return 0;
    if (stack < 0)
        return (int)stack;
    if (role == SAMPLE_ROLE_OFF_CPU)
        return take_wait(s, (uint32_t)thread, sample, stack);
    firefox_put_sample(&s->fx, (uint32_t)thread, sample, (uint32_t)stack);
    return 0;
}

/* A counter belongs to a thread of its process. */
static int take_value(struct state *s, const struct event *event)
{
    int64_t thread = profile_thread(s, event->thread);
    return thread == -ENOENT ? 0 : thread < 0 ? (int)thread : firefox_put_value(&s->fx, event);
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int error = 0;
    if (item->kind == ITEM_SAMPLE)
        error = take_sample(s, item->sample);
    else if (item->kind == ITEM_SPAN || item->kind == ITEM_INSTANT)
        error = take_marker(s, item);
    else if (item->kind == ITEM_COUNTER)
        error = take_value(s, item->event);
    return error ? error : s->fx.spool.error;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    s->thread_count = trace_thread_count(trace);
    s->of_thread = calloc(s->thread_count + 1u, sizeof(*s->of_thread));
    int error = firefox_init(&s->fx, job);
    if (!error)
        error = track_groups_init(&s->groups, trace);
    s->of_group = calloc(s->groups.groups.count + 1u, sizeof(*s->of_group));
    return !error && s->of_thread && s->of_group ? 0 : -ENOMEM;
}

static int end(void *state)
{
    struct state *s = state;
    int error = firefox_finish_values(&s->fx);
    return error ? error : firefox_write(&s->fx);
}

static void destroy(void *state)
{
    struct state *s = state;
    firefox_fini(&s->fx);
    track_groups_fini(&s->groups);
    free(s->of_thread);
    free(s->of_group);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(NULL),
    {0},
};

extern const struct exporter export_firefox;

const struct exporter export_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .summary = "samples, ranges, marks, waits and counters, for the Firefox Profiler",
    .carries = "ranges, calls, marks, counters, samples, waits",
    .viewer = "at profiler.firefox.com",
    .lacks = EXPORT_LACKS_FLOWS | EXPORT_LACKS_OTHER_SAMPLES | EXPORT_LACKS_NO_NUMBERS,
    .options = options,
    .wants = WANT_EVENTS | WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
