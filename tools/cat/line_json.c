/* SPDX-License-Identifier: MIT */
/* Formats a line as a JSON object. Times are nanoseconds since the recording's start, durations
 * nanoseconds; unknown values and zeros that are the default are omitted. annot-cat(1) lists the
 * keys. */
#include "line.h"

#include "call_label.h"
#include "json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_SIZE = 4096, PATH_SIZE = 8192 };

static const char *text_of(const struct line_writer *writer, uint32_t string)
{
    return trace_string(writer->trace, string)->bytes;
}

static void write_owner(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    const struct trace_process *process = trace_process_get(writer->trace, line->process);
    const struct trace_thread *thread = trace_thread_get(writer->trace, line->thread);
    char label[LABEL_SIZE];
    if (process) {
        json_doc_int(doc, "pid", process->pid);
        trace_process_label(writer->trace, line->process, label, sizeof(label));
        json_doc_text(doc, "process", label);
        json_doc_uint(doc, "process_index", line->process);
    }
    if (!thread)
        return;
    json_doc_int(doc, "tid", thread->tid);
    trace_thread_label(writer->trace, line->thread, label, sizeof(label));
    json_doc_text(doc, "thread", label);
    json_doc_uint(doc, "thread_index", line->thread);
}

/* The slot for a thread's text; emptied when its definitions have changed. NULL: the text is not
 * cached. */
static struct line_owner *owner_of(struct line_writer *writer, const struct line *line)
{
    const struct trace_process *process = trace_process_get(writer->trace, line->process);
    const struct trace_thread *thread = trace_thread_get(writer->trace, line->thread);
    if (!process || !thread)
        return NULL;
    while (writer->owners.count <= line->thread) {
        if (vec_push(&writer->owners, ((struct line_owner){0})) != 0)
            return NULL;
    }
    struct line_owner *owner = &writer->owners.items[line->thread];
    bool same =
        owner->process_revision == process->revision && owner->thread_revision == thread->revision;
    owner->process_revision = process->revision;
    owner->thread_revision = thread->revision;
    owner->size = same ? owner->size : 0;
    return owner;
}

/* Labels are built once per thread: they cost more than the rest of a line. */
static void put_owner(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    struct line_owner *owner = owner_of(writer, line);
    if (owner && owner->size == 0) {
        struct json_doc part = *doc;
        part.out = writer->part;
        out_stream_memory_reset(writer->part);
        write_owner(writer, &part, line);
        size_t size;
        const uint8_t *bytes = out_stream_memory_bytes(writer->part, &size);
        char *text = realloc(owner->text, size);
        if (text) {
            memcpy(text, bytes, size);
            owner->text = text;
            owner->size = size;
        }
    }
    if (owner && owner->size)
        out_write(doc->out, owner->text, owner->size);
    else
        write_owner(writer, doc, line);
}

static void put_value(struct line_writer *writer, struct json_doc *doc, const char *key,
                      const struct arg *value)
{
    switch (value->kind) {
    case VALUE_INT64:
        json_doc_int(doc, key, value->value.int64);
        return;
    case VALUE_UINT64:
        json_doc_uint(doc, key, value->value.uint64);
        return;
    case VALUE_DOUBLE:
        json_doc_double(doc, key, value->value.float64);
        return;
    case VALUE_BOOL:
        json_doc_bool(doc, key, value->value.uint64 != 0);
        return;
    default:
        json_doc_text(doc, key,
                      text_of(writer, value->kind == VALUE_STRING ? value->value.string : 0));
    }
}

static void put_values(struct line_writer *writer, struct json_doc *doc, const struct args *args)
{
    if (!args->count)
        return;
    json_doc_object(doc, "args");
    export_keys_restart(&writer->keys);
    for (uint32_t i = 0; i < args->count; i++) {
        char number[EXPORT_KEY_NUMBER_SIZE] = "";
        struct export_key key = export_keys_next(&writer->keys, args->items[i].key);
        number[export_key_number(&key, number)] = '\0';
        json_doc_key(doc, key.text, key.length, number);
        put_value(writer, doc, NULL, &args->items[i]);
    }
    json_doc_close(doc);
}

static void put_track(struct line_writer *writer, struct json_doc *doc, uint64_t ordinal)
{
    const struct trace_lane *track =
        ordinal <= UINT32_MAX ? trace_lane_get(writer->trace, (uint32_t)ordinal) : NULL;
    char label[LABEL_SIZE];
    if (!track)
        return;
    trace_lane_path(writer->trace, (uint32_t)ordinal, label, sizeof(label));
    json_doc_text(doc, "track", label);
    json_doc_hex(doc, "track_id", track->id);
}

