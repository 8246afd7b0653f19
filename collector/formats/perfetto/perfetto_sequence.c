/* SPDX-License-Identifier: MIT */
/* Packets of events: a general way through the proto writer, and a fast one that copies the
 * constant part of a sequence's packets. Both write the same fields. */
#include "perfetto_sequence.h"

#include "out_stream.h"
#include "perfetto_tracks.h"
#include "perfetto_values.h"

#include "call_label.h"
#include "export_ids.h"
#include "perfetto_fields.h"
#include "varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOT_PACKET_MAX = 127, /* so that its length is one byte */
    VARINT_TAG = 0,
    BYTES_TAG = 2,
};

static inline uint8_t *put_tag(uint8_t *at, uint32_t field, unsigned wire_type)
{
    return varint_put(at, (uint64_t)field << 3 | wire_type);
}

struct proto_writer *perfetto_packet_begin(struct perfetto_output *px)
{
    proto_reset(&px->packet);
    proto_begin(&px->packet, PX_TRACE_PACKET);
    return &px->packet;
}

void perfetto_put_time(struct perfetto_output *px, uint32_t field, int64_t time_ns)
{
    proto_int(&px->packet, field, time_ns - px->origin_ns);
}

void perfetto_packet_end(struct perfetto_output *px)
{
    proto_end(&px->packet);
    if (px->packet.error)
        px->error = px->packet.error;
    else
        out_write(px->out, px->packet.bytes, px->packet.size);
}

/* ---- Names ----------------------------------------------------------------------------------- */

bool perfetto_knows(const struct name_set *set, uint32_t name)
{
    uint32_t word = name / 64;
    return word < set->word_count && (set->words[word] >> (name % 64) & 1);
}

/* Returns true if the name was added: the budget may be used up. */
static bool learn(struct perfetto_output *px, struct name_set *set, uint32_t name)
{
    if (name / 64 >= set->word_count) {
        uint32_t count = name / 64 + 1;
        size_t extra = (count - set->word_count) * sizeof(*set->words);
        if (px->intern_bytes + extra > PERFETTO_INTERN_BYTES)
            return false;
        uint64_t *words = realloc(set->words, count * sizeof(*words));
        if (!words)
            return false;
        memset(words + set->word_count, 0, extra);
        set->words = words;
        set->word_count = count;
        px->intern_bytes += extra;
    }
    set->words[name / 64] |= UINT64_C(1) << (name % 64);
    return true;
}

