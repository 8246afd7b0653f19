/* SPDX-License-Identifier: MIT */
/* Perfetto traces: packets of track events, their clocks, and samples of stacks.
 *
 * Packets of one sequence come in order; interned numbers, and clocks that count from the packet
 * before, are per sequence. Tracks may be described after their events, so these wait in a sorter.
 * Other data sources (ftrace, heap profiles, ...) are counted. */
#include "from_perfetto.h"

#include "event.h"
#include "import_formats.h"
#include "input.h"
#include "number.h"
#include "perfetto_fields.h"
#include "sample.h"
#include "sink.h"
#include "sorter.h"
#include "stacks.h"
#include "text.h"
#include "varint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* ---- Clocks of a sequence: some count from the packet before --------------------------------- */

enum { CLOCK_MULTIPLIER = 4, CLOCKS_MAX = 256 };

static struct perfetto_clock_state *find_clock(struct perfetto_sequence *sequence, uint64_t id)
{
    for (size_t i = 0; i < sequence->clocks.count; i++)
        if (sequence->clocks.items[i].id == id)
            return &sequence->clocks.items[i];
    return NULL;
}

struct shown {
    uint64_t id, value, multiplier;
    bool incremental;
};

static struct shown take_shown(struct proto message)
{
    struct shown shown = {.multiplier = 1};
    struct proto_field field;
    while (proto_next(&message, &field)) {
        if (field.number == PX_CLOCK_ID)
            shown.id = field.value;
        else if (field.number == PX_CLOCK_TIMESTAMP)
            shown.value = field.value;
        else if (field.number == PX_CLOCK_IS_INCREMENTAL)
            shown.incremental = field.value != 0;
        else if (field.number == CLOCK_MULTIPLIER && field.value)
            shown.multiplier = field.value;
    }
    return shown;
}

static bool perfetto_to_ns(uint64_t value, uint64_t multiplier, int64_t *ret_ns)
{
    uint64_t ns;
    if (__builtin_mul_overflow(value, multiplier, &ns) || ns > (uint64_t)IMPORT_TIME_MAX)
        return false;
    *ret_ns = (int64_t)ns;
    return true;
}

/* Clocks at one instant: the offset of each from the trace's clock, which is the first of the
 * format's own. */
static int perfetto_take_clocks(struct perfetto *trace, struct perfetto_sequence *sequence,
                                struct proto message)
{
    struct proto again = message;
    struct proto_field field;
    int64_t trace_ns = 0, own_ns;
    bool known = false;
    while (proto_next(&message, &field)) {
        if (field.number != PX_CLOCK_SNAPSHOT_CLOCKS || !field.is_bytes)
            continue;
        struct shown shown = take_shown(field.bytes);
        if (shown.id < PX_CLOCK_SEQUENCE && !known)
            known = perfetto_to_ns(shown.value, shown.multiplier, &trace_ns);
    }
    while (proto_next(&again, &field)) {
        if (field.number != PX_CLOCK_SNAPSHOT_CLOCKS || !field.is_bytes)
            continue;
        struct shown shown = take_shown(field.bytes);
        struct perfetto_clock_state *clock = find_clock(sequence, shown.id);
        if (shown.id < PX_CLOCK_SEQUENCE ||
            !perfetto_to_ns(shown.value, shown.multiplier, &own_ns) ||
            sequence->clocks.count >= CLOCKS_MAX ||
            (!clock && !perfetto_hold(trace, sizeof(*clock))))
            continue;
        if (!clock && vec_push(&sequence->clocks, (struct perfetto_clock_state){0}) != 0)
            return -ENOMEM;
        if (!clock)
            clock = &sequence->clocks.items[sequence->clocks.count - 1];
        *clock = (struct perfetto_clock_state){.id = shown.id,
                                               .multiplier_ns = shown.multiplier,
                                               .offset_ns = known ? trace_ns - own_ns : 0,
                                               .last_ns = own_ns,
                                               .incremental = shown.incremental};
    }
    return 0;
}

/* The time of a packet; advances an incremental clock. False: impossible. */
static bool perfetto_find_time(struct perfetto_sequence *sequence, uint64_t clock_id,
                               uint64_t value, int64_t *ret_ns)
{
    struct perfetto_clock_state *clock = find_clock(sequence, clock_id);
    if (!perfetto_to_ns(value, clock ? clock->multiplier_ns : 1, ret_ns))
        return false;
    if (!clock)
        return true;
    if (clock->incremental) {
        if (*ret_ns > IMPORT_TIME_MAX - clock->last_ns)
            return false;
        clock->last_ns += *ret_ns;
        *ret_ns = clock->last_ns;
    }
    *ret_ns += clock->offset_ns;
    return true;
}

