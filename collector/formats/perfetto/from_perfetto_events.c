/* SPDX-License-Identifier: MIT */
/* Track events of a Perfetto trace, and the tracks that they lie on. */
#include "from_perfetto_parts.h"
#include "perfetto_fields.h"

#include "hash.h"

#include <errno.h>
#include <string.h>

/* Tracks that say where others belong come late as well. */
enum { OWNERS_MAX = PERFETTO_TRACKS_MAX + SINK_THREADS_MAX };

#define CALL_CATEGORY "python calls"
#define COUNT(array)  (sizeof(array) / sizeof(*(array)))

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
                      struct perfetto_told *told)
{
    switch (field->number) {
    case PX_EVENT_TYPE:
        told->type = field->value;
        break;
    case PX_EVENT_TRACK_UUID:
        told->track = field->value;
        break;
    case PX_EVENT_NAME_IID:
        event->name = (uint32_t)perfetto_find(sequence, PERFETTO_NAMES, field->value);
        break;
    case PX_EVENT_NAME:
        event->name = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        break;
    case PX_EVENT_CATEGORY_IIDS:
        told->category = (uint32_t)perfetto_find(sequence, PERFETTO_CATEGORIES, field->value);
        break;
    case PX_EVENT_CATEGORIES:
        told->category = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        break;
    case EVENT_LEGACY:
        told->legacy = field->bytes;
        break;
    case PX_EVENT_COUNTER_VALUE:
        event->value_kind = VALUE_INT64;
        event->value.int64 = (int64_t)field->value;
        break;
    case PX_EVENT_DOUBLE_COUNTER_VALUE:
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = proto_double(field);
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
        told->has_stack = true;
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
    const struct sorter_key key = {0}; /* as they come */
    return sorter_add(trace->records, key, sink->record.items, (uint32_t)size);
}

/* What an event says of flows: points of them, beside the event. */
static int put_flows(struct perfetto *trace, struct proto message, const struct event *event,
                     const struct perfetto_told *told)
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
    point.kind = told->binds;
    point.id = told->bound;
    return error || !told->binds ? error : put(trace, &point);
}

/* What a counter is, by the description of its track. Differences begin anew with the state of the
 * sequence. */
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

/* The value of another counter than the event's own. */
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

/* Values of counters beside the event: of the tracks that it names, or its sequence. */
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

/* Calls of Python functions, as annot writes them: where these are stands in the values. */
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

/* What is known of all its fields: whether it is told, and where. */
static int place(struct perfetto *trace, const struct perfetto_sequence *sequence,
                 struct perfetto_told *told, struct event *event)
{
    event->kind = kind_of(told->type);
    int error = told->legacy.at ? perfetto_apply_legacy(trace, sequence, told, event) : 0;
    trace->sink->left[LEFT_UNKNOWN] += !event->kind && !told->legacy.at;
    if (error || !event->kind)
        return error;
    int64_t track = perfetto_track(trace, told->track, PERFETTO_TRACKS_MAX);
    if (track < 0)
        return (int)track;
    const struct scope scope = {.category = told->category};
    event->lane = (uint32_t)track;
    if (trace->tracks.items[track].others) {
        event->id = event->id ? event->id : hash_u64(told->track);
        trace->sink->left[LEFT_TRACKS]++;
    }
    event->scope =
        told->category && event->kind != EVENT_END ? import_scope(trace->sink, &scope) : 0;
    return trace->sink->error;
}

static int put_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                     const struct perfetto_told *told, struct event *event)
{
    bool call = event->kind == EVENT_TRACK_BEGIN &&
                strcmp(trace_string(trace->sink->trace, told->category)->bytes, CALL_CATEGORY) == 0;
    if (call)
        make_call(trace, event);
    bool bare = event_is_flow(event->kind) || (event->kind == EVENT_COUNTER && event->value_kind);
    event->arg_count = bare ? 0 : (uint16_t)trace->args.count;
    if (event->kind == EVENT_COUNTER)
        take_value(trace, sequence, event);
    int error = 0;
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS && !error; kind++)
        error = put_values(trace, sequence, kind, event->time_ns);
    trace->sink->left[LEFT_EVENT_STACKS] += told->has_stack;
    return error ? error : put(trace, event);
}

int perfetto_take_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, int64_t time_ns)
{
    struct proto again = message;
    struct event event = {.time_ns = time_ns};
    struct perfetto_told told = {.track = sequence->default_track};
    struct proto_field field;
    int error = 0;
    trace->args.count = 0;
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS; kind++)
        trace->values[kind].count = trace->value_tracks[kind].count = 0;
    while (!error && proto_next(&message, &field))
        error = take_field(trace, sequence, &field, &event, &told);
    if (!error)
        error = place(trace, sequence, &told, &event);
    if (!error && event.kind)
        error = put_event(trace, sequence, &told, &event);
    bool flows = event.kind && event.kind != EVENT_TRACK_END;
    return error || !flows ? error : put_flows(trace, again, &event, &told);
}
