/* SPDX-License-Identifier: MIT */
/* The tables of oracle_text.h: one row for each field that a recording's text has. */
#include "oracle_text.h"

#include <stddef.h>
#include <string.h>

#define AT(type, member) offsetof(struct type, member)

const struct text_field session_fields[] = {
    {"id", AT(trace_session, id), FIELD_U64, 0},
    {"parent_id", AT(trace_session, parent_id), FIELD_U64, 0},
    {"hostname", AT(trace_session, hostname), FIELD_STRING, 0},
    {"kernel", AT(trace_session, kernel), FIELD_STRING, 0},
    {"command", AT(trace_session, command), FIELD_STRING, 0},
    {"annot_version", AT(trace_session, annot_version), FIELD_STRING, 0},
    {"clock", AT(trace_session, clock), FIELD_STRING, 0},
    {"begin_ns", AT(trace_session, begin_ns), FIELD_I64, 0},
    {"end_ns", AT(trace_session, end_ns), FIELD_I64, 0},
    {"begin_realtime_ns", AT(trace_session, begin_realtime_ns), FIELD_I64, 0},
    {"command_status", AT(trace_session, command_status), FIELD_I32, 0},
    {"recovered", AT(trace_session, recovered), FIELD_BOOL, 0},
    {"peak_bytes", AT(trace_session, peak_bytes), FIELD_U64, 0},
    {"nested", AT(trace_session, nested), FIELD_STRING, 0},
    {"processors", AT(trace_session, processors), FIELD_U32, 0},
    {0},
};

/* Causes below LOSS_MISSING are stored. */
const struct text_field process_fields[] = {
    {"pid", AT(trace_process, pid), FIELD_I32, 0},
    {"ppid", AT(trace_process, ppid), FIELD_I32, 0},
    {"ns_pid", AT(trace_process, ns_pid), FIELD_I32, 0},
    {"pid_ns", AT(trace_process, pid_ns), FIELD_U64, 0},
    {"identity", AT(trace_process, identity), FIELD_U64, 0},
    {"parent", AT(trace_process, parent), FIELD_I32, 0},
    {"forked", AT(trace_process, forked), FIELD_BOOL, 0},
    {"start_ns", AT(trace_process, start_ns), FIELD_I64, 0},
    {"end_ns", AT(trace_process, end_ns), FIELD_I64, 0},
    {"fork_ns", AT(trace_process, fork_ns), FIELD_I64, 0},
    {"fork_thread", AT(trace_process, fork_thread), FIELD_U32, 0},
    {"end", AT(trace_process, end), FIELD_U8, 0},
    {"end_value", AT(trace_process, end_value), FIELD_I32, 0},
    {"uid", AT(trace_process, uid), FIELD_U32, 0},
    {"name", AT(trace_process, name), FIELD_STRING, 0},
    {"comm", AT(trace_process, comm), FIELD_STRING, 0},
    {"cmdline", AT(trace_process, cmdline), FIELD_STRING, 0},
    {"runtime_version", AT(trace_process, runtime_version), FIELD_U32, 0},
    {"lost", AT(trace_process, lost), FIELD_COUNTS, LOSS_MISSING},
    {"misuse", AT(trace_process, misuse), FIELD_COUNTS, MISUSE_COUNT},
    {"peak_bytes", AT(trace_process, peak_bytes), FIELD_U64, 0},
    {"event_count", AT(trace_process, event_count), FIELD_U64, 0},
    {"note", AT(trace_process, note), FIELD_STRING, 0},
    {"note_thread", AT(trace_process, note_thread), FIELD_U32, 0},
    {"note_ns", AT(trace_process, note_ns), FIELD_I64, 0},
    {0},
};

const struct text_field thread_fields[] = {
    {"process", AT(trace_thread, process), FIELD_U32, 0},
    {"serial", AT(trace_thread, serial), FIELD_U32, 0},
    {"tid", AT(trace_thread, tid), FIELD_I32, 0},
    {"name", AT(trace_thread, name), FIELD_STRING, 0},
    {"comm", AT(trace_thread, comm), FIELD_STRING, 0},
    {"first_ns", AT(trace_thread, first_ns), FIELD_I64, 0},
    {"last_ns", AT(trace_thread, last_ns), FIELD_I64, 0},
    {"event_count", AT(trace_thread, event_count), FIELD_U64, 0},
    {"lost", AT(trace_thread, lost), FIELD_COUNTS, LOSS_MISSING},
    {0},
};

