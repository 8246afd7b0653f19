/* SPDX-License-Identifier: MIT */
/* Pieces of Chrome trace events. Texts shared by all events of a thread are prepared once.
 * Thread-safety: none. */
#include "chrome_writer.h"

#include "call_label.h"
#include "gpu_work.h"
#include "json_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NAME_PLAIN_MAX = 4096, /* longer names are written in pieces */
    NUMBERS_MAX = 128,     /* room for times and constant text of one event */
};

#define GPU_BEFORE_NS INT64_C(1000000000)

static int64_t find_origin(const struct trace *trace)
{
    int64_t origin_ns = trace_begin_ns(trace); /* viewers drop negative times */
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        int64_t first_ns = trace_thread_get(trace, i)->first_ns;
        if (first_ns > 0 && first_ns < origin_ns)
            origin_ns = first_ns;
    }
    /* Activity of a GPU's observer may have begun before the recording; its start is known
     * later. */
    return gpu_is_recorded(trace) ? origin_ns - GPU_BEFORE_NS : origin_ns;
}

static void prepare_thread(struct chrome_writer *writer, uint32_t thread)
{
    uint32_t process = trace_thread_get(writer->trace, thread)->process;
    bool known = process < trace_process_count(writer->trace);
    uint32_t tid = writer->ids->tids[thread];
    struct chrome_thread *entry = &writer->threads[thread];
    entry->place_size = (uint8_t)snprintf(
        entry->place, sizeof(entry->place),
        ",\"pid\":%u,\"tid\":%u,\"ts\":", known ? writer->ids->pids[process] : tid, tid);
}

int chrome_writer_init(struct chrome_writer *writer, const struct trace *trace,
                       const struct export_ids *ids, struct out_stream *out)
{
    *writer = (struct chrome_writer){
        .trace = trace,
        .out = out,
        .ids = ids,
        .origin_ns = find_origin(trace),
        .thread_count = trace_thread_count(trace),
        .string_count = trace_string_count(trace),
    };
    writer->threads = calloc(writer->thread_count + 1u, sizeof(*writer->threads));
    writer->plain = calloc(writer->string_count + 1u, 1);
    if (!writer->threads || !writer->plain || export_keys_init(&writer->keys, trace) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < writer->thread_count; i++)
        prepare_thread(writer, i);
    return 0;
}

void chrome_writer_fini(struct chrome_writer *writer)
{
    free(writer->threads);
    free(writer->plain);
    export_keys_fini(&writer->keys);
}

static bool is_plain(struct chrome_writer *writer, uint32_t name, const struct trace_string *text)
{
    if (name >= writer->string_count)
        return false;
    if (writer->plain[name] == 0)
        writer->plain[name] = json_is_plain(text->bytes, text->length) ? 1 : 2;
    return writer->plain[name] == 1;
}

static void put(struct chrome_writer *writer, const uint8_t *begin, const uint8_t *end)
{
    out_advance(writer->out, (size_t)(end - begin));
}

static uint8_t *put_phase(struct chrome_writer *writer, uint8_t *at, char phase)
{
    at = writer->any_event ? json_put_literal(at, ",\n") : json_put_literal(at, "\n");
    writer->any_event = true;
    writer->any_argument = false;
    at = json_put_literal(at, "{\"ph\":\"");
    *at++ = (uint8_t)phase;
    return json_put_literal(at, "\"");
}

static uint8_t *put_head(struct chrome_writer *writer, uint8_t *at, char phase)
{
    return json_put_literal(put_phase(writer, at, phase), ",\"name\":");
}

void chrome_begin_bare(struct chrome_writer *writer, char phase)
{
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX);
    put(writer, begin, put_phase(writer, begin, phase));
}

void chrome_plain_range(struct chrome_writer *writer, const struct event *event, int64_t end_ns)
{
    const struct trace_string *name = trace_string(writer->trace, event->name);
    const struct chrome_thread *thread = &writer->threads[event->thread];
    if (name->length > NAME_PLAIN_MAX || !is_plain(writer, event->name, name) || !event->name) {
        chrome_begin(writer, 'X', event->name);
        chrome_place(writer, event->thread, event->time_ns);
        chrome_micros(writer, "dur", end_ns - event->time_ns);
        chrome_end(writer);
        return;
    }
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX + CHROME_PLACE_MAX + name->length);
    uint8_t *at = put_head(writer, begin, 'X');
    *at++ = '"';
    at = mempcpy(at, name->bytes, name->length);
    *at++ = '"';
    memcpy(at, thread->place, CHROME_PLACE_MAX); /* the excess is overwritten */
    at += thread->place_size;
    at = json_put_micros(at, event->time_ns - writer->origin_ns);
    at = json_put_literal(at, ",\"dur\":");
    at = json_put_micros(at, end_ns - event->time_ns);
    *at++ = '}';
    put(writer, begin, at);
}