/* Fields that annot does not write. */
enum {
    PACKET_COMPRESSED = 50,
    PACKET_PERF_SAMPLE = 66,
    PACKET_ZSTD = 133,
    EVENT_DELTA_US = 1,
    EVENT_ABSOLUTE_US = 16,
};

enum { SAMPLE_CPU = 1, SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4 };

enum { SORT_BYTES = 32 << 20 };

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The separate track for events of a sequence that name no track. */
static uint64_t own_track(uint64_t sequence)
{
    return UINT64_MAX - 1 - sequence;
}

/* Added if new. NULL: out of memory, or beyond the limit. */
static struct perfetto_sequence *find_sequence(struct perfetto *trace, uint64_t id)
{
    const uint64_t *index = map64_find(&trace->sequence_index, id + 1);
    const struct perfetto_sequence fresh = {.id = id, .pid = -1, .default_track = own_track(id)};
    if (index)
        return &trace->sequences.items[*index - 1];
    if (trace->sequences.count >= PERFETTO_SEQUENCES_MAX ||
        vec_push(&trace->sequences, fresh) != 0 ||
        map64_put(&trace->sequence_index, id + 1, trace->sequences.count) != 0)
        return NULL;
    return &trace->sequences.items[trace->sequences.count - 1];
}

static int64_t other_tracks(struct perfetto *trace)
{
    const struct perfetto_track others = {.pid = -1, .tid = -1, .others = true};
    if (!trace->other_tracks && vec_push(&trace->tracks, others) != 0)
        return -ENOMEM;
    if (!trace->other_tracks)
        trace->other_tracks = (uint32_t)trace->tracks.count;
    return (int64_t)trace->other_tracks - 1;
}

int64_t perfetto_track(struct perfetto *trace, uint64_t uuid, size_t most)
{
    uint64_t key = perfetto_track_key(uuid);
    const uint64_t *index = map64_find(&trace->track_index, key);
    const struct perfetto_track fresh = {.uuid = uuid, .pid = -1, .tid = -1};
    if (index)
        return (int64_t)*index - 1;
    if (trace->tracks.count >= most)
        return other_tracks(trace);
    if (vec_push(&trace->tracks, fresh) != 0 ||
        map64_put(&trace->track_index, key, trace->tracks.count) != 0)
        return -ENOMEM;
    return (int64_t)trace->tracks.count - 1;
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* Fields of a packet, all found before any is used. */
struct packet {
    uint64_t sequence, timestamp, clock, flags;
    bool has_clock, has_time;
    struct proto event, interned, defaults, track, clocks, thread, profile, sample, packed, zstd;
    bool other;
};

static void take_packet_field(struct packet *packet, const struct proto_field *field)
{
    switch (field->number) {
    case PX_PACKET_TIMESTAMP:
        packet->timestamp = field->value;
        packet->has_time = true;
        break;
    case PX_PACKET_SEQUENCE_ID:
        packet->sequence = field->value & UINT32_MAX;
        break;
    case PX_PACKET_SEQUENCE_FLAGS:
        packet->flags = field->value;
        break;
    case PX_PACKET_TIMESTAMP_CLOCK_ID:
        packet->clock = field->value;
        packet->has_clock = true;
        break;
    case PX_PACKET_TRACK_EVENT:
        packet->event = field->bytes;
        break;
    case PX_PACKET_INTERNED_DATA:
        packet->interned = field->bytes;
        break;
    case PX_PACKET_DEFAULTS:
        packet->defaults = field->bytes;
        break;
    case PX_PACKET_TRACK_DESCRIPTOR:
        packet->track = field->bytes;
        break;
    case PX_PACKET_CLOCK_SNAPSHOT:
        packet->clocks = field->bytes;
        break;
    case PX_PACKET_THREAD_DESCRIPTOR:
        packet->thread = field->bytes;
        break;
    case PX_PACKET_STREAMING_PROFILE:
        packet->profile = field->bytes;
        break;
    case PACKET_PERF_SAMPLE:
        packet->sample = field->bytes;
        break;
    case PACKET_COMPRESSED:
        packet->packed = field->bytes;
        break;
    case PACKET_ZSTD:
        packet->zstd = field->bytes;
        break;
    default:
        packet->other = packet->other || field->is_bytes;
        break;
    }
}

/* Starts anew: earlier counter tracks are dropped. */
static void forget_value_tracks(struct perfetto *trace, struct perfetto_sequence *sequence)
{
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS; kind++) {
        trace->held_bytes -= sequence->value_tracks[kind].count * sizeof(uint64_t);
        vec_free(&sequence->value_tracks[kind]);
    }
}

