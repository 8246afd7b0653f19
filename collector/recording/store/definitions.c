/* SPDX-License-Identifier: MIT */
/* The tables of fields, one per kind of definition: docs/recording-format.md, "Definitions", has
 * the same rows in the same order. Thread-safety: constant data. */
#include "definitions.h"

#include "sample.h"
#include "stacks.h"
#include "trace_devices.h"

#include <errno.h>
#include <string.h>

/* Limit of the drift between two clocks: a thousandth. */
#define DRIFT_MAX 1e-3

enum { FEW_HOLES = 1 << 16, MANY_HOLES = 1 << 20 };

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define REFERENCE(type, member, kind, table, reference)                                            \
    {                                                                                              \
        PLACE(type, member), kind, 0, table, reference                                             \
    }
#define UNSIGNED(type, member) REFERENCE(type, member, FIELD_UNSIGNED, 0, 0)
#define SIGNED(type, member)   REFERENCE(type, member, FIELD_SIGNED, 0, 0)
#define TIME(type, member)     REFERENCE(type, member, FIELD_TIME, 0, 0)
#define DURATION(type, member) REFERENCE(type, member, FIELD_DURATION, 0, 0)
#define FLAG(type, member)     REFERENCE(type, member, FIELD_FLAG, 0, 0)
#define STRING(type, member)   REFERENCE(type, member, FIELD_UNSIGNED, STORE_DEFINE_STRING, 0)
#define BYTES(type, member)    REFERENCE(type, member, FIELD_BYTES, 0, 0)
#define ARRAY(type, member, count)                                                                 \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member[0]), FIELD_UNSIGNED, count, 0, 0        \
    }
/* Count and getter of a table that is a part of the trace. */
#define IN_STACKS(count, count_all, get, get_one)                                                  \
    IN_PART(trace_stacks_get, count, count_all, get, get_one)
#define IN_SETS(count, count_all, get, get_one)                                                    \
    IN_PART(trace_sets_get, count, count_all, get, get_one)
#define IN_PART(part, count, count_all, get, get_one)                                              \
    static uint32_t count(const struct trace *trace)                                               \
    {                                                                                              \
        return count_all(part(trace));                                                             \
    }                                                                                              \
                                                                                                   \
    static const void *get(const struct trace *trace, uint32_t ordinal)                            \
    {                                                                                              \
        return get_one(part(trace), ordinal);                                                      \
    }
/* Appends the entry; an empty one for an entry lost by damage. */
#define APPENDED(put, type, append)                                                                \
    static int put(struct trace *trace, uint32_t ordinal, const void *entry)                       \
    {                                                                                              \
        static const type nothing;                                                                 \
        (void)ordinal;                                                                             \
        return append(trace_stacks(trace), entry ? entry : &nothing) < 0 ? -ENOMEM : 0;            \
    }
/* Replaces an existing entry, or adds one; an empty one for an entry lost by damage. */
#define REPLACED(put, type, count, add, get_one)                                                   \
    static int put(struct trace *trace, uint32_t ordinal, const void *entry)                       \
    {                                                                                              \
        int64_t added = ordinal < count(trace) ? 0 : (add);                                        \
        if (added >= 0 && entry)                                                                   \
            replace(get_one(trace, ordinal), entry, sizeof(type));                                 \
        return added < 0 ? (int)added : 0;                                                         \
    }
/* Adds an entry; ignores entries lost by damage. */
#define ADDED(put, add)                                                                            \
    static int put(struct trace *trace, uint32_t ordinal, const void *entry)                       \
    {                                                                                              \
        int64_t added = entry ? add(trace, entry) : 0;                                             \
        (void)ordinal;                                                                             \
        return added < 0 ? (int)added : 0;                                                         \
    }
#define FIELDS(list) (list), sizeof(list) / sizeof((list)[0])

/* Most entries are read by ordinal. */
#define GET(get, get_one)                                                                          \
    static const void *get(const struct trace *trace, uint32_t ordinal)                            \
    {                                                                                              \
        return get_one(trace, ordinal);                                                            \
    }

