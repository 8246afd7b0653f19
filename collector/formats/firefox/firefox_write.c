/* SPDX-License-Identifier: MIT */
/* See firefox_parts.h. */
#include "export_facts.h"
#include "firefox_parts.h"
#include "json_writer.h"
#include "stacks.h"
#include "strtab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* What one name stands for in all rows of a table: "1,1,1". */
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

/* The main thread of the process, or the first that is in the profile. */
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

/* ---- What all threads share ------------------------------------------------------------------ */

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

/* Of each function its name, which has its own number, its file and line. */
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

/* Names of frames have the numbers of these; those of files stand behind. */
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

/* ---- The whole ------------------------------------------------------------------------------- */

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

int firefox_write(struct firefox *fx)
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
