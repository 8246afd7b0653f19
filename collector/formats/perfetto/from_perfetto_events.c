/* SPDX-License-Identifier: MIT */
/* Track events of a Perfetto trace, and their tracks. */

#include "from_perfetto.h"
#include "hash.h"
#include "json_reader.h"
#include "perfetto_fields.h"
#include "sink.h"
#include "sorter.h"
#include "varint.h"

#include <errno.h>
#include <string.h>

/* ---- Output, once all tracks are known ------------------------------------------------------- */

/* Events of threads' tracks become ranges of these threads, others lie on tracks of the
 * recording. */

enum {
    OPEN_MAX = 1 << 16,     /* begins of a track waiting for their ends */
    OPEN_ALL_MAX = 1 << 20, /* of all tracks, with their values */
    LEVELS_MAX = TRACE_LANE_LEVELS,
};

/* ---- Places of tracks ------------------------------------------------------------------------ */

static struct perfetto_track *find_track(struct perfetto *trace, uint64_t uuid)
{
    const uint64_t *index = map64_find(&trace->track_index, perfetto_track_key(uuid));
    return index ? &trace->tracks.items[*index - 1] : NULL;
}

/* The process of the track, or of an ancestor; -1: unknown. */
static int64_t perfetto_pid(struct perfetto *trace, const struct perfetto_track *track)
{
    for (int i = 0; track && i < LEVELS_MAX; i++) {
        if (track->pid >= 0)
            return track->pid;
        track = track->parent ? find_track(trace, track->parent) : NULL;
    }
    return -1;
}

/* The thread, of a counter or of its ancestors; -1: unknown. */
static int64_t tid_of(struct perfetto *trace, const struct perfetto_track *track)
{
    for (int i = 0; track && i < LEVELS_MAX; i++) {
        if (track->tid >= 0 || !track->counter)
            return track->tid;
        track = track->parent ? find_track(trace, track->parent) : NULL;
    }
    return -1;
}

/* The process's own thread, or one of a process without a number. */
static uint32_t thread_of(struct perfetto *trace, int64_t pid, int64_t tid)
{
    struct import_sink *sink = trace->sink;
    struct import_id process = {.number = pid};
    const struct import_id thread = {.number = tid};
    if (pid < 0)
        process = (struct import_id){.text = import_text(sink, "trace")};
    return import_thread(sink, import_process(sink, &process), &thread);
}

static int make_lane(struct perfetto *trace, struct perfetto_track *track, int level)
{
    struct trace *out = trace->sink->trace;
    struct perfetto_track *above = track->parent ? find_track(trace, track->parent) : NULL;
    int64_t pid = perfetto_pid(trace, track);
    int64_t lane = trace_lane_add(out, track->uuid);
    if (lane < 0)
        return (int)lane;
    track->made = track->is_lane = true;
    track->lane = (uint32_t)lane;
    track->thread = thread_of(trace, pid, pid < 0 ? 0 : pid);
    if (trace->sink->error)
        return trace->sink->error;
    trace_lane(out, track->lane)->name = track->name;
    trace_lane(out, track->lane)->kind = LANE_TRACK;
    trace_lane(out, track->lane)->process = trace_thread_get(out, track->thread)->process;
    if (!above || above->pid >= 0 || above->counter || level >= LEVELS_MAX)
        return 0;
    int error = above->made ? 0 : make_lane(trace, above, level + 1);
    if (!error && above->is_lane)
        trace_lane_set_parent(out, track->lane, above->lane);
    return error;
}

static int make_track(struct perfetto *trace, struct perfetto_track *track)
{
    struct trace *out = trace->sink->trace;
    if (track->tid < 0 && !track->counter && !track->others && (track->pid < 0 || track->name))
        return make_lane(trace, track, 1);
    int64_t pid = perfetto_pid(trace, track), tid = tid_of(trace, track);
    track->made = true;
    track->thread = thread_of(trace, pid, tid >= 0 ? tid : pid < 0 ? 0 : pid);
    if (trace->sink->error || !track->counter || !track->unit)
        return trace->sink->error;
    int error = trace_unit_set(out, 0, track->name, track->unit);
    return error == -ENOMEM ? error : 0;
}