/* `first`: the number of string 0. */
static void put_interned(struct perfetto_output *px, uint32_t field, uint64_t first, uint32_t name)
{
    const struct trace_string *text = trace_string(px->trace, name);
    proto_begin(&px->packet, field);
    proto_uint(&px->packet, PX_INTERNED_IID, first + name);
    proto_bytes(&px->packet, PX_INTERNED_NAME, text->bytes, text->length);
    proto_end(&px->packet);
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static void put_clock(struct proto_writer *packet, uint32_t id, int64_t time_ns, bool incremental)
{
    proto_begin(packet, PX_CLOCK_SNAPSHOT_CLOCKS);
    proto_uint(packet, PX_CLOCK_ID, id);
    proto_int(packet, PX_CLOCK_TIMESTAMP, time_ns);
    if (incremental)
        proto_uint(packet, PX_CLOCK_IS_INCREMENTAL, 1);
    proto_end(packet);
}

static void put_clocks(struct perfetto_output *px, bool absolute)
{
    int64_t realtime_ns = trace_session_get(px->trace)->begin_realtime_ns;
    proto_begin(&px->packet, PX_PACKET_CLOCK_SNAPSHOT);
    put_clock(&px->packet, PX_CLOCK_MONOTONIC, px->begin_ns - px->origin_ns, false);
    if (!absolute)
        put_clock(&px->packet, PX_CLOCK_SEQUENCE, 0, true);
    else if (realtime_ns > 0)
        put_clock(&px->packet, PX_CLOCK_REALTIME, realtime_ns, false);
    proto_uint(&px->packet, PX_CLOCK_SNAPSHOT_PRIMARY, PX_CLOCK_MONOTONIC);
    proto_end(&px->packet);
}

static void prepare_hot_packets(struct perfetto_sequence *sequence)
{
    uint8_t *at = put_tag(sequence->head, PX_PACKET_SEQUENCE_ID, VARINT_TAG);
    at = varint_put(at, sequence->id);
    at = put_tag(at, PX_PACKET_SEQUENCE_FLAGS, VARINT_TAG);
    at = varint_put(at, PX_NEEDS_INCREMENTAL_STATE);
    at = put_tag(at, PX_PACKET_TRACK_EVENT, BYTES_TAG);
    sequence->head_size = (uint8_t)(at - sequence->head);
    uint8_t *end = mempcpy(sequence->end, sequence->head, sequence->head_size);
    end = varint_put(end, 2);
    end = put_tag(end, PX_EVENT_TYPE, VARINT_TAG);
    end = varint_put(end, PX_SLICE_END);
    sequence->end_size = (uint8_t)(end - sequence->end);
}

struct proto_writer *perfetto_defaults_begin(struct perfetto_output *px, uint32_t sequence,
                                             uint32_t clock)
{
    struct proto_writer *packet = perfetto_packet_begin(px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_INCREMENTAL_STATE_CLEARED);
    proto_begin(packet, PX_PACKET_DEFAULTS);
    proto_uint(packet, PX_DEFAULTS_TIMESTAMP_CLOCK_ID, clock);
    return packet;
}

void perfetto_clock_sequence(struct perfetto_output *px, uint32_t sequence, uint32_t other_clock)
{
    const uint32_t clocks[] = {PX_CLOCK_MONOTONIC, other_clock};
    struct proto_writer *packet = perfetto_defaults_begin(px, sequence, PX_CLOCK_MONOTONIC);
    proto_end(packet);
    proto_begin(packet, PX_PACKET_CLOCK_SNAPSHOT);
    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
        proto_begin(packet, PX_CLOCK_SNAPSHOT_CLOCKS);
        proto_uint(packet, PX_CLOCK_ID, clocks[i]);
        perfetto_put_time(px, PX_CLOCK_TIMESTAMP, px->begin_ns);
        proto_end(packet);
    }
    proto_uint(packet, PX_CLOCK_SNAPSHOT_PRIMARY, PX_CLOCK_MONOTONIC);
    proto_end(packet);
    perfetto_packet_end(px);
}

void perfetto_sequence_begin(struct perfetto_output *px, struct perfetto_sequence *sequence,
                             uint32_t id, uint64_t track_uuid)
{
    sequence->id = id;
    sequence->track_uuid = track_uuid;
    sequence->last_ns = sequence->absolute ? INT64_MAX : px->begin_ns;
    prepare_hot_packets(sequence);
    uint32_t clock = sequence->absolute ? PX_CLOCK_MONOTONIC : PX_CLOCK_SEQUENCE;
    struct proto_writer *packet = perfetto_defaults_begin(px, id, clock);
    if (track_uuid) {
        proto_begin(packet, PX_DEFAULTS_TRACK_EVENT);
        proto_uint(packet, PX_EVENT_DEFAULTS_TRACK_UUID, track_uuid);
        proto_end(packet);
    }
    proto_end(packet);
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    perfetto_put_own_names(px);
    proto_end(packet);
    put_clocks(px, sequence->absolute);
    perfetto_packet_end(px);
}

void perfetto_sequence_fini(struct perfetto_sequence *sequence)
{
    free(sequence->names.words);
    free(sequence->categories.words);
    free(sequence->keys.words);
    free(sequence->messages.words);
    free(sequence->files.words);
}

/* ---- Any event ------------------------------------------------------------------------------- */