void chrome_begin(struct chrome_writer *writer, char phase, uint32_t name)
{
    const struct trace_string *text = trace_string(writer->trace, name);
    bool plain = name && text->length <= NAME_PLAIN_MAX && is_plain(writer, name, text);
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX + NAME_PLAIN_MAX);
    uint8_t *at = put_head(writer, begin, phase);
    if (plain) {
        *at++ = '"';
        at = mempcpy(at, text->bytes, text->length);
        *at++ = '"';
    }
    put(writer, begin, at);
    if (plain)
        return;
    if (name)
        json_string(writer->out, text->bytes, text->length);
    else
        out_text(writer->out, "\"" EXPORT_UNNAMED "\"");
}

void chrome_begin_text(struct chrome_writer *writer, char phase, const char *name)
{
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX);
    put(writer, begin, put_head(writer, begin, phase));
    json_string(writer->out, name, strlen(name));
}

void chrome_place(struct chrome_writer *writer, uint32_t thread, int64_t time_ns)
{
    const struct chrome_thread *entry = &writer->threads[thread];
    uint8_t *begin = out_reserve(writer->out, CHROME_PLACE_MAX + JSON_MICROS_MAX);
    uint8_t *at = mempcpy(begin, entry->place, entry->place_size);
    put(writer, begin, json_put_micros(at, time_ns - writer->origin_ns));
}

/* `key` is a trusted constant. */
static void put_key(struct chrome_writer *writer, const char *key)
{
    size_t length = strlen(key);
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX + length);
    uint8_t *at = json_put_literal(begin, ",\"");
    at = mempcpy(at, key, length);
    put(writer, begin, json_put_literal(at, "\":"));
}

void chrome_number(struct chrome_writer *writer, const char *key, uint64_t value)
{
    put_key(writer, key);
    uint8_t *begin = out_reserve(writer->out, JSON_INTEGER_MAX);
    put(writer, begin, json_put_uint(begin, value));
}

void chrome_micros(struct chrome_writer *writer, const char *key, int64_t time_ns)
{
    put_key(writer, key);
    uint8_t *begin = out_reserve(writer->out, JSON_MICROS_MAX);
    put(writer, begin, json_put_micros(begin, time_ns));
}

void chrome_string(struct chrome_writer *writer, const char *key, uint32_t string)
{
    const struct trace_string *text = trace_string(writer->trace, string);
    put_key(writer, key);
    json_string(writer->out, text->bytes, text->length);
}

void chrome_text(struct chrome_writer *writer, const char *key, const char *text)
{
    put_key(writer, key);
    json_string(writer->out, text, strlen(text));
}

uint32_t chrome_category(const struct chrome_writer *writer, uint32_t ordinal)
{
    const struct scope *scope = trace_scope(writer->trace, ordinal);
    return scope->category ? scope->category : scope->domain;
}

/* A number that not all readers hold: as text. */
static uint8_t *put_quoted(uint8_t *at, const struct fact *fact)
{
    *at++ = '"';
    at = fact->kind == VALUE_INT64 ? json_put_int(at, fact->value.int64)
                                   : json_put_uint(at, fact->value.uint64);
    *at++ = '"';
    return at;
}

/* Writes no bytes for a text. */
static uint8_t *put_scalar(uint8_t *at, const struct fact *fact)
{
    switch (fact->kind) {
    case VALUE_INT64:
        return chrome_is_exact(fact->value.int64) ? json_put_int(at, fact->value.int64)
                                                  : put_quoted(at, fact);
    case VALUE_UINT64:
        return fact->value.uint64 <= CHROME_EXACT_MAX ? json_put_uint(at, fact->value.uint64)
                                                      : put_quoted(at, fact);
    case VALUE_DOUBLE:
        return json_put_double(at, fact->value.float64);
    case VALUE_BOOL:
        return fact->value.uint64 ? json_put_literal(at, "true") : json_put_literal(at, "false");
    default:
        return at;
    }
}