const struct text_field track_fields[] = {
    {"process", AT(trace_lane, process), FIELD_U32, 0},
    {"id", AT(trace_lane, id), FIELD_U64, 0},
    {"name", AT(trace_lane, name), FIELD_STRING, 0},
    {"parent", AT(trace_lane, parent), FIELD_U32, 0},
    {0},
};

const struct text_field unit_fields[] = {
    {"counter", AT(trace_unit, counter), FIELD_STRING, 0},
    {"domain", AT(trace_unit, domain), FIELD_STRING, 0},
    {"unit", AT(trace_unit, unit), FIELD_STRING, 0},
    {0},
};

const struct text_field refusal_fields[] = {
    {"pid", AT(trace_refusal, pid), FIELD_I32, 0},
    {"comm", AT(trace_refusal, comm), FIELD_STRING, 0},
    {"reason", AT(trace_refusal, reason), FIELD_STRING, 0},
    {0},
};

const struct text_field filter_fields[] = {
    {"time_ns", AT(trace_filter, time_ns), FIELD_I64, 0},
    {"rules", AT(trace_filter, rules), FIELD_STRING, 0},
    {0},
};

const struct text_field sampling_fields[] = {
    {"rung", AT(trace_sampling, rung), FIELD_U8, 0},
    {"off_cpu", AT(trace_sampling, off_cpu), FIELD_BOOL, 0},
    {"frequency_hz", AT(trace_sampling, frequency_hz), FIELD_U32, 0},
    {"off_cpu_threshold_ns", AT(trace_sampling, off_cpu_threshold_ns), FIELD_I64, 0},
    {"reason", AT(trace_sampling, reason), FIELD_STRING, 0},
    {"hint", AT(trace_sampling, hint), FIELD_STRING, 0},
    {"first_hz", AT(trace_sampling, first_hz), FIELD_U32, 0},
    {"slowed", AT(trace_sampling, slowed), FIELD_BOOL, 0},
    {0},
};

const struct text_field fact_fields[] = {
    {"kind", AT(trace_fact, kind), FIELD_U8, 0},
    {"value", AT(trace_fact, value), FIELD_U64, 0},
    {"name", AT(trace_fact, name), FIELD_STRING, 0},
    {0},
};

const struct text_field frame_fields[] = {
    {"function", AT(frame_line, function), FIELD_STRING, 0},
    {"file", AT(frame_line, file), FIELD_STRING, 0},
    {"module", AT(frame_line, module), FIELD_STRING, 0},
    {"line", AT(frame_line, line), FIELD_I32, 0},
    {"first_line", AT(frame_line, first_line), FIELD_I32, 0},
    {"address", AT(frame_line, address), FIELD_U64, 0},
    {0},
};

const struct text_field stack_fields[] = {
    {"parent", AT(stack, parent), FIELD_STACK, 0},
    {"frame", AT(stack, frame), FIELD_FRAME, 0},
    {0},
};

const struct text_field path_fields[] = {
    {"parent", AT(range_path, parent), FIELD_PATH, 0},
    {"name", AT(range_path, name), FIELD_STRING, 0},
    {"scope", AT(range_path, scope), FIELD_SCOPE, 0},
    {0},
};

/* Id, depth, value and colour depend on the kind: see oracle_dump.c and oracle_load.c. */
const struct text_field event_fields[] = {
    {"time", AT(event, time_ns), FIELD_SINCE, 0}, {"name", AT(event, name), FIELD_STRING, 0},
    {"scope", AT(event, scope), FIELD_SCOPE, 0},  {"level", AT(event, level), FIELD_U8, 0},
    {"end", AT(event, end_ns), FIELD_SINCE, 0},   {0},
};

const struct text_field scope_fields[] = {
    {"domain", AT(scope, domain), FIELD_STRING, 0},
    {"category", AT(scope, category), FIELD_STRING, 0},
    {"observer", AT(scope, observer), FIELD_U16, 0},
    {"role", AT(scope, role), FIELD_U16, 0},
    {0},
};