static void name_all(struct perfetto *trace)
{
    struct trace *out = trace->sink->trace;
    for (size_t i = 0; i < trace->tracks.count; i++) {
        const struct perfetto_track *track = &trace->tracks.items[i];
        const struct import_id pid = {.number = track->pid}, tid = {.number = track->tid};
        int64_t process = track->pid >= 0 ? import_process_find(trace->sink, &pid) : -1;
        int64_t thread = process >= 0 && track->tid >= 0
                             ? import_thread_find(trace->sink, (uint32_t)process, &tid)
                             : -1;
        if (process >= 0 && track->process_name)
            trace_process(out, (uint32_t)process)->name = track->process_name;
        if (thread >= 0 && track->name && !track->counter)
            trace_thread(out, (uint32_t)thread)->name = track->name;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int emit_slice_begin(struct perfetto *trace, struct perfetto_track *track,
                            struct event *event, const struct arg *args)
{
    event->kind = EVENT_PUSH;
    event->args = (uint32_t)track->args.count;
    event->depth = track->begins.count;
    if (track->begins.count >= OPEN_MAX || trace->open_count >= OPEN_ALL_MAX) {
        trace->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    trace->open_count += 1 + (size_t)event->arg_count;
    if (vec_push(&track->begins, *event) != 0 || vec_reserve(&track->args, event->arg_count) != 0)
        return -ENOMEM;
    if (event->arg_count)
        memcpy(track->args.items + track->args.count, args, event->arg_count * sizeof(*args));
    track->args.count += event->arg_count;
    return 0;
}

static int emit_end(struct perfetto *trace, struct perfetto_track *track, int64_t end_ns)
{
    if (!track->begins.count) {
        trace->sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    struct event range = track->begins.items[--track->begins.count];
    range.end_ns = end_ns;
    trace->open_count -= 1 + (size_t)range.arg_count;
    track->args.count = range.args;
    return import_add(trace->sink, &range, track->args.items + range.args);
}

/* With its duration; on a track other than a thread's, as a begin and an end. */
static int emit_whole(struct perfetto *trace, const struct perfetto_track *track,
                      struct event *event, const struct arg *args)
{
    const struct event end = {.kind = EVENT_TRACK_END,
                              .time_ns = event->end_ns,
                              .thread = event->thread,
                              .lane = event->lane};
    if (!track->is_lane)
        return import_add(trace->sink, event, args);
    event->kind = EVENT_TRACK_BEGIN;
    event->end_ns = 0;
    int error = import_add(trace->sink, event, args);
    return error ? error : import_add(trace->sink, &end, NULL);
}

static int emit_counter(struct perfetto *trace, const struct perfetto_track *track,
                        struct event *event, const struct arg *args)
{
    trace->sink->left[LEFT_MALFORMED] += !event->value_kind && !event->arg_count;
    if (!event->value_kind)
        return import_counters(trace->sink, event, args, event->arg_count);
    event->name = track->name ? track->name : event->name;
    return import_add(trace->sink, event, args);
}

/* Ranges of the process, paired by their tracks. */
static int emit_on_none(struct perfetto *trace, struct event *event, const struct arg *args)
{
    event->kind = event->kind == EVENT_TRACK_BEGIN ? EVENT_START
                  : event->kind == EVENT_TRACK_END ? EVENT_END
                                                   : EVENT_MARK;
    return import_add(trace->sink, event, args);
}

static int add_to_sink(struct perfetto *trace, struct event *event, const struct arg *args)
{
    struct perfetto_track *track = &trace->tracks.items[event->lane];
    int error = track->made ? 0 : make_track(trace, track);
    if (error)
        return error;
    event->thread = track->thread;
    event->lane = track->lane;
    if (event->kind == EVENT_COUNTER)
        return emit_counter(trace, track, event, args);
    if (event->kind == EVENT_PUSH)
        return emit_whole(trace, track, event, args);
    if (event->kind == EVENT_START || event->kind == EVENT_END) {
        event->lane = 0;
        return import_add(trace->sink, event, args);
    }
    if (track->is_lane || event_is_flow(event->kind))
        return import_add(trace->sink, event, args);
    if (track->others)
        return emit_on_none(trace, event, args);
    if (event->kind == EVENT_TRACK_BEGIN)
        return emit_slice_begin(trace, track, event, args);
    if (event->kind == EVENT_TRACK_END)
        return emit_end(trace, track, event->time_ns);
    event->kind = EVENT_MARK;
    return import_add(trace->sink, event, args);
}

/* An event and its values, at any address. */
static int emit_event_record(struct perfetto *trace, const uint8_t *bytes)
{
    struct event event;
    memcpy(&event, bytes, sizeof(event));
    trace->args.count = 0;
    if (vec_reserve(&trace->args, event.arg_count) != 0)
        return -ENOMEM;
    if (event.arg_count)
        memcpy(trace->args.items, bytes + sizeof(event),
               event.arg_count * sizeof(*trace->args.items));
    return add_to_sink(trace, &event, trace->args.items);
}

int perfetto_emit(struct perfetto *trace)
{
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more, error = sorter_finish(trace->records);
    while (!error && (more = sorter_next(trace->records, &key, &bytes, &size)) != 0) {
        if (more < 0)
            return more;
        error = emit_event_record(trace, bytes);
    }
    for (size_t i = 0; i < trace->tracks.count && !error; i++)
        while (!error && trace->tracks.items[i].begins.count) {
            trace->sink->left[LEFT_OPEN]++;
            error = emit_end(trace, &trace->tracks.items[i], INT64_MAX);
        }
    if (!error)
        name_all(trace);
    return error;
}

/* ---- Events of Chrome's macros: the phases of its JSON, in LegacyEvent ----------------------- */

/* Fields of LegacyEvent. */
enum {
    LEGACY_NAME_IID = 1,
    LEGACY_PHASE = 2,
    LEGACY_DURATION_US = 3,
    LEGACY_UNSCOPED_ID = 6,
    LEGACY_ID_SCOPE = 7,
    LEGACY_BIND_ID = 8,
    LEGACY_LOCAL_ID = 10,
    LEGACY_GLOBAL_ID = 11,
    LEGACY_FLOW_DIRECTION = 13,
    LEGACY_PID = 18,
    LEGACY_TID = 19,
};

enum { FLOW_IN = 1, FLOW_OUT = 2, FLOW_INOUT = 3 };

struct legacy {
    uint64_t phase, name, id, bind, direction;
    int64_t duration_us, pid, tid; /* -1: not set */
    uint32_t scope;                /* string */
    bool has_id, is_local, has_bind;
};

static void take_id(struct legacy *legacy, const struct proto_field *field)
{
    legacy->has_id = true;
    legacy->is_local = field->number == LEGACY_LOCAL_ID;
    legacy->id = field->value;
}

static void take_legacy_field(struct perfetto *trace, struct legacy *legacy,
                              const struct proto_field *field)
{
    switch (field->number) {
    case LEGACY_NAME_IID:
        legacy->name = field->value;
        break;
    case LEGACY_PHASE:
        legacy->phase = field->value;
        break;
    case LEGACY_DURATION_US:
        legacy->duration_us = (int64_t)field->value;
        break;
    case LEGACY_UNSCOPED_ID:
    case LEGACY_LOCAL_ID:
    case LEGACY_GLOBAL_ID:
        take_id(legacy, field);
        break;
    case LEGACY_ID_SCOPE:
        legacy->scope = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        break;
    case LEGACY_BIND_ID:
        legacy->bind = field->value;
        legacy->has_bind = true;
        break;
    case LEGACY_FLOW_DIRECTION:
        legacy->direction = field->value;
        break;
    case LEGACY_PID:
        legacy->pid = (int32_t)field->value;
        break;
    case LEGACY_TID:
        legacy->tid = (int32_t)field->value;
        break;
    default:
        break;
    }
}

/* ---- Places of events ------------------------------------------------------------------------ */

/* A separate track for a thread that only has numbers. 0 or -errno. */
static int take_place(struct perfetto *trace, const struct legacy *legacy,
                      struct perfetto_event_fields *fields)
{
    static const uint64_t apart = UINT64_C(0x6c65676163790000);
    int64_t of_event = legacy->pid < 0 || legacy->tid < 0
                           ? perfetto_track(trace, fields->track, PERFETTO_TRACKS_MAX)
                           : 0;
    if (of_event < 0)
        return (int)of_event;
    const struct perfetto_track *track = &trace->tracks.items[of_event];
    int64_t pid = legacy->pid >= 0 ? legacy->pid : perfetto_pid(trace, track);
    int64_t tid = legacy->tid >= 0 ? legacy->tid : track->tid >= 0 ? track->tid : pid;
    fields->track = apart ^ ((uint64_t)pid << 32 | (uint32_t)tid);
    int64_t index = perfetto_track(trace, fields->track, PERFETTO_TRACKS_MAX);
    if (index < 0)
        return (int)index;
    if (trace->tracks.items[index].others)
        return 0;
    trace->tracks.items[index].pid = pid;
    trace->tracks.items[index].tid = tid;
    return 0;
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t words[] = {a, b};
    return hash_bytes((const char *)words, sizeof(words));
}

/* The id that pairs begins and ends: numbers are per category, and per process if they are
 * local. */
static uint64_t pair_id(struct perfetto *trace, const struct legacy *legacy,
                        const struct perfetto_event_fields *fields)
{
    int64_t track =
        legacy->is_local ? perfetto_track(trace, fields->track, PERFETTO_TRACKS_MAX) : -1;
    uint64_t id = mix(legacy->id, (uint64_t)fields->category << 32 | legacy->scope);
    return track < 0 ? id : mix(id, (uint64_t)perfetto_pid(trace, &trace->tracks.items[track]));
}

static uint8_t kind_of_phase(char phase)
{
    static const struct {
        const char *phases;
        uint8_t kind;
    } kinds[] = {
        {"B", EVENT_TRACK_BEGIN}, {"E", EVENT_TRACK_END},  {"iIRnTp", EVENT_TRACK_MARK},
        {"X", EVENT_PUSH},        {"C", EVENT_COUNTER},    {"bS", EVENT_START},
        {"eF", EVENT_END},        {"s", EVENT_FLOW_BEGIN}, {"t", EVENT_FLOW_STEP},
        {"f", EVENT_FLOW_END},
    };

    for (size_t i = 0; phase && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strchr(kinds[i].phases, phase))
            return kinds[i].kind;
    return 0;
}

/* Events that name a process or thread are metadata, not events. */
static int take_name(struct perfetto *trace, const struct perfetto_event_fields *fields,
                     const struct event *event)
{
    const char *what = trace_string(trace->sink->trace, event->name)->bytes;
    int64_t index = perfetto_track(trace, fields->track, PERFETTO_TRACKS_MAX);
    if (index < 0)
        return (int)index;
    if (!trace->args.count || trace->args.items[0].kind != VALUE_STRING ||
        trace->tracks.items[index].others)
        return 0;
    uint32_t name = trace->args.items[0].value.string;
    if (strcmp(what, "thread_name") == 0)
        trace->tracks.items[index].name = name;
    else if (strcmp(what, "process_name") == 0)
        trace->tracks.items[index].process_name = name;
    return 0;
}

static int take_phase(struct perfetto *trace, const struct legacy *legacy,
                      struct perfetto_event_fields *fields, struct event *event)
{
    char phase = (char)(legacy->phase < 128 ? legacy->phase : 0);
    bool pair = phase && strchr("bSeFstf", phase);
    int64_t duration_ns = 0;
    if (phase == 'M')
        return take_name(trace, fields, event);
    event->kind = kind_of_phase(phase);
    if (!event->kind) {
        trace->sink->left[import_left_of_phase(phase)]++;
        return 0;
    }
    if ((pair && !legacy->has_id) || legacy->duration_us < 0 ||
        __builtin_mul_overflow(legacy->duration_us, 1000, &duration_ns) ||
        duration_ns > IMPORT_TIME_MAX) {
        trace->sink->left[LEFT_MALFORMED]++;
        event->kind = 0;
        return 0;
    }
    event->end_ns = phase == 'X' ? event->time_ns + duration_ns : 0;
    event->id = pair ? pair_id(trace, legacy, fields) : 0;
    if (event->kind == EVENT_END)
        event->name = 0;
    return 0;
}

/* Applies the event's LegacyEvent: the kind, if its type gives none, and 0 if it is to be dropped;
 * its track, times and flow. 0 or -errno. */
static int perfetto_apply_legacy(struct perfetto *trace, const struct perfetto_sequence *sequence,
                                 struct perfetto_event_fields *fields, struct event *event)
{
    static const uint8_t flows[] = {
        [FLOW_IN] = EVENT_FLOW_END, [FLOW_OUT] = EVENT_FLOW_BEGIN, [FLOW_INOUT] = EVENT_FLOW_STEP};
    struct legacy legacy = {.pid = -1, .tid = -1};
    struct proto_field field;
    int error = 0;
    while (proto_next(&fields->legacy, &field))
        take_legacy_field(trace, &legacy, &field);
    if (!event->name)
        event->name = (uint32_t)perfetto_find(sequence, PERFETTO_NAMES, legacy.name);
    if (legacy.pid >= 0 || legacy.tid >= 0)
        error = take_place(trace, &legacy, fields);
    if (legacy.has_bind && legacy.direction < sizeof(flows))
        fields->binds = flows[legacy.direction];
    fields->bound = mix(legacy.bind, 0);
    return error || event->kind ? error : take_phase(trace, &legacy, fields, event);
}

/* ---- Values: debug annotations --------------------------------------------------------------- */

/* Dicts and arrays become JSON texts. */

enum { DEPTH_MAX = 32, TEXT_SIZE = 4096 };

static bool take_scalar(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        const struct proto_field *field, struct arg *arg)
{
    switch (field->number) {
    case PX_ANNOTATION_BOOL:
        arg->kind = VALUE_BOOL;
        arg->value.uint64 = field->value != 0;
        return true;
    case PX_ANNOTATION_UINT:
    case PX_ANNOTATION_POINTER:
        arg->kind = VALUE_UINT64;
        arg->value.uint64 = field->value;
        return true;
    case PX_ANNOTATION_INT:
        arg->kind = VALUE_INT64;
        arg->value.int64 = (int64_t)field->value;
        return true;
    case PX_ANNOTATION_DOUBLE:
        arg->kind = VALUE_DOUBLE;
        arg->value.float64 = proto_as_double(field);
        return true;
    case PX_ANNOTATION_STRING:
    case PX_ANNOTATION_LEGACY_JSON:
        arg->kind = VALUE_STRING;
        arg->value.string = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        return true;
    case PX_ANNOTATION_STRING_IID:
        arg->kind = VALUE_STRING;
        arg->value.string = (uint32_t)perfetto_find(sequence, PERFETTO_STRINGS, field->value);
        return true;
    default:
        return false;
    }
}

static uint32_t key_of(struct perfetto *trace, const struct perfetto_sequence *sequence,
                       struct proto message)
{
    struct proto_field field;
    uint32_t key = 0;
    while (proto_next(&message, &field))
        if (field.number == PX_ANNOTATION_NAME_IID)
            key = (uint32_t)perfetto_find(sequence, PERFETTO_KEYS, field.value);
        else if (field.number == PX_ANNOTATION_NAME && field.is_bytes)
            key = perfetto_text(trace, &field.bytes);
    return key;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_string(const struct perfetto *trace, struct text *text, uint32_t string)
{
    const struct trace_string *bytes = trace_string(trace->sink->trace, string);
    json_copy_text(text, bytes->bytes, bytes->length);
}

static void put_scalar(const struct perfetto *trace, struct text *text, const struct arg *arg)
{
    if (arg->kind == VALUE_STRING)
        put_string(trace, text, arg->value.string);
    else if (arg->kind == VALUE_BOOL)
        text_format(text, "%s", arg->value.uint64 ? "true" : "false");
    else if (arg->kind == VALUE_DOUBLE)
        text_format(text, "%.17g", arg->value.float64);
    else if (arg->kind == VALUE_UINT64)
        text_format(text, "%llu", (unsigned long long)arg->value.uint64);
    else
        text_format(text, "%lld", (long long)arg->value.int64);
}

static bool is_nested(const struct proto_field *field)
{
    return field->is_bytes && (field->number == PX_ANNOTATION_DICT_ENTRIES ||
                               field->number == PX_ANNOTATION_ARRAY_VALUES);
}

/* The annotation's value, without its name. */
static void put_json_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                           struct proto message, struct text *text, int depth)
{
    struct proto_field field;
    struct arg arg = {0};
    const char *close = NULL;
    while (proto_next(&message, &field)) {
        bool dict = field.number == PX_ANNOTATION_DICT_ENTRIES;
        if (!is_nested(&field)) {
            if (take_scalar(trace, sequence, &field, &arg) && !close)
                put_scalar(trace, text, &arg);
            continue;
        }
        text_format(text, "%s", close ? "," : dict ? "{" : "[");
        close = dict ? "}" : "]";
        if (dict) {
            put_string(trace, text, key_of(trace, sequence, field.bytes));
            text_add(text, ":", 1);
        }
        if (depth < DEPTH_MAX)
            put_json_value(trace, sequence, field.bytes, text, depth + 1);
        else
            text_add(text, "null", 4);
    }
    if (close)
        text_add(text, close, 1);
    else if (!arg.kind)
        text_add(text, "null", 4);
}

static bool take_nested(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, struct arg *arg)
{
    char buffer[TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    put_json_value(trace, sequence, message, &text, 1);
    arg->kind = VALUE_STRING;
    arg->value.string = import_string(trace->sink, text.buffer, text.length);
    if (text.length + 1 >= text.size)
        trace->sink->left[LEFT_VALUES]++;
    return true;
}

/* DebugAnnotation: appends to trace->args. 0 or -ENOMEM. */
static int perfetto_take_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                               struct proto message)
{
    struct proto whole = message;
    struct proto_field field;
    struct arg arg = {.key = key_of(trace, sequence, message)};
    bool has_value = false, nested = false;
    while (proto_next(&message, &field)) {
        nested = nested || is_nested(&field);
        has_value = take_scalar(trace, sequence, &field, &arg) || has_value;
    }
    if (nested)
        has_value = take_nested(trace, sequence, whole, &arg);
    if (has_value && trace->args.count < SINK_ARGS_MAX)
        return vec_push(&trace->args, arg);
    trace->sink->left[LEFT_VALUES]++;
    return 0;
}

/* Tracks that describe the place of others may be late as well. */
enum { OWNERS_MAX = PERFETTO_TRACKS_MAX + SINK_THREADS_MAX };

#define CALL_CATEGORY "python calls"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Fields of TrackEvent that annot does not write. */
enum {
    EVENT_LEGACY = 6,
    EVENT_FLOW_IDS_OLD = 36,
    EVENT_TERMINATING_FLOW_IDS_OLD = 42,
    EVENT_EXTRA_DOUBLE_VALUES = 46,
    EVENT_CALLSTACK = 55,
    EVENT_CALLSTACK_IID = 56,
};

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void take_process(struct perfetto *trace, struct perfetto_track *track, struct proto message)
{
    struct proto_field field;
    while (proto_next(&message, &field)) {
        if (field.number == PX_PROCESS_PID)
            track->pid = (int32_t)field.value;
        else if (field.number == PX_PROCESS_NAME && field.is_bytes)
            track->process_name = perfetto_text(trace, &field.bytes);
    }
}

static void take_thread(struct perfetto *trace, struct perfetto_track *track, struct proto message)
{
    struct proto_field field;
    while (proto_next(&message, &field)) {
        if (field.number == PX_THREAD_PID)
            track->pid = (int32_t)field.value;
        else if (field.number == PX_THREAD_TID)
            track->tid = (int32_t)field.value;
        else if (field.number == PX_THREAD_NAME && field.is_bytes)
            track->name = perfetto_text(trace, &field.bytes);
    }
}

static void take_counter(struct perfetto *trace, struct perfetto_track *track, struct proto message)
{
    static const char *const types[] = {"", "thread_time", "thread_instruction_count"};
    static const char *const units[] = {"", "ns", "", "bytes"};
    struct proto_field field;
    uint64_t type = 0, unit = 0;
    track->counter = true;
    while (proto_next(&message, &field))
        if (field.number == PX_COUNTER_UNIT_NAME && field.is_bytes)
            track->unit = perfetto_text(trace, &field.bytes);
        else if (field.number == PX_COUNTER_UNIT_MULTIPLIER)
            track->multiplier = (int64_t)field.value;
        else if (field.number == PX_COUNTER_IS_INCREMENTAL)
            track->incremental = field.value != 0;
        else if (field.number == PX_COUNTER_TYPE)
            type = field.value < COUNT(types) ? field.value : 0;
        else if (field.number == PX_COUNTER_UNIT)
            unit = field.value < COUNT(units) ? field.value : 0;
    if (!track->name)
        track->name = import_text(trace->sink, types[type]);
    if (!track->unit)
        track->unit = import_text(trace->sink, type == 1 ? "ns" : units[unit]);
}

int perfetto_take_track(struct perfetto *trace, struct proto message)
{
    struct proto_field field;
    struct proto again = message;
    uint64_t uuid = 0;
    bool plain = true;
    while (proto_next(&message, &field)) {
        if (field.number == PX_TRACK_UUID)
            uuid = field.value;
        plain = plain && field.number != PX_TRACK_PROCESS && field.number != PX_TRACK_THREAD &&
                field.number != PX_TRACK_COUNTER;
    }
    int64_t index = perfetto_track(trace, uuid, plain ? PERFETTO_TRACKS_MAX : OWNERS_MAX);
    if (index < 0)
        return (int)index;
    struct perfetto_track *track = &trace->tracks.items[index];
    if (track->others)
        return 0;
    track->described = true;
    while (proto_next(&again, &field)) {
        if (field.number == PX_TRACK_PARENT_UUID)
            track->parent = field.value;
        else if (!field.is_bytes)
            continue;
        else if (field.number == PX_TRACK_NAME || field.number == PX_TRACK_STATIC_NAME)
            track->name = perfetto_text(trace, &field.bytes);
        else if (field.number == PX_TRACK_PROCESS)
            take_process(trace, track, field.bytes);
        else if (field.number == PX_TRACK_THREAD)
            take_thread(trace, track, field.bytes);
        else if (field.number == PX_TRACK_COUNTER)
            take_counter(trace, track, field.bytes);
    }
    return 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int take_field(struct perfetto *trace, const struct perfetto_sequence *sequence,
                      const struct proto_field *field, struct event *event,
                      struct perfetto_event_fields *fields)
{
    switch (field->number) {
    case PX_EVENT_TYPE:
        fields->type = field->value;
        break;
    case PX_EVENT_TRACK_UUID:
        fields->track = field->value;
        break;
    case PX_EVENT_NAME_IID:
        event->name = (uint32_t)perfetto_find(sequence, PERFETTO_NAMES, field->value);
        break;
    case PX_EVENT_NAME:
        event->name = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        break;
    case PX_EVENT_CATEGORY_IIDS:
        fields->category = (uint32_t)perfetto_find(sequence, PERFETTO_CATEGORIES, field->value);
        break;
    case PX_EVENT_CATEGORIES:
        fields->category = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        break;
    case EVENT_LEGACY:
        fields->legacy = field->bytes;
        break;
    case PX_EVENT_COUNTER_VALUE:
        event->value_kind = VALUE_INT64;
        event->value.int64 = (int64_t)field->value;
        break;
    case PX_EVENT_DOUBLE_COUNTER_VALUE:
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = proto_as_double(field);
        break;
    case PX_EVENT_EXTRA_COUNTER_VALUES:
        return perfetto_numbers(trace, &trace->values[PERFETTO_INTEGERS], field);
    case PX_EVENT_EXTRA_COUNTER_TRACKS:
        return perfetto_numbers(trace, &trace->value_tracks[PERFETTO_INTEGERS], field);
    case EVENT_EXTRA_DOUBLE_VALUES:
        return perfetto_doubles(trace, &trace->values[PERFETTO_DOUBLES], field);
    case PERFETTO_EXTRA_DOUBLE_TRACKS:
        return perfetto_numbers(trace, &trace->value_tracks[PERFETTO_DOUBLES], field);
    case EVENT_CALLSTACK:
    case EVENT_CALLSTACK_IID:
        fields->has_stack = true;
        break;
    case PX_EVENT_DEBUG_ANNOTATIONS:
        return field->is_bytes ? perfetto_take_value(trace, sequence, field->bytes) : 0;
    default:
        break;
    }
    return 0;
}

static int put(struct perfetto *trace, const struct event *event)
{
    struct import_sink *sink = trace->sink;
    size_t args_size = event->arg_count * sizeof(struct arg), size = sizeof(*event) + args_size;
    sink->record.count = 0;
    if (vec_reserve(&sink->record, size) != 0)
        return -ENOMEM;
    memcpy(sink->record.items, event, sizeof(*event));
    if (args_size)
        memcpy(sink->record.items + sizeof(*event), trace->args.items, args_size);
    const struct sorter_key key = {0}; /* in order of arrival */
    return sorter_add(trace->records, key, sink->record.items, (uint32_t)size);
}

/* Points of flows in an event, put in addition to it. */
static int put_flows(struct perfetto *trace, struct proto message, const struct event *event,
                     const struct perfetto_event_fields *fields)
{
    struct event point = {.time_ns = event->time_ns, .lane = event->lane};
    struct proto_field field;
    int error = 0;
    while (!error && proto_next(&message, &field)) {
        bool ends = field.number == PX_EVENT_TERMINATING_FLOW_IDS ||
                    field.number == EVENT_TERMINATING_FLOW_IDS_OLD;
        bool goes_on = field.number == PX_EVENT_FLOW_IDS || field.number == EVENT_FLOW_IDS_OLD;
        if (field.is_bytes || (!ends && !goes_on))
            continue;
        point.kind = ends ? EVENT_FLOW_END : EVENT_FLOW_STEP;
        point.id = field.value;
        error = put(trace, &point);
    }
    point.kind = fields->binds;
    point.id = fields->bound;
    return error || !fields->binds ? error : put(trace, &point);
}

/* Scales the value of a counter as its track describes. Differences start anew with the state of
 * the sequence. */
static void take_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                       struct event *event)
{
    struct perfetto_track *track = &trace->tracks.items[event->lane];
    int64_t times = track->multiplier ? track->multiplier : 1;
    bool goes_on = track->state_of == sequence->id && track->state == sequence->state;
    bool adds = track->incremental && goes_on;
    if (event->value_kind != VALUE_INT64 && event->value_kind != VALUE_DOUBLE)
        return;
    if (event->value_kind == VALUE_DOUBLE) {
        event->value.float64 = event->value.float64 * (double)times;
        event->value.float64 += adds ? track->last_double : 0;
        track->last_double = event->value.float64;
    } else {
        event->value.uint64 *= (uint64_t)times;
        event->value.uint64 += adds ? (uint64_t)track->last : 0;
        track->last = event->value.int64;
    }
    track->state_of = sequence->id;
    track->state = sequence->state;
}

/* The value of a counter other than the event's own. */
static int put_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                     struct event *value, uint64_t uuid)
{
    int64_t track = perfetto_track(trace, uuid, PERFETTO_TRACKS_MAX);
    if (track < 0)
        return (int)track;
    value->lane = (uint32_t)track;
    take_value(trace, sequence, value);
    return put(trace, value);
}

/* Values of counters in addition to the event's: of the tracks that it names, or those of its
 * sequence. */
static int put_values(struct perfetto *trace, const struct perfetto_sequence *sequence, int kind,
                      int64_t time_ns)
{
    const struct perfetto_numbers *values = &trace->values[kind], *own = &trace->value_tracks[kind],
                                  *tracks = own->count ? own : &sequence->value_tracks[kind];
    int error = 0;
    for (size_t i = 0; i < values->count && !error; i++) {
        struct event value = {.kind = EVENT_COUNTER,
                              .time_ns = time_ns,
                              .value_kind = kind == PERFETTO_DOUBLES ? VALUE_DOUBLE : VALUE_INT64,
                              .value = {.uint64 = values->items[i]}};
        if (i < tracks->count)
            error = put_value(trace, sequence, &value, tracks->items[i]);
        else
            trace->sink->left[LEFT_VALUES]++;
    }
    return error;
}

/* Calls of Python functions, as annot writes them: their file and line are in the values. */
static void make_call(struct perfetto *trace, struct event *event)
{
    const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
    uint32_t file = 0;
    int32_t line = 0;
    size_t kept = 0;
    for (size_t i = 0; i < trace->args.count; i++) {
        const struct arg *arg = &trace->args.items[i];
        const char *key = trace_string(trace->sink->trace, arg->key)->bytes;
        if (arg->kind == VALUE_STRING && strcmp(key, "file") == 0)
            file = arg->value.string;
        else if (arg->kind != VALUE_STRING && strcmp(key, "line") == 0)
            line = (int32_t)arg->value.int64;
        else
            trace->args.items[kept++] = *arg;
    }
    trace->args.count = kept;
    event->scope = import_scope(trace->sink, &calls);
    event->name = import_call(trace->sink, event->name, file, line > 0 ? line : 0);
}

static uint8_t kind_of(uint64_t type)
{
    return type == PX_SLICE_BEGIN ? EVENT_TRACK_BEGIN
           : type == PX_SLICE_END ? EVENT_TRACK_END
           : type == PX_INSTANT   ? EVENT_TRACK_MARK
           : type == PX_COUNTER   ? EVENT_COUNTER
                                  : 0;
}

/* Decides from all fields if the event is kept, and its track. */
static int place(struct perfetto *trace, const struct perfetto_sequence *sequence,
                 struct perfetto_event_fields *fields, struct event *event)
{
    event->kind = kind_of(fields->type);
    int error = fields->legacy.at ? perfetto_apply_legacy(trace, sequence, fields, event) : 0;
    trace->sink->left[LEFT_UNKNOWN] += !event->kind && !fields->legacy.at;
    if (error || !event->kind)
        return error;
    int64_t track = perfetto_track(trace, fields->track, PERFETTO_TRACKS_MAX);
    if (track < 0)
        return (int)track;
    const struct scope scope = {.category = fields->category};
    event->lane = (uint32_t)track;
    if (trace->tracks.items[track].others) {
        event->id = event->id ? event->id : hash_u64(fields->track);
        trace->sink->left[LEFT_TRACKS]++;
    }
    event->scope =
        fields->category && event->kind != EVENT_END ? import_scope(trace->sink, &scope) : 0;
    return trace->sink->error;
}

static int put_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                     const struct perfetto_event_fields *fields, struct event *event)
{
    bool call =
        event->kind == EVENT_TRACK_BEGIN &&
        strcmp(trace_string(trace->sink->trace, fields->category)->bytes, CALL_CATEGORY) == 0;
    if (call)
        make_call(trace, event);
    bool bare = event_is_flow(event->kind) || (event->kind == EVENT_COUNTER && event->value_kind);
    event->arg_count = bare ? 0 : (uint16_t)trace->args.count;
    if (event->kind == EVENT_COUNTER)
        take_value(trace, sequence, event);
    int error = 0;
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS && !error; kind++)
        error = put_values(trace, sequence, kind, event->time_ns);
    trace->sink->left[LEFT_EVENT_STACKS] += fields->has_stack;
    return error ? error : put(trace, event);
}

int perfetto_take_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, int64_t time_ns)
{
    struct proto again = message;
    struct event event = {.time_ns = time_ns};
    struct perfetto_event_fields fields = {.track = sequence->default_track};
    struct proto_field field;
    int error = 0;
    trace->args.count = 0;
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS; kind++)
        trace->values[kind].count = trace->value_tracks[kind].count = 0;
    while (!error && proto_next(&message, &field))
        error = take_field(trace, sequence, &field, &event, &fields);
    if (!error)
        error = place(trace, sequence, &fields, &event);
    if (!error && event.kind)
        error = put_event(trace, sequence, &fields, &event);
    bool flows = event.kind && event.kind != EVENT_TRACK_END;
    return error || !flows ? error : put_flows(trace, again, &event, &fields);
}
