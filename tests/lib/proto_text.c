/* SPDX-License-Identifier: MIT */
/* The decoder of proto_text.h: a table of fields, and one loop over the wire format. */
#include "proto_text.h"

#include "perfetto_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum message {
    NUMBER, /* a varint instead of a message */
    FIXED64,
    REAL,
    TEXT,
    TRACE,
    PACKET,
    DEFAULTS,
    EVENT_DEFAULTS,
    SNAPSHOT,
    CLOCK,
    EVENT,
    ANNOTATION,
    INTERNED,
    ENTRY,
    TRACK,
    PROCESS,
    THREAD,
    COUNTER,
    SYSTEM,
    UTSNAME,
    PROFILE,
    TASK,
    FRAME,
    CALLSTACK,
    MAPPING,
    FTRACE,
    FTRACE_EVENT,
    BLOCKED,
    MESSAGE,
    PACKED, /* varints */
    PP,     /* pprof's */
    PP_TYPE,
    PP_SAMPLE,
    PP_LABEL,
    PP_MAPPING,
    PP_LOCATION,
    PP_LINE,
    PP_FUNCTION,
};

static const struct field {
    enum message in;
    uint32_t number;
    const char *name;
    enum message is;
} fields[] = {
    {TRACE, PX_TRACE_PACKET, "packet", PACKET},
    {PACKET, PX_PACKET_CLOCK_SNAPSHOT, "clock_snapshot", SNAPSHOT},
    {PACKET, PX_PACKET_TIMESTAMP, "timestamp", NUMBER},
    {PACKET, PX_PACKET_SEQUENCE_ID, "sequence_id", NUMBER},
    {PACKET, PX_PACKET_TRACK_EVENT, "track_event", EVENT},
    {PACKET, PX_PACKET_INTERNED_DATA, "interned_data", INTERNED},
    {PACKET, PX_PACKET_SEQUENCE_FLAGS, "sequence_flags", NUMBER},
    {PACKET, PX_PACKET_SYSTEM_INFO, "system_info", SYSTEM},
    {PACKET, PX_PACKET_TIMESTAMP_CLOCK_ID, "timestamp_clock_id", NUMBER},
    {PACKET, PX_PACKET_DEFAULTS, "defaults", DEFAULTS},
    {PACKET, PX_PACKET_TRACK_DESCRIPTOR, "track_descriptor", TRACK},
    {PACKET, PX_PACKET_TASK_STATE, "task_state", TASK},
    {PACKET, PX_PACKET_FTRACE_EVENTS, "ftrace_events", FTRACE},
    {PACKET, PX_PACKET_THREAD_DESCRIPTOR, "thread_descriptor", THREAD},
    {PACKET, PX_PACKET_STREAMING_PROFILE, "streaming_profile", PROFILE},
    {THREAD, PX_THREAD_REFERENCE_TIMESTAMP_US, "reference_timestamp_us", NUMBER},
    {PROFILE, PX_PROFILE_CALLSTACK, "callstack", NUMBER},
    {PROFILE, PX_PROFILE_TIMESTAMP_DELTA_US, "timestamp_delta_us", NUMBER},
    {TASK, PX_TASK_CPU, "cpu", NUMBER},
    {TASK, PX_TASK_TID, "tid", NUMBER},
    {TASK, PX_TASK_STATE, "state", NUMBER},
    {TASK, PX_TASK_PRIORITY, "priority", NUMBER},
    {FTRACE, PX_FTRACE_CPU, "cpu", NUMBER},
    {FTRACE, PX_FTRACE_EVENT, "event", FTRACE_EVENT},
    {FTRACE, PX_FTRACE_CLOCK, "clock", NUMBER},
    {FTRACE_EVENT, PX_FTRACE_EVENT_TIMESTAMP, "timestamp", NUMBER},
    {FTRACE_EVENT, PX_FTRACE_EVENT_PID, "pid", NUMBER},
    {FTRACE_EVENT, PX_FTRACE_EVENT_BLOCKED_REASON, "blocked_reason", BLOCKED},
    {BLOCKED, PX_BLOCKED_PID, "pid", NUMBER},
    {BLOCKED, PX_BLOCKED_CALLER, "caller", NUMBER},
    {BLOCKED, PX_BLOCKED_IO_WAIT, "io_wait", NUMBER},
    {INTERNED, PX_INTERNED_FUNCTION_NAMES, "function_name", ENTRY},
    {INTERNED, PX_INTERNED_FRAMES, "frame", FRAME},
    {INTERNED, PX_INTERNED_CALLSTACKS, "callstack", CALLSTACK},
    {INTERNED, PX_INTERNED_MAPPING_PATHS, "mapping_path", ENTRY},
    {INTERNED, PX_INTERNED_MAPPINGS, "mapping", MAPPING},
    {INTERNED, PX_INTERNED_KERNEL_SYMBOLS, "kernel_symbol", ENTRY},
    {FRAME, PX_INTERNED_IID, "iid", NUMBER},
    {FRAME, PX_FRAME_FUNCTION_NAME, "function_name", NUMBER},
    {FRAME, PX_FRAME_MAPPING, "mapping", NUMBER},
    {FRAME, PX_FRAME_REL_PC, "rel_pc", NUMBER},
    {CALLSTACK, PX_INTERNED_IID, "iid", NUMBER},
    {CALLSTACK, PX_CALLSTACK_FRAMES, "frame", NUMBER},
    {MAPPING, PX_INTERNED_IID, "iid", NUMBER},
    {MAPPING, PX_MAPPING_PATHS, "path", NUMBER},
    {DEFAULTS, PX_DEFAULTS_TRACK_EVENT, "track_event", EVENT_DEFAULTS},
    {DEFAULTS, PX_DEFAULTS_TIMESTAMP_CLOCK_ID, "timestamp_clock_id", NUMBER},
    {EVENT_DEFAULTS, PX_EVENT_DEFAULTS_TRACK_UUID, "track_uuid", NUMBER},
    {SNAPSHOT, PX_CLOCK_SNAPSHOT_CLOCKS, "clock", CLOCK},
    {SNAPSHOT, PX_CLOCK_SNAPSHOT_PRIMARY, "primary", NUMBER},
    {CLOCK, PX_CLOCK_ID, "id", NUMBER},
    {CLOCK, PX_CLOCK_TIMESTAMP, "timestamp", NUMBER},
    {CLOCK, PX_CLOCK_IS_INCREMENTAL, "is_incremental", NUMBER},
    {EVENT, PX_EVENT_CATEGORY_IIDS, "category_iid", NUMBER},
    {EVENT, PX_EVENT_DEBUG_ANNOTATIONS, "annotation", ANNOTATION},
    {EVENT, PX_EVENT_TYPE, "type", NUMBER},
    {EVENT, PX_EVENT_NAME_IID, "name_iid", NUMBER},
    {EVENT, PX_EVENT_LOG_MESSAGE, "log_message", MESSAGE},
    {EVENT, PX_EVENT_FLOW_IDS, "flow_id", FIXED64},
    {EVENT, PX_EVENT_TERMINATING_FLOW_IDS, "terminating_flow_id", FIXED64},
    {MESSAGE, PX_LOG_BODY, "body_iid", NUMBER},
    {MESSAGE, PX_LOG_PRIORITY, "priority", NUMBER},
    {EVENT, PX_EVENT_TRACK_UUID, "track_uuid", NUMBER},
    {EVENT, PX_EVENT_CATEGORIES, "category", TEXT},
    {EVENT, PX_EVENT_NAME, "name", TEXT},
    {EVENT, PX_EVENT_COUNTER_VALUE, "counter_value", NUMBER},
    {EVENT, PX_EVENT_DOUBLE_COUNTER_VALUE, "double_counter_value", REAL},
    {ANNOTATION, PX_ANNOTATION_NAME_IID, "name_iid", NUMBER},
    {ANNOTATION, PX_ANNOTATION_BOOL, "bool", NUMBER},
    {ANNOTATION, PX_ANNOTATION_UINT, "uint", NUMBER},
    {ANNOTATION, PX_ANNOTATION_INT, "int", NUMBER},
    {ANNOTATION, PX_ANNOTATION_DOUBLE, "double", REAL},
    {ANNOTATION, PX_ANNOTATION_STRING, "string", TEXT},
    {ANNOTATION, PX_ANNOTATION_STRING_IID, "string_iid", NUMBER},
    {ANNOTATION, PX_ANNOTATION_NAME, "name", TEXT},
    {ANNOTATION, PX_ANNOTATION_DICT_ENTRIES, "entry", ANNOTATION},
    {ANNOTATION, PX_ANNOTATION_ARRAY_VALUES, "element", ANNOTATION},
    {INTERNED, PX_INTERNED_CATEGORIES, "category", ENTRY},
    {INTERNED, PX_INTERNED_EVENT_NAMES, "event_name", ENTRY},
    {INTERNED, PX_INTERNED_ANNOTATION_NAMES, "annotation_name", ENTRY},
    {INTERNED, PX_INTERNED_LOG_BODIES, "log_body", ENTRY},
    {INTERNED, PX_INTERNED_ANNOTATION_STRINGS, "annotation_string", ENTRY},
    {ENTRY, PX_INTERNED_IID, "iid", NUMBER},
    {ENTRY, PX_INTERNED_NAME, "name", TEXT},
    {TRACK, PX_TRACK_UUID, "uuid", NUMBER},
    {TRACK, PX_TRACK_NAME, "name", TEXT},
    {TRACK, PX_TRACK_PROCESS, "process", PROCESS},
    {TRACK, PX_TRACK_THREAD, "thread", THREAD},
    {TRACK, PX_TRACK_PARENT_UUID, "parent_uuid", NUMBER},
    {TRACK, PX_TRACK_COUNTER, "counter", COUNTER},
    {COUNTER, PX_COUNTER_UNIT_NAME, "unit", TEXT},
    {TRACK, PX_TRACK_CHILD_ORDERING, "child_ordering", NUMBER},
    {TRACK, PX_TRACK_SIBLING_ORDER_RANK, "rank", NUMBER},
    {TRACK, PX_TRACK_PROCESS_ORDERING, "process_ordering", NUMBER},
    {TRACK, PX_TRACK_THREAD_ORDERING, "thread_ordering", NUMBER},
    {PROCESS, PX_PROCESS_PID, "pid", NUMBER},
    {PROCESS, PX_PROCESS_CMDLINE, "cmdline", TEXT},
    {PROCESS, PX_PROCESS_LEGACY_SORT_INDEX, "sort_index", NUMBER},
    {PROCESS, PX_PROCESS_NAME, "name", TEXT},
    {PROCESS, PX_PROCESS_START_TIMESTAMP_NS, "start_timestamp_ns", NUMBER},
    {PROCESS, PX_PROCESS_LABELS, "label", TEXT},
    {THREAD, PX_THREAD_PID, "pid", NUMBER},
    {THREAD, PX_THREAD_TID, "tid", NUMBER},
    {THREAD, PX_THREAD_LEGACY_SORT_INDEX, "sort_index", NUMBER},
    {THREAD, PX_THREAD_NAME, "name", TEXT},
    {SYSTEM, PX_SYSTEM_UTSNAME, "utsname", UTSNAME},
    {UTSNAME, PX_UTSNAME_SYSNAME, "sysname", TEXT},
    {UTSNAME, PX_UTSNAME_RELEASE, "release", TEXT},
    {PP, 1, "sample_type", PP_TYPE},
    {PP, 2, "sample", PP_SAMPLE},
    {PP, 3, "mapping", PP_MAPPING},
    {PP, 4, "location", PP_LOCATION},
    {PP, 5, "function", PP_FUNCTION},
    {PP, 6, "string", TEXT},
    {PP, 9, "time_nanos", NUMBER},
    {PP, 10, "duration_nanos", NUMBER},
    {PP, 11, "period_type", PP_TYPE},
    {PP, 12, "period", NUMBER},
    {PP, 13, "comment", NUMBER},
    {PP, 14, "default_sample_type", NUMBER},
    {PP_TYPE, 1, "type", NUMBER},
    {PP_TYPE, 2, "unit", NUMBER},
    {PP_SAMPLE, 1, "location_id", PACKED},
    {PP_SAMPLE, 2, "value", PACKED},
    {PP_SAMPLE, 3, "label", PP_LABEL},
    {PP_LABEL, 1, "key", NUMBER},
    {PP_LABEL, 2, "str", NUMBER},
    {PP_MAPPING, 1, "id", NUMBER},
    {PP_MAPPING, 5, "filename", NUMBER},
    {PP_MAPPING, 6, "build_id", NUMBER},
    {PP_MAPPING, 7, "has_functions", NUMBER},
    {PP_MAPPING, 8, "has_filenames", NUMBER},
    {PP_MAPPING, 9, "has_line_numbers", NUMBER},
    {PP_MAPPING, 10, "has_inline_frames", NUMBER},
    {PP_LOCATION, 1, "id", NUMBER},
    {PP_LOCATION, 2, "mapping_id", NUMBER},
    {PP_LOCATION, 3, "address", NUMBER},
    {PP_LOCATION, 4, "line", PP_LINE},
    {PP_LINE, 1, "function_id", NUMBER},
    {PP_LINE, 2, "line", NUMBER},
    {PP_FUNCTION, 1, "id", NUMBER},
    {PP_FUNCTION, 2, "name", NUMBER},
    {PP_FUNCTION, 3, "system_name", NUMBER},
    {PP_FUNCTION, 4, "filename", NUMBER},
    {PP_FUNCTION, 5, "start_line", NUMBER},
};