/* Replaces an entry, whose revision is kept and raised. */
static void replace(void *place, const void *entry, size_t size)
{
    uint32_t revision;
    memcpy(&revision, place, sizeof(revision));
    memcpy(place, entry, size);
    revision++;
    memcpy(place, &revision, sizeof(revision));
}

static uint32_t count_one(const struct trace *trace)
{
    (void)trace;
    return 1;
}

/* ---- Strings ---- */

static const struct field string_fields[] = {
    {PLACE(struct trace_string, bytes), FIELD_TEXT, 0, 0, 0},
};

GET(get_string, trace_string)

static int put_string(struct trace *trace, uint32_t ordinal, const void *entry)
{
    const struct trace_string *string = entry ? entry : trace_string(trace, ordinal);
    return trace_string_append(trace, string->bytes, string->length) < 0 ? -ENOMEM : 0;
}

/* ---- Scopes ---- */

static const struct field scope_fields[] = {
    STRING(struct scope, domain),
    STRING(struct scope, category),
    UNSIGNED(struct scope, observer),
    UNSIGNED(struct scope, role),
};

GET(get_scope, trace_scope)

static int put_scope(struct trace *trace, uint32_t ordinal, const void *entry)
{
    return trace_scope_set(trace, ordinal, entry ? entry : trace_scope(trace, 0));
}

/* ---- Session, sampling, facts ---- */
static const struct field session_fields[] = {
    UNSIGNED(struct trace_session, id),           UNSIGNED(struct trace_session, parent_id),
    STRING(struct trace_session, hostname),       STRING(struct trace_session, kernel),
    STRING(struct trace_session, command),        STRING(struct trace_session, annot_version),
    STRING(struct trace_session, clock),          TIME(struct trace_session, begin_ns),
    TIME(struct trace_session, end_ns),           DURATION(struct trace_session, begin_realtime_ns),
    SIGNED(struct trace_session, command_status), FLAG(struct trace_session, recovered),
    UNSIGNED(struct trace_session, peak_bytes),   STRING(struct trace_session, nested),
    STRING(struct trace_session, directory),      UNSIGNED(struct trace_session, processors),
};

static const void *get_session(const struct trace *trace, uint32_t ordinal)
{
    (void)ordinal;
    return trace_session_get(trace);
}

static int put_session(struct trace *trace, uint32_t ordinal, const void *entry)
{
    if (ordinal == 0 && entry)
        replace(trace_session(trace), entry, sizeof(struct trace_session));
    return 0;
}

static const struct field sampling_fields[] = {
    UNSIGNED(struct trace_sampling, rung),
    FLAG(struct trace_sampling, off_cpu),
    UNSIGNED(struct trace_sampling, frequency_hz),
    DURATION(struct trace_sampling, off_cpu_threshold_ns),
    STRING(struct trace_sampling, reason),
    STRING(struct trace_sampling, hint),
    UNSIGNED(struct trace_sampling, first_hz),
    FLAG(struct trace_sampling, slowed),
};

static const void *get_sampling(const struct trace *trace, uint32_t ordinal)
{
    (void)ordinal;
    return trace_sampling_get(trace);
}

static int put_sampling(struct trace *trace, uint32_t ordinal, const void *entry)
{
    if (ordinal == 0 && entry)
        replace(trace_sampling(trace), entry, sizeof(struct trace_sampling));
    return 0;
}

static const struct field fact_fields[] = {
    STRING(struct trace_fact, name),
    UNSIGNED(struct trace_fact, kind),
    UNSIGNED(struct trace_fact, value),
};

GET(get_fact, trace_fact_get)

REPLACED(put_fact, struct trace_fact, trace_fact_count, trace_fact_add(trace), trace_fact)

/* ---- Hosts, clocks ---- */

static const struct field host_fields[] = {
    BYTES(struct trace_host, boot_id),      STRING(struct trace_host, name),
    STRING(struct trace_host, kernel),      SIGNED(struct trace_host, rank),
    DURATION(struct trace_host, offset_ns), DURATION(struct trace_host, error_ns),
    UNSIGNED(struct trace_host, drift),
};

