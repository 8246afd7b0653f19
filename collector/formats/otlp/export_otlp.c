/* SPDX-License-Identifier: MIT */
/* Exports ranges as OpenTelemetry spans (OTLP): TracesData as protocol buffers, or as JSON with one
 * message per line.
 *
 * Ids match those that a program writes into its traceparent and its logs: the trace id is session
 * and process identity, the span id is annot_current(). Ranges off the threads, and ranges without
 * a number, get a hash of their lane, depth and begin time. A range is written when it ends, if it
 * is long enough or may be referred to: by a written range inside it, by a link, or by the span of
 * another service. Memory: the open ranges, with at most OTLP_EVENTS_MAX marks each; 40 bytes for
 * each of FLOWS_MAX flows. Thread-safety: none. */
#include "call_label.h"
#include "event.h"
#include "export.h"
#include "export_facts.h"
#include "hash.h"
#include "hash_map.h"
#include "json_writer.h"
#include "otlp_write.h"
#include "pass.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OpenTelemetry's default limits. The span counts dropped entries. */
enum { OTLP_ATTRIBUTES_MAX = 128, OTLP_EVENTS_MAX = 128, OTLP_LINKS_MAX = 128 };

struct otlp_context {
    uint64_t trace[2], span;
};

/* A mark or a gap. */
struct otlp_mark {
    struct event event;
    size_t first_arg; /* index into the lane's args */
};

struct otlp_span {
    const struct item *item;
    struct otlp_context context;
    uint64_t parent; /* 0 for a root span */
    const struct otlp_mark *marks;
    const struct arg *mark_args; /* all of the lane */
    const struct otlp_context *links;
    uint32_t mark_count, link_count;
    uint32_t marks_dropped, links_dropped;
};

struct otlp_part {
    uint8_t *bytes; /* owned */
    size_t size;    /* 0 until built */
};

struct otlp_spans {
    const struct trace *trace;
    struct otlp_writer w, made;
    struct otlp_part *threads; /* encoded attributes of each thread's spans */
    uint32_t thread_count;
    struct export_keys keys;
    int64_t unix_offset_ns;                 /* added to CLOCK_MONOTONIC to get Unix time */
    uint64_t values_dropped, marks_dropped; /* because a span was too large */
};

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Marks in a range become span events, flows that end in it become links, and an exception that
 * left it sets its status. */

/* Attributes and marks that would begin beyond this size are dropped and counted. */
enum { SPAN_BYTES_MAX = 1 << 20 };

enum { SPAN_KIND_INTERNAL = 1, STATUS_ERROR = 2 };

#define KEY_EXCEPTION "exception"

/* Fields of Span; the number of the list itself belongs to ScopeSpans. */
static const struct otlp_field the_span = {2, NULL}, span_trace = {1, "traceId"},
                               span_id = {2, "spanId"}, span_parent = {4, "parentSpanId"},
                               span_name = {5, "name"}, span_kind = {6, "kind"},
                               span_start = {7, "startTimeUnixNano"},
                               span_end = {8, "endTimeUnixNano"},
                               span_attributes = {9, "attributes"},
                               span_attributes_dropped = {10, "droppedAttributesCount"},
                               span_events = {11, "events"},
                               span_events_dropped = {12, "droppedEventsCount"},
                               span_links = {13, "links"},
                               span_links_dropped = {14, "droppedLinksCount"},
                               span_status = {15, "status"}, status_message = {2, "message"},
                               status_code = {3, "code"};

/* Fields of Span.Event and Span.Link. */
static const struct otlp_field event_time = {1, "timeUnixNano"}, event_name = {2, "name"},
                               event_attributes = {3, "attributes"},
                               event_attributes_dropped = {4, "droppedAttributesCount"},
                               link_trace = {1, "traceId"}, link_span = {2, "spanId"};

/* Attributes that only this export writes. */
static const char *const own_keys[] = {
    "thread.id",
    "thread.name",
    "code.function.name",
    "code.file.path",
    "code.line.number",
    "severity",
    "lost",
    NULL,
};

/* 0 or -ENOMEM. Call fini in both cases. */
static int otlp_spans_init(struct otlp_spans *spans, const struct trace *trace, bool json)
{
    const struct trace_session *session = trace_session_get(trace);
    *spans = (struct otlp_spans){.trace = trace};
    spans->unix_offset_ns = session->begin_realtime_ns - session->begin_ns;
    spans->thread_count = trace_thread_count(trace);
    spans->threads = calloc(spans->thread_count + 1u, sizeof(*spans->threads));
    int error = export_keys_init(&spans->keys, trace);
    spans->keys.others = own_keys;
    if (!error)
        error = otlp_writer_init(&spans->made, json);
    if (!error)
        error = otlp_writer_init(&spans->w, json);
    return spans->threads ? error : -ENOMEM;
}