static void put_counter_value(struct perfetto_output *px, const struct event *event)
{
    bool fits = event->value_kind != VALUE_UINT64 || event->value.uint64 <= INT64_MAX;
    if (event->value_kind == VALUE_DOUBLE)
        proto_double(&px->packet, PX_EVENT_DOUBLE_COUNTER_VALUE, event->value.float64);
    else if (event->value_kind == VALUE_BOOL)
        proto_uint(&px->packet, PX_EVENT_COUNTER_VALUE, event->value.uint64 != 0);
    else if (fits)
        proto_int(&px->packet, PX_EVENT_COUNTER_VALUE, event->value.int64);
    else
        proto_double(&px->packet, PX_EVENT_DOUBLE_COUNTER_VALUE, (double)event->value.uint64);
}

struct perfetto_name_use perfetto_use_name(struct perfetto_output *px, struct name_set *set,
                                           uint32_t name, bool may_learn)
{
    if (name == 0 || name >= trace_string_count(px->trace))
        return (struct perfetto_name_use){0};
    if (perfetto_knows(set, name))
        return (struct perfetto_name_use){.by_number = true};
    bool learned = may_learn && learn(px, set, name);
    return (struct perfetto_name_use){.by_number = learned, .is_new = learned};
}

/* Fields of a name, by number (`first`: that of string 0) or in full. */
struct name_fields {
    uint32_t number, text;
    uint64_t first;
};

static void put_name(struct perfetto_output *px, struct perfetto_name_use use,
                     const struct name_fields *fields, uint32_t name)
{
    const struct trace_string *text = trace_string(px->trace, name);
    if (use.by_number)
        proto_uint(&px->packet, fields->number, fields->first + name);
    else if (name)
        proto_bytes(&px->packet, fields->text, text->bytes, text->length);
}

/* The category that viewers filter by: the event's, else its domain. */
static uint32_t category_of(const struct perfetto_output *px, const struct event *event)
{
    const struct scope *scope = trace_scope(px->trace, event->scope);
    return scope->category ? scope->category : scope->domain;
}

/* Names that an event adds to its sequence. */
struct news {
    struct perfetto_name_use name, category, message, file;
    uint32_t path; /* of the file */
    struct perfetto_new_keys keys;
};

/* Of a call: file and line of its function. */
static void put_call(struct perfetto_output *px, struct perfetto_sequence *sequence,
                     const struct event *event, struct news *news)
{
    static const struct name_fields fields = {PX_ANNOTATION_STRING_IID, PX_ANNOTATION_STRING, 0};
    int32_t line;
    if (!event_is_python_call(px->trace, event))
        return;
    proto_uint(&px->packet, PX_EVENT_CATEGORY_IIDS, PERFETTO_CALLS);
    news->path = call_source(px->trace, event->name, &line);
    if (!news->path)
        return;
    news->file = perfetto_use_name(px, &sequence->files, news->path, true);
    perfetto_begin_attribute(px, PERFETTO_FILE);
    put_name(px, news->file, &fields, news->path);
    proto_end(&px->packet);
    perfetto_begin_attribute(px, PERFETTO_LINE);
    proto_int(&px->packet, PX_ANNOTATION_INT, line);
    proto_end(&px->packet);
}

