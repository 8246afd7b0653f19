/* SPDX-License-Identifier: MIT */
/* What a file names, as a trace; its events go to the sorter: see import_parts.h. */
#include "import_parts.h"

#include "hash.h"
#include "sorter.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SORT_BYTES = 32 << 20 };

int import_sink_init(struct import_sink *sink, const char *output,
                     const struct import_options *options, struct import_result *result)
{
    const char *slash = strrchr(output, '/');
    *sink = (struct import_sink){.options = options,
                                 .output = output,
                                 .result = result,
                                 .first_ns = INT64_MAX,
                                 .last_ns = INT64_MIN};
    sink->folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
    sink->trace = trace_create();
    sink->events = sink->folder ? sorter_create(sink->folder, SORT_BYTES) : NULL;
    return sink->trace && sink->events ? 0 : -ENOMEM;
}

void import_sink_fini(struct import_sink *sink)
{
    for (size_t i = 0; i < sink->writing.count; i++) {
        struct import_thread *thread = &sink->writing.items[i];
        vec_free(&thread->open);
        vec_free(&thread->later);
        vec_free(&thread->events);
        vec_free(&thread->args);
    }
    vec_free(&sink->writing);
    vec_free(&sink->busy);
    map64_free(&sink->paired);
    vec_free(&sink->pairs);
    vec_free(&sink->record);
    vec_free(&sink->text);
    wide_map_free(&sink->joined);
    wide_map_free(&sink->processes);
    wide_map_free(&sink->threads);
    sorter_destroy(sink->events);
    sorter_destroy(sink->samples);
    trace_destroy(sink->trace);
    free(sink->folder);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static uint32_t keep(struct import_sink *sink, int64_t ordinal)
{
    if (ordinal < 0 && !sink->error)
        sink->error = (int)ordinal;
    return ordinal < 0 ? 0 : (uint32_t)ordinal;
}

static uint32_t add_string(struct import_sink *sink, const char *bytes, size_t length)
{
    bool full = sink->text_bytes > SINK_TEXT_BYTES_MAX;
    uint32_t before = trace_string_count(sink->trace);
    if (full || before > SINK_TEXTS_MAX) {
        sink->left[LEFT_TEXTS]++;
        if (!sink->other_text)
            sink->other_text =
                keep(sink, trace_string_add(sink->trace, IMPORT_OTHER, strlen(IMPORT_OTHER)));
        return sink->other_text;
    }
    uint32_t ordinal = keep(sink, trace_string_add(sink->trace, bytes, length));
    if (trace_string_count(sink->trace) > before)
        sink->text_bytes += length;
    return ordinal;
}

/* Most texts came a moment ago: they need no check. */
uint32_t import_string(struct import_sink *sink, const char *bytes, size_t length)
{
    sink->left[LEFT_LONG] += length > SINK_TEXT_MAX;
    if (length > SINK_TEXT_MAX)
        length = utf8_cut(bytes, length, SINK_TEXT_MAX);
    uint32_t *recent = &sink->recent[hash_bytes(bytes, length) % SINK_RECENT];
    const struct trace_string *text = trace_string(sink->trace, *recent);
    if (text->length != length || memcmp(text->bytes, bytes, length) != 0)
        *recent = add_string(sink, bytes, length);
    return *recent;
}

bool import_scalar(struct import_sink *sink, const struct json_token *token, struct arg *arg)
{
    switch (token->kind) {
    case JSON_STRING:
        arg->kind = VALUE_STRING;
        arg->value.string = import_string(sink, token->text, token->length);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        arg->kind = VALUE_BOOL;
        arg->value.uint64 = token->kind == JSON_TRUE;
        return true;
    case JSON_NUMBER:
        arg->kind = VALUE_INT64;
        if (json_int(token, &arg->value.int64))
            return true;
        arg->kind = VALUE_DOUBLE;
        return json_double(token, &arg->value.float64);
    default:
        return false;
    }
}

uint32_t import_text(struct import_sink *sink, const char *text)
{
    return import_string(sink, text, strlen(text));
}

uint32_t import_scope(struct import_sink *sink, const struct scope *scope)
{
    int64_t ordinal = trace_scope_add(sink->trace, scope);
    return ordinal == -ENOSPC ? 0 : keep(sink, ordinal);
}

uint32_t import_call(struct import_sink *sink, uint32_t function, uint32_t file, int32_t line)
{
    uint32_t label = keep(sink, trace_python_label(sink->trace, function, file, line));
    return label ? keep(sink, trace_label_name(sink->trace, label)) : function;
}

/* ---- Processes and threads ------------------------------------------------------------------- */

static void find_id(const struct import_id *id, uint32_t within, struct wide_key *key)
{
    *key = (struct wide_key){
        .words = {1 + (uint64_t)within, id->text, id->text ? 0 : (uint64_t)id->number}};
}

static bool fits_pid(const struct import_id *id)
{
    return !id->text && id->number >= 0 && id->number <= INT32_MAX;
}

int64_t import_process_find(const struct import_sink *sink, const struct import_id *id)
{
    struct wide_key key;
    find_id(id, 0, &key);
    const uint64_t *found = wide_map_find(&sink->processes, &key);
    return found ? (int64_t)*found : -1;
}

int64_t import_thread_find(const struct import_sink *sink, uint32_t process,
                           const struct import_id *id)
{
    struct wide_key key;
    find_id(id, process, &key);
    const uint64_t *found = wide_map_find(&sink->threads, &key);
    return found ? (int64_t)*found : -1;
}

static uint32_t add_process(struct import_sink *sink, const struct import_id *id)
{
    int64_t ordinal = trace_process_add(sink->trace);
    if (ordinal < 0)
        return keep(sink, -ENOMEM);
    struct trace_process *process = trace_process(sink->trace, (uint32_t)ordinal);
    process->pid = process->ns_pid = fits_pid(id) ? (int32_t)id->number : 0;
    process->identity = 1 + (uint64_t)ordinal;
    process->name = id->text;
    process->end = PROCESS_VANISHED;
    return (uint32_t)ordinal;
}

static uint32_t add_thread(struct import_sink *sink, uint32_t process, const struct import_id *id)
{
    int64_t ordinal = trace_thread_add(sink->trace, process);
    if (ordinal < 0)
        return keep(sink, -ENOMEM);
    struct trace_thread *thread = trace_thread(sink->trace, (uint32_t)ordinal);
    thread->tid = fits_pid(id) ? (int32_t)id->number : 0;
    thread->serial = 1 + (uint32_t)ordinal;
    thread->name = id->text;
    return (uint32_t)ordinal;
}

static uint32_t other_process(struct import_sink *sink)
{
    const struct import_id other = {.text = import_text(sink, IMPORT_OTHER_PROCESSES)};
    if (!sink->other_process)
        sink->other_process = 1 + add_process(sink, &other);
    return sink->other_process - 1;
}

static uint32_t other_thread(struct import_sink *sink)
{
    const struct import_id other = {.text = import_text(sink, IMPORT_OTHER_THREADS)};
    sink->left[LEFT_THREADS]++;
    if (!sink->other_thread)
        sink->other_thread = 1 + add_thread(sink, other_process(sink), &other);
    return sink->other_thread - 1;
}

uint32_t import_process(struct import_sink *sink, const struct import_id *id)
{
    struct wide_key key;
    find_id(id, 0, &key);
    const uint64_t *found = wide_map_find(&sink->processes, &key);
    if (found)
        return (uint32_t)*found;
    if (sink->processes.count >= SINK_THREADS_MAX)
        return other_process(sink);
    uint32_t process = add_process(sink, id);
    return wide_map_put(&sink->processes, &key, process) == 0 ? process : keep(sink, -ENOMEM);
}

uint32_t import_thread(struct import_sink *sink, uint32_t process, const struct import_id *id)
{
    struct wide_key key;
    find_id(id, process, &key);
    const uint64_t *found = wide_map_find(&sink->threads, &key);
    if (found)
        return (uint32_t)*found;
    if (sink->threads.count >= SINK_THREADS_MAX)
        return other_thread(sink);
    uint32_t thread = add_thread(sink, process, id);
    return wide_map_put(&sink->threads, &key, thread) == 0 ? thread : keep(sink, -ENOMEM);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Ranges before what lies in them, and at one time before all else. */
static struct sorter_key key_of(const struct event *event)
{
    struct sorter_key key = {event->time_ns, 1, 0};
    if (event->kind != EVENT_PUSH)
        return key;
    key.second = -1 - (event->end_ns - event->time_ns);
    key.third = (int64_t)event->depth;
    return key;
}

static bool has_times(const struct event *event)
{
    bool ends = event->kind == EVENT_PUSH || event->kind == EVENT_SPAN;
    if (event->time_ns < -IMPORT_TIME_MAX || event->time_ns > IMPORT_TIME_MAX)
        return false;
    if (!ends || event->end_ns == INT64_MAX)
        return true;
    return event->end_ns >= event->time_ns && event->end_ns <= IMPORT_TIME_MAX;
}

static void note_time(struct import_sink *sink, const struct event *event)
{
    bool ends = event->kind == EVENT_PUSH || event->kind == EVENT_SPAN;
    int64_t last_ns = ends && event->end_ns != INT64_MAX ? event->end_ns : event->time_ns;
    sink->first_ns = event->time_ns < sink->first_ns ? event->time_ns : sink->first_ns;
    sink->last_ns = last_ns > sink->last_ns ? last_ns : sink->last_ns;
}

int import_add(struct import_sink *sink, const struct event *event, const struct arg *args)
{
    size_t args_size = event->arg_count * sizeof(*args), size = sizeof(*event) + args_size;
    if (sink->error)
        return sink->error;
    if (!has_times(event)) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    note_time(sink, event);
    sink->record.count = 0;
    if (vec_reserve(&sink->record, size) != 0)
        return -ENOMEM;
    memcpy(sink->record.items, event, sizeof(*event));
    if (args_size)
        memcpy(sink->record.items + sizeof(*event), args, args_size);
    return sorter_add(sink->events, key_of(event), sink->record.items, (uint32_t)size);
}