GET(get_host, trace_host_get)

static int put_host(struct trace *trace, uint32_t ordinal, const void *entry)
{
    int64_t added = ordinal < trace_host_count(trace) ? 0 : trace_host_add(trace);
    if (added < 0 || !entry)
        return added < 0 ? (int)added : 0;
    struct trace_host *host = trace_host(trace, ordinal);
    replace(host, entry, sizeof(*host));
    if (!(host->drift >= -DRIFT_MAX && host->drift <= DRIFT_MAX))
        host->drift = 0;
    return 0;
}

static const struct field clock_fields[] = {
    REFERENCE(struct trace_clock, host, FIELD_UNSIGNED, STORE_DEFINE_HOST, REFERENCE_NEEDED),
    UNSIGNED(struct trace_clock, kind),
};

GET(get_clock, trace_clock_get)

REPLACED(put_clock, struct trace_clock, trace_clock_count,
         trace_clock_add(trace, 0, (enum clock_kind)0), trace_clock)

static const struct field anchor_fields[] = {
    REFERENCE(struct trace_anchor, clock, FIELD_UNSIGNED, STORE_DEFINE_CLOCK, REFERENCE_NEEDED),
    UNSIGNED(struct trace_anchor, raw),
    TIME(struct trace_anchor, ns),
    DURATION(struct trace_anchor, error_ns),
};

GET(get_anchor, trace_anchor_get)

ADDED(put_anchor, trace_anchor_add)

/* ---- Streams ---- */

static const struct field stream_fields[] = {
    STRING(struct trace_stream, name),
};

GET(get_stream, trace_stream_get)

REPLACED(put_stream, struct trace_stream, trace_stream_count, trace_stream_add(trace, 0),
         trace_stream)

/* ---- Processes, threads ---- */

static const struct field process_fields[] = {
    SIGNED(struct trace_process, pid),
    SIGNED(struct trace_process, ppid),
    SIGNED(struct trace_process, ns_pid),
    UNSIGNED(struct trace_process, pid_ns),
    UNSIGNED(struct trace_process, identity),
    REFERENCE(struct trace_process, host, FIELD_UNSIGNED, STORE_DEFINE_HOST, REFERENCE_ORDINAL),
    REFERENCE(struct trace_process, parent, FIELD_SIGNED, STORE_DEFINE_PROCESS, REFERENCE_SIGNED),
    FLAG(struct trace_process, forked),
    TIME(struct trace_process, start_ns),
    TIME(struct trace_process, end_ns),
    TIME(struct trace_process, fork_ns),
    REFERENCE(struct trace_process, fork_thread, FIELD_UNSIGNED, STORE_DEFINE_THREAD,
              REFERENCE_NEXT),
    UNSIGNED(struct trace_process, end),
    SIGNED(struct trace_process, end_value),
    UNSIGNED(struct trace_process, uid),
    STRING(struct trace_process, name),
    STRING(struct trace_process, comm),
    STRING(struct trace_process, cmdline),
    UNSIGNED(struct trace_process, runtime_version),
    ARRAY(struct trace_process, lost, LOSS_COUNT),
    ARRAY(struct trace_process, misuse, MISUSE_COUNT),
    UNSIGNED(struct trace_process, peak_bytes),
    UNSIGNED(struct trace_process, event_count),
    STRING(struct trace_process, note),
    REFERENCE(struct trace_process, note_thread, FIELD_UNSIGNED, STORE_DEFINE_THREAD,
              REFERENCE_NEXT),
    TIME(struct trace_process, note_ns),
    ARRAY(struct trace_process, queued, QUEUED_COUNT),
    TIME(struct trace_process, calls_end_ns),
};

GET(get_process, trace_process_get)

REPLACED(put_process, struct trace_process, trace_process_count, trace_process_add(trace),
         trace_process)