/* The number that relates lines: for pushed ranges, the one that logs contain. */
static void put_number(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    char text[24];
    bool is_range = line->kind <= LINE_RANGE;
    if (is_range && line->lane == LANE_THREAD && line->number) {
        snprintf(text, sizeof(text), "%016" PRIx64, line->number);
        json_doc_text(doc, "number", text);
    } else if (is_range && line->lane == LANE_PROCESS) {
        json_doc_hex(doc, "id", line->event->id);
    } else if (line_range_kind(line->lane) == RANGE_TRACK) {
        put_track(writer, doc, line->event->lane);
    } else if (line->kind >= LINE_FLOW_BEGIN && line->kind <= LINE_FLOW_END) {
        json_doc_hex(doc, "flow", line->event->id);
    }
}

static void put_span(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    const struct item *span = line->span;
    const struct trace_thread *other = NULL;
    char path[PATH_SIZE];
    line_path(writer->trace, span, path, sizeof(path));
    json_doc_text(doc, "path", path);
    json_doc_int(doc, "duration_ns", line_duration_ns(line));
    if (line->lane == LANE_THREAD) {
        int64_t self_ns = line_duration_ns(line) - span->child_ns;
        json_doc_int(doc, "self_ns", self_ns > 0 ? self_ns : 0);
    }
    if (line->lane == LANE_QUEUE && line->event->origin_ns != EVENT_NO_ORIGIN)
        json_doc_int(doc, "delay_ns", line->event->time_ns - line->event->origin_ns);
    if (line->kind == LINE_RANGE && span->end_thread != span->event->thread)
        other = trace_thread_get(writer->trace, span->end_thread);
    if (other)
        json_doc_int(doc, "end_tid", other->tid);
    if (span->flags & ITEM_UNFINISHED)
        json_doc_bool(doc, "unfinished", true);
    if (span->flags & ITEM_END_LOST)
        json_doc_bool(doc, "end_lost", true);
    if (span->flags & ITEM_CROSSED)
        json_doc_bool(doc, "crossed", true);
}

static bool has_name(const struct line *line)
{
    if (line->kind == LINE_END)
        return line->span != NULL;
    return line->kind != LINE_LOST && line->kind != LINE_EDGE &&
           (line->event->name || line->kind < LINE_FLOW_BEGIN);
}

static void put_counter(struct line_writer *writer, struct json_doc *doc, const struct event *event)
{
    uint32_t domain = trace_scope_domain(writer->trace, event->scope);
    uint32_t unit = trace_unit_find(writer->trace, domain, event->name);
    put_value(writer, doc, "value",
              &(struct arg){.kind = event->value_kind, .value = event->value});
    if (unit)
        json_doc_text(doc, "unit", text_of(writer, unit));
}

static void put_lost(struct json_doc *doc, const struct line *line)
{
    const struct event *event = line->event;
    json_doc_uint(doc, "lost_count", event->value.uint64);
    json_doc_text(doc, "cause", loss_name(event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT));
    json_doc_int(doc, "duration_ns", line_duration_ns(line));
}

static void put_attributes(struct line_writer *writer, struct json_doc *doc,
                           const struct line *line)
{
    const struct event *event = line->event;
    char color[16];
    const struct scope *scope = trace_scope(writer->trace, event->scope);
    if (scope->domain)
        json_doc_text(doc, "domain", text_of(writer, scope->domain));
    if (scope->category)
        json_doc_text(doc, "category", text_of(writer, scope->category));
    if (event->level && line->kind != LINE_LOST)
        json_doc_uint(doc, "level", event->level);
    if (event->flags & EVENT_CONTINUES && event_can_continue(event->kind))
        json_doc_bool(doc, "continues", true);
    if (event->flags & EVENT_HAS_COLOR) {
        snprintf(color, sizeof(color), "#%08" PRIx32, event->color);
        json_doc_text(doc, "color", color);
    }
    if (event->value_kind != VALUE_NONE && line->kind != LINE_COUNTER && line->kind != LINE_LOST)
        put_value(writer, doc, "payload",
                  &(struct arg){.kind = event->value_kind, .value = event->value});
}

/* For a call also the source of the function. */
static void put_name(struct line_writer *writer, struct json_doc *doc, uint32_t name)
{
    int32_t line;
    uint32_t path = call_source(writer->trace, name, &line);
    json_doc_text(doc, "name", text_of(writer, name));
    if (path) {
        json_doc_text(doc, "file", text_of(writer, path));
        json_doc_int(doc, "line", line);
    }
}

static void put_event(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    if (line->kind <= LINE_RANGE || line_range_kind(line->lane) == RANGE_TRACK)
        json_doc_text(doc, "kind", line_range_name(line_range_kind(line->lane)));
    if (has_name(line))
        put_name(writer, doc, line->event->name);
    put_number(writer, doc, line);
    if (line->kind <= LINE_RANGE && line->lane != LANE_PROCESS)
        json_doc_uint(doc, "depth", line->depth);
    if (line->span)
        put_span(writer, doc, line);
    if (line->kind == LINE_COUNTER)
        put_counter(writer, doc, line->event);
    if (line->kind == LINE_LOST)
        put_lost(doc, line);
    if (line->kind != LINE_END) /* the begin had the rest */
        put_attributes(writer, doc, line);
    put_values(writer, doc, &line->args);
}

