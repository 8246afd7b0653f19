/* SPDX-License-Identifier: MIT */
/* Formats a line as text, for people and grep:
 *
 *     SECONDS PID/TID EVENT NAME key=value ...
 *
 * Seconds are since the recording's start, durations seconds, both with nine decimals. A word with
 * blanks, quotes, = or control characters is quoted and escaped as in JSON, so the name of a range
 * cannot break a line. */
#include "line.h"

#include "call_label.h"
#include "json_writer.h"
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 4096, PATH_SIZE = 8192, OWNER_WIDTH = 15 };

__attribute__((format(printf, 2, 3))) static void put(struct line_writer *writer,
                                                      const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    out_text(writer->out, text);
}

/* Length of a C1 control character or a bidirectional control, in UTF-8; else 0. */
static size_t hidden_size(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    if (bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0)
        return 2;
    bool turns = bytes[0] == 0xe2 && ((bytes[1] == 0x80 && bytes[2] >= 0xaa && bytes[2] <= 0xae) ||
                                      (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9));
    return turns ? 3 : 0;
}

static bool is_plain(const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte == 0x7f || strchr("\"\\=", byte) || hidden_size(at))
            return false;
    }
    return *text != '\0';
}

static void put_word(struct line_writer *writer, const char *text)
{
    if (is_plain(text)) {
        out_text(writer->out, text);
        return;
    }
    out_write(writer->out, "\"", 1);
    for (const char *at = text, *run = text;; at++) {
        size_t hidden = *at ? hidden_size(at) : 0;
        if (*at && !hidden)
            continue;
        json_escaped(writer->out, run, (size_t)(at - run));
        if (!*at)
            break;
        put(writer, hidden == 2 ? "\\u%04x" : "\\u20%02x",
            (unsigned char)at[1] == 0x80 ? ((unsigned char)at[2] & 0x3f)
            : hidden == 2                ? (unsigned char)at[1]
                                         : 0x40 | ((unsigned char)at[2] & 0x3f));
        at += hidden - 1;
        run = at + 1;
    }
    out_write(writer->out, "\"", 1);
}

static void put_string(struct line_writer *writer, const char *key, uint32_t string)
{
    if (!string)
        return;
    put(writer, " %s=", key);
    put_word(writer, trace_string(writer->trace, string)->bytes);
}

static void put_label(struct line_writer *writer, const char *key, const char *label)
{
    put(writer, " %s=", key);
    put_word(writer, label);
}

static void put_seconds(struct line_writer *writer, const char *key, int64_t time_ns)
{
    const char *sign = time_ns < 0 ? "-" : "";
    uint64_t magnitude = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    put(writer, " %s=%s%" PRIu64 ".%09" PRIu64, key, sign, magnitude / 1000000000,
        magnitude % 1000000000);
}

static void put_head(struct line_writer *writer, const struct line *line)
{
    int64_t time_ns = line->time_ns - trace_begin_ns(writer->trace);
    uint64_t magnitude = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    const struct trace_process *process = trace_process_get(writer->trace, line->process);
    const struct trace_thread *thread = trace_thread_get(writer->trace, line->thread);
    char seconds[32], owner[32] = "-";
    snprintf(seconds, sizeof(seconds), "%s%" PRIu64 ".%09" PRIu64, time_ns < 0 ? "-" : "",
             magnitude / 1000000000, magnitude % 1000000000);
    if (process && thread)
        snprintf(owner, sizeof(owner), "%d/%d", process->pid, thread->tid);
    else if (process)
        snprintf(owner, sizeof(owner), "%d", process->pid);
    put(writer, "%16s %-*s %s", seconds, OWNER_WIDTH, owner, line_kind_name(line->kind));
}

static void put_value(struct line_writer *writer, const struct arg *value)
{
    uint8_t text[JSON_DOUBLE_MAX];
    size_t size;
    bool quoted;
    switch (value->kind) {
    case VALUE_INT64:
        put(writer, "%" PRId64, value->value.int64);
        return;
    case VALUE_UINT64:
        put(writer, "%" PRIu64, value->value.uint64);
        return;
    case VALUE_DOUBLE:
        size = (size_t)(json_put_double(text, value->value.float64) - text);
        quoted = text[0] == '"'; /* a string, not a number */
        out_write(writer->out, text + quoted, quoted ? size - 2 : size);
        return;
    case VALUE_BOOL:
        out_text(writer->out, value->value.uint64 ? "true" : "false");
        return;
    default:
        put_word(writer,
                 trace_string(writer->trace, value->kind == VALUE_STRING ? value->value.string : 0)
                     ->bytes);
    }
}

