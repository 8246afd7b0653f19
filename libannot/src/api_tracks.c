/* SPDX-License-Identifier: MIT */
/* The public functions of tracks.h and queues.h: flows, and timelines other than threads. */
#include "api.h"
#include "clock.h"
#include "fast.h"
#include "mix.h"
#include "proc.h"
#include "process.h"
#include "spell.h"
#include "strings.h"

#include <annot/queues.h>
#include <annot_barrier.h>

/* ---- Flows ----------------------------------------------------------------------------------- */

annot_flow annot_flow_new(void)
{
    FORWARD_VALUE(flow_new, 0);
    return emit_take_id();
}

/* The same in every process and version, so it is never forwarded. */
annot_flow annot_flow_id(const char *scope, uint64_t number)
{
    struct string_key key;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a 64 */
    string_key_init(&key, scope, ANNOT_STRING_NAME);
    for (uint32_t i = 0; i < key.length; i++)
        hash = (hash ^ (unsigned char)key.bytes[i]) * UINT64_C(0x100000001b3);
    hash = mix(mix(hash) + number);
    return hash ? hash : 1;
}

static APART void general_flow(uint8_t kind, annot_flow flow, const char *text)
{
    struct emission emission = {.kind = kind, .id = flow, .text = text};
    emit_general(&emission);
}

void annot_emit_flow(enum annot_flow_point point, annot_flow flow, const char *text)
{
    static const uint8_t kinds[] = {ANNOT_REC_FLOW_BEGIN, ANNOT_REC_FLOW_STEP, ANNOT_REC_FLOW_END};
    struct control *control = annot_control;
    if (flow == 0 || (unsigned)point >= sizeof(kinds))
        return;
    if (__builtin_expect(is_ready(control), 1)) {
        annot_name name = text ? spell_cached(control, text) : 0;
        if (__builtin_expect((name || !text) && fast_flow(control, kinds[point], flow, name), 1))
            return;
    }
    FORWARD(flow, point, flow, text);
    general_flow(kinds[point], flow, text);
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

struct annot_track annot_track_create(const char *name, const struct annot_track *parent)
{
    const struct annot_track absent = {0};
    FORWARD_VALUE(track_create, absent, name, parent);
    return (struct annot_track){
        .id = emit_take_id(),
        .parent = parent ? parent->id : 0,
        .name = annot_name_intern(name),
        .parent_name = parent ? parent->name : 0,
    };
}

static int is_track(const struct annot_track *track)
{
    return track && track->id != 0;
}

static int track_emission(struct emission *emission, const struct annot_track *track, uint8_t kind)
{
    if (!is_track(track))
        return 0;
    emission->kind = kind;
    emission->value_kind = ANNOT_VALUE_NONE;
    emission->value = (uint64_t)track->parent_name << 32 | track->name;
    emission->id = track->id;
    emission->parent = track->parent;
    return 1;
}

static APART void general_begin(const struct annot_track *track, const char *text)
{
    struct emission emission = {.text = text};
    if (track_emission(&emission, track, ANNOT_REC_TRACK_BEGIN))
        emit_general(&emission);
}

static APART void general_event(const struct annot_track *track, const struct annot_event *event,
                                uint8_t kind)
{
    struct emission emission;
    emission_from(&emission, event, kind);
    if (track_emission(&emission, track, kind))
        emit_general(&emission);
}

static APART void general_end(const struct annot_track *track)
{
    struct emission emission = {
        .kind = ANNOT_REC_TRACK_END, .id = track->id, .parent = track->parent};
    emit_general(&emission);
}

void annot_emit_track_begin(const struct annot_track *track, const char *text)
{
    struct control *control = annot_control;
    if (__builtin_expect(is_ready(control) && is_track(track), 1)) {
        annot_name name = spell_cached(control, text);
        if (__builtin_expect(name && fast_track_begin(control, track, name), 1))
            return;
    }
    FORWARD(track_begin, track, text);
    general_begin(track, text);
}

void annot_emit_track_begin_event(const struct annot_track *track, const struct annot_event *event)
{
    if (is_track(track) && fast_event(annot_control, ANNOT_REC_TRACK_BEGIN, event, track))
        return;
    FORWARD(track_begin_event, track, event);
    general_event(track, event, ANNOT_REC_TRACK_BEGIN);
}

void annot_emit_track_end(const struct annot_track *track)
{
    if (!is_track(track))
        return;
    if (__builtin_expect(fast_track_end(annot_control, track), 1))
        return;
    FORWARD(track_end, track);
    general_end(track);
}

/* A copy without this function still closes the range. */
void annot_emit_track_end_values(const struct annot_track *track, const struct annot_value *values,
                                 size_t count)
{
    if (!is_track(track))
        return;
    if (runtime_other && !RUNTIME_HAS(track_end_values)) {
        FORWARD(track_end, track);
        return;
    }
    FORWARD(track_end_values, track, values, count);
    struct emission emission = {.kind = ANNOT_REC_TRACK_END,
                                .id = track->id,
                                .parent = track->parent,
                                .values = values,
                                .value_count = count};
    emit_general(&emission);
}

void annot_emit_track_mark_event(const struct annot_track *track, const struct annot_event *event)
{
    if (is_track(track) && fast_event(annot_control, ANNOT_REC_TRACK_MARK, event, track))
        return;
    FORWARD(track_mark_event, track, event);
    general_event(track, event, ANNOT_REC_TRACK_MARK);
}

/* ---- Shown ranges of the track that a thread runs -------------------------------------------- */

int annot_emit_show(annot_name name, annot_domain domain, int is_outermost)
{
    const uint64_t kind =
        ANNOT_OPEN_MARK(is_outermost ? ANNOT_OPEN_TRACK_OUTERMOST : ANNOT_OPEN_TRACK_INNER, domain);
    if (name == 0)
        return 0;
    if (__builtin_expect(fast_show(annot_control, name, kind), 1))
        return 1;
    FORWARD_VALUE(show, 0, name, domain, is_outermost);
    struct emission emission = {.kind = EMIT_SHOW, .name = name, .value = kind};
    emit_general(&emission);
    return emission.id != 0;
}

void annot_emit_hide(uint32_t skip, uint32_t count)
{
    if (__builtin_expect(skip == 0, 1))
        count = fast_hide(annot_control, count);
    if (__builtin_expect(count == 0, 1))
        return;
    FORWARD(hide, skip, count);
    struct emission emission = {.kind = EMIT_HIDE, .id = skip, .value = count};
    emit_general(&emission);
}

/* Returns 1 for a thread that records nothing yet: it shows no range either. */
int annot_emit_wants(const struct annot_event *event)
{
    const struct control *control = annot_control;
    uint32_t number = event->category ? event->category : event->domain;
    if (__builtin_expect(is_ready(control) && control->mask, 1)) {
        /* Partner: the collector's stores; any order will do. */
        uint64_t mask = annot_load_relaxed(&control->mask[event->level & (ANNOT_LEVELS - 1)]);
        return (mask >> (number & 63) & 1) != 0;
    }
    FORWARD_VALUE(wants, 1, event);
    return 1;
}

/* ---- Queues: names and labels ---------------------------------------------------------------- */

/* Longer ones are cut at the end. */
static APART uint32_t intern_text(const char *text, enum annot_string_kind kind)
{
    struct string_key key;
    string_key_init(&key, text, kind);
    return process_intern(&key);
}

struct queue {
    uint64_t id;
    const char *name;
    uint32_t kind, parent;
};

static APART annot_queue intern_queue(const struct queue *queue)
{
    char *text = scratch_take();
    if (!text) {
        process_leave_name();
        return 0;
    }
    const char *end = text + SCRATCH_SIZE;
    char *at = text_append_decimal(text, end, queue->kind);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, queue->id);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, queue->parent);
    at = text_append(at, end, "\x1f");
    text_append_clean(at, end, queue->name);
    uint32_t id = intern_text(text, ANNOT_STRING_QUEUE);
    scratch_give(text);
    process_emit_string(id); /* a queue with spans may have a new name */
    return id;
}