static void otlp_spans_fini(struct otlp_spans *spans)
{
    for (uint32_t i = 0; spans->threads && i < spans->thread_count; i++)
        free(spans->threads[i].bytes);
    free(spans->threads);
    export_keys_fini(&spans->keys);
    otlp_writer_fini(&spans->made);
    otlp_writer_fini(&spans->w);
}

/* Returns 0 if the time is before 1970 or overflows. */
static uint64_t unix_time(const struct otlp_spans *spans, int64_t time_ns)
{
    int64_t unix_ns;
    if (__builtin_add_overflow(time_ns, spans->unix_offset_ns, &unix_ns) || unix_ns < 0)
        return 0;
    return (uint64_t)unix_ns;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static bool is_full(const struct otlp_spans *spans)
{
    size_t size;
    otlp_bytes(&spans->w, &size);
    return size > SPAN_BYTES_MAX;
}

static void put_known(struct otlp_spans *spans, const char *key, uint32_t string)
{
    if (string)
        otlp_text_fact(&spans->w, key, trace_string(spans->trace, string)->bytes);
}

static void put_flag(struct otlp_spans *spans, const char *key, bool flag)
{
    if (flag)
        otlp_fact(&spans->w, NULL,
                  &(struct fact){.name = key, .kind = VALUE_BOOL, .value = {.uint64 = 1}});
}

static bool is_exception(const struct trace *trace, const struct arg *arg)
{
    return arg->kind == VALUE_STRING &&
           strcmp(trace_string(trace, arg->key)->bytes, KEY_EXCEPTION) == 0;
}

static int put_arg(struct otlp_spans *spans, const struct arg *arg)
{
    const struct export_key key = export_keys_next(&spans->keys, arg->key);
    char number[EXPORT_KEY_NUMBER_SIZE];
    struct fact fact = {.name = key.text, .kind = (enum value_kind)arg->kind, .value = arg->value};
    char *numbered = NULL;
    if (export_key_number(&key, number)) {
        if (asprintf(&numbered, "%s%s", key.text, number) < 0)
            return -ENOMEM;
        fact.name = numbered;
    }
    otlp_fact(&spans->w, spans->trace, &fact);
    free(numbered);
    return 0;
}

/* Writes the payload, then the args. Returns the number of dropped values, or -ENOMEM. */
static int64_t put_values(struct otlp_spans *spans, const struct event *event,
                          const struct args *args)
{
    uint32_t dropped = 0;
    if (event->value_kind)
        otlp_fact(&spans->w, spans->trace,
                  &(struct fact){.name = "payload",
                                 .kind = (enum value_kind)event->value_kind,
                                 .value = event->value});
    export_keys_restart(&spans->keys);
    for (uint32_t i = 0; i < args->count; i++) {
        if (is_exception(spans->trace, &args->items[i]))
            continue;
        if (i >= OTLP_ATTRIBUTES_MAX || is_full(spans))
            dropped++;
        else if (put_arg(spans, &args->items[i]) != 0)
            return -ENOMEM;
    }
    spans->values_dropped += dropped;
    return dropped;
}

/* Appends to the list begun in `made`. */
static void make_thread(struct otlp_spans *spans, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE];
    otlp_int_fact(&spans->made, "thread.id", trace_thread_get(spans->trace, thread)->tid);
    trace_thread_label(spans->trace, thread, label, sizeof(label));
    otlp_text_fact(&spans->made, "thread.name", label);
}

/* The attributes are the same for all spans of a thread, so they are encoded once. */
static int put_thread(struct otlp_spans *spans, uint32_t thread)
{
    if (thread >= spans->thread_count)
        return 0;
    struct otlp_part *part = &spans->threads[thread];
    if (!part->size) {
        size_t begin, end;
        otlp_restart(&spans->made);
        otlp_list(&spans->made, &span_attributes);
        otlp_bytes(&spans->made, &begin);
        make_thread(spans, thread);
        const uint8_t *bytes = otlp_bytes(&spans->made, &end);
        part->bytes = otlp_error(&spans->made) ? NULL : malloc(end - begin);
        if (!part->bytes)
            return -ENOMEM;
        part->size = end - begin;
        memcpy(part->bytes, bytes + begin, part->size);
    }
    otlp_items(&spans->w, part->bytes, part->size);
    return 0;
}