static const struct field thread_fields[] = {
    REFERENCE(struct trace_thread, process, FIELD_UNSIGNED, STORE_DEFINE_PROCESS, REFERENCE_NEEDED),
    UNSIGNED(struct trace_thread, serial),
    SIGNED(struct trace_thread, tid),
    STRING(struct trace_thread, name),
    STRING(struct trace_thread, comm),
    TIME(struct trace_thread, first_ns),
    TIME(struct trace_thread, last_ns),
    UNSIGNED(struct trace_thread, event_count),
    ARRAY(struct trace_thread, lost, LOSS_COUNT),
    FLAG(struct trace_thread, probed),
    FLAG(struct trace_thread, unnumbered),
};

GET(get_thread, trace_thread_get)

REPLACED(put_thread, struct trace_thread, trace_thread_count, trace_thread_add(trace, 0),
         trace_thread)

/* ---- Added up: refusals, filters, units ---- */

static const struct field refusal_fields[] = {
    SIGNED(struct trace_refusal, pid),
    STRING(struct trace_refusal, comm),
    STRING(struct trace_refusal, reason),
};

GET(get_refusal, trace_refusal_get)

ADDED(put_refusal, trace_refusal_add)

static const struct field filter_fields[] = {
    TIME(struct trace_filter, time_ns),
    STRING(struct trace_filter, rules),
};

GET(get_filter, trace_filter_get)

ADDED(put_filter, trace_filter_add)

static const struct field unit_fields[] = {
    STRING(struct trace_unit, counter),
    STRING(struct trace_unit, domain),
    STRING(struct trace_unit, unit),
};

GET(get_unit, trace_unit_get)

static int put_unit(struct trace *trace, uint32_t ordinal, const void *entry)
{
    const struct trace_unit *unit = entry;
    (void)ordinal;
    return unit ? trace_unit_set(trace, unit->domain, unit->counter, unit->unit) : 0;
}

/* ---- Modules, sources, labels ---- */

static const struct field module_fields[] = {
    STRING(struct code_module, path),
    UNSIGNED(struct code_module, kind),
    UNSIGNED(struct code_module, build_id_size),
    BYTES(struct code_module, build_id),
};

IN_STACKS(count_modules, stacks_module_count, get_module, stacks_get_module)

APPENDED(put_module, struct code_module, stacks_append_module)

static const struct field source_fields[] = {
    STRING(struct source, path),
    BYTES(struct source, hash),
    STRING(struct source, content),
};

IN_STACKS(count_sources, stacks_source_count, get_source, stacks_get_source)

static int put_source(struct trace *trace, uint32_t ordinal, const void *entry)
{
    return stacks_put_source(trace_stacks(trace), ordinal, entry) < 0 ? -ENOMEM : 0;
}

static const struct field label_fields[] = {
    UNSIGNED(struct label, kind),
    STRING(struct label, text),
    REFERENCE(struct label, source, FIELD_UNSIGNED, STORE_DEFINE_SOURCE, REFERENCE_ORDINAL),
    REFERENCE(struct label, module, FIELD_UNSIGNED, STORE_DEFINE_MODULE, REFERENCE_ORDINAL),
    SIGNED(struct label, first_line),
    UNSIGNED(struct label, flags),
};

IN_STACKS(count_labels, stacks_label_count, get_label, stacks_get_label)
APPENDED(put_label, struct label, stacks_append_label)

static const struct field label_name_fields[] = {
    STRING(struct trace_label_name, string),
    REFERENCE(struct trace_label_name, label, FIELD_UNSIGNED, STORE_DEFINE_LABEL,
              REFERENCE_ORDINAL),
};

GET(get_label_name, trace_label_name_get)

static int put_label_name(struct trace *trace, uint32_t ordinal, const void *entry)
{
    static const struct trace_label_name nothing;
    (void)ordinal;
    return trace_label_name_append(trace, entry ? entry : &nothing);
}

/* ---- Frames, stacks, range paths ---- */