annot_queue annot_queue_create(enum annot_queue_kind kind, uint64_t id, annot_queue parent,
                               const char *name)
{
    FORWARD_VALUE(queue_create, 0, kind, id, parent, name);
    return intern_queue(&(struct queue){id, name, (uint32_t)kind, parent});
}

static char *append_value(char *at, const char *end, const struct annot_value *value)
{
    uint64_t bits = value->value.uint64;
    if (value->kind == ANNOT_PAYLOAD_STRING)
        return text_append_clean(at, end, value->value.string);
    if (value->kind == ANNOT_PAYLOAD_BOOL)
        bits = value->value.boolean != 0;
    if (value->kind == ANNOT_PAYLOAD_INT64 && value->value.int64 < 0) {
        at = text_append(at, end, "-");
        bits = -bits;
    }
    return text_append_decimal(at, end, bits);
}

static char *append_key(char *at, const char *end, const struct annot_value *value)
{
    const struct annot_string *key = value->key_name ? strings_get(value->key_name) : NULL;
    if (!key)
        return text_append_clean(at, end, value->key);
    for (uint32_t i = 0; i < string_length(key); i++) {
        const char one[] = {string_bytes(key)[i], 0};
        at = text_append(at, end, one);
    }
    return at;
}

/* The name comes last, because it may be cut. */
static APART void write_label(char *text, const char *name, const struct annot_value *values,
                              size_t count)
{
    const char *end = text + SCRATCH_SIZE;
    char *at = text;
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind < ANNOT_PAYLOAD_INT64 || values[i].kind > ANNOT_PAYLOAD_STRING)
            continue;
        at = append_key(at, end, &values[i]);
        at = text_append(at, end, "\x1f");
        at = text_append_decimal(at, end, values[i].kind);
        at = text_append(at, end, "\x1f");
        at = append_value(at, end, &values[i]);
        at = text_append(at, end, "\x1e");
    }
    text_append_clean(at, end, name);
}

