/* SPDX-License-Identifier: MIT */
/* See ctf_records.h. Numbers are little-endian, as declared in the metadata and native here, and
 * unaligned. Thread-safety: none. */
#include "ctf_records.h"

#include "call_label.h"
#include "hash_map.h"
#include "out_stream.h"
#include "sorter.h"
#include "text.h"
#include "trace.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of the sort: waits and ranges open until the end are reported far from their times. */
enum { SORT_BYTES = 96 << 20 };

/* Limits times, so that adding the clock's offset cannot overflow. */
#define TIME_MAX_NS (INT64_MAX / 4)

/* A piece begins with a varint: the kind, and above it the number of bytes that follow, the string,
 * the thread (thread_count: no thread) and the event, the 64-bit field, the number of a known part,
 * or the number of lost events. */
enum piece {
    PIECE_PLAIN = 0,
    PIECE_STRING = 1,
    PIECE_BEGIN = 2,
    PIECE_UINT64 = 3,
    PIECE_KNOWN = 4,
    PIECE_LOST = 5,
};

enum {
    PIECE_BITS = 3,
    PIECE_MASK = (1 << PIECE_BITS) - 1,
    PLAIN_MAX = 0x7f >> PIECE_BITS,
    EVENT_BITS = 4,
    EVENT_MASK = (1 << EVENT_BITS) - 1,
};

#define LOST_MAX (UINT64_MAX >> PIECE_BITS)

/* Limits of the shared fields. */
enum { KNOWN_MAX = 1 << 16, KNOWN_BYTES_MAX = 16 << 20 };

int ctf_records_init(struct ctf_records *records, const struct trace *trace)
{
    *records = (struct ctf_records){.trace = trace};
    records->thread_count = trace_thread_count(trace);
    records->contexts = calloc(records->thread_count + 1u, sizeof(*records->contexts));
    records->sorter = sorter_create(NULL, SORT_BYTES);
    records->made = out_stream_memory();
    return records->contexts && records->sorter && records->made ? 0 : -ENOMEM;
}