struct bytes {
    const uint8_t *at, *end;
};

static bool read_varint(struct bytes *in, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 127) << (shift < 64 ? shift : 0);
        *ret_value = value;
        if (byte < 128)
            return true;
    }
    return false;
}

static const struct field *find_field(enum message in, uint32_t number)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        if (fields[i].in == in && fields[i].number == number)
            return &fields[i];
    }
    return NULL;
}

static void print_text(FILE *out, struct bytes text)
{
    fputc('"', out);
    for (; text.at < text.end; text.at++) {
        if (*text.at < 0x20 || *text.at == 0x7f || *text.at == '"' || *text.at == '\\')
            fprintf(out, "\\x%02x", *text.at);
        else
            fputc(*text.at, out);
    }
    fputc('"', out);
}

static void print_packed(FILE *out, struct bytes in)
{
    const char *space = "";
    uint64_t number;
    fputc('[', out);
    while (in.at < in.end && read_varint(&in, &number)) {
        fprintf(out, "%s%lld", space, (long long)number);
        space = " ";
    }
    fputs(in.at < in.end ? "!cut" : "]", out);
}

static void print_message(FILE *out, enum message message, struct bytes in);

/* Prints the value of a field after its tag. Returns false for malformed bytes. */
static bool print_value(FILE *out, enum message is, unsigned wire_type, struct bytes *in)
{
    uint64_t number = 0;
    double real;
    if (wire_type == 0 && is == NUMBER) {
        if (!read_varint(in, &number))
            return false;
        fprintf(out, "%lld", (long long)number);
        return true;
    }
    if (wire_type == 1 && is == FIXED64 && in->end - in->at >= 8) {
        memcpy(&number, in->at, sizeof(number));
        in->at += sizeof(number);
        fprintf(out, "%llu", (unsigned long long)number);
        return true;
    }
    if (wire_type == 1 && is == REAL && in->end - in->at >= 8) {
        memcpy(&real, in->at, sizeof(real));
        in->at += sizeof(real);
        fprintf(out, "%.17g", real);
        return true;
    }
    if (wire_type != 2 || is < TEXT || !read_varint(in, &number) ||
        number > (uint64_t)(in->end - in->at))
        return false;
    struct bytes inner = {in->at, in->at + number};
    in->at = inner.end;
    if (is == TEXT)
        print_text(out, inner);
    else if (is == PACKED)
        print_packed(out, inner);
    else
        print_message(out, is, inner);
    return true;
}