/* Writes the source location of a call. */
static void put_code(struct otlp_spans *spans, uint32_t name)
{
    int32_t line = 0;
    uint32_t path = call_source(spans->trace, name, &line);
    if (!path)
        return;
    put_known(spans, "code.function.name", name);
    put_known(spans, "code.file.path", path);
    if (line > 0)
        otlp_int_fact(&spans->w, "code.line.number", line);
}

static void put_span_scope(struct otlp_spans *spans, uint32_t scope)
{
    put_known(spans, "domain", scope ? trace_scope_domain(spans->trace, scope) : 0);
    put_known(spans, "category", scope ? trace_scope_category(spans->trace, scope) : 0);
}

static int put_attributes(struct otlp_spans *spans, const struct item *item)
{
    char label[EXPORT_LABEL_SIZE];
    const struct event *event = item->event;
    otlp_list(&spans->w, &span_attributes);
    int error = put_thread(spans, event->thread);
    if (item->lane == LANE_TRACK || item->lane == LANE_QUEUE) {
        trace_lane_path(spans->trace, event->lane, label, sizeof(label));
        otlp_text_fact(&spans->w, "track", label);
    }
    put_span_scope(spans, event->scope);
    put_code(spans, event->name);
    put_flag(spans, "unfinished", item->flags & ITEM_UNFINISHED);
    put_flag(spans, "end_lost", item->flags & ITEM_END_LOST);
    int64_t dropped = put_values(spans, event, &item->args);
    otlp_end(&spans->w);
    if (dropped > 0)
        otlp_uint(&spans->w, &span_attributes_dropped, (uint32_t)dropped);
    return dropped < 0 ? (int)dropped : error;
}

/* ---- Events and links ------------------------------------------------------------------------ */

static void begin_event(struct otlp_spans *spans, int64_t time_ns, const char *name)
{
    otlp_item(&spans->w);
    otlp_time(&spans->w, &event_time, unix_time(spans, time_ns));
    otlp_text(&spans->w, &event_name, name);
    otlp_list(&spans->w, &event_attributes);
}

static void put_gap(struct otlp_spans *spans, const struct event *event)
{
    char label[EXPORT_LABEL_SIZE];
    export_lost_label(event, label);
    begin_event(spans, event->time_ns, label);
    otlp_fact(&spans->w, NULL,
              &(struct fact){.name = "lost", .kind = VALUE_UINT64, .value = event->value});
    otlp_end(&spans->w);
    otlp_end(&spans->w);
}

static int put_mark(struct otlp_spans *spans, const struct event *event, const struct args *args)
{
    static const char *const severities[] = {"debug", "info", "warning", "error", "fatal"};
    enum export_severity severity = export_severity(spans->trace, event->scope);
    begin_event(spans, event->time_ns,
                event->name ? trace_string(spans->trace, event->name)->bytes : EXPORT_UNNAMED);
    if (severity < EXPORT_SEVERITY_NONE)
        otlp_text_fact(&spans->w, "severity", severities[severity]);
    put_span_scope(spans, event->scope);
    int64_t dropped = put_values(spans, event, args);
    otlp_end(&spans->w);
    if (dropped > 0)
        otlp_uint(&spans->w, &event_attributes_dropped, (uint32_t)dropped);
    otlp_end(&spans->w);
    return dropped < 0 ? (int)dropped : 0;
}

static void put_exception(struct otlp_spans *spans, int64_t time_ns, const char *type)
{
    begin_event(spans, time_ns, "exception");
    otlp_text_fact(&spans->w, "exception.type", type);
    otlp_end(&spans->w);
    otlp_end(&spans->w);
}

/* The type of the exception that left the range, or NULL. */
static const char *exception_of(const struct trace *trace, const struct args *args)
{
    for (uint32_t i = args->count; i-- > 0;) {
        if (is_exception(trace, &args->items[i]))
            return trace_string(trace, args->items[i].value.string)->bytes;
    }
    return NULL;
}

static int put_events(struct otlp_spans *spans, const struct otlp_span *span, const char *exception)
{
    uint32_t dropped = span->marks_dropped;
    int error = 0;
    if (span->mark_count == 0 && !exception && dropped == 0)
        return 0;
    otlp_list(&spans->w, &span_events);
    for (uint32_t i = 0; i < span->mark_count && !error; i++) {
        const struct event *event = &span->marks[i].event;
        const struct args args = {span->mark_args + span->marks[i].first_arg, event->arg_count};
        if (is_full(spans)) {
            dropped++;
            spans->marks_dropped++;
        } else if (event->kind == EVENT_LOST)
            put_gap(spans, event);
        else
            error = put_mark(spans, event, &args);
    }
    if (exception)
        put_exception(spans, span->item->end_ns, exception);
    otlp_end(&spans->w);
    if (dropped > 0)
        otlp_uint(&spans->w, &span_events_dropped, dropped);
    return error;
}