/* A message of a log, for the reader's own table of these: it needs a text and a thread. */
static void put_message(struct perfetto_output *px, struct perfetto_sequence *sequence,
                        const struct perfetto_event *event, struct news *news)
{
    static const uint8_t priorities[] = {
        [EXPORT_SEVERITY_DEBUG] = PX_PRIORITY_DEBUG,  [EXPORT_SEVERITY_INFO] = PX_PRIORITY_INFO,
        [EXPORT_SEVERITY_WARNING] = PX_PRIORITY_WARN, [EXPORT_SEVERITY_ERROR] = PX_PRIORITY_ERROR,
        [EXPORT_SEVERITY_FATAL] = PX_PRIORITY_FATAL,
    };
    enum export_severity severity = export_severity(px->trace, event->event->scope);
    if (severity == EXPORT_SEVERITY_NONE)
        return;
    proto_uint(&px->packet, PX_EVENT_CATEGORY_IIDS, PERFETTO_LOG);
    if (event->event->kind != EVENT_MARK)
        return;
    news->message = perfetto_use_name(px, &sequence->messages, event->event->name, true);
    if (!news->message.by_number)
        return;
    proto_begin(&px->packet, PX_EVENT_LOG_MESSAGE);
    proto_uint(&px->packet, PX_LOG_BODY, event->event->name);
    proto_uint(&px->packet, PX_LOG_PRIORITY, priorities[severity]);
    proto_end(&px->packet);
}

static void put_news(struct perfetto_output *px, const struct event *event, const struct news *news)
{
    if (!news->name.is_new && !news->category.is_new && !news->message.is_new &&
        !news->file.is_new && !news->keys.count)
        return;
    proto_begin(&px->packet, PX_PACKET_INTERNED_DATA);
    if (news->category.is_new)
        put_interned(px, PX_INTERNED_CATEGORIES, PERFETTO_FIRST_CATEGORY, category_of(px, event));
    if (news->name.is_new)
        put_interned(px, PX_INTERNED_EVENT_NAMES, 0, event->name);
    if (news->message.is_new)
        put_interned(px, PX_INTERNED_LOG_BODIES, 0, event->name);
    if (news->file.is_new)
        put_interned(px, PX_INTERNED_ANNOTATION_STRINGS, 0, news->path);
    perfetto_put_new_keys(px, &news->keys);
    proto_end(&px->packet);
}

static void put_recorded(struct perfetto_output *px, struct perfetto_sequence *sequence,
                         const struct perfetto_event *event)
{
    static const struct name_fields name_fields = {PX_EVENT_NAME_IID, PX_EVENT_NAME, 0};
    static const struct name_fields category_fields = {PX_EVENT_CATEGORY_IIDS, PX_EVENT_CATEGORIES,
                                                       PERFETTO_FIRST_CATEGORY};
    const struct event *recorded = event->event;
    uint32_t category = category_of(px, recorded);
    struct news news = {
        .name = perfetto_use_name(px, &sequence->names, event->text ? 0 : recorded->name, true),
        .category = perfetto_use_name(px, &sequence->categories, category, true),
    };
    put_name(px, news.category, &category_fields, category);
    if (recorded->name && !event->text)
        put_name(px, news.name, &name_fields, recorded->name);
    else if (!event->text)
        proto_text(&px->packet, PX_EVENT_NAME, EXPORT_UNNAMED);
    perfetto_put_attributes(px, recorded);
    put_call(px, sequence, recorded, &news);
    if (event->values && event->values->count) {
        perfetto_put_values(px, sequence, event->values, &news.keys);
        put_message(px, sequence, event, &news);
    }
    proto_end(&px->packet);
    put_news(px, recorded, &news);
}

static void put_end_values(struct perfetto_output *px, struct perfetto_sequence *sequence,
                           const struct args *values)
{
    struct news news = {0};
    perfetto_put_values(px, sequence, values, &news.keys);
    proto_end(&px->packet);
    if (!news.keys.count)
        return;
    proto_begin(&px->packet, PX_PACKET_INTERNED_DATA);
    perfetto_put_new_keys(px, &news.keys);
    proto_end(&px->packet);
}

static void put_flow(struct perfetto_output *px, const struct flow_place *flow)
{
    for (uint32_t i = 0; i < flow->leave_count; i++)
        proto_fixed64(&px->packet, PX_EVENT_FLOW_IDS, flow->leaves + i);
    if (flow->arrives)
        proto_fixed64(&px->packet, PX_EVENT_TERMINATING_FLOW_IDS, flow->arrives);
}

