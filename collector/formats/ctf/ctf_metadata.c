/* SPDX-License-Identifier: MIT */
/* See ctf_parts.h. The description of the trace in the language of CTF 1.8 (TSDL): types, the
 * clock, the layout of packets and events. All but the clock and the facts is constant.
 * Thread-safety: reads the trace only. */
#include "ctf_parts.h"

#include "text.h"

#include <inttypes.h>
#include <stdio.h>

enum { FACT_MAX = 4096, NS_PER_SECOND = 1000000000 };

static const char head[] =
    "/* CTF 1.8 */\n"
    "\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; base = 16; } := color_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := flow_t;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;\n"
    "\n"
    "trace {\n"
    "\tmajor = 1;\n"
    "\tminor = 8;\n"
    "\tbyte_order = le;\n"
    "\tpacket.header := struct {\n"
    "\t\tuint32_t magic;\n"
    "\t\tuint32_t stream_id;\n"
    "\t};\n"
    "};\n"
    "\n";

static const char layout[] =
    "typealias integer {\n"
    "\tsize = 64; align = 8; signed = false;\n"
    "\tmap = clock.monotonic.value;\n"
    "} := time_ns_t;\n"
    "\n"
    "stream {\n"
    "\tid = 0;\n"
    "\tpacket.context := struct {\n"
    "\t\ttime_ns_t timestamp_begin;\n"
    "\t\ttime_ns_t timestamp_end;\n"
    "\t\tuint64_t content_size;\n"
    "\t\tuint64_t packet_size;\n"
    "\t\tuint64_t events_discarded;\n"
    "\t\tuint64_t packet_seq_num;\n"
    "\t};\n"
    "\tevent.header := struct {\n"
    "\t\ttime_ns_t timestamp;\n"
    "\t\tuint8_t id;\n"
    "\t};\n"
    "\tevent.context := struct {\n"
    "\t\tstring hostname;\n"
    "\t\tint32_t pid;\n"
    "\t\tint32_t tid;\n"
    "\t\tstring procname;\n"
    "\t\tstring threadname;\n"
    "\t};\n"
    "};\n"
    "\n"
    "enum range_kind : uint8_t { pushed = 0, overlapping = 1, track = 2, queue = 3 };\n"
    "enum range_end : uint8_t { ended = 0, unfinished = 1, end_lost = 2 };\n"
    "enum flow_phase : uint8_t { begin = 0, step = 1, end = 2 };\n"
    "enum thread_state : uint8_t { running = 0, runnable = 1, waiting = 2 };\n"
    "struct sample_value { string name; int64_t value; };\n";

/* Fields of events, as export_ctf.c puts them. */
#define NAMES "string name; string domain; string category; "

static const struct {
    enum ctf_event id;
    const char *name, *fields;
} events[] = {
    {CTF_SESSION_FACT, "session_fact", "string name; string value; "},
    {CTF_RANGE_BEGIN, "range_begin",
     "uint64_t id; enum range_kind kind; " NAMES
     "uint32_t depth; uint8_t level; color_t color; string lane; string file; uint32_t line; "
     "string args; "},
    {CTF_RANGE_END, "range_end",
     "uint64_t id; enum range_kind kind; " NAMES
     "uint64_t duration_ns; enum range_end how; string args; "},
    {CTF_LAUNCH, "launch", "uint64_t id; " NAMES "string lane; "},
    {CTF_MARK, "mark",
     NAMES "string severity; uint8_t level; color_t color; string lane; "
           "string args; "},
    {CTF_COUNTER, "counter", NAMES "int64_t value; string unit; "},
    {CTF_COUNTER_FLOAT, "counter_float", NAMES "double value; string unit; "},
    {CTF_FLOW, "flow", "enum flow_phase phase; flow_t id; " NAMES},
    {CTF_SAMPLE, "sample",
     "string set; uint32_t cpu; uint64_t duration_ns; string reason; "
     "uint32_t value_count; struct sample_value values[value_count]; string path; "
     "uint32_t stack_depth; string stack[stack_depth]; "},
    {CTF_THREAD_STATE, "thread_state",
     "enum thread_state state; string reason; uint64_t duration_ns; "},
    {CTF_LOST, "lost", "uint64_t records; string cause; uint64_t duration_ns; "},
    {CTF_LAST_WORD, "last_word", "string text; "},
    {CTF_PROCESS_END, "process_end", "string how; "},
};

/* What stands between quotes is bounded and has no control characters. */
static void put_fact(struct out_stream *out, const char *name, const struct trace_string *value)
{
    size_t length = utf8_cut(value->bytes, value->length, FACT_MAX);
    out_text(out, "\t");
    out_text(out, name);
    out_text(out, " = \"");
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)value->bytes[i];
        if (byte == '"' || byte == '\\')
            out_text(out, "\\");
        out_write(out, byte < 0x20 || byte == 0x7f ? " " : (const char *)&byte, 1);
    }
    out_text(out, "\";\n");
}

static void put_environment(const struct trace *trace, struct out_stream *out)
{
    const struct trace_session *session = trace_session_get(trace);
    static const struct trace_string tracer = {"annot", 5};
    out_text(out, "env {\n");
    put_fact(out, "hostname", trace_string(trace, session->hostname));
    put_fact(out, "tracer_name", &tracer);
    put_fact(out, "tracer_version", trace_string(trace, session->annot_version));
    put_fact(out, "kernel", trace_string(trace, session->kernel));
    put_fact(out, "command", trace_string(trace, session->command));
    out_text(out, "};\n\n");
}

/* So far out only a file that was made to deceive is. */
static int64_t within_reason(int64_t time_ns)
{
    const int64_t limit_ns = INT64_MAX / 4;
    return time_ns < -limit_ns ? -limit_ns : time_ns > limit_ns ? limit_ns : time_ns;
}

/* From 1970, or if that is not known, from the begin of the recording. */
static void put_clock(const struct trace *trace, int64_t origin_ns, struct out_stream *out)
{
    const struct trace_session *session = trace_session_get(trace);
    int64_t begin_ns = within_reason(trace_begin_ns(trace)) - origin_ns;
    int64_t realtime_ns = within_reason(session->begin_realtime_ns);
    int64_t offset_ns = (realtime_ns > 0 ? realtime_ns : 0) - begin_ns;
    int64_t seconds = offset_ns / NS_PER_SECOND, rest_ns = offset_ns % NS_PER_SECOND;
    char text[512];
    if (rest_ns < 0) {
        rest_ns += NS_PER_SECOND;
        seconds--;
    }
    snprintf(text, sizeof(text),
             "clock {\n"
             "\tname = \"monotonic\";\n"
             "\tdescription = \"CLOCK_MONOTONIC\";\n"
             "\tfreq = 1000000000;\n"
             "\tprecision = 1;\n"
             "\toffset_s = %" PRId64 ";\n"
             "\toffset = %" PRId64 ";\n"
             "\tabsolute = true;\n"
             "};\n\n",
             seconds, rest_ns);
    out_text(out, text);
}

void ctf_put_metadata(const struct trace *trace, int64_t origin_ns, struct out_stream *out)
{
    out_text(out, head);
    put_environment(trace, out);
    put_clock(trace, origin_ns, out);
    out_text(out, layout);
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        char text[640];
        snprintf(text, sizeof(text),
                 "\nevent {\n"
                 "\tname = \"annot:%s\";\n"
                 "\tid = %d;\n"
                 "\tstream_id = 0;\n"
                 "\tfields := struct { %s};\n"
                 "};\n",
                 events[i].name, events[i].id, events[i].fields);
        out_text(out, text);
    }
}
