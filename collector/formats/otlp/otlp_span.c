/* SPDX-License-Identifier: MIT */
/* A range as a span of OTLP: what happened in it are its events, flows that reached it its links,
 * an exception that left it its status. Thread-safety: none. */
#include "call_label.h"
#include "otlp_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes that begin behind it are left out and counted. */
enum { SPAN_BYTES_MAX = 1 << 20 };

enum { SPAN_KIND_INTERNAL = 1, STATUS_ERROR = 2 };

#define KEY_EXCEPTION "exception"

/* Of Span; that of the list stands in ScopeSpans. */
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
/* Of Span.Event and Span.Link. */
static const struct otlp_field event_time = {1, "timeUnixNano"}, event_name = {2, "name"},
                               event_attributes = {3, "attributes"},
                               event_attributes_dropped = {4, "droppedAttributesCount"},
                               link_trace = {1, "traceId"}, link_span = {2, "spanId"};

/* Attributes of ours that other exports do not have. */
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

int otlp_spans_init(struct otlp_spans *spans, const struct trace *trace, bool json)
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

void otlp_spans_fini(struct otlp_spans *spans)
{
    for (uint32_t i = 0; spans->threads && i < spans->thread_count; i++)
        free(spans->threads[i].bytes);
    free(spans->threads);
    export_keys_fini(&spans->keys);
    otlp_writer_fini(&spans->made);
    otlp_writer_fini(&spans->w);
}

/* 0 there means that it is not known. */
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

/* The payload first. Returns how many were left out, or -ENOMEM. */
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

/* Behind the begin of the list, in `made`. */
static void make_thread(struct otlp_spans *spans, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE];
    otlp_int_fact(&spans->made, "thread.id", trace_thread_get(spans->trace, thread)->tid);
    trace_thread_label(spans->trace, thread, label, sizeof(label));
    otlp_text_fact(&spans->made, "thread.name", label);
}

/* The same for all spans of the thread, so it is made once. */
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

/* Of a call. */
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

static void put_scope(struct otlp_spans *spans, uint32_t scope)
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
    put_scope(spans, event->scope);
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
    put_scope(spans, event->scope);
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

/* The type of an exception that left the range; NULL: none did. */
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

int otlp_put_span(struct otlp_spans *spans, const struct otlp_span *span)
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