annot_name annot_queue_label(const char *name, const struct annot_value *values, size_t count)
{
    FORWARD_VALUE(queue_label, annot_name_intern(name), name, values, count);
    char *text = scratch_take();
    if (!text) {
        process_leave_name();
        return 0;
    }
    write_label(text, name, values, values ? count : 0);
    struct string_key key;
    string_key_init(&key, text, ANNOT_STRING_LABEL);
    key.sparing = 2; /* labels may be thousands, and leave room for names */
    uint32_t id = strings_intern(&key);
    scratch_give(text);
    return id ? id : annot_name_intern(name);
}

/* ---- Queues: clocks -------------------------------------------------------------------------- */

annot_span_clock annot_clock_create(const char *name)
{
    FORWARD_VALUE(clock_create, ANNOT_SPAN_CLOCK_MONOTONIC, name);
    uint32_t id = intern_text(name, ANNOT_STRING_CLOCK);
    return id ? id : ANNOT_SPAN_CLOCK_MONOTONIC;
}

void annot_clock_anchor(annot_span_clock clock, const struct annot_clock_anchor *anchor)
{
    FORWARD(clock_anchor, clock, anchor);
    struct emission emission = {.kind = ANNOT_REC_CLOCK,
                                .value_kind = ANNOT_VALUE_UINT64,
                                .value = anchor->raw,
                                .color = anchor->error_ns,
                                .name = clock,
                                .begin = anchor->time};
    if (clock != ANNOT_SPAN_CLOCK_OWN && clock != ANNOT_SPAN_CLOCK_MONOTONIC && annot_enabled())
        emit_general(&emission);
}

uint64_t annot_queue_time(void)
{
    FORWARD_VALUE(queue_time, 0);
    return clock_now();
}

/* ---- Queues: spans --------------------------------------------------------------------------- */

static APART void meet(void)
{
    struct emission emission = {.kind = EMIT_MEET};
    emit_general(&emission);
}

struct annot_origin annot_origin_here(void)
{
    const struct annot_origin unknown = {0};
    FORWARD_VALUE(origin_here, unknown);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (control && !control_has_block(control)) {
        meet();
        control = api_recording();
    }
    if (!control || !control->thread)
        return unknown;
    return (struct annot_origin){.time = clock_now(), .thread = control->serial + 1};
}

static APART void emit_span(const struct annot_span *span)
{
    struct emission emission = {
        .kind = ANNOT_REC_SPAN,
        .level = span->level,
        .is_launched = span->flags & ANNOT_SPAN_LAUNCHED ? 1 : 0,
        .domain = span->domain,
        .category = span->category,
        .color = span->queue,
        .name = span->name,
        .begin = span->begin,
        .value = span->end,
        .id = span->origin.thread ? span->origin.time : 0,
        .parent = (uint64_t)span->origin.thread << 32 | span->clock,
        .values = span->values,
        .value_count = span->value_count,
    };
    emit_general(&emission);
}

void annot_emit_spans(const struct annot_span *spans, size_t count)
{
    FORWARD(emit_spans, spans, count);
    for (size_t i = 0; i < count && annot_enabled(); i++)
        emit_span(&spans[i]);
}

void annot_queue_count(enum annot_queue_count which, uint64_t count)
{
    FORWARD(queue_count, which, count);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (control && (unsigned)which < ANNOT_QUEUE_COUNTS)
        annot_fetch_add_relaxed(&control->segment->header->queues[which], count);
}

_Static_assert((int)ANNOT_QUEUE_SHUT == (int)ANNOT_QUEUE_TOTAL_SHUT &&
                   (int)ANNOT_QUEUE_ON == (int)ANNOT_WISH_ON,
               "the numbers of the wire are those of the API");

uint32_t annot_queue_wishes(void)
{
    FORWARD_VALUE(queue_wishes, 0);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    return control ? (uint32_t)annot_load_relaxed(&control->segment->header->control.wishes) : 0;
}

/* ---- For later copies ------------------------------------------------------------------------ */

OWN(annot_flow_new);
OWN(annot_emit_flow);
OWN(annot_track_create);
OWN(annot_emit_track_begin);
OWN(annot_emit_track_begin_event);
OWN(annot_emit_track_end);
OWN(annot_emit_track_end_values);
OWN(annot_emit_track_mark_event);
OWN(annot_emit_show);
OWN(annot_emit_hide);
OWN(annot_emit_wants);
OWN(annot_queue_create);
OWN(annot_queue_label);
OWN(annot_clock_create);
OWN(annot_clock_anchor);
OWN(annot_queue_time);
OWN(annot_origin_here);
OWN(annot_emit_spans);
OWN(annot_queue_count);
OWN(annot_queue_wishes);