const struct text_field sample_fields[] = {
    {"time", AT(sample_line, sample.time_ns), FIELD_SINCE, 0},
    {"thread", AT(sample_line, sample.thread), FIELD_U32, 0},
    {"stack", AT(sample_line, sample.stack), FIELD_STACK, 0},
    {"path", AT(sample_line, sample.path), FIELD_PATH, 0},
    {"cpu", AT(sample_line, sample.cpu), FIELD_U16, 0},
    {"reason", AT(sample_line, sample.reason), FIELD_U8, 0},
    {"flags", AT(sample_line, sample.flags), FIELD_U8, 0},
    {"native_end", AT(sample_line, sample.native_end), FIELD_U8, 0},
    {"python_end", AT(sample_line, sample.python_end), FIELD_U8, 0},
    {"weight", AT(sample_line, weight_ns), FIELD_U64, 0},
    {"wake", AT(sample_line, wake_ns), FIELD_SINCE, 0},
    {"end", AT(sample_line, sample.end_ns), FIELD_SINCE, 0},
    {"id", AT(sample_line, sample.id), FIELD_U64, 0},
    {"set", AT(sample_line, sample.set), FIELD_U16, 0},
    {0},
};

const struct text_field type_fields[] = {
    {"name", AT(value_type, name), FIELD_STRING, 0},
    {"unit", AT(value_type, unit), FIELD_STRING, 0},
    {"sum", AT(value_type, sum), FIELD_U8, 0},
    {0},
};

/* A set's line also has its types, as `types=1,64`. */
const struct text_field set_fields[] = {
    {"name", AT(sample_set, name), FIELD_STRING, 0},
    {"period", AT(sample_set, period), FIELD_U32, 0},
    {"flags", AT(sample_set, flags), FIELD_U8, 0},
    {0},
};

const char *const event_words[EVENT_KINDS] = {
    [EVENT_PUSH] = "push",
    [EVENT_POP] = "pop",
    [EVENT_START] = "start",
    [EVENT_END] = "stop",
    [EVENT_MARK] = "mark",
    [EVENT_COUNTER] = "counter",
    [EVENT_LOST] = "lost",
    [EVENT_EDGE] = "edge",
    [EVENT_FLOW_BEGIN] = "flow_begin",
    [EVENT_FLOW_STEP] = "flow_step",
    [EVENT_FLOW_END] = "flow_end",
    [EVENT_TRACK_BEGIN] = "track_begin",
    [EVENT_TRACK_END] = "track_end",
    [EVENT_TRACK_MARK] = "track_mark",
    [EVENT_TRACK_HIDDEN] = "track_hidden",
    [EVENT_SPAN] = "span",
};

const char *const value_words[] = {
    [VALUE_INT64] = "int64", [VALUE_UINT64] = "uint64", [VALUE_DOUBLE] = "double_bits",
    [VALUE_BOOL] = "bool",   [VALUE_STRING] = "text",
};

const char *const sample_words[] = {
    [SAMPLE_SET_CPU] = "cpu",
    [SAMPLE_SET_OFF_CPU] = "off_cpu",
};

const char *const frame_words[] = {
    [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",       [FRAME_KERNEL] = "kernel",
    [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "collector", [FRAME_NOTE] = "note",
};

const char *const path_words[] = {
    [RANGE_PATH_THREAD] = "thread",         [RANGE_PATH_TRACK] = "track",
    [RANGE_PATH_INSIDE] = "inside",         [RANGE_PATH_INHERITED] = "inherited",
    [RANGE_PATH_UNRECORDED] = "unrecorded",
};

int word_number(const char *const *words, unsigned count, const char *word)
{
    for (unsigned i = 0; i < count; i++)
        if (words[i] && strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

uint64_t field_get(const struct text_field *field, const void *object)
{
    const char *at = (const char *)object + field->offset;
    switch (field->type) {
    case FIELD_U8:
        return *(const uint8_t *)at;
    case FIELD_U16:
        return *(const uint16_t *)at;
    case FIELD_BOOL:
        return *(const bool *)at;
    case FIELD_I32:
        return (uint64_t)(int64_t) * (const int32_t *)at;
    case FIELD_I64:
    case FIELD_SINCE:
    case FIELD_U64:
        return *(const uint64_t *)at;
    default:
        return *(const uint32_t *)at;
    }
}

void field_set(const struct text_field *field, void *object, uint64_t value)
{
    char *at = (char *)object + field->offset;
    switch (field->type) {
    case FIELD_U8:
        *(uint8_t *)at = (uint8_t)value;
        break;
    case FIELD_U16:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case FIELD_BOOL:
        *(bool *)at = value != 0;
        break;
    case FIELD_I64:
    case FIELD_SINCE:
    case FIELD_U64:
        *(uint64_t *)at = value;
        break;
    default: /* 32 bits, signed or not */
        *(uint32_t *)at = (uint32_t)value;
    }
}