static int take_event_defaults(struct perfetto *trace, struct perfetto_sequence *sequence,
                               struct proto message)
{
    struct proto_field field;
    int error = 0;
    forget_value_tracks(trace, sequence);
    while (!error && proto_next(&message, &field))
        if (field.number == PX_EVENT_DEFAULTS_TRACK_UUID)
            sequence->default_track = field.value;
        else if (field.number == PX_EVENT_EXTRA_COUNTER_TRACKS)
            error = perfetto_numbers(trace, &sequence->value_tracks[PERFETTO_INTEGERS], &field);
        else if (field.number == PERFETTO_EXTRA_DOUBLE_TRACKS)
            error = perfetto_numbers(trace, &sequence->value_tracks[PERFETTO_DOUBLES], &field);
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS; kind++)
        if (!perfetto_hold(trace, sequence->value_tracks[kind].count * sizeof(uint64_t)))
            vec_free(&sequence->value_tracks[kind]);
    return error;
}

static int take_defaults(struct perfetto *trace, struct perfetto_sequence *sequence,
                         struct proto message)
{
    struct proto_field field;
    int error = 0;
    while (!error && proto_next(&message, &field))
        if (field.number == PX_DEFAULTS_TIMESTAMP_CLOCK_ID)
            sequence->default_clock = field.value;
        else if (field.number == PX_DEFAULTS_TRACK_EVENT && field.is_bytes)
            error = take_event_defaults(trace, sequence, field.bytes);
    return error;
}

/* The thread of a sequence, for its events that name no track. */
static int take_thread(struct perfetto *trace, struct perfetto_sequence *sequence,
                       struct proto message)
{
    struct proto_field field;
    uint32_t name = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_THREAD_PID)
            sequence->pid = (int32_t)field.value;
        else if (field.number == PX_THREAD_TID)
            sequence->tid = (int32_t)field.value;
        else if (field.number == PX_THREAD_NAME && field.is_bytes)
            name = perfetto_text(trace, &field.bytes);
        else if (field.number == PX_THREAD_REFERENCE_TIMESTAMP_US)
            (void)perfetto_to_ns(field.value, 1000, &sequence->reference_ns);
    }
    int64_t index = perfetto_track(trace, own_track(sequence->id), PERFETTO_TRACKS_MAX);
    if (index < 0)
        return (int)index;
    struct perfetto_track *track = &trace->tracks.items[index];
    track->pid = sequence->pid;
    track->tid = sequence->tid;
    track->name = name ? name : track->name;
    return 0;
}

static int add_sample(struct perfetto *trace, struct perfetto_sequence *sequence,
                      const struct import_id ids[2], const struct sample *like, uint64_t stack)
{
    int64_t unit_ns = import_unit_ns(trace->sink, IMPORT_SAMPLE_NS);
    struct sample sample = *like;
    sample.set = SAMPLE_SET_CPU;
    sample.thread = import_thread(trace->sink, import_process(trace->sink, &ids[0]), &ids[1]);
    sample.stack = perfetto_stack(trace, sequence, stack);
    sample.values = &unit_ns;
    sample.value_count = 1;
    return import_sample(trace->sink, &sample);
}

/* Callstacks, and the time of each after the one before. */
static int take_profile(struct perfetto *trace, struct perfetto_sequence *sequence,
                        struct proto message)
{
    struct proto deltas = message;
    const struct import_id ids[2] = {{.number = sequence->pid}, {.number = sequence->tid}};
    struct proto_field field, delta;
    int error = 0;
    while (!error && proto_next(&message, &field)) {
        if (field.number != PX_PROFILE_CALLSTACK || field.is_bytes)
            continue;
        bool found = false;
        while (!found && proto_next(&deltas, &delta))
            found = delta.number == PX_PROFILE_TIMESTAMP_DELTA_US && !delta.is_bytes;
        int64_t step_us = found ? (int64_t)delta.value : 0, step_ns;
        if (__builtin_mul_overflow(step_us, 1000, &step_ns) || sequence->pid < 0 ||
            step_ns > IMPORT_TIME_MAX || step_ns < -IMPORT_TIME_MAX ||
            sequence->reference_ns + step_ns > IMPORT_TIME_MAX ||
            sequence->reference_ns + step_ns < -IMPORT_TIME_MAX) {
            trace->sink->left[LEFT_MALFORMED]++;
            continue;
        }
        sequence->reference_ns += step_ns;
        const struct sample sample = {.time_ns = sequence->reference_ns};
        error = add_sample(trace, sequence, ids, &sample, field.value);
    }
    return error;
}

