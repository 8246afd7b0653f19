/* SPDX-License-Identifier: MIT */
/* Names and definitions of a file go into a trace, its events into the sorter: see sink.h. */
#include "sink.h"

#include "hash.h"
#include "import.h"
#include "json_reader.h"
#include "number.h"
#include "sorter.h"
#include "stacks.h"
#include "store.h"
#include "trace.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SORT_BYTES = 32 << 20 };

int import_sink_init(struct import_sink *sink, const char *output,
                     const struct import_options *options, struct import_result *result)
{
    const char *slash = options->unnamed ? NULL : strrchr(output, '/');
    *sink = (struct import_sink){.options = options,
                                 .output = output,
                                 .result = result,
                                 .first_ns = INT64_MAX,
                                 .last_ns = INT64_MIN};
    if (!options->unnamed)
        sink->folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
    sink->trace = trace_create();
    sink->events =
        sink->folder || options->unnamed ? sorter_create(sink->folder, SORT_BYTES) : NULL;
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
    map64_free(&sink->flows);
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

/* Most texts are repeated soon: these need no check. */
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
    process->end = PROCESS_UNRECORDED;
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

/* Ranges before the items inside of them, and at equal times before all else; the begin of a flow
 * before its end. */
static struct sorter_key key_of(const struct event *event)
{
    struct sorter_key key = {event->time_ns, 1, 0};
    if (event_is_flow(event->kind))
        key.third = event->kind - EVENT_FLOW_BEGIN;
    if (event->kind != EVENT_PUSH)
        return key;
    bool ends = event->end_ns != INT64_MAX;
    key.second = ends ? -1 - (event->end_ns - event->time_ns) : INT64_MIN;
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
    if (args && args_size)
        memcpy(sink->record.items + sizeof(*event), args, args_size);
    return sorter_add(sink->events, key_of(event), sink->record.items, (uint32_t)size);
}

/* ---- Joined names, and counters -------------------------------------------------------------- */

static uint32_t join(struct import_sink *sink, uint32_t first, char between, uint32_t second)
{
    const struct trace_string *head = trace_string(sink->trace, first);
    const struct trace_string *tail = trace_string(sink->trace, second);
    size_t length = head->length + 1 + tail->length;
    sink->text.count = 0;
    if (vec_reserve(&sink->text, length) != 0) {
        sink->error = -ENOMEM;
        return first;
    }
    memcpy(sink->text.items, head->bytes, head->length);
    sink->text.items[head->length] = between;
    memcpy(sink->text.items + head->length + 1, tail->bytes, tail->length);
    return import_string(sink, sink->text.items, length);
}

uint32_t import_joined(struct import_sink *sink, uint32_t first, char between, uint32_t second)
{
    const struct wide_key *key = WIDE_KEY(first, second, (uint64_t)between);
    const uint64_t *found = wide_map_find(&sink->joined, key);
    if (found)
        return (uint32_t)*found;
    uint32_t joined = join(sink, first, between, second);
    if (wide_map_put(&sink->joined, key, joined) != 0)
        sink->error = -ENOMEM;
    return joined;
}

static bool is_unit(const char *text)
{
    static const char *const units[] = {"bytes", "B", "KiB", "MiB", "GiB", "ns", "us",
                                        "ms",    "s", "%",   "Hz",  "MHz", "W",  "J"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(units[i], text) == 0)
            return true;
    return false;
}

static uint32_t counter_name(struct import_sink *sink, uint32_t name, uint32_t key, bool single)
{
    const char *series = trace_string(sink->trace, key)->bytes;
    bool unit = is_unit(series);
    if (single && unit && trace_unit_set(sink->trace, 0, name, key) == -ENOMEM)
        sink->error = -ENOMEM;
    if (single && (unit || strcmp(series, "value") == 0 || key == name))
        return name;
    return import_joined(sink, name, '/', key);
}

int import_counters(struct import_sink *sink, const struct event *event, const struct arg *args,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event counter = *event;
        if (args[i].kind == VALUE_STRING || args[i].kind == VALUE_BOOL) {
            sink->left[LEFT_VALUES]++;
            continue;
        }
        counter.kind = EVENT_COUNTER;
        counter.name = counter_name(sink, event->name, args[i].key, count == 1);
        counter.value_kind = (uint8_t)args[i].kind;
        counter.value = args[i].value;
        counter.arg_count = 0;
        int error = import_add(sink, &counter, NULL);
        if (error)
            return error;
    }
    return 0;
}