static void put_value(struct chrome_writer *writer, const struct fact *fact)
{
    uint8_t *begin = out_reserve(writer->out, JSON_DOUBLE_MAX);
    uint8_t *at = put_scalar(begin, fact);
    put(writer, begin, at);
    if (at != begin)
        return;
    const struct trace_string *text =
        trace_string(writer->trace, fact->kind == VALUE_STRING ? fact->value.string : 0);
    if (fact->text)
        json_string(writer->out, fact->text, strlen(fact->text));
    else
        json_string(writer->out, text->bytes, text->length);
}

void chrome_fact(struct chrome_writer *writer, const struct fact *fact)
{
    json_string(writer->out, fact->name, strlen(fact->name));
    out_write(writer->out, ":", 1);
    put_value(writer, fact);
}

static void begin_argument(struct chrome_writer *writer)
{
    out_text(writer->out, writer->any_argument ? "," : ",\"args\":{");
    writer->any_argument = true;
}

void chrome_argument(struct chrome_writer *writer, const struct fact *argument)
{
    begin_argument(writer);
    chrome_fact(writer, argument);
}

void chrome_raw(struct chrome_writer *writer, const char *key, const char *json)
{
    begin_argument(writer);
    json_string(writer->out, key, strlen(key));
    out_write(writer->out, ":", 1);
    out_text(writer->out, json);
}

void chrome_put_metadata(struct chrome_writer *writer, const char *place, const char *name,
                         const struct fact *argument)
{
    chrome_begin_text(writer, 'M', name);
    out_text(writer->out, place);
    chrome_argument(writer, argument);
    chrome_end(writer);
}

/* The usual case: a plain key, and a value other than text. False: another case. */
static bool put_plain_value(struct chrome_writer *writer, const struct export_key *key,
                            const struct arg *value)
{
    const struct trace_string *name = trace_string(writer->trace, value->key);
    const struct fact fact = {.kind = (enum value_kind)value->kind, .value = value->value};
    if (key->number || key->length > NAME_PLAIN_MAX || value->kind == VALUE_STRING ||
        value->kind == VALUE_NONE || !is_plain(writer, value->key, name))
        return false;
    uint8_t *begin = out_reserve(writer->out, NUMBERS_MAX + NAME_PLAIN_MAX), *at = begin;
    at = writer->any_argument ? json_put_literal(at, ",\"") : json_put_literal(at, ",\"args\":{\"");
    writer->any_argument = true;
    at = mempcpy(at, key->text, key->length);
    at = json_put_literal(at, "\":");
    put(writer, begin, put_scalar(at, &fact));
    return true;
}

static void put_key_value(struct chrome_writer *writer, const struct arg *value)
{
    char number[EXPORT_KEY_NUMBER_SIZE];
    struct export_key key = export_keys_next(&writer->keys, value->key);
    if (put_plain_value(writer, &key, value))
        return;
    begin_argument(writer);
    out_write(writer->out, "\"", 1);
    json_escaped(writer->out, key.text, key.length);
    out_write(writer->out, number, export_key_number(&key, number));
    out_write(writer->out, "\":", 2);
    put_value(writer, &(struct fact){.kind = (enum value_kind)value->kind, .value = value->value});
}

static void put_color(struct chrome_writer *writer, uint32_t color)
{
    char text[8];
    snprintf(text, sizeof(text), "#%06x", color & 0xffffff);
    chrome_argument(writer, &(struct fact){.name = "color", .kind = VALUE_STRING, .text = text});
}

/* Its own, and that of messages of logs. */
static void put_category(struct chrome_writer *writer, const struct event *event)
{
    uint32_t category = chrome_category(writer, event->scope);
    const struct trace_string *text = trace_string(writer->trace, category);
    bool log = export_severity(writer->trace, event->scope) != EXPORT_SEVERITY_NONE;
    if (event_is_python_call(writer->trace, event))
        chrome_text(writer, "cat", EXPORT_CALL_CATEGORY);
    if (!category && !log)
        return;
    put_key(writer, "cat");
    out_write(writer->out, "\"", 1);
    json_escaped(writer->out, text->bytes, text->length);
    if (log)
        out_text(writer->out, category ? "," EXPORT_LOG_CATEGORY : EXPORT_LOG_CATEGORY);
    out_write(writer->out, "\"", 1);
}