void perfetto_put(struct perfetto_output *px, struct perfetto_sequence *sequence,
                  const struct perfetto_event *event)
{
    struct proto_writer *packet = perfetto_packet_begin(px);
    if (event->time_ns < sequence->last_ns) {
        perfetto_put_time(px, PX_PACKET_TIMESTAMP, event->time_ns);
        if (!sequence->absolute)
            proto_uint(packet, PX_PACKET_TIMESTAMP_CLOCK_ID, PX_CLOCK_MONOTONIC);
    } else {
        proto_int(packet, PX_PACKET_TIMESTAMP, event->time_ns - sequence->last_ns);
        sequence->last_ns = event->time_ns;
    }
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, sequence->id);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    proto_begin(packet, PX_PACKET_TRACK_EVENT);
    proto_uint(packet, PX_EVENT_TYPE, event->type);
    if (event->track_uuid)
        proto_uint(packet, PX_EVENT_TRACK_UUID, event->track_uuid);
    if (event->text)
        proto_text(packet, PX_EVENT_NAME, event->text);
    if (event->flow)
        put_flow(px, event->flow);
    for (uint32_t i = 0; i < event->launch_count; i++)
        proto_fixed64(packet, PX_EVENT_FLOW_IDS, event->launches[i].arrow);
    for (const struct fact *at = event->arguments; at && at->name; at++)
        perfetto_put_argument(px, at);
    if (event->event && event->event->kind != EVENT_COUNTER) {
        put_recorded(px, sequence, event);
    } else if (!event->event && event->values && event->values->count) {
        put_end_values(px, sequence, event->values);
    } else {
        if (event->event)
            put_counter_value(px, event->event);
        proto_end(packet);
    }
    perfetto_packet_end(px);
}

/* ---- The usual events ------------------------------------------------------------------------ */

/* Starts a packet, to be completed at *ret_length; NULL if its time needs the general way. */
static inline uint8_t *begin_hot(struct perfetto_output *px, struct perfetto_sequence *sequence,
                                 int64_t time_ns, uint8_t **ret_length)
{
    if (time_ns < sequence->last_ns) /* always, if times are absolute */
        return NULL;
    uint8_t *at = out_reserve(px->out, HOT_PACKET_MAX + 2);
    *at++ = PX_TRACE_PACKET << 3 | BYTES_TAG;
    *ret_length = at++;
    *at++ = PX_PACKET_TIMESTAMP << 3 | VARINT_TAG;
    at = varint_put(at, (uint64_t)(time_ns - sequence->last_ns));
    sequence->last_ns = time_ns;
    return at;
}

static inline void end_hot(struct perfetto_output *px, uint8_t *length, const uint8_t *end)
{
    *length = (uint8_t)(end - length - 1);
    out_advance(px->out, (size_t)(end - length) + 1);
}

/* True for an event with only a name and a category, both numbered in the sequence. */
static inline bool is_plain(const struct perfetto_sequence *sequence, const struct scope *scope,
                            const struct event *event)
{
    return !(event->value_kind | scope->domain | (event->flags & EVENT_HAS_COLOR)) &&
           perfetto_knows(&sequence->names, event->name) &&
           (!scope->category || perfetto_knows(&sequence->categories, scope->category));
}

static inline uint8_t *put_hot_names(uint8_t *at, uint8_t type, uint32_t category, uint32_t name)
{
    at = put_tag(at, PX_EVENT_TYPE, VARINT_TAG);
    *at++ = type;
    if (category) {
        at = put_tag(at, PX_EVENT_CATEGORY_IIDS, VARINT_TAG);
        at = varint_put(at, (uint64_t)PERFETTO_FIRST_CATEGORY + category);
    }
    at = put_tag(at, PX_EVENT_NAME_IID, VARINT_TAG);
    return varint_put(at, name);
}