static const struct field frame_fields[] = {
    UNSIGNED(struct frame, kind),
    REFERENCE(struct frame, label, FIELD_UNSIGNED, STORE_DEFINE_LABEL, REFERENCE_ORDINAL),
    REFERENCE(struct frame, module, FIELD_UNSIGNED, STORE_DEFINE_MODULE, REFERENCE_ORDINAL),
    SIGNED(struct frame, line),
    UNSIGNED(struct frame, address),
    UNSIGNED(struct frame, column),
    UNSIGNED(struct frame, end_column),
    REFERENCE(struct frame, caller, FIELD_UNSIGNED, STORE_DEFINE_FRAME, REFERENCE_ORDINAL),
};

static uint32_t count_frames(const struct trace *trace)
{
    return stacks_frame_count(trace_stacks_get(trace));
}

/* Without the label, if it is stored apart. */
static const void *get_frame(const struct trace *trace, uint32_t ordinal)
{
    static _Thread_local struct frame bare;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), ordinal);
    if (!frame_is_named_late(frame))
        return frame;
    bare = *frame;
    bare.label = 0;
    bare.line = 0;
    bare.column = bare.end_column = 0;
    bare.caller = 0;
    return &bare;
}

APPENDED(put_frame, struct frame, stacks_append_frame)

static const struct field name_fields[] = {
    REFERENCE(struct frame_name, frame, FIELD_UNSIGNED, STORE_DEFINE_FRAME, REFERENCE_ORDINAL),
    REFERENCE(struct frame_name, label, FIELD_UNSIGNED, STORE_DEFINE_LABEL, REFERENCE_ORDINAL),
    SIGNED(struct frame_name, line),
    UNSIGNED(struct frame_name, column),
    UNSIGNED(struct frame_name, end_column),
    REFERENCE(struct frame_name, caller, FIELD_UNSIGNED, STORE_DEFINE_FRAME, REFERENCE_ORDINAL),
};

IN_STACKS(count_names, stacks_name_count, get_name, stacks_get_name)

static int put_name(struct trace *trace, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return entry && stacks_name_frame(trace_stacks(trace), entry) == -ENOMEM ? -ENOMEM : 0;
}

static const struct field stack_fields[] = {
    REFERENCE(struct stack, parent, FIELD_UNSIGNED, STORE_DEFINE_STACK, REFERENCE_ORDINAL),
    REFERENCE(struct stack, frame, FIELD_UNSIGNED, STORE_DEFINE_FRAME, REFERENCE_ORDINAL),
};

IN_STACKS(count_stacks, stacks_stack_count, get_stack, stacks_get_stack)
APPENDED(put_stack, struct stack, stacks_append_stack)

static const struct field path_fields[] = {
    REFERENCE(struct range_path, parent, FIELD_UNSIGNED, STORE_DEFINE_PATH, REFERENCE_ORDINAL),
    STRING(struct range_path, name),
    UNSIGNED(struct range_path, kind),
    REFERENCE(struct range_path, scope, FIELD_UNSIGNED, STORE_DEFINE_SCOPE, REFERENCE_ORDINAL),
};

IN_STACKS(count_paths, stacks_path_count, get_path, stacks_get_path)

static int put_path(struct trace *trace, uint32_t ordinal, const void *entry)
{
    struct range_path path = {0};
    (void)ordinal;
    if (entry)
        memcpy(&path, entry, sizeof(path));
    if (path.kind > RANGE_PATH_INHERITED)
        path.kind = RANGE_PATH_THREAD; /* of a later version */
    return stacks_append_path(trace_stacks(trace), &path) < 0 ? -ENOMEM : 0;
}

/* ---- Lanes ---- */

static const struct field lane_fields[] = {
    UNSIGNED(struct trace_lane, id),
    REFERENCE(struct trace_lane, process, FIELD_UNSIGNED, STORE_DEFINE_PROCESS, REFERENCE_ORDINAL),
    STRING(struct trace_lane, name),
    REFERENCE(struct trace_lane, parent, FIELD_UNSIGNED, STORE_DEFINE_LANE, REFERENCE_NEXT),
    UNSIGNED(struct trace_lane, kind),
};

GET(get_lane, trace_lane_get)