static int take_sample(struct perfetto *trace, struct perfetto_sequence *sequence,
                       struct proto message, int64_t time_ns)
{
    struct import_id ids[2] = {{0}, {0}};
    struct sample sample = {.time_ns = time_ns};
    struct proto_field field;
    uint64_t stack = 0;
    while (proto_next(&message, &field)) {
        if (field.number == SAMPLE_CPU)
            sample.cpu = (uint16_t)field.value;
        else if (field.number == SAMPLE_PID)
            ids[0].number = (int32_t)field.value;
        else if (field.number == SAMPLE_TID)
            ids[1].number = (int32_t)field.value;
        else if (field.number == SAMPLE_STACK)
            stack = field.value;
    }
    return add_sample(trace, sequence, ids, &sample, stack);
}

/* Takes the parts that describe how to read others. */
static int take_context(struct perfetto *trace, struct perfetto_sequence *sequence,
                        const struct packet *packet)
{
    int error = 0;
    if (packet->flags & PX_INCREMENTAL_STATE_CLEARED)
        perfetto_forget(trace, sequence);
    if (packet->clocks.at)
        error = perfetto_take_clocks(trace, sequence, packet->clocks);
    if (!error && packet->defaults.at)
        error = take_defaults(trace, sequence, packet->defaults);
    if (!error && packet->thread.at)
        error = take_thread(trace, sequence, packet->thread);
    if (!error && packet->interned.at)
        error = perfetto_intern(trace, sequence, packet->interned);
    if (!error && packet->track.at)
        error = perfetto_take_track(trace, packet->track);
    return error;
}

/* For packets without a time: that of the event itself, which may count from the one before. */
static bool find_event_time(struct perfetto_sequence *sequence, struct proto event, int64_t *ret_ns)
{
    struct proto_field field;
    while (proto_next(&event, &field)) {
        int64_t ns, from_ns = field.number == EVENT_DELTA_US ? sequence->reference_ns : 0;
        if (field.is_bytes ||
            (field.number != EVENT_DELTA_US && field.number != EVENT_ABSOLUTE_US) ||
            __builtin_mul_overflow((int64_t)field.value, 1000, &ns) ||
            __builtin_add_overflow(from_ns, ns, ret_ns) || *ret_ns > IMPORT_TIME_MAX ||
            *ret_ns < -IMPORT_TIME_MAX)
            continue;
        if (field.number == EVENT_DELTA_US)
            sequence->reference_ns = *ret_ns;
        return true;
    }
    return false;
}

static bool find_packet_time(struct perfetto_sequence *sequence, const struct packet *packet,
                             int64_t *ret_ns)
{
    if (packet->has_time)
        return perfetto_find_time(sequence,
                                  packet->has_clock ? packet->clock : sequence->default_clock,
                                  packet->timestamp, ret_ns);
    return packet->event.at && find_event_time(sequence, packet->event, ret_ns);
}

