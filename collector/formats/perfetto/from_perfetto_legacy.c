/* SPDX-License-Identifier: MIT */
/* Track events as Chrome's macros make them: the phases of its JSON, in LegacyEvent. */
#include "from_perfetto_parts.h"
#include "perfetto_fields.h"

#include "hash.h"

#include <string.h>

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
    int64_t duration_us, pid, tid; /* -1: not told */
    uint32_t scope;                /* string */
    bool has_id, is_local, has_bind;
};

static void take_id(struct legacy *legacy, const struct proto_field *field)
{
    legacy->has_id = true;
    legacy->is_local = field->number == LEGACY_LOCAL_ID;
    legacy->id = field->value;
}

static void take_field(struct perfetto *trace, struct legacy *legacy,
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

/* ---- Where it lies --------------------------------------------------------------------------- */

/* A track of its own for a thread that only numbers name. 0 or -errno. */
static int take_place(struct perfetto *trace, const struct legacy *legacy,
                      struct perfetto_told *told)
{
    static const uint64_t apart = UINT64_C(0x6c65676163790000);
    int64_t of_event = legacy->pid < 0 || legacy->tid < 0
                           ? perfetto_track(trace, told->track, PERFETTO_TRACKS_MAX)
                           : 0;
    if (of_event < 0)
        return (int)of_event;
    const struct perfetto_track *track = &trace->tracks.items[of_event];
    int64_t pid = legacy->pid >= 0 ? legacy->pid : perfetto_pid(trace, track);
    int64_t tid = legacy->tid >= 0 ? legacy->tid : track->tid >= 0 ? track->tid : pid;
    told->track = apart ^ ((uint64_t)pid << 32 | (uint32_t)tid);
    int64_t index = perfetto_track(trace, told->track, PERFETTO_TRACKS_MAX);
    if (index < 0)
        return (int)index;
    if (trace->tracks.items[index].others)
        return 0;
    trace->tracks.items[index].pid = pid;
    trace->tracks.items[index].tid = tid;
    return 0;
}

/* ---- What it is ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t words[] = {a, b};
    return hash_bytes((const char *)words, sizeof(words));
}

/* What begins and ends go by: numbers are those of a category, and of a process if they are local.
 */
static uint64_t pair_id(struct perfetto *trace, const struct legacy *legacy,
                        const struct perfetto_told *told)
{
    int64_t track = legacy->is_local ? perfetto_track(trace, told->track, PERFETTO_TRACKS_MAX) : -1;
    uint64_t id = mix(legacy->id, (uint64_t)told->category << 32 | legacy->scope);
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

/* Events that name a process or thread are no events. */
static int take_name(struct perfetto *trace, const struct perfetto_told *told,
                     const struct event *event)
{
    const char *what = trace_string(trace->sink->trace, event->name)->bytes;
    int64_t index = perfetto_track(trace, told->track, PERFETTO_TRACKS_MAX);
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
                      struct perfetto_told *told, struct event *event)
{
    char phase = (char)(legacy->phase < 128 ? legacy->phase : 0);
    bool pair = phase && strchr("bSeFstf", phase);
    int64_t duration_ns = 0;
    if (phase == 'M')
        return take_name(trace, told, event);
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
    event->id = pair ? pair_id(trace, legacy, told) : 0;
    if (event->kind == EVENT_END)
        event->name = 0;
    return 0;
}

int perfetto_apply_legacy(struct perfetto *trace, const struct perfetto_sequence *sequence,
                          struct perfetto_told *told, struct event *event)
{
    static const uint8_t flows[] = {
        [FLOW_IN] = EVENT_FLOW_END, [FLOW_OUT] = EVENT_FLOW_BEGIN, [FLOW_INOUT] = EVENT_FLOW_STEP};
    struct legacy legacy = {.pid = -1, .tid = -1};
    struct proto_field field;
    int error = 0;
    while (proto_next(&told->legacy, &field))
        take_field(trace, &legacy, &field);
    if (!event->name)
        event->name = (uint32_t)perfetto_find(sequence, PERFETTO_NAMES, legacy.name);
    if (legacy.pid >= 0 || legacy.tid >= 0)
        error = take_place(trace, &legacy, told);
    if (legacy.has_bind && legacy.direction < sizeof(flows))
        told->binds = flows[legacy.direction];
    told->bound = mix(legacy.bind, 0);
    return error || event->kind ? error : take_phase(trace, &legacy, told, event);
}