/* Begins with the number of its name. */
static inline uint8_t *begin_hot_attribute(uint8_t *at, enum perfetto_argument name,
                                           uint8_t **ret_length)
{
    at = put_tag(at, PX_EVENT_DEBUG_ANNOTATIONS, BYTES_TAG);
    *ret_length = at++;
    at = put_tag(at, PX_ANNOTATION_NAME_IID, VARINT_TAG);
    *at++ = (uint8_t)name;
    return at;
}

/* As put_call, for a file that is numbered in the sequence; 0: without file. */
static inline uint8_t *put_hot_call(uint8_t *at, uint32_t path, int32_t line)
{
    uint8_t *length;
    at = put_tag(at, PX_EVENT_CATEGORY_IIDS, VARINT_TAG);
    *at++ = PERFETTO_CALLS;
    if (!path)
        return at;
    at = begin_hot_attribute(at, PERFETTO_FILE, &length);
    at = put_tag(at, PX_ANNOTATION_STRING_IID, VARINT_TAG);
    at = varint_put(at, path);
    *length = (uint8_t)(at - length - 1);
    at = begin_hot_attribute(at, PERFETTO_LINE, &length);
    at = put_tag(at, PX_ANNOTATION_INT, VARINT_TAG);
    at = varint_put(at, (uint64_t)line);
    *length = (uint8_t)(at - length - 1);
    return at;
}

/* Writes a call in the fast way, and returns true if it could. */
static bool put_call_fast(struct perfetto_output *px, struct perfetto_sequence *sequence,
                          uint8_t type, const struct event *event)
{
    const struct scope *scope = trace_scope(px->trace, event->scope);
    int32_t line;
    uint32_t path = call_source(px->trace, event->name, &line);
    uint8_t *length;
    if (!is_plain(sequence, scope, event) || (path && !perfetto_knows(&sequence->files, path)))
        return false;
    uint8_t *at = begin_hot(px, sequence, event->time_ns, &length);
    if (!at)
        return false;
    at = mempcpy(at, sequence->head, sequence->head_size);
    uint8_t *event_length = at++;
    at = put_hot_names(at, type, scope->category, event->name);
    at = put_hot_call(at, path, line);
    *event_length = (uint8_t)(at - event_length - 1);
    end_hot(px, length, at);
    return true;
}

void perfetto_put_named(struct perfetto_output *px, struct perfetto_sequence *sequence,
                        uint8_t type, const struct event *event)
{
    const struct scope *scope = trace_scope(px->trace, event->scope);
    bool call = scope->observer == OBSERVER_PYTHON_CALLS;
    bool plain = !(call | event->level) && is_plain(sequence, scope, event);
    uint8_t *length;
    uint8_t *at = plain ? begin_hot(px, sequence, event->time_ns, &length) : NULL;
    if (at) {
        memcpy(at, sequence->head, PERFETTO_TAIL_SIZE); /* the excess is overwritten */
        at += sequence->head_size;
        uint8_t *event_length = at++;
        at = put_hot_names(at, type, scope->category, event->name);
        *event_length = (uint8_t)(at - event_length - 1);
        end_hot(px, length, at);
    } else if (!call || !put_call_fast(px, sequence, type, event)) {
        perfetto_put(
            px, sequence,
            &(struct perfetto_event){.time_ns = event->time_ns, .type = type, .event = event});
    }
}

void perfetto_put_end(struct perfetto_output *px, struct perfetto_sequence *sequence,
                      int64_t time_ns)
{
    uint8_t *length;
    uint8_t *at = begin_hot(px, sequence, time_ns, &length);
    if (!at) {
        perfetto_put(px, sequence,
                     &(struct perfetto_event){.time_ns = time_ns, .type = PX_SLICE_END});
        return;
    }
    memcpy(at, sequence->end, PERFETTO_TAIL_SIZE);
    end_hot(px, length, at + sequence->end_size);
}