static int take_event_or_sample(struct perfetto *trace, struct perfetto_sequence *sequence,
                                const struct packet *packet)
{
    int64_t time_ns = 0;
    int error = 0;
    if (!packet->event.at && !packet->sample.at)
        return 0;
    if (!find_packet_time(sequence, packet, &time_ns)) {
        trace->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    if (packet->event.at)
        error = perfetto_take_event(trace, sequence, packet->event, time_ns);
    if (!error && packet->sample.at)
        error = take_sample(trace, sequence, packet->sample, time_ns);
    return error;
}

/* Of a packet of a sequence beyond the limit, takes the track only, since tracks are global. */
static int take_track_alone(struct perfetto *trace, const struct packet *packet)
{
    trace->unsequenced++;
    return packet->track.at ? perfetto_take_track(trace, packet->track) : 0;
}

static int take_plain(struct perfetto *trace, const struct packet *packet)
{
    struct perfetto_sequence *sequence = find_sequence(trace, packet->sequence);
    if (!sequence && trace->sequences.count < PERFETTO_SEQUENCES_MAX)
        return -ENOMEM;
    if (!sequence)
        return take_track_alone(trace, packet);
    int error = take_context(trace, sequence, packet);
    trace->packets++;
    if (!error)
        error = take_event_or_sample(trace, sequence, packet);
    if (!error && packet->profile.at)
        error = take_profile(trace, sequence, packet->profile);
    bool known = packet->event.at || packet->sample.at || packet->track.at || packet->clocks.at ||
                 packet->thread.at || packet->interned.at || packet->defaults.at ||
                 packet->profile.at;
    trace->skipped += packet->other && !known;
    return error ? error : trace->sink->error;
}

/* ---- Compressed packets: zlib, gzip or zstd ---------------------------------------------------
 */

enum { UNPACK_STEP = 256 << 10 };

/* Makes room for more; results as inflate_packets. */
static int make_room(struct perfetto *trace)
{
    if (trace->unpacked.count >= INPUT_PIECE_MAX)
        return -EMSGSIZE;
    return vec_reserve(&trace->unpacked, UNPACK_STEP);
}

static int inflate_all(struct perfetto *trace, z_stream *z)
{
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        int error = make_room(trace);
        if (error)
            return error;
        z->next_out = trace->unpacked.items + trace->unpacked.count;
        z->avail_out = UNPACK_STEP;
        status = inflate(z, Z_NO_FLUSH);
        trace->unpacked.count += UNPACK_STEP - z->avail_out;
        if (status == Z_MEM_ERROR)
            return -ENOMEM;
        if (status != Z_OK && status != Z_STREAM_END)
            return -EBADMSG;
    }
    return 0;
}

static int inflate_packets(struct perfetto *trace, const struct proto *packed)
{
    z_stream z = {.next_in = (Bytef *)packed->at, .avail_in = (uInt)(packed->end - packed->at)};
    trace->unpacked.count = 0;
    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return -ENOMEM;
    int error = inflate_all(trace, &z);
    inflateEnd(&z);
    return error;
}