static void put_values(struct line_writer *writer, const struct args *args)
{
    export_keys_restart(&writer->keys);
    for (uint32_t i = 0; i < args->count; i++) {
        char name[LABEL_SIZE], number[EXPORT_KEY_NUMBER_SIZE] = "";
        struct export_key key = export_keys_next(&writer->keys, args->items[i].key);
        number[export_key_number(&key, number)] = '\0';
        struct text text = text_init(name, sizeof(name));
        text_add(&text, key.text, key.length);
        text_format(&text, "%s", number);
        out_write(writer->out, " ", 1);
        put_word(writer, name);
        out_write(writer->out, "=", 1);
        put_value(writer, &args->items[i]);
    }
}

static void put_track(struct line_writer *writer, uint64_t ordinal)
{
    char label[LABEL_SIZE];
    if (ordinal >= trace_lane_count(writer->trace))
        return;
    trace_lane_path(writer->trace, (uint32_t)ordinal, label, sizeof(label));
    put_label(writer, "track", label);
}

static void put_tie(struct line_writer *writer, const struct line *line)
{
    bool is_range = line->kind <= LINE_RANGE;
    if (is_range && line->lane == LANE_PROCESS)
        put(writer, " id=0x%" PRIx64, line->event->id);
    else if (line_range_kind(line->lane) == RANGE_TRACK)
        put_track(writer, line->event->lane);
    else if (is_range && line->number)
        put(writer, " number=%016" PRIx64, line->number);
    else if (line->kind >= LINE_FLOW_BEGIN && line->kind <= LINE_FLOW_END)
        put(writer, " flow=0x%" PRIx64, line->event->id);
}

static void put_span(struct line_writer *writer, const struct line *line)
{
    char path[PATH_SIZE];
    put_seconds(writer, "dur", line_duration_ns(line));
    if (line->lane == LANE_QUEUE && line->event->origin_ns != EVENT_NO_ORIGIN)
        put_seconds(writer, "delay", line->event->time_ns - line->event->origin_ns);
    if (line->span->depth) {
        line_path(writer->trace, line->span, path, sizeof(path));
        put_label(writer, "path", path);
    }
    if (line->span->flags & ITEM_UNFINISHED)
        out_text(writer->out, " unfinished");
    if (line->span->flags & ITEM_END_LOST)
        out_text(writer->out, " end_lost");
    if (line->span->flags & ITEM_CROSSED)
        out_text(writer->out, " crossed");
}

static void put_lost(struct line_writer *writer, const struct line *line)
{
    const struct event *event = line->event;
    put(writer, " %" PRIu64, event->value.uint64);
    put_seconds(writer, "dur", line_duration_ns(line));
    put_label(writer, "cause", loss_name(event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT));
}

static void put_attributes(struct line_writer *writer, const struct line *line)
{
    const struct event *event = line->event;
    const struct scope *scope = trace_scope(writer->trace, event->scope);
    put_string(writer, "domain", scope->domain);
    put_string(writer, "category", scope->category);
    if (event->level)
        put(writer, " level=%u", event->level);
    if (event->flags & EVENT_CONTINUES && event_can_continue(event->kind))
        put(writer, " continues");
    if (event->value_kind != VALUE_NONE && line->kind != LINE_COUNTER) {
        out_text(writer->out, " payload=");
        put_value(writer, &(struct arg){.kind = event->value_kind, .value = event->value});
    }
    put_values(writer, &line->args);
}

static void put_counter(struct line_writer *writer, const struct event *event)
{
    out_text(writer->out, " value=");
    put_value(writer, &(struct arg){.kind = event->value_kind, .value = event->value});
    uint32_t domain = trace_scope_domain(writer->trace, event->scope);
    put_string(writer, "unit", trace_unit_find(writer->trace, domain, event->name));
}

/* The source of a call's function: "  solver.py:12". */
static void put_source(struct line_writer *writer, uint32_t name)
{
    char place[LABEL_SIZE];
    int32_t line;
    uint32_t path = call_source(writer->trace, name, &line);
    if (!path)
        return;
    struct text text = text_init(place, sizeof(place));
    text_format(&text, "%s:%d", text_base_name(trace_string(writer->trace, path)->bytes), line);
    out_text(writer->out, "  ");
    put_word(writer, place);
}