/* ---- Work of queues -------------------------------------------------------------------------- */

/* Not a valid stream number. */
#define WAITS UINT32_C(0xfffffffe)

/* The lane of a stream, below that of its device. */
static int find_lanes(struct import_sink *sink, const struct import_work *work, uint32_t process,
                      struct import_lanes *ret_lanes)
{
    uint64_t above = work->context > 0 ? (uint64_t)work->context : 1 + (uint64_t)work->device;
    uint64_t id = above << 32 | ((uint64_t)work->stream & UINT32_MAX);
    uint32_t before = trace_lane_count(sink->trace);
    int64_t queue = trace_lane_of(sink->trace, LANE_QUEUE, process, id);
    *ret_lanes = (struct import_lanes){.queue = queue < 0 ? 0 : (uint32_t)queue};
    if (queue < 0 || trace_lane_count(sink->trace) == before)
        return queue < 0 ? (int)queue : 0;
    ret_lanes->is_new = true;
    ret_lanes->device = ret_lanes->queue;
    if (work->device == IMPORT_NO_DEVICE)
        return 0;
    int64_t device = trace_lane_of(sink->trace, LANE_DEVICE, process, (uint64_t)work->device);
    if (device < 0)
        return (int)device;
    ret_lanes->device = (uint32_t)device;
    trace_lane_set_parent(sink->trace, ret_lanes->queue, ret_lanes->device);
    return 0;
}

int import_work(struct import_sink *sink, const struct import_work *work, struct event *event,
                const struct arg *args, struct import_lanes *ret_lanes)
{
    bool caused = work->has_launch && work->launch_ns <= event->time_ns;
    uint32_t process = trace_thread_get(sink->trace, event->thread)->process;
    struct trace_process *entry = trace_process(sink->trace, process);
    int error = find_lanes(sink, work, process, ret_lanes);
    if (error)
        return error;
    sink->left[LEFT_UNLAUNCHED] += !caused && !work->is_own;
    entry->queued[QUEUED_LAUNCHED]++;
    entry->queued[QUEUED_REPORTED]++;
    event->kind = EVENT_SPAN;
    event->lane = ret_lanes->queue;
    event->origin_ns = caused ? work->launch_ns : EVENT_NO_ORIGIN;
    return import_add(sink, event, args);
}

int import_wait(struct import_sink *sink, const struct import_work *work, struct event *event)
{
    uint32_t process = trace_thread_get(sink->trace, event->thread)->process;
    uint64_t id = (uint64_t)work->context << 32 | WAITS;
    uint32_t before = trace_lane_count(sink->trace);
    int64_t lane = trace_lane_of(sink->trace, LANE_QUEUE, process, id);
    char name[48];
    if (lane < 0)
        return (int)lane;
    if (trace_lane_count(sink->trace) > before) {
        snprintf(name, sizeof(name), "waits of context %lld", (long long)work->context);
        trace_lane(sink->trace, (uint32_t)lane)->name = import_text(sink, name);
    }
    event->kind = EVENT_SPAN;
    event->lane = (uint32_t)lane;
    event->origin_ns = work->has_launch ? work->launch_ns : EVENT_NO_ORIGIN;
    return import_add(sink, event, NULL);
}