static int unzstd_packets(struct perfetto *trace, const struct proto *packed)
{
    ZSTD_inBuffer in = {packed->at, (size_t)(packed->end - packed->at), 0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t status = 1, before = 0;
    int error = stream ? 0 : -ENOMEM;
    trace->unpacked.count = 0;
    while (!error && (status || in.pos < in.size)) {
        error = make_room(trace);
        if (error)
            break;
        ZSTD_outBuffer out = {trace->unpacked.items + trace->unpacked.count, UNPACK_STEP, 0};
        before = in.pos;
        status = ZSTD_decompressStream(stream, &out, &in);
        trace->unpacked.count += out.pos;
        if (ZSTD_isError(status) || (status && !out.pos && in.pos == before))
            error = -EBADMSG;
    }
    ZSTD_freeDStream(stream);
    return error;
}

static int take_packet(struct perfetto *trace, struct proto message);

/* A trace within the trace; the format allows one level. */
static int take_packed(struct perfetto *trace, const struct packet *packet)
{
    struct proto_field field;
    if (trace->inside) {
        trace->nested++;
        return 0;
    }
    int error = packet->packed.at ? inflate_packets(trace, &packet->packed)
                                  : unzstd_packets(trace, &packet->zstd);
    struct proto packets = {trace->unpacked.items, trace->unpacked.items + trace->unpacked.count,
                            false};
    trace->inside = true;
    while (!error && proto_next(&packets, &field))
        if (field.number == PX_TRACE_PACKET && field.is_bytes)
            error = take_packet(trace, field.bytes);
    trace->inside = false;
    return error ? error : packets.bad ? -EBADMSG : 0;
}

static int take_packet(struct perfetto *trace, struct proto message)
{
    struct packet packet = {0};
    struct proto_field field;
    while (proto_next(&message, &field))
        take_packet_field(&packet, &field);
    if (message.bad)
        return -EBADMSG;
    return packet.packed.at || packet.zstd.at ? take_packed(trace, &packet)
                                              : take_plain(trace, &packet);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Notes that the file ends inside of a packet. */
static int64_t find_cut(struct import_input *input, struct import_sink *sink)
{
    import_cut(sink, import_input_offset(input));
    return 0;
}

/* Reads the length before a packet and the packet: its size in bytes; 0: the file ends; -errno. */
static int64_t find_packet(struct import_input *input, struct import_sink *sink,
                           const char **ret_bytes, uint64_t *ret_size)
{
    int64_t got = import_input_peek(input, 11, ret_bytes);
    if (got <= 0)
        return got;
    const uint8_t *bytes = (const uint8_t *)*ret_bytes;
    struct proto head = {bytes, bytes + got, false};
    uint64_t size = 0;
    if (*head.at++ != 0x0a)
        return -EBADMSG;
    for (unsigned shift = 0;; shift += 7) {
        if (head.at == head.end && got < 11)
            return find_cut(input, sink);
        if (shift > 56)
            return -EBADMSG;
        size |= (uint64_t)(*head.at & 0x7f) << shift;
        if (*head.at++ < 0x80)
            break;
    }
    int64_t before = head.at - bytes;
    if (size > INPUT_PIECE_MAX - 16)
        return -EMSGSIZE;
    got = import_input_peek(input, (size_t)before + size, ret_bytes);
    *ret_size = size;
    if (got < 0 || (uint64_t)got >= (uint64_t)before + size)
        return got < 0 ? got : before;
    return find_cut(input, sink);
}

static int read_packets(struct import_input *input, struct perfetto *trace)
{
    for (;;) {
        const char *bytes;
        uint64_t size;
        int64_t before = find_packet(input, trace->sink, &bytes, &size);
        if (before <= 0)
            return (int)before;
        const uint8_t *begin = (const uint8_t *)bytes + before;
        int error = take_packet(trace, (struct proto){begin, begin + size, false});
        if (error)
            return error;
        import_input_take(input, (size_t)before + size);
    }
}

static void note_count(struct perfetto *trace, const char *what, uint64_t count)
{
    char text[160], number[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof(text), "left out: %s: %s", what, number_count(count, number));
    if (count)
        import_note(trace->sink, text);
}

static void note_skipped(struct perfetto *trace)
{
    char text[160], unit[NUMBER_TEXT_SIZE];
    int64_t unit_ns = import_unit_ns(trace->sink, IMPORT_SAMPLE_NS);
    note_count(trace, "packets of other data sources", trace->skipped);
    note_count(trace, "compressed packets within compressed packets", trace->nested);
    note_count(trace, "packets of sequences beyond the first 65,536", trace->unsequenced);
    note_count(trace, "names, stacks and clocks of sequences beyond 128 MiB", trace->unheld);
    snprintf(text, sizeof(text), "a sample of a stack is taken as %s of CPU time%s",
             number_time_short((uint64_t)unit_ns, unit),
             trace->sink->options->unit_ns ? "" : " (--unit says otherwise)");
    if (trace->sink->samples)
        import_note(trace->sink, text);
}

static void free_sequence(struct perfetto *trace, struct perfetto_sequence *sequence)
{
    perfetto_forget(trace, sequence);
    forget_value_tracks(trace, sequence);
    vec_free(&sequence->clocks);
}

static void fini(struct perfetto *trace)
{
    for (size_t i = 0; i < trace->sequences.count; i++)
        free_sequence(trace, &trace->sequences.items[i]);
    for (size_t i = 0; i < trace->tracks.count; i++) {
        vec_free(&trace->tracks.items[i].begins);
        vec_free(&trace->tracks.items[i].args);
    }
    vec_free(&trace->sequences);
    vec_free(&trace->tracks);
    for (int kind = 0; kind < PERFETTO_VALUE_KINDS; kind++) {
        vec_free(&trace->values[kind]);
        vec_free(&trace->value_tracks[kind]);
    }
    vec_free(&trace->args);
    vec_free(&trace->unpacked);
    map64_free(&trace->sequence_index);
    map64_free(&trace->track_index);
    sorter_destroy(trace->records);
}

static int read_perfetto(struct import_input *input, struct import_sink *sink)
{
    struct perfetto trace = {.sink = sink, .records = sorter_create(sink->folder, SORT_BYTES)};
    int error = trace.records ? read_packets(input, &trace) : -ENOMEM;
    if (error == -EMSGSIZE) {
        import_problem(sink, "a packet is larger than 64 MiB", import_input_offset(input));
        error = -EBADMSG;
    }
    if (error == -EBADMSG)
        import_problem(sink, "a packet is cut or damaged", import_input_offset(input));
    if (!error)
        error = perfetto_emit(&trace);
    if (!error)
        note_skipped(&trace);
    fini(&trace);
    return error;
}

/* True for a packet that is followed by the start of another one. */
static bool sniff(const char *bytes, size_t size)
{
    struct proto file = {(const uint8_t *)bytes, (const uint8_t *)bytes + size, false};
    struct proto_field field, inner;
    if (size < 3 || bytes[0] != 0x0a || !proto_next(&file, &field) || !field.is_bytes)
        return false;
    if (file.at < file.end && *file.at != 0x0a)
        return false;
    while (proto_next(&field.bytes, &inner))
        ;
    return !field.bytes.bad;
}

const struct importer import_perfetto = {
    .format = {.name = "perfetto",
               .summary = "Perfetto's protocol buffers: track events, samples",
               .from = "Perfetto's SDK and tracebox, annot"},
    .sniff = sniff,
    .read = read_perfetto,
};

/* ---- Interned data --------------------------------------------------------------------------- */

static int add_number(struct perfetto *trace, struct perfetto_numbers *numbers, uint64_t value)
{
    if (numbers->count < PERFETTO_NUMBERS_MAX)
        return vec_push(numbers, value);
    trace->sink->left[LEFT_VALUES]++;
    return 0;
}

int perfetto_numbers(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field)
{
    struct proto packed = field->bytes;
    uint64_t value;
    int error = field->is_bytes ? 0 : add_number(trace, numbers, field->value);
    while (field->is_bytes && !error && proto_varint(&packed, &value))
        error = add_number(trace, numbers, value);
    return error;
}

int perfetto_doubles(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field)
{
    struct proto packed = field->bytes;
    uint64_t bits;
    int error = field->is_bytes ? 0 : add_number(trace, numbers, field->value);
    while (field->is_bytes && !error && proto_fixed(&packed, sizeof(bits), &bits))
        error = add_number(trace, numbers, bits);
    return error;
}

uint32_t perfetto_text(struct perfetto *trace, const struct proto *bytes)
{
    return import_string(trace->sink, (const char *)bytes->at, (size_t)(bytes->end - bytes->at));
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Maps are half empty on average. */
enum { ENTRY_BYTES = 2 * sizeof(struct wide_entry) };

bool perfetto_hold(struct perfetto *trace, size_t bytes)
{
    bool fits = bytes <= PERFETTO_HELD_MAX - trace->held_bytes;
    trace->held_bytes += fits ? bytes : 0;
    trace->unheld += !fits;
    return fits;
}

uint64_t perfetto_find(const struct perfetto_sequence *sequence, enum perfetto_table table,
                       uint64_t iid)
{
    const uint64_t *found = wide_map_find(&sequence->interned, WIDE_KEY(1 + (uint64_t)table, iid));
    return found ? *found : 0;
}

/* Sets an entry; a new one needs room. */
static int keep(struct perfetto *trace, struct perfetto_sequence *sequence,
                enum perfetto_table table, const uint64_t entry[2])
{
    const struct wide_key *key = WIDE_KEY(1 + (uint64_t)table, entry[0]);
    uint64_t *known = wide_map_find(&sequence->interned, key);
    if (known)
        *known = entry[1];
    else if (perfetto_hold(trace, ENTRY_BYTES))
        return wide_map_put(&sequence->interned, key, entry[1]);
    return 0;
}

void perfetto_forget(struct perfetto *trace, struct perfetto_sequence *sequence)
{
    trace->held_bytes -=
        sequence->interned.count * ENTRY_BYTES + sequence->frame_lists.count * sizeof(uint64_t);
    wide_map_free(&sequence->interned);
    vec_free(&sequence->frame_lists);
    sequence->state++;
}

/* {iid, name}. */
static int intern_text(struct perfetto *trace, struct perfetto_sequence *sequence,
                       enum perfetto_table table, struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0;
    uint32_t text = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_INTERNED_NAME && field.is_bytes)
            text = perfetto_text(trace, &field.bytes);
    }
    return keep(trace, sequence, table, (uint64_t[]){iid, text});
}

static int intern_frame(struct perfetto *trace, struct perfetto_sequence *sequence,
                        struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0, function = 0, mapping = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_FRAME_FUNCTION_NAME)
            function = field.value & UINT32_MAX;
        else if (field.number == PX_FRAME_MAPPING)
            mapping = field.value & UINT32_MAX;
    }
    return keep(trace, sequence, PERFETTO_FRAMES, (uint64_t[]){iid, function << 32 | mapping});
}