static int put_lane(struct trace *trace, uint32_t ordinal, const void *entry)
{
    const struct trace_lane *lane = entry;
    int64_t added = ordinal < trace_lane_count(trace) ? 0 : trace_lane_add(trace, 0);
    if (added < 0 || !lane)
        return added < 0 ? (int)added : 0;
    replace(trace_lane(trace, ordinal), lane, sizeof(*lane));
    return trace_lane_set_id(trace, ordinal, lane->id);
}

/* ---- Devices ---- */

static const struct field device_fields[] = {
    REFERENCE(struct trace_device, lane, FIELD_UNSIGNED, STORE_DEFINE_LANE, REFERENCE_NEXT),
    REFERENCE(struct trace_device, thread, FIELD_UNSIGNED, STORE_DEFINE_THREAD, REFERENCE_NEXT),
    STRING(struct trace_device, name),
    STRING(struct trace_device, uuid),
    STRING(struct trace_device, card),
    STRING(struct trace_device, place),
};

GET(get_device, trace_device_get)
REPLACED(put_device, struct trace_device, trace_device_count, trace_device_add(trace), trace_device)

/* ---- Value types, sample sets ---- */

/* Numbers from here on may be defined: those of format 1.0 are fixed. */
enum { FIRST_VALUE_TYPE = VALUE_TYPE_FIXED, FIRST_SAMPLE_SET = SAMPLE_SET_FIXED };

static const struct field value_type_fields[] = {
    STRING(struct value_type, name),
    STRING(struct value_type, unit),
    UNSIGNED(struct value_type, sum),
};

IN_SETS(count_value_types, value_types_count, get_value_type, value_type_get)

static int put_value_type(struct trace *trace, uint32_t number, const void *entry)
{
    static const struct value_type none;
    return value_types_define(trace_sets(trace), number, entry ? entry : &none);
}

static const struct field sample_set_fields[] = {
    STRING(struct sample_set, name),
    UNSIGNED(struct sample_set, period),
    UNSIGNED(struct sample_set, flags),
    UNSIGNED(struct sample_set, count),
    {offsetof(struct sample_set, types), sizeof(uint16_t), FIELD_UNSIGNED, SAMPLE_VALUES_MAX,
     STORE_DEFINE_VALUE_TYPE, REFERENCE_NUMBER},
};

IN_SETS(count_sample_sets, sample_sets_count, get_sample_set, sample_set_get)

static int put_sample_set(struct trace *trace, uint32_t number, const void *entry)
{
    static const struct sample_set none;
    return sample_sets_define(trace_sets(trace), number, entry ? entry : &none);
}