void import_lanes_name(struct import_sink *sink, const struct import_lanes *lanes,
                       uint32_t queue_name, uint32_t device_name)
{
    trace_lane(sink->trace, lanes->device)->name = device_name;
    trace_lane(sink->trace, lanes->queue)->name = queue_name;
}

/* ---- Samples and their stacks ---------------------------------------------------------------- */

enum { BATCH = 1024 };

/* A sample in the sorter; its values follow. */
struct stored {
    struct sample sample;
    int64_t values[SAMPLE_VALUES_MAX];
};

uint32_t import_frame(struct import_sink *sink, const struct import_frame *frame)
{
    struct stacks *stacks = trace_stacks(sink->trace);
    const char *text = trace_string(sink->trace, frame->function)->bytes;
    bool python = frame->kind == FRAME_PYTHON;
    const struct code_module module = {.path = frame->module, .kind = MODULE_ELF};
    struct label label = {.first_line = frame->first_line,
                          .kind = frame->kind,
                          .text = frame->function,
                          .flags = !python && text[0] == '[' ? LABEL_PLACE : 0};
    if (frame->file)
        label.source = keep(sink, stacks_source_of(stacks, frame->file));
    if (frame->module)
        label.module = keep(sink, stacks_module(stacks, &module));
    const struct frame made = {.kind = frame->kind,
                               .module = label.module,
                               .line = frame->line,
                               .label = keep(sink, stacks_label(stacks, &label))};
    return keep(sink, stacks_frame(stacks, &made));
}

uint32_t import_stack(struct import_sink *sink, uint32_t parent, uint32_t frame)
{
    struct stacks *stacks = trace_stacks(sink->trace);
    if (stacks_stack_count(stacks) > SINK_STACKS_MAX) {
        sink->left[LEFT_STACKS]++;
        return parent;
    }
    return keep(sink, stacks_push(stacks, parent, frame));
}

uint16_t import_set(struct import_sink *sink, const struct sample_set *set)
{
    return (uint16_t)keep(sink, sample_sets_add(trace_sets(sink->trace), set));
}

uint16_t import_wall_set(struct import_sink *sink)
{
    const struct sample_set set = {
        .name = import_text(sink, "wall"), .count = 1, .types = {VALUE_TYPE_WALL}};
    return import_set(sink, &set);
}

struct stretch {
    int64_t begin_ns, end_ns;
};

/* The time of a sample: its own stretch, or the time that it stands for. */
static struct stretch stretch_of(const struct import_sink *sink, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(sink->trace);
    bool instant = sample->end_ns == 0;
    uint64_t time_ns = sample_cpu_ns(sets, sample);
    time_ns += instant ? (uint64_t)sample_value(sets, sample, VALUE_TYPE_WALL) : 0;
    int64_t length_ns = time_ns < (uint64_t)IMPORT_TIME_MAX ? (int64_t)time_ns : 0;
    return sink->samples_end
               ? (struct stretch){sample->time_ns - length_ns, sample_order_ns(sample)}
               : (struct stretch){sample->time_ns, sample_order_ns(sample) + length_ns};
}

int import_sample(struct import_sink *sink, const struct sample *sample)
{
    struct stored stored = {.sample = *sample};
    int64_t order_ns = sample_order_ns(sample);
    if (!sink->samples)
        sink->samples = sorter_create(sink->folder, SORT_BYTES);
    if (sink->error || !sink->samples)
        return sink->error ? sink->error : -ENOMEM;
    if (sample->time_ns < -IMPORT_TIME_MAX || order_ns > IMPORT_TIME_MAX) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    const struct stretch stretch = stretch_of(sink, sample);
    sink->first_ns = stretch.begin_ns < sink->first_ns ? stretch.begin_ns : sink->first_ns;
    sink->last_ns = stretch.end_ns > sink->last_ns ? stretch.end_ns : sink->last_ns;
    for (unsigned i = 0; i < sample->value_count && i < SAMPLE_VALUES_MAX; i++)
        stored.values[i] = sample->values[i];
    size_t size = offsetof(struct stored, values) + sample->value_count * sizeof(int64_t);
    return sorter_add(sink->samples, (struct sorter_key){order_ns, 0, 0}, &stored, (uint32_t)size);
}