/* Its path has several parts; the last one suffices. */
static int intern_mapping(struct perfetto *trace, struct perfetto_sequence *sequence,
                          struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0, path = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_MAPPING_PATHS && !field.is_bytes)
            path = field.value;
    }
    return keep(trace, sequence, PERFETTO_MAPPINGS, (uint64_t[]){iid, path});
}

/* A callstack that does not fit stays unknown. */
static int intern_callstack(struct perfetto *trace, struct perfetto_sequence *sequence,
                            struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0;
    size_t place = sequence->frame_lists.count;
    bool fits = perfetto_hold(trace, sizeof(uint64_t));
    if (fits && vec_push(&sequence->frame_lists, 0) != 0)
        return -ENOMEM;
    while (fits && proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        if (field.number != PX_CALLSTACK_FRAMES || field.is_bytes)
            continue;
        fits = perfetto_hold(trace, sizeof(uint64_t));
        if (fits && vec_push(&sequence->frame_lists, field.value) != 0)
            return -ENOMEM;
        sequence->frame_lists.items[place] += fits;
    }
    return fits ? keep(trace, sequence, PERFETTO_CALLSTACKS, (uint64_t[]){iid, 1 + place}) : 0;
}

int perfetto_intern(struct perfetto *trace, struct perfetto_sequence *sequence,
                    struct proto message)
{
    static const struct {
        uint32_t field;
        enum perfetto_table table;
    } texts[] = {{PX_INTERNED_CATEGORIES, PERFETTO_CATEGORIES},
                 {PX_INTERNED_EVENT_NAMES, PERFETTO_NAMES},
                 {PX_INTERNED_ANNOTATION_NAMES, PERFETTO_KEYS},
                 {PX_INTERNED_FUNCTION_NAMES, PERFETTO_FUNCTIONS},
                 {PX_INTERNED_MAPPING_PATHS, PERFETTO_PATHS},
                 {PX_INTERNED_ANNOTATION_STRINGS, PERFETTO_STRINGS}};
    struct proto_field field;
    int error = 0;
    while (!error && proto_next(&message, &field)) {
        if (!field.is_bytes)
            continue;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !error; i++)
            if (texts[i].field == field.number)
                error = intern_text(trace, sequence, texts[i].table, field.bytes);
        if (!error && field.number == PX_INTERNED_FRAMES)
            error = intern_frame(trace, sequence, field.bytes);
        else if (!error && field.number == PX_INTERNED_MAPPINGS)
            error = intern_mapping(trace, sequence, field.bytes);
        else if (!error && field.number == PX_INTERNED_CALLSTACKS)
            error = intern_callstack(trace, sequence, field.bytes);
    }
    return error;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static uint32_t make_frame(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid)
{
    uint64_t raw = perfetto_find(sequence, PERFETTO_FRAMES, iid);
    uint64_t mapping = perfetto_find(sequence, PERFETTO_MAPPINGS, raw & UINT32_MAX);
    struct import_frame frame = {
        .kind = FRAME_NATIVE,
        .function = (uint32_t)perfetto_find(sequence, PERFETTO_FUNCTIONS, raw >> 32),
        .module = (uint32_t)perfetto_find(sequence, PERFETTO_PATHS, mapping),
    };
    const char *path = trace_string(trace->sink->trace, frame.module)->bytes;
    if (path[0] == '[' || strstr(path, "kernel"))
        frame.kind = FRAME_KERNEL, frame.module = 0;
    else if (text_ends_with(path, ".py"))
        frame.kind = FRAME_PYTHON, frame.file = frame.module, frame.module = 0;
    if (!frame.function)
        frame.function = import_text(trace->sink, "[unknown]");
    return import_frame(trace->sink, &frame);
}

/* Frames from the outermost on. */
uint32_t perfetto_stack(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid)
{
    uint64_t known = perfetto_find(sequence, PERFETTO_STACKS, iid);
    uint64_t place = perfetto_find(sequence, PERFETTO_CALLSTACKS, iid);
    uint32_t stack = 0;
    if (known || !place)
        return (uint32_t)known;
    uint64_t count = sequence->frame_lists.items[place - 1];
    for (uint64_t i = 0; i < count; i++)
        stack = import_stack(trace->sink, stack,
                             make_frame(trace, sequence, sequence->frame_lists.items[place + i]));
    if (keep(trace, sequence, PERFETTO_STACKS, (uint64_t[]){iid, stack}) != 0)
        trace->sink->error = -ENOMEM;
    return stack;
}