/* clang-format off */
const struct table definition_tables[STORE_DEFINE_COUNT] = {
    [STORE_DEFINE_STRING] = {FIELDS(string_fields), sizeof(struct trace_string), 1, MANY_HOLES,
        false, false, false, trace_string_count, get_string, put_string},
    [STORE_DEFINE_SESSION] = {FIELDS(session_fields), sizeof(struct trace_session), 0, 0,
        true, false, true, count_one, get_session, put_session},
    [STORE_DEFINE_PROCESS] = {FIELDS(process_fields), sizeof(struct trace_process), 0, FEW_HOLES,
        true, true, false, trace_process_count, get_process, put_process},
    [STORE_DEFINE_THREAD] = {FIELDS(thread_fields), sizeof(struct trace_thread), 0, FEW_HOLES,
        true, true, false, trace_thread_count, get_thread, put_thread},
    [STORE_DEFINE_REFUSAL] = {FIELDS(refusal_fields), sizeof(struct trace_refusal), 0, 0,
        false, false, true, trace_refusal_count, get_refusal, put_refusal},
    [STORE_DEFINE_SAMPLING] = {FIELDS(sampling_fields), sizeof(struct trace_sampling), 0, 0,
        true, true, true, count_one, get_sampling, put_sampling},
    [STORE_DEFINE_FACT] = {FIELDS(fact_fields), sizeof(struct trace_fact), 0, FEW_HOLES,
        true, true, false, trace_fact_count, get_fact, put_fact},
    [STORE_DEFINE_FRAME] = {FIELDS(frame_fields), sizeof(struct frame), 1, MANY_HOLES,
        false, false, false, count_frames, get_frame, put_frame},
    [STORE_DEFINE_STACK] = {FIELDS(stack_fields), sizeof(struct stack), 1, MANY_HOLES,
        false, false, false, count_stacks, get_stack, put_stack},
    [STORE_DEFINE_PATH] = {FIELDS(path_fields), sizeof(struct range_path), 1, MANY_HOLES,
        false, false, false, count_paths, get_path, put_path},
    [STORE_DEFINE_LANE] = {FIELDS(lane_fields), sizeof(struct trace_lane), 0, TRACE_LANES_MAX,
        true, false, false, trace_lane_count, get_lane, put_lane},
    [STORE_DEFINE_UNIT] = {FIELDS(unit_fields), sizeof(struct trace_unit), 0, 0,
        true, false, true, trace_unit_count, get_unit, put_unit},
    [STORE_DEFINE_FILTER] = {FIELDS(filter_fields), sizeof(struct trace_filter), 0, 0,
        false, false, true, trace_filter_count, get_filter, put_filter},
    [STORE_DEFINE_SCOPE] = {FIELDS(scope_fields), sizeof(struct scope), 1, TRACE_SCOPES_MAX,
        false, false, false, trace_scope_count, get_scope, put_scope},
    [STORE_DEFINE_HOST] = {FIELDS(host_fields), sizeof(struct trace_host), 0, FEW_HOLES,
        true, true, false, trace_host_count, get_host, put_host},
    [STORE_DEFINE_CLOCK] = {FIELDS(clock_fields), sizeof(struct trace_clock), 0, FEW_HOLES,
        true, true, false, trace_clock_count, get_clock, put_clock},
    [STORE_DEFINE_ANCHOR] = {FIELDS(anchor_fields), sizeof(struct trace_anchor), 0, 0,
        false, false, true, trace_anchor_count, get_anchor, put_anchor},
    [STORE_DEFINE_STREAM] = {FIELDS(stream_fields), sizeof(struct trace_stream), 0, FEW_HOLES,
        true, true, false, trace_stream_count, get_stream, put_stream},
    [STORE_DEFINE_NAME] = {FIELDS(name_fields), sizeof(struct frame_name), 0, 0,
        false, false, true, count_names, get_name, put_name},
    [STORE_DEFINE_VALUE_TYPE] = {FIELDS(value_type_fields), sizeof(struct value_type),
        FIRST_VALUE_TYPE, VALUE_TYPE_MAX, false, false, false, count_value_types, get_value_type,
        put_value_type},
    [STORE_DEFINE_SAMPLE_SET] = {FIELDS(sample_set_fields), sizeof(struct sample_set),
        FIRST_SAMPLE_SET, SAMPLE_SET_MAX, false, false, false, count_sample_sets, get_sample_set,
        put_sample_set},
    [STORE_DEFINE_MODULE] = {FIELDS(module_fields), sizeof(struct code_module), 1, MANY_HOLES,
        false, false, false, count_modules, get_module, put_module},
    [STORE_DEFINE_SOURCE] = {FIELDS(source_fields), sizeof(struct source), 1, MANY_HOLES,
        true, false, false, count_sources, get_source, put_source},
    [STORE_DEFINE_LABEL] = {FIELDS(label_fields), sizeof(struct label), 1, MANY_HOLES,
        false, false, false, count_labels, get_label, put_label},
    [STORE_DEFINE_LABEL_NAME] = {FIELDS(label_name_fields), sizeof(struct trace_label_name), 0,
        MANY_HOLES, false, false, false, trace_label_name_count, get_label_name, put_label_name},
    [STORE_DEFINE_DEVICE] = {FIELDS(device_fields), sizeof(struct trace_device), 0, FEW_HOLES,
        true, false, false, trace_device_count, get_device, put_device},
};
/* clang-format on */