void ctf_records_fini(struct ctf_records *records)
{
    for (uint32_t i = 0; records->contexts && i <= records->thread_count; i++)
        vec_free(&records->contexts[i]);
    free(records->contexts);
    for (size_t i = 0; i < records->known.count; i++)
        vec_free(&records->known.items[i]);
    vec_free(&records->known);
    wide_map_free(&records->known_numbers);
    vec_free(&records->pieces);
    sorter_destroy(records->sorter);
    out_stream_abandon(records->made);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static bool has_room(struct ctf_records *records, size_t size)
{
    if (vec_reserve(&records->pieces, VARINT_MAX + size) == 0 && records->pieces.items)
        return true;
    records->error = records->error ? records->error : -ENOMEM;
    return false;
}

static void put_number(struct ctf_records *records, enum piece piece, uint64_t number)
{
    if (!has_room(records, 0))
        return;
    uint8_t *at = records->pieces.items + records->pieces.count;
    at = varint_put(at, number << PIECE_BITS | piece);
    records->pieces.count = (size_t)(at - records->pieces.items);
    records->plain = 0;
}

/* Small values in a row share one piece. */
static void put(struct ctf_records *records, const void *bytes, size_t size)
{
    if (!has_room(records, size))
        return;
    uint8_t *head = records->plain ? records->pieces.items + records->plain - 1 : NULL;
    if (head && (*head >> PIECE_BITS) + size <= PLAIN_MAX) {
        *head = (uint8_t)(*head + (size << PIECE_BITS));
    } else {
        size_t begin = records->pieces.count;
        put_number(records, PIECE_PLAIN, size);
        records->plain = size <= PLAIN_MAX ? begin + 1 : 0;
    }
    memcpy(records->pieces.items + records->pieces.count, bytes, size);
    records->pieces.count += size;
}

void ctf_put_uint8(struct ctf_records *records, uint8_t value)
{
    put(records, &value, sizeof(value));
}

void ctf_put_uint32(struct ctf_records *records, uint32_t value)
{
    put(records, &value, sizeof(value));
}

void ctf_put_uint64(struct ctf_records *records, uint64_t value)
{
    if (value <= UINT64_MAX >> PIECE_BITS)
        put_number(records, PIECE_UINT64, value);
    else
        put(records, &value, sizeof(value));
}

void ctf_put_text(struct ctf_records *records, const char *text, size_t length)
{
    if (length)
        put(records, text, length);
    else
        ctf_put_string(records, 0);
    if (length)
        put(records, "", 1);
}

void ctf_put_string(struct ctf_records *records, uint32_t string)
{
    put_number(records, PIECE_STRING, string);
}

void ctf_put_made(struct ctf_records *records)
{
    size_t length;
    const uint8_t *bytes = out_stream_memory_bytes(records->made, &length);
    if (out_error(records->made))
        records->error = out_error(records->made);
    ctf_put_text(records, (const char *)bytes, length);
    out_stream_memory_reset(records->made);
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static int add(ctf_bytes *to, const void *bytes, size_t size)
{
    if (!bytes)
        return 0;
    if (vec_reserve(to, size) != 0 || !to->items)
        return -ENOMEM;
    memcpy(to->items + to->count, bytes, size);
    to->count += size;
    return 0;
}

/* Texts of recordings are UTF-8 without NUL. An empty text becomes "-": babeltrace2 2.0 prints a
 * text of an earlier event in its place. */
static int add_text(ctf_bytes *to, const char *text, size_t length)
{
    return length ? add(to, text, length + 1) : add(to, "-", sizeof("-"));
}

static uint32_t host_name(const struct trace *trace, const struct trace_process *process)
{
    const struct trace_host *host = process ? trace_host_get(trace, process->host) : NULL;
    return host && host->name ? host->name : trace_session_get(trace)->hostname;
}

static int add_context(const struct trace *trace, uint32_t process, uint32_t thread, ctf_bytes *to)
{
    const struct trace_process *of = trace_process_get(trace, process);
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_string *host = trace_string(trace, host_name(trace, of));
    const int32_t ids[] = {of ? of->pid : 0, entry ? entry->tid : 0};
    char label[CALL_LABEL_SIZE] = "annot";
    int error = add_text(to, host->bytes, host->length);
    if (!error)
        error = add(to, ids, sizeof(ids));
    if (of)
        trace_process_label(trace, process, label, sizeof(label));
    if (!error)
        error = add_text(to, label, strlen(label));
    label[0] = '\0';
    if (entry)
        trace_thread_label(trace, thread, label, sizeof(label));
    return error ? error : add_text(to, label, strlen(label));
}

static void begin(struct ctf_records *records)
{
    records->pieces.count = records->plain = 0;
}

void ctf_begin_process(struct ctf_records *records, enum ctf_event event, uint32_t process)
{
    ctf_bytes context = {0};
    begin(records);
    ctf_put_uint8(records, (uint8_t)event);
    if (add_context(records->trace, process, UINT32_MAX, &context) == 0)
        put(records, context.items, context.count);
    else
        records->error = -ENOMEM;
    vec_free(&context);
}

void ctf_begin(struct ctf_records *records, enum ctf_event event, uint32_t thread)
{
    uint32_t number = thread < records->thread_count ? thread : records->thread_count;
    ctf_bytes *context = &records->contexts[number];
    begin(records);
    if (!context->count) {
        const struct trace_thread *entry = trace_thread_get(records->trace, number);
        if (add_context(records->trace, entry ? entry->process : UINT32_MAX, number, context) != 0)
            records->error = -ENOMEM;
    }
    put_number(records, PIECE_BEGIN, (uint64_t)number << EVENT_BITS | event);
}

void ctf_end(struct ctf_records *records, int64_t time_ns, uint64_t lost)
{
    int64_t after_ns = time_ns <= records->origin_ns                 ? 0
                       : time_ns >= records->origin_ns + TIME_MAX_NS ? TIME_MAX_NS
                                                                     : time_ns - records->origin_ns;
    if (lost) /* at most LOST_MAX, far above real numbers */
        put_number(records, PIECE_LOST, lost < LOST_MAX ? lost : LOST_MAX);
    if (records->pieces.count > UINT32_MAX)
        records->error = -EMSGSIZE;
    if (!records->error)
        records->error = sorter_add(records->sorter, (struct sorter_key){after_ns, 0, 0},
                                    records->pieces.items, (uint32_t)records->pieces.count);
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static int spell_begin(const struct ctf_records *records, uint64_t number, ctf_bytes *bytes)
{
    const ctf_bytes *context = &records->contexts[number >> EVENT_BITS];
    const uint8_t event = number & EVENT_MASK;
    int error = add(bytes, &event, sizeof(event));
    return error ? error : add(bytes, context->items, context->count);
}

static int spell_piece(const struct ctf_records *records, enum piece piece, uint64_t number,
                       ctf_bytes *bytes)
{
    const struct trace_string *text;
    switch (piece) {
    case PIECE_STRING:
        text = trace_string(records->trace, (uint32_t)number);
        return add_text(bytes, text->bytes, text->length);
    case PIECE_BEGIN:
        return spell_begin(records, number, bytes);
    case PIECE_UINT64:
        return add(bytes, &number, sizeof(number));
    case PIECE_KNOWN:
        return add(bytes, records->known.items[number].items, records->known.items[number].count);
    default:
        return 0;
    }
}

int ctf_spell_out(const struct ctf_records *records, const void *pieces, uint32_t size,
                  ctf_bytes *bytes, uint64_t *ret_lost)
{
    struct varint_reader reader = {pieces, (const uint8_t *)pieces + size};
    int error = 0;
    *ret_lost = 0;
    while (!error && reader.at < reader.end) {
        uint64_t word = varint_get(&reader), number = word >> PIECE_BITS;
        enum piece piece = (enum piece)(word & PIECE_MASK);
        if (piece == PIECE_PLAIN) {
            error = add(bytes, reader.at, number);
            reader.at += number;
        } else if (piece == PIECE_LOST) {
            *ret_lost = number;
        } else {
            error = spell_piece(records, piece, number, bytes);
        }
    }
    return error;
}

/* ---- Shared fields --------------------------------------------------------------------------- */

bool ctf_put_known(struct ctf_records *records, const struct wide_key *key)
{
    const uint64_t *number = wide_map_find(&records->known_numbers, key);
    records->part = records->pieces.count;
    records->plain = 0;
    if (number)
        put_number(records, PIECE_KNOWN, *number);
    return number;
}

void ctf_keep(struct ctf_records *records, const struct wide_key *key)
{
    ctf_bytes part = {0};
    uint64_t lost, number = records->known.count;
    if (number >= KNOWN_MAX || records->known_bytes >= KNOWN_BYTES_MAX || records->error)
        return;
    int error = ctf_spell_out(records, records->pieces.items + records->part,
                              (uint32_t)(records->pieces.count - records->part), &part, &lost);
    if (error || vec_push(&records->known, part) != 0) {
        vec_free(&part);
        records->error = -ENOMEM;
        return;
    }
    if (wide_map_put(&records->known_numbers, key, number) != 0)
        records->error = -ENOMEM;
    records->known_bytes += part.capacity;
    records->pieces.count = records->part;
    put_number(records, PIECE_KNOWN, number);
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* A packet ends when it is large enough, and after an event that reports a loss, so that readers
 * show losses in place. */

enum { PACKET_BYTES = 128 << 10 };

#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)

#define DISCARDED_MAX UINT64_C(0x7fffffffffffffff)

/* Layout as in the metadata. */
struct __attribute__((packed)) packet_head {
    uint32_t magic, stream_id;
    uint64_t begin_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t discarded; /* since the stream began */
    uint64_t number;
};

struct packets {
    const struct ctf_records *records;
    struct out_stream *out;
    ctf_bytes body;
    size_t whole; /* bytes of complete events; the last event may be beyond */
    uint64_t begin_ns, end_ns, discarded, count;
};

static void put_packet(struct packets *packets)
{
    uint64_t bits = 8 * (sizeof(struct packet_head) + packets->whole);
    const struct packet_head head = {.magic = PACKET_MAGIC,
                                     .begin_ns = packets->begin_ns,
                                     .end_ns = packets->end_ns,
                                     .content_bits = bits,
                                     .packet_bits = bits,
                                     .discarded = packets->discarded,
                                     .number = packets->count++};
    out_write(packets->out, &head, sizeof(head));
    packets->body.count -= packets->whole;
    if (packets->whole)
        out_write(packets->out, packets->body.items, packets->whole);
    if (packets->body.count)
        memmove(packets->body.items, packets->body.items + packets->whole, packets->body.count);
    packets->whole = 0;
    packets->begin_ns = packets->end_ns;
}

/* Readers cannot quantify a loss of the first packet, so it never has one. */
static int take(struct packets *packets, uint64_t time_ns, const void *record, uint32_t size)
{
    uint64_t lost;
    if (vec_reserve(&packets->body, sizeof(time_ns)) != 0)
        return -ENOMEM;
    memcpy(packets->body.items + packets->whole, &time_ns, sizeof(time_ns));
    packets->body.count += sizeof(time_ns);
    int error = ctf_spell_out(packets->records, record, size, &packets->body, &lost);
    if (error)
        return error;
    if (packets->count == 0 && packets->whole == 0)
        packets->begin_ns = packets->end_ns = time_ns;
    bool full = packets->whole && packets->body.count > PACKET_BYTES;
    if (full || (lost && packets->count == 0))
        put_packet(packets);
    if (packets->whole == 0)
        packets->begin_ns = time_ns;
    packets->end_ns = time_ns;
    packets->whole = packets->body.count;
    packets->discarded =
        lost < DISCARDED_MAX - packets->discarded ? packets->discarded + lost : DISCARDED_MAX;
    if (lost)
        put_packet(packets);
    return 0;
}

int ctf_put_packets(struct ctf_records *records, struct out_stream *out)
{
    struct packets packets = {.records = records, .out = out};
    struct sorter_key key;
    const void *record;
    uint32_t size;
    int more, error = records->error ? records->error : sorter_finish(records->sorter);
    while (!error && (more = sorter_next(records->sorter, &key, &record, &size)) != 0) {
        error = more < 0 ? more : take(&packets, (uint64_t)key.first, record, size);
        error = error ? error : out_error(out);
    }
    if (!error && (packets.whole || !packets.count))
        put_packet(&packets);
    vec_free(&packets.body);
    return error;
}

/* ---- Metadata -------------------------------------------------------------------------------- */

/* The trace in the language of CTF 1.8 (TSDL): types, clock, layout of packets and events. Constant
 * except for the clock and the facts. */

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

/* Event fields, in the order in which export_ctf.c writes them. */
#define NAMES "string name; string domain; string category; "

static const struct schema {
    enum ctf_event id;
    const char *name, *fields;
} events[] = {
    {CTF_SESSION_FACT, "session_fact", "string name; string value; "},
    {CTF_RANGE_BEGIN, "range_begin",
     "uint64_t id; enum range_kind kind; " NAMES
     "uint32_t depth; uint8_t level; color_t color; string track; string file; uint32_t line; "
     "string args; "},
    {CTF_RANGE_END, "range_end",
     "uint64_t id; enum range_kind kind; " NAMES
     "uint64_t duration_ns; enum range_end how; string args; "},
    {CTF_LAUNCH, "launch", "uint64_t id; " NAMES "string track; "},
    {CTF_MARK, "mark",
     NAMES "string severity; uint8_t level; color_t color; string track; "
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
    {CTF_LOST, "lost", "uint64_t lost_count; string cause; uint64_t duration_ns; "},
    {CTF_LAST_WORD, "last_word", "string text; "},
    {CTF_PROCESS_END, "process_end", "string how; "},
};

/* Values of facts are cut at FACT_MAX and escaped; control characters become blanks. */
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

/* Limits times of malicious files. */
static int64_t within_reason(int64_t time_ns)
{
    const int64_t limit_ns = INT64_MAX / 4;
    return time_ns < -limit_ns ? -limit_ns : time_ns > limit_ns ? limit_ns : time_ns;
}

/* Offset from 1970, or if unknown, from the start of the recording. */
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