static void note_thread(struct import_sink *sink, const struct sample *sample)
{
    struct trace_thread *thread = trace_thread(sink->trace, sample->thread);
    const struct stretch stretch = stretch_of(sink, sample);
    if (!thread->first_ns || stretch.begin_ns < thread->first_ns)
        thread->first_ns = stretch.begin_ns;
    if (stretch.end_ns > thread->last_ns)
        thread->last_ns = stretch.end_ns;
}

static int write_batch(struct import_sink *sink, const struct stored *batch, size_t count)
{
    struct sample samples[BATCH];
    for (size_t i = 0; i < count; i++) {
        samples[i] = batch[i].sample;
        samples[i].time_ns += sink->shift_ns;
        if (samples[i].end_ns)
            samples[i].end_ns += sink->shift_ns;
        samples[i].values = batch[i].values;
        note_thread(sink, &samples[i]);
    }
    return store_writer_add_samples(sink->writer, samples, count);
}

int import_samples_write(struct import_sink *sink)
{
    static struct stored batch[BATCH];
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    size_t count = 0;
    int more = 0, error = 0;
    while (sink->samples && !error &&
           (more = sorter_next(sink->samples, &key, &bytes, &size)) == 1) {
        memcpy(&batch[count++], bytes, size);
        if (count < BATCH)
            continue;
        error = write_batch(sink, batch, count);
        count = 0;
    }
    if (!error && more < 0)
        error = more;
    return error || !count ? error : write_batch(sink, batch, count);
}

int64_t import_unit_ns(const struct import_sink *sink, int64_t assumed_ns)
{
    return sink->options->unit_ns ? sink->options->unit_ns : assumed_ns;
}

/* ---- Notes ----------------------------------------------------------------------------------- */

/* Each note goes to the recording, as a fact, and to the result, for the command's messages. */

void import_problem(struct import_sink *sink, const char *problem, uint64_t offset)
{
    struct import_result *result = sink->result;
    char count[NUMBER_TEXT_SIZE];
    if (!result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "%s, at byte %s",
                 problem ? problem : "damaged", number_count(offset, count));
}

static void set_fact(struct import_sink *sink, enum fact_kind kind, const char *text,
                     uint64_t count)
{
    if (trace_fact_set(sink->trace, kind, text, count) == -ENOMEM)
        sink->error = -ENOMEM;
}

static void add_result_note(struct import_result *result, const char *text)
{
    if (result->note_count < IMPORT_NOTES_MAX)
        snprintf(result->notes[result->note_count++], IMPORT_PROBLEM_SIZE, "%s", text);
}

void import_cut(struct import_sink *sink, uint64_t offset)
{
    if (sink->cut)
        return;
    sink->cut = true;
    sink->cut_offset = offset;
}

int import_cut_check(struct import_sink *sink)
{
    char text[IMPORT_PROBLEM_SIZE], count[NUMBER_TEXT_SIZE];
    if (!sink->cut)
        return 0;
    if (!sorter_count(sink->events) && !sink->samples) {
        import_problem(sink, "the file ends in the middle", sink->cut_offset);
        return -EBADMSG;
    }
    set_fact(sink, FACT_LOSS, "files: cut, their rest is missing", 1);
    snprintf(text, sizeof(text),
             "the file ends in the middle, at byte %s: all before that was read, what would follow "
             "is missing",
             number_count(sink->cut_offset, count));
    add_result_note(sink->result, text);
    return sink->error;
}

/* ---- Omitted items --------------------------------------------------------------------------- */