/* True if the event already has its category, as the scope of an id. */
static bool is_scoped(const struct event *event)
{
    return event->kind == EVENT_START || event->kind == EVENT_TRACK_BEGIN ||
           event->kind == EVENT_TRACK_MARK ||
           (event->kind == EVENT_SPAN && !event_is_own_span(event));
}

/* Colour names of the trace viewer in Chrome (catapult, color_scheme) with their colours there: the
 * format has colours by name only. */
static const struct {
    const char *name;
    uint32_t rgb;
} color_names[] = {
    {"thread_state_uninterruptible", 0xb67d8f},
    {"thread_state_iowait", 0xff8c00},
    {"thread_state_running", 0x7ec894},
    {"thread_state_runnable", 0x85a0d2},
    {"thread_state_unknown", 0xc79b7d},
    {"background_memory_dump", 0x00b4b4},
    {"light_memory_dump", 0x0000b4},
    {"detailed_memory_dump", 0xb400b4},
    {"vsync_highlight_color", 0x0000ff},
    {"generic_work", 0x7d7d7d},
    {"good", 0x007d00},
    {"bad", 0xb47d00},
    {"terrible", 0xb40000},
    {"black", 0x000000},
    {"grey", 0xdddddd},
    {"white", 0xffffff},
    {"yellow", 0xffff00},
    {"olive", 0x646400},
    {"rail_response", 0x4387fd},
    {"rail_animation", 0xf44a3f},
    {"rail_idle", 0xee8e00},
    {"rail_load", 0x0da861},
};

static uint32_t distance(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        int delta = (int)(a >> shift & 255) - (int)(b >> shift & 255);
        sum += (uint32_t)(delta * delta);
    }
    return sum;
}

/* The name of the colour nearest to 0xAARRGGBB. */
static const char *color_name(uint32_t color)
{
    size_t best = 0;
    for (size_t i = 1; i < sizeof(color_names) / sizeof(*color_names); i++) {
        if (distance(color, color_names[i].rgb) < distance(color, color_names[best].rgb))
            best = i;
    }
    return color_names[best].name;
}

/* Place of its function. The level of calls is constant. */
static void put_source(struct chrome_writer *writer, const struct event *event)
{
    int32_t line;
    uint32_t path = call_source(writer->trace, event->name, &line);
    if (!path)
        return;
    chrome_argument(
        writer, &(struct fact){.name = "file", .kind = VALUE_STRING, .value = {.string = path}});
    chrome_argument(writer,
                    &(struct fact){.name = "line", .kind = VALUE_INT64, .value = {.int64 = line}});
}

void chrome_attributes(struct chrome_writer *writer, const struct event *event,
                       const struct args *values)
{
    const struct scope *scope = trace_scope(writer->trace, event->scope);
    if (!is_scoped(event))
        put_category(writer, event);
    if (event->flags & EVENT_HAS_COLOR)
        chrome_text(writer, "cname", color_name(event->color));
    if (event->value_kind != VALUE_NONE)
        chrome_argument(
            writer,
            &(struct fact){.name = "payload", .kind = event->value_kind, .value = event->value});
    if (scope->category && is_scoped(event) && event->kind != EVENT_START)
        chrome_argument(writer, &(struct fact){.name = "category",
                                               .kind = VALUE_STRING,
                                               .value = {.string = scope->category}});
    if (scope->domain)
        chrome_argument(writer, &(struct fact){.name = "domain",
                                               .kind = VALUE_STRING,
                                               .value = {.string = scope->domain}});
    bool call = event_is_python_call(writer->trace, event);
    if (call)
        put_source(writer, event);
    if (event->level && !call)
        chrome_argument(writer, &(struct fact){.name = "level",
                                               .kind = VALUE_UINT64,
                                               .value = {.uint64 = event->level}});
    if (event->flags & EVENT_HAS_COLOR)
        put_color(writer, event->color);
    chrome_values(writer, values);
}

void chrome_values(struct chrome_writer *writer, const struct args *values)
{
    export_keys_restart(&writer->keys);
    for (uint32_t i = 0; i < values->count; i++)
        put_key_value(writer, &values->items[i]);
}

void chrome_end(struct chrome_writer *writer)
{
    out_text(writer->out, writer->any_argument ? "}}" : "}");
}