static void put_event(struct line_writer *writer, const struct line *line)
{
    bool unknown = line->kind == LINE_END && !line->span;
    if (line->kind == LINE_LOST) {
        put_lost(writer, line);
        return;
    }
    if (line->kind == LINE_EDGE)
        return;
    bool is_point = line->kind >= LINE_FLOW_BEGIN && line->kind <= LINE_FLOW_END;
    if (!unknown && (line->event->name || !is_point)) {
        out_write(writer->out, " ", 1);
        put_word(writer, trace_string(writer->trace, line->event->name)->bytes);
        put_source(writer, line->event->name);
    }
    if (line->kind == LINE_COUNTER)
        put_counter(writer, line->event);
    if (line->span)
        put_span(writer, line);
    put_tie(writer, line);
    if (line->kind == LINE_END) /* the begin had the rest */
        put_values(writer, &line->args);
    else
        put_attributes(writer, line);
}

static void put_process(struct line_writer *writer, const struct line *line)
{
    const struct trace_process *process = trace_process_get(writer->trace, line->process);
    char label[LABEL_SIZE];
    if (line->kind == LINE_THREAD_START || line->kind == LINE_THREAD_END) {
        trace_thread_label(writer->trace, line->thread, label, sizeof(label));
        put_label(writer, "thread", label);
    } else if (line->kind == LINE_PROCESS_START) {
        trace_process_label(writer->trace, line->process, label, sizeof(label));
        put_label(writer, "process", label);
        if (process->ppid)
            put(writer, " parent=%d", process->ppid);
        put_string(writer, "command", process->cmdline);
    } else if (line->kind == LINE_PROCESS_END) {
        trace_process_end_label(writer->trace, line->process, label, sizeof(label));
        put_label(writer, "ended", label);
    } else {
        put_string(writer, "text", process->note);
    }
}

/* Values of samples other than CPU time and off-CPU: the set, and each value by name. */
static void put_sample_values(struct line_writer *writer, const struct line *line)
{
    const struct sample *sample = line->sample;
    const struct sample_set *set = sample_set_get(trace_sets_get(writer->trace), sample->set);
    char name[16];
    put_label(writer, "set", trace_set_name(writer->trace, sample->set, name));
    if (sample->end_ns > sample->time_ns)
        put_seconds(writer, "dur", line_duration_ns(line));
    if (set->flags & SAMPLE_SET_HEAP)
        put(writer, " id=0x%" PRIx64, sample->id);
    for (int i = 0; i < sample->value_count; i++)
        put(writer, " %s=%" PRId64,
            trace_value_name(writer->trace, i < set->count ? set->types[i] : 0, name),
            sample->values[i]);
}

/* Frames separated by semicolons, root first, as in collapsed stacks. */
static void put_sample(struct line_writer *writer, const struct line *line)
{
    const struct sample *sample = line->sample;
    const struct sample_sets *sets = trace_sets_get(writer->trace);
    uint32_t frames[LINE_FRAMES_MAX];
    char stack[PATH_SIZE], label[CALL_LABEL_SIZE];
    struct text text = text_init(stack, sizeof(stack));
    if (line->kind == LINE_OFF_CPU) {
        put_seconds(writer, "dur", line_duration_ns(line));
        put_label(writer, "reason", wait_reason_name(sample->reason));
    } else if (sample_role(sets, sample) == SAMPLE_ROLE_CPU) {
        put_seconds(writer, "weight", (int64_t)sample_cpu_ns(sets, sample));
    } else {
        put_sample_values(writer, line);
    }
    put(writer, " cpu=%u", sample->cpu);
    uint32_t count = line_frames(writer, sample, frames);
    for (uint32_t i = 0; i < count && text.length + 1 < sizeof(stack); i++) {
        call_frame_label(writer->trace, frames[i], writer->prefixes, label, sizeof(label));
        text_format(&text, "%s%s", i ? ";" : "", label);
    }
    if (count)
        put_label(writer, "stack", stack);
}

void line_text(struct line_writer *writer, const struct line *line)
{
    put_head(writer, line);
    if (line->kind == LINE_LOG)
        put(writer, " %s", line_severity_name(writer->trace, line));
    if (line->event)
        put_event(writer, line);
    else if (line->sample)
        put_sample(writer, line);
    else
        put_process(writer, line);
    if (line->late)
        out_text(writer->out, " late");
    out_write(writer->out, "\n", 1);
}