static const char *const left_texts[LEFT_COUNT] = {
    [LEFT_MALFORMED] = "left out: events without what they need, or with impossible times",
    [LEFT_UNKNOWN] = "left out: events of kinds that recordings do not have",
    [LEFT_END_ALONE] = "left out: ends of ranges without a begin",
    [LEFT_OPEN] = "ranges without an end, which are shown as unfinished",
    [LEFT_OVERLAPPING] = "ranges that don't nest on their thread: they are ranges of the process",
    [LEFT_CLIPPED] = "ranges that ended up to 1 us behind the one around them: they end with it",
    [LEFT_TEXTS] = "texts beyond the first 1,048,576 or 64 MiB, which are \"[other text]\"",
    [LEFT_EVENT_STACKS] = "left out: stacks of events that are no samples",
    [LEFT_DEEP] = "left out: outer frames of stacks of more than 1,024",
    [LEFT_LONG] = "left out: ends of texts behind 1 MiB",
    [LEFT_STACKS] = "left out: inner frames of stacks beyond 2,097,152 different ones",
    [LEFT_VALUES] = "left out: values that are too long, too many, or no numbers",
    [LEFT_AT_ONCE] = "ranges that were open beside a million others, which are shown as unfinished",
    [LEFT_THREADS] = "events of threads beyond the first 131,072, which are of \"[other threads]\"",
    [LEFT_TRACKS] =
        "events on tracks beyond the first 262,144, whose ranges are of a process \"trace\"",
    [LEFT_RECORDS] = "left out: records of perf that are no samples (PERF_RECORD_...)",
    [LEFT_FLOWS_OPEN] = "flows that begin and arrive nowhere",
    [LEFT_FLOWS_ALONE] = "points of flows that begin nowhere",
    [LEFT_UNLAUNCHED] = "GPU work without the call that launched it",
    [LEFT_OBJECTS] = "left out: lives and snapshots of objects (phases N, O, D)",
    [LEFT_SAMPLES] = "left out: samples without a stack, or of no profile (phase P)",
    [LEFT_DUMPS] = "left out: memory dumps (phases v, V)",
    [LEFT_CONTEXTS] = "left out: contexts of other events (phases \"(\", \")\")",
    [LEFT_CLOCKS] = "left out: synchronizations of clocks (phase c)",
};

enum import_left import_left_of_phase(char phase)
{
    static const struct {
        const char *phases;
        enum import_left left;
    } known[] = {{"NOD", LEFT_OBJECTS},
                 {"P", LEFT_SAMPLES},
                 {"vV", LEFT_DUMPS},
                 {"()", LEFT_CONTEXTS},
                 {"c", LEFT_CLOCKS}};

    for (size_t i = 0; phase && i < sizeof(known) / sizeof(*known); i++)
        if (strchr(known[i].phases, phase))
            return known[i].left;
    return LEFT_UNKNOWN;
}

void import_note(struct import_sink *sink, const char *text)
{
    set_fact(sink, FACT_NOTE, text, 1);
    add_result_note(sink->result, text);
}

void import_lost(struct import_sink *sink, const char *what, uint64_t count)
{
    char text[IMPORT_PROBLEM_SIZE], number[NUMBER_TEXT_SIZE];
    if (!count)
        return;
    set_fact(sink, FACT_LOSS, what, count);
    snprintf(text, sizeof(text), "%s: %s", what, number_count(count, number));
    add_result_note(sink->result, text);
}

int import_notes_emit(struct import_sink *sink)
{
    char count[NUMBER_TEXT_SIZE], note[IMPORT_PROBLEM_SIZE];
    for (unsigned i = 0; i < LEFT_COUNT; i++) {
        if (!sink->left[i] || !left_texts[i])
            continue;
        snprintf(note, sizeof(note), "%s: %s", left_texts[i], number_count(sink->left[i], count));
        import_note(sink, note);
    }
    return sink->error;
}
