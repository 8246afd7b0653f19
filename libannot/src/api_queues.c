/* SPDX-License-Identifier: MIT */
/* The public functions of queues.h. */
#include "api.h"
#include "clock.h"
#include "proc.h"
#include "process.h"
#include "scratch.h"
#include "strings.h"

#include <annot/queues.h>
#include <annot_barrier.h>

/* ---- What spans refer to --------------------------------------------------------------------- */

/* Longer ones are cut at the end. */
static APART uint32_t intern_text(const char *text, enum annot_string_kind kind)
{
    struct string_key key;
    string_key_init(&key, text, kind);
    return intern_or_tell(&key);
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
    process_tell_string(id); /* a new name of what has had spans already */
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

/* The name stands last: it is what may be cut. */
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
    key.sparing = 2; /* shapes may be thousands, and leave room for names */
    uint32_t id = strings_intern(&key);
    scratch_give(text);
    return id ? id : annot_name_intern(name);
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

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

/* ---- Spans ----------------------------------------------------------------------------------- */

static APART void meet(void)
{
    struct emission emission = {.kind = EMIT_MEET};
    emit_general(&emission);
}

struct annot_origin annot_origin_here(void)
{
    const struct annot_origin none = {0};
    FORWARD_VALUE(origin_here, none);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (control && !control_has_block(control)) {
        meet();
        control = api_recording();
    }
    if (!control || !control->thread)
        return none;
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

OWN(annot_queue_create);
OWN(annot_queue_label);
OWN(annot_clock_create);
OWN(annot_clock_anchor);
OWN(annot_queue_time);
OWN(annot_origin_here);
OWN(annot_emit_spans);
OWN(annot_queue_count);
OWN(annot_queue_wishes);