static void print_message(FILE *out, enum message message, struct bytes in)
{
    const char *space = "";
    uint64_t tag;
    fputc('{', out);
    while (in.at < in.end) {
        if (!read_varint(&in, &tag)) {
            fputs("!cut", out);
            break;
        }
        const struct field *field = find_field(message, (uint32_t)(tag >> 3));
        fprintf(out, "%s%s ", space, field ? field->name : "!unknown");
        if (!field || !print_value(out, field->is, tag & 7, &in)) {
            fprintf(out, "!field %llu type %u", (unsigned long long)tag >> 3, (unsigned)tag & 7);
            break;
        }
        space = " ";
    }
    fputc('}', out);
}

/* Each field of the outermost message is a line. */
static char *text_of(enum message message, const uint8_t *bytes, size_t size)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct bytes in = {bytes, bytes + size};
    uint64_t tag;
    if (!out)
        abort();
    while (in.at < in.end) {
        const struct field *field =
            read_varint(&in, &tag) ? find_field(message, (uint32_t)(tag >> 3)) : NULL;
        fprintf(out, "%s ", field ? field->name : "!unknown");
        bool whole = field && print_value(out, field->is, tag & 7, &in);
        fputs(whole ? "\n" : "!cut\n", out);
        if (!whole)
            break;
    }
    if (fclose(out) != 0)
        abort();
    return text;
}

char *perfetto_text(const uint8_t *bytes, size_t size)
{
    return text_of(TRACE, bytes, size);
}

char *pprof_text(const uint8_t *bytes, size_t size)
{
    return text_of(PP, bytes, size);
}