static void put_process(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    const struct trace_process *process = trace_process_get(writer->trace, line->process);
    char label[LABEL_SIZE];
    if (line->kind == LINE_PROCESS_START) {
        if (process->ppid)
            json_doc_int(doc, "parent_pid", process->ppid);
        json_doc_bool(doc, "forked", process->forked);
        json_doc_text(doc, "command", text_of(writer, process->cmdline));
    } else if (line->kind == LINE_PROCESS_END) {
        trace_process_end_label(writer->trace, line->process, label, sizeof(label));
        json_doc_text(doc, "ended", label);
    } else if (line->kind == LINE_LAST_WORD) {
        json_doc_text(doc, "text", text_of(writer, process->note));
    }
}

/* Values of samples other than CPU time and off-CPU. */
static void put_sample_values(struct line_writer *writer, struct json_doc *doc,
                              const struct line *line)
{
    const struct sample *sample = line->sample;
    const struct sample_set *set = sample_set_get(trace_sets_get(writer->trace), sample->set);
    char name[16];
    json_doc_text(doc, "sample_set", trace_set_name(writer->trace, sample->set, name));
    if (sample->end_ns > sample->time_ns)
        json_doc_int(doc, "duration_ns", line_duration_ns(line));
    if (set->flags & SAMPLE_SET_HEAP)
        json_doc_uint(doc, "id", sample->id);
    json_doc_object(doc, "sample_values");
    for (int i = 0; i < sample->value_count; i++)
        json_doc_int(doc, trace_value_name(writer->trace, i < set->count ? set->types[i] : 0, name),
                     sample->values[i]);
    json_doc_close(doc);
}

static void put_sample(struct line_writer *writer, struct json_doc *doc, const struct line *line)
{
    const struct sample *sample = line->sample;
    const struct sample_sets *sets = trace_sets_get(writer->trace);
    const struct stacks *stacks = trace_stacks_get(writer->trace);
    uint32_t frames[LINE_FRAMES_MAX];
    char label[CALL_LABEL_SIZE];
    json_doc_uint(doc, "cpu", sample->cpu);
    if (sample_role(sets, sample) == SAMPLE_ROLE_CPU) {
        json_doc_uint(doc, "cpu_ns", sample_cpu_ns(sets, sample));
    } else if (line->kind == LINE_SAMPLE) {
        put_sample_values(writer, doc, line);
    } else {
        json_doc_int(doc, "duration_ns", line_duration_ns(line));
        json_doc_text(doc, "reason", wait_reason_name(sample->reason));
        json_doc_uint(doc, "runnable_ns", sample_off_share(sets, sample).runnable_ns);
    }
    if (sample->flags & SAMPLE_IN_KERNEL)
        json_doc_bool(doc, "in_kernel", true);
    if (sample->flags & SAMPLE_GC)
        json_doc_bool(doc, "collecting", true);
    if (sample->flags & SAMPLE_HOLDS_GIL)
        json_doc_bool(doc, "holds_gil", true);
    if (sample->flags & SAMPLE_UNFINISHED)
        json_doc_bool(doc, "unfinished", true);
    uint32_t count = stacks_paths(stacks, sample->path, frames, LINE_FRAMES_MAX);
    json_doc_array(doc, "ranges");
    for (uint32_t i = 0; i < count; i++) {
        trace_range_label(writer->trace, frames[i], label, sizeof(label));
        json_doc_text(doc, NULL, label);
    }
    json_doc_close(doc);
    if (stacks_get_path(stacks, sample->path)->kind == RANGE_PATH_INHERITED)
        json_doc_bool(doc, "inherited", true);
    count = line_frames(writer, sample, frames);
    json_doc_array(doc, "stack");
    for (uint32_t i = 0; i < count; i++) {
        call_frame_label(writer->trace, frames[i], writer->prefixes, label, sizeof(label));
        json_doc_text(doc, NULL, label);
    }
    json_doc_close(doc);
}

void line_json(struct line_writer *writer, const struct line *line)
{
    struct json_doc doc = {.out = writer->out};
    json_doc_object(&doc, NULL);
    json_doc_int(&doc, "time_ns", line->time_ns - trace_begin_ns(writer->trace));
    json_doc_text(&doc, "event", line_kind_name(line->kind));
    put_owner(writer, &doc, line);
    if (line->kind == LINE_LOG)
        json_doc_text(&doc, "severity", line_severity_name(writer->trace, line));
    if (line->event)
        put_event(writer, &doc, line);
    else if (line->sample)
        put_sample(writer, &doc, line);
    else
        put_process(writer, &doc, line);
    if (line->late)
        json_doc_bool(&doc, "late", true);
    json_doc_close(&doc);
    out_write(writer->out, "\n", 1);
}