static void put_links(struct otlp_spans *spans, const struct otlp_span *span)
{
    if (span->link_count == 0)
        return;
    otlp_list(&spans->w, &span_links);
    for (uint32_t i = 0; i < span->link_count; i++) {
        otlp_item(&spans->w);
        otlp_id(&spans->w, &link_trace, span->links[i].trace, 2);
        otlp_id(&spans->w, &link_span, &span->links[i].span, 1);
        otlp_end(&spans->w);
    }
    otlp_end(&spans->w);
    if (span->links_dropped > 0)
        otlp_uint(&spans->w, &span_links_dropped, span->links_dropped);
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Encodes the span as the only content of spans->w. 0 or -ENOMEM. */
static int otlp_put_span(struct otlp_spans *spans, const struct otlp_span *span)
{
    const struct item *item = span->item;
    const char *exception = exception_of(spans->trace, &item->args);
    const uint32_t name = item->event->name;
    struct otlp_writer *w = &spans->w;
    otlp_restart(w);
    otlp_begin(w, &the_span);
    otlp_id(w, &span_trace, span->context.trace, 2);
    otlp_id(w, &span_id, &span->context.span, 1);
    if (span->parent)
        otlp_id(w, &span_parent, &span->parent, 1);
    otlp_text(w, &span_name, name ? trace_string(spans->trace, name)->bytes : EXPORT_UNNAMED);
    otlp_uint(w, &span_kind, SPAN_KIND_INTERNAL);
    otlp_time(w, &span_start, unix_time(spans, item->event->time_ns));
    otlp_time(w, &span_end, unix_time(spans, item->end_ns));
    int error = put_attributes(spans, item);
    if (!error)
        error = put_events(spans, span, exception);
    put_links(spans, span);
    if (exception) {
        otlp_begin(w, &span_status);
        otlp_text(w, &status_message, exception);
        otlp_uint(w, &status_code, STATUS_ERROR);
        otlp_end(w);
    }
    otlp_end(w);
    return error ? error : otlp_error(w);
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* Collects spans by process and writes messages of about OTLP_BATCH_SIZE, each of which is flushed.
 * Processes with few spans share a message. Memory: OTLP_BATCHES_SIZE and two messages.
 * Thread-safety: none. */

enum { OTLP_BATCH_SIZE = 512 << 10, OTLP_BATCHES_SIZE = 8 << 20 };

struct otlp_batch {
    uint8_t *bytes;
    size_t size, capacity;
};

struct otlp_batches {
    const struct trace *trace;
    struct out_stream *out;
    struct otlp_writer message;
    struct otlp_batch *items; /* by process; the last is for spans without one */
    uint32_t process_count;
    size_t held; /* bytes in all batches */
    char *service;
};

static int otlp_batches_finish(struct otlp_batches *batches);

/* Messages: the spans of a process under its resource attributes. */

/* Fields of TracesData, ResourceSpans, ScopeSpans and InstrumentationScope. */
static const struct otlp_field traces_data = {0, NULL}, resource_spans = {1, "resourceSpans"},
                               resource = {1, "resource"}, attributes = {1, "attributes"},
                               scope_spans = {2, "scopeSpans"}, scope = {1, "scope"},
                               scope_name = {1, "name"}, scope_version = {2, "version"},
                               spans = {2, "spans"};

/* 0 or -ENOMEM. Call fini in both cases. */
static int otlp_batches_init(struct otlp_batches *batches, const struct export_job *job, bool json)
{
    const struct trace *trace = job->source->trace;
    *batches = (struct otlp_batches){.trace = trace, .out = job->out};
    batches->process_count = trace_process_count(trace);
    batches->items = calloc(batches->process_count + 1ul, sizeof(*batches->items));
    batches->service = export_service(job);
    int error = otlp_writer_init(&batches->message, json);
    return batches->items && batches->service ? error : -ENOMEM;
}

static void otlp_batches_fini(struct otlp_batches *batches)
{
    for (uint32_t i = 0; batches->items && i <= batches->process_count; i++)
        free(batches->items[i].bytes);
    free(batches->items);
    free(batches->service);
    otlp_writer_fini(&batches->message);
    *batches = (struct otlp_batches){0};
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void put_text(struct otlp_batches *batches, const char *key, uint32_t string)
{
    if (string)
        otlp_text_fact(&batches->message, key, trace_string(batches->trace, string)->bytes);
}

static void put_number(struct otlp_batches *batches, const char *key, int64_t number)
{
    if (number > 0)
        otlp_int_fact(&batches->message, key, number);
}

static void put_process(struct otlp_batches *batches, uint32_t number)
{
    const struct trace_process *process = trace_process_get(batches->trace, number);
    char text[EXPORT_LABEL_SIZE];
    snprintf(text, sizeof(text), "%016" PRIx64, process->identity);
    otlp_text_fact(&batches->message, "service.instance.id", text);
    put_number(batches, "process.pid", process->pid);
    put_number(batches, "process.parent_pid", process->ppid);
    put_text(batches, "process.executable.name", process->comm);
    put_text(batches, "process.command_line", process->cmdline);
    trace_process_label(batches->trace, number, text, sizeof(text));
    otlp_text_fact(&batches->message, "process.title", text);
}

static void put_host(struct otlp_batches *batches, uint32_t number)
{
    const struct trace_session *session = trace_session_get(batches->trace);
    const struct trace_host *host = trace_host_get(batches->trace, number);
    put_text(batches, "host.name", host && host->name ? host->name : session->hostname);
}

static void put_resource(struct otlp_batches *batches, uint32_t number)
{
    bool known = number < batches->process_count;
    otlp_begin(&batches->message, &resource);
    otlp_list(&batches->message, &attributes);
    otlp_text_fact(&batches->message, "service.name", batches->service);
    if (known)
        put_process(batches, number);
    put_host(batches, known ? trace_process_get(batches->trace, number)->host : 0);
    otlp_text_fact(&batches->message, "os.type", "linux");
    otlp_end(&batches->message);
    otlp_end(&batches->message);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void put_scope(struct otlp_batches *batches)
{
    const struct trace_session *session = trace_session_get(batches->trace);
    otlp_begin(&batches->message, &scope);
    otlp_text(&batches->message, &scope_name, "annot");
    if (session->annot_version)
        otlp_text(&batches->message, &scope_version,
                  trace_string(batches->trace, session->annot_version)->bytes);
    otlp_end(&batches->message);
}

/* Appends to the open message, or begins one. */
static void put_batch(struct otlp_batches *batches, uint32_t process)
{
    struct otlp_batch *batch = &batches->items[process];
    struct otlp_writer *w = &batches->message;
    if (w->depth == 0) {
        otlp_restart(w);
        otlp_begin(w, &traces_data);
        otlp_list(w, &resource_spans);
    }
    otlp_item(w);
    put_resource(batches, process);
    otlp_list(w, &scope_spans);
    otlp_item(w);
    put_scope(batches);
    otlp_list(w, &spans);
    otlp_items(w, batch->bytes, batch->size);
    for (int i = 0; i < 4; i++) /* spans, ScopeSpans, their list, ResourceSpans */
        otlp_end(w);
    batches->held -= batch->size;
    batch->size = 0;
}

/* Closes and writes the open message, if any. */
static int send(struct otlp_batches *batches)
{
    struct otlp_writer *w = &batches->message;
    size_t size;
    if (w->depth == 0)
        return 0;
    while (w->depth > 0)
        otlp_end(w);
    const uint8_t *bytes = otlp_bytes(w, &size);
    if (otlp_error(w))
        return -ENOMEM;
    out_write(batches->out, bytes, size);
    if (w->json)
        out_text(batches->out, "\n");
    out_flush(batches->out);
    return 0;
}

static int append(struct otlp_batch *batch, const void *bytes, size_t size)
{
    if (vec_grow((void **)&batch->bytes, &batch->capacity, batch->size + size, 1) != 0)
        return -ENOMEM;
    memcpy(batch->bytes + batch->size, bytes, size);
    batch->size += size;
    return 0;
}

/* Adds a span of the process. 0 or -ENOMEM. */
static int otlp_batches_add(struct otlp_batches *batches, uint32_t process, const void *bytes,
                            size_t size)
{
    uint32_t number = process < batches->process_count ? process : batches->process_count;
    struct otlp_batch *batch = &batches->items[number];
    bool comma = batches->message.json && batch->size > 0;
    if ((comma && append(batch, ",", 1) != 0) || append(batch, bytes, size) != 0)
        return -ENOMEM;
    batches->held += comma + size;
    if (batch->size >= OTLP_BATCH_SIZE) {
        put_batch(batches, number);
        return send(batches);
    }
    return batches->held < OTLP_BATCHES_SIZE ? 0 : otlp_batches_finish(batches);
}

static int otlp_batches_finish(struct otlp_batches *batches)
{
    int error = 0;
    for (uint32_t i = 0; i <= batches->process_count && !error; i++) {
        size_t size;
        if (batches->items[i].size == 0)
            continue;
        put_batch(batches, i);
        otlp_bytes(&batches->message, &size);
        error = size >= OTLP_BATCH_SIZE ? send(batches) : 0;
    }
    return error ? error : send(batches);
}

enum { FLOWS_MAX = 1 << 20 };

/* The range open at a depth, or the last one that was. */
struct open_span {
    int64_t begin_ns;
    uint64_t id;
    uint64_t repeats; /* earlier ranges of this depth that began at the same time */
    bool kept;        /* written even if it is short */
    size_t first_mark, first_link;
    uint32_t marks_dropped, links_dropped;
};

struct span_lane {
    VEC(struct open_span) spans; /* by depth */
    VEC(struct otlp_mark) marks;
    VEC(struct arg) args; /* of the marks */
    VEC(struct otlp_context) links;
};

struct state {
    const struct trace *trace;
    struct otlp_spans spans;
    struct otlp_batches batches;
    int64_t min_ns;
    uint64_t session;
    struct span_lane *lanes; /* of threads, then lanes, then one for all others */
    uint32_t thread_count, lane_count;
    struct map64 flows; /* flow to 1 + index of its last origin */
    VEC(struct otlp_context) origins;
    struct span_counts counts, *ret_counts;
};

/* ---- Ids ------------------------------------------------------------------------------------- */

static uint32_t process_of(const struct state *s, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(s->trace, thread);
    return entry ? entry->process : UINT32_MAX;
}

/* The ids that annot_trace_context() writes. */
static struct otlp_context context_of(const struct state *s, uint32_t thread, uint64_t span)
{
    const struct trace_process *process = trace_process_get(s->trace, process_of(s, thread));
    struct otlp_context context = {{s->session, process ? process->identity : 0}, span};
    if ((context.trace[0] | context.trace[1]) == 0)
        context.trace[1] = 1; /* an all-zero trace id is invalid */
    return context;
}

static uint64_t id_of(const struct state *s, const struct item *item, uint64_t repeats)
{
    const struct event *event = item->event;
    bool has_lane = item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
    const uint64_t words[] = {item->lane,
                              has_lane ? event->lane : event->thread,
                              item->depth,
                              (uint64_t)event->time_ns,
                              item->lane == LANE_PROCESS ? event->id : 0,
                              repeats};
    const struct hash128 seed = {s->session, 0};
    uint64_t id = item->number ? item->number : hash128_bytes(words, sizeof(words), seed).low;
    return id ? id : 1;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static struct span_lane *lane_of(const struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    uint32_t place = s->thread_count + s->lane_count; /* neither thread nor lane */
    if (item->lane == LANE_THREAD && event->thread < s->thread_count)
        place = event->thread;
    else if ((item->lane == LANE_TRACK || item->lane == LANE_QUEUE) && event->lane < s->lane_count)
        place = s->thread_count + event->lane;
    return &s->lanes[place];
}

/* Begins the range of the item. Returns NULL if out of memory. */
static struct open_span *open_span(struct state *s, struct span_lane *lane, const struct item *item)
{
    while (lane->spans.count <= item->depth)
        if (vec_push(&lane->spans, (struct open_span){.begin_ns = INT64_MIN}) != 0)
            return NULL;
    struct open_span *span = &lane->spans.items[item->depth];
    uint64_t repeats = span->begin_ns == item->event->time_ns ? span->repeats + 1 : 0;
    *span = (struct open_span){.begin_ns = item->event->time_ns,
                               .id = id_of(s, item, repeats),
                               .repeats = repeats,
                               .first_mark = lane->marks.count,
                               .first_link = lane->links.count};
    return span;
}

/* The innermost range around an item, or NULL. */
static struct open_span *span_around(const struct span_lane *lane, const struct item *item)
{
    return item->depth > 0 && item->depth <= lane->spans.count ? &lane->spans.items[item->depth - 1]
                                                               : NULL;
}

/* ---- Marks and flows in ranges --------------------------------------------------------------- */

static void forget_marks(struct span_lane *lane, size_t count)
{
    if (count >= lane->marks.count)
        return;
    lane->args.count = lane->marks.items[count].first_arg;
    lane->marks.count = count;
}

static int take_mark(struct state *s, const struct item *item)
{
    struct span_lane *lane = lane_of(s, item);
    struct open_span *span = span_around(lane, item);
    struct otlp_mark mark = {*item->event, lane->args.count};
    if (!span) {
        s->counts.marks += item->kind == ITEM_INSTANT;
        return 0;
    }
    if (lane->marks.count - span->first_mark >= OTLP_EVENTS_MAX) {
        span->marks_dropped++;
        s->counts.marks++;
        return 0;
    }
    mark.event.arg_count = (uint16_t)item->args.count;
    if (vec_reserve(&lane->args, item->args.count) != 0)
        return -ENOMEM;
    if (item->args.count)
        memcpy(lane->args.items + lane->args.count, item->args.items,
               item->args.count * sizeof(*item->args.items));
    lane->args.count += item->args.count;
    return vec_push(&lane->marks, mark);
}

/* Records the latest origin of the flow. */
static int note_origin(struct state *s, uint64_t flow, struct otlp_context context)
{
    const uint64_t *known = map64_find(&s->flows, flow);
    if (known) {
        s->origins.items[*known - 1] = context;
        return 0;
    }
    if (s->origins.count >= FLOWS_MAX) {
        s->counts.flows++;
        return 0;
    }
    return vec_push(&s->origins, context) ? -ENOMEM : map64_put(&s->flows, flow, s->origins.count);
}

static int take_arrival(struct state *s, struct span_lane *lane, struct open_span *span,
                        const struct otlp_context *origin)
{
    span->kept = true;
    if (lane->links.count - span->first_link < OTLP_LINKS_MAX)
        return vec_push(&lane->links, *origin);
    span->links_dropped++;
    s->counts.flows++;
    return 0;
}

static int take_flow(struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    struct span_lane *lane = lane_of(s, item);
    struct open_span *span = span_around(lane, item);
    if (!span || !event->id) {
        s->counts.flows++;
        return 0;
    }
    const uint64_t *origin = map64_find(&s->flows, event->id);
    int error = 0;
    if (event->kind != EVENT_FLOW_BEGIN && origin)
        error = take_arrival(s, lane, span, &s->origins.items[*origin - 1]);
    else if (event->kind != EVENT_FLOW_BEGIN)
        s->counts.flows++;
    if (error || event->kind == EVENT_FLOW_END)
        return error;
    span->kept = true;
    return note_origin(s, event->id, context_of(s, event->thread, span->id));
}

/* ---- Ended ranges ---------------------------------------------------------------------------- */

static int write_span(struct state *s, const struct item *item, const struct span_lane *lane,
                      const struct open_span *span)
{
    const struct open_span *around = span_around(lane, item);
    const struct otlp_span made = {
        .item = item,
        .context = context_of(s, item->event->thread, span->id),
        .parent = around ? around->id : 0,
        .marks = lane->marks.items + span->first_mark,
        .mark_args = lane->args.items,
        .links = lane->links.items + span->first_link,
        .mark_count = (uint32_t)(lane->marks.count - span->first_mark),
        .link_count = (uint32_t)(lane->links.count - span->first_link),
        .marks_dropped = span->marks_dropped,
        .links_dropped = span->links_dropped,
    };
    int error = otlp_put_span(&s->spans, &made);
    size_t size;
    const uint8_t *bytes = otlp_bytes(&s->spans.w, &size);
    s->counts.spans++;
    return error ? error
                 : otlp_batches_add(&s->batches, process_of(s, item->event->thread), bytes, size);
}

/* Moves the marks of a range that is not written to the range around it. */
static void hand_up(struct state *s, struct span_lane *lane, const struct open_span *span,
                    struct open_span *around)
{
    size_t first = around ? around->first_mark : span->first_mark;
    size_t most = first + (around ? OTLP_EVENTS_MAX : 0);
    size_t dropped = lane->marks.count > most ? lane->marks.count - most : 0;
    s->counts.brief++;
    s->counts.marks += dropped;
    forget_marks(lane, most);
    if (around)
        around->marks_dropped += span->marks_dropped + (uint32_t)dropped;
}

static int take_range(struct state *s, const struct item *item)
{
    struct span_lane *lane = lane_of(s, item);
    bool known = item->depth < lane->spans.count && item->lane != LANE_QUEUE &&
                 item->lane != LANE_PROCESS &&
                 lane->spans.items[item->depth].begin_ns == item->event->time_ns;
    struct open_span *span = known ? &lane->spans.items[item->depth] : open_span(s, lane, item);
    if (!span)
        return -ENOMEM;
    struct open_span *around = span_around(lane, item);
    if (!span->kept && item->end_ns - item->event->time_ns < s->min_ns) {
        hand_up(s, lane, span, around);
        return 0;
    }
    int error = write_span(s, item, lane, span);
    if (around)
        around->kept = true;
    forget_marks(lane, span->first_mark);
    lane->links.count = span->first_link;
    return error;
}

static int take_begin(struct state *s, const struct item *item)
{
    if (item->lane == LANE_PROCESS)
        return 0;
    return open_span(s, lane_of(s, item), item) ? 0 : -ENOMEM;
}

static int take(void *state, const struct item *item)
{
    switch (item->kind) {
    case ITEM_OPENED:
        return take_begin(state, item);
    case ITEM_SPAN:
        return take_range(state, item);
    case ITEM_INSTANT:
    case ITEM_LOST:
        return take_mark(state, item);
    case ITEM_FLOW:
        return take_flow(state, item);
    default:
        return 0;
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

static int begin(struct state *s, const struct export_job *job, bool json)
{
    s->trace = job->source->trace;
    s->session = trace_session_get(s->trace)->id;
    s->thread_count = trace_thread_count(s->trace);
    s->lane_count = trace_lane_count(s->trace);
    s->lanes = calloc(s->thread_count + s->lane_count + 1ul, sizeof(*s->lanes));
    s->ret_counts = job->options->ret_spans;
    if (options_parse_time(job->options->min_duration, &s->min_ns) != 0)
        return -EINVAL;
    int error = otlp_spans_init(&s->spans, s->trace, json);
    if (!error)
        error = otlp_batches_init(&s->batches, job, json);
    return s->lanes ? error : -ENOMEM;
}

static int begin_proto(void *state, const struct export_job *job)
{
    return begin(state, job, false);
}

static int begin_json(void *state, const struct export_job *job)
{
    return begin(state, job, true);
}

static int end(void *state)
{
    struct state *s = state;
    s->counts.marks += s->spans.marks_dropped;
    s->counts.values = s->spans.values_dropped;
    if (s->ret_counts)
        *s->ret_counts = s->counts;
    return otlp_batches_finish(&s->batches);
}

static void destroy(void *state)
{
    struct state *s = state;
    for (size_t i = 0; s->lanes && i <= (size_t)s->thread_count + s->lane_count; i++) {
        vec_free(&s->lanes[i].spans);
        vec_free(&s->lanes[i].marks);
        vec_free(&s->lanes[i].args);
        vec_free(&s->lanes[i].links);
    }
    free(s->lanes);
    map64_free(&s->flows);
    vec_free(&s->origins);
    otlp_spans_fini(&s->spans);
    otlp_batches_fini(&s->batches);
}

static const struct option_spec options[] = {
    {"min-duration", 0, OPTION_TEXT, EXPORT_AT(min_duration), "TIME",
     "leave out shorter ranges; 0 keeps all", "1ms"},
    EXPORT_OPTION_SERVICE,
    {0},
};

#define OTLP_WANTS (WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS | WANT_TIME_ORDER)

const struct exporter export_otlp = {
    .name = "otlp",
    .extension = ".otlp.pb",
    .summary = "ranges as spans of OpenTelemetry, in protocol buffers",
    .carries = "ranges from --min-duration on, with marks and flows",
    .viewer = "with an OpenTelemetry collector",
    .lacks = EXPORT_LACKS_COUNTERS | EXPORT_LACKS_SAMPLES | EXPORT_LACKS_WAITS |
             EXPORT_LACKS_OTHER_SAMPLES,
    .binary = true,
    .options = options,
    .wants = OTLP_WANTS,
    .state_size = sizeof(struct state),
    .begin = begin_proto,
    .take = take,
    .end = end,
    .destroy = destroy,
};

extern const struct exporter export_otlp_json;

const struct exporter export_otlp_json = {
    .name = "otlp-json",
    .extension = ".otlp.jsonl",
    .summary = "the same in JSON, a message a line",
    .carries = "ranges from --min-duration on, with marks and flows",
    .viewer = "with an OpenTelemetry collector",
    .lacks = EXPORT_LACKS_COUNTERS | EXPORT_LACKS_SAMPLES | EXPORT_LACKS_WAITS |
             EXPORT_LACKS_OTHER_SAMPLES,
    .options = options,
    .wants = OTLP_WANTS,
    .state_size = sizeof(struct state),
    .begin = begin_json,
    .take = take,
    .end = end,
    .destroy = destroy,
};
