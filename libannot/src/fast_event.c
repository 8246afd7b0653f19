/* SPDX-License-Identifier: MIT */
/* The fast path of events with attributes and values: see fast.h. */
#include "fast.h"

#include "spell.h"
#include "strings.h"

#include <string.h>

/* Larger events take the general path, which cuts and counts. */
enum { FAST_VALUES = 64 };

static FAST uint8_t *put_text(uint8_t *at, const uint8_t *end, const char *text,
                              uint64_t *ret_length)
{
    size_t length = text ? strnlen(text, ANNOT_STRING_MAX + 1) : ANNOT_STRING_MAX + 1;
    size_t padded = (length + ANNOT_GRANULE - 1) / ANNOT_GRANULE * ANNOT_GRANULE;
    if (length > ANNOT_STRING_MAX || (size_t)(end - at) < padded)
        return NULL;
    *ret_length = length;
    if (length == 0)
        return at;
    memset(at + padded - ANNOT_GRANULE, 0, ANNOT_GRANULE);
    /* A compiler that knows the small bound uses "rep movs", which is slow to start. */
    __asm__("" : "+r"(length));
    memcpy(at, text, length);
    return at + padded;
}

/* Returns the address after it, or NULL if the value is not for the fast path. */
static FAST uint8_t *put_value(struct control *control, const struct annot_value *value,
                               uint8_t *at, const uint8_t *end)
{
    annot_name key = value->key_name ? value->key_name : spell_cached(control, value->key);
    uint64_t bits = value->value.uint64;
    uint8_t *next = at + sizeof(struct annot_record);
    uint32_t flags = 0;
    if (key == 0 || key >= control->name_limit || next > end)
        return NULL;
    if (value->kind == ANNOT_PAYLOAD_BOOL) {
        bits = value->value.boolean != 0;
    } else if (value->kind == ANNOT_PAYLOAD_STRING) {
        next = put_text(next, end, value->value.string, &bits);
        flags = ANNOT_FLAG_VALUE_STRING;
        if (!next)
            return NULL;
    } else if (value->kind < ANNOT_PAYLOAD_INT64 || value->kind > ANNOT_PAYLOAD_DOUBLE) {
        return NULL;
    }
    uint32_t granules = (uint32_t)(next - at) / ANNOT_GRANULE;
    record_base(at, bits,
                record_head(ANNOT_REC_PAYLOAD, granules, flags, (uint32_t)value->kind << 3), key);
    return next;
}

static FAST uint8_t *put_values(struct control *control, const struct annot_value *values,
                                uint64_t count, uint8_t *at, const uint8_t *end)
{
    const uint8_t *limit = at + ANNOT_PAYLOAD_BYTES;
    if (count > FAST_VALUES || (count && !values))
        return NULL;
    for (uint64_t i = 0; at && i < count; i++)
        at = put_value(control, &values[i], at, end);
    return at && at <= limit ? at : NULL;
}

static FAST int is_wanted(const struct control *control, const struct annot_event *event)
{
    uint32_t number = event->category ? event->category : event->domain;
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&control->mask[event->level & (ANNOT_LEVELS - 1)]);
    return (mask >> (number & 63) & 1) != 0;
}

/* A filtered range of a track is written by the general path. */
static FAST int hold(struct control *control, uint8_t kind)
{
    return kind == ANNOT_REC_PUSH ? fast_hold_push(control) : kind != ANNOT_REC_TRACK_BEGIN;
}

__attribute__((noinline, cold)) int fast_hold_bare(struct control *control, uint8_t kind,
                                                   const struct annot_event *event)
{
    uint64_t generation = control->generation;
    int held = 0;
    if (generation != annot_gate_v1.generation)
        return 0;
    control->generation = BUSY(stack_pointer());
    annot_signal_fence();
    /* No mask: a signal handler forked just before, and this is the child. */
    if (control->mask && !control_has_block(control) && !control->nested_depth &&
        !control->nested_pops && !control->shadow && !watch_is_on(control)) {
        int wanted = event ? is_wanted(control, event) : fast_is_wanted(control);
        if (kind == ANNOT_REC_POP)
            held = fast_hold_pop(control);
        else if (!wanted)
            held = hold(control, kind);
    }
    fast_leave(control, generation);
    return held;
}

static FAST int is_in_segment(const struct control *control, const struct annot_event *event)
{
    return (!event->domain || fast_is_in_segment(control, event->domain)) &&
           (!event->category || fast_is_in_segment(control, event->category));
}

/* True if all strings of the event are in the segment. */
static FAST int is_fast(struct control *control, const struct annot_event *event, uint8_t kind,
                        annot_name name)
{
    if (event->payload_kind > ANNOT_PAYLOAD_BOOL)
        return 0;
    if (kind == ANNOT_REC_PUSH && control->depth >= ANNOT_LIVE_DEPTH)
        return 0;
    if (__builtin_expect(!is_in_segment(control, event), 0))
        control->name_limit = strings_sync(control->segment);
    return name != 0 && name < control->name_limit;
}

static FAST uint64_t payload_bits(const struct annot_event *event)
{
    if (event->payload_kind == ANNOT_PAYLOAD_NONE)
        return 0;
    return event->payload_kind == ANNOT_PAYLOAD_BOOL ? event->payload.boolean != 0
                                                     : event->payload.uint64;
}

/* Writes the parts between base and key-values. Returns the address of the key-values. Colour
 * and kind are read as the caller wrote them: one load of both would wait for the two stores. */
static FAST uint8_t *put_parts(uint8_t *at, const struct annot_event *event,
                               const struct annot_track *track, uint32_t *ret_flags)
{
    uint64_t *words = (uint64_t *)(at + sizeof(struct annot_record));
    uint64_t numbers = (uint64_t)event->category << 48 | (uint64_t)event->domain << 32;
    uint32_t flags = 0, color = annot_load_relaxed(&event->color);
    if (track || annot_load_relaxed(&event->payload_kind) || color || numbers) {
        words[0] = track ? fast_track_names(track) : payload_bits(event);
        words[1] = numbers | color;
        words += 2;
        flags |= ANNOT_FLAG_ATTR;
    }
    if (track) {
        words[0] = track->id;
        words[1] = track->parent;
        words += 2;
        flags |= ANNOT_FLAG_ID;
    }
    *ret_flags = flags;
    return (uint8_t *)words;
}

/* Opens the range of a PUSH. */
static FAST void open_range(struct control *control, const struct annot_event *event,
                            annot_name name, uint64_t time)
{
    if (event->domain | event->category)
        live_note(control, event->domain, event->category);
    live_put(control, name, control->instance, time);
    control->depth++;
    control->recorded++;
    control->instance = instance_after(control->instance);
}

static FAST int write_marked(struct control *control, uint8_t kind, const struct annot_event *event,
                             const struct annot_track *track, uint32_t place)
{
    struct annot_block *block = annot_load_relaxed(&control->block);
    uint8_t *at = record_at(block, place);
    annot_name name = event->name ? event->name : spell_cached(control, event->text);
    uint32_t flags;
    if (!is_fast(control, event, kind, name) || (track && !fast_knows(control, track)))
        return 0;
    uint8_t *values = put_parts(at, event, track, &flags);
    uint8_t *end = put_values(control, event->values, event->value_count, values,
                              record_at(block, ANNOT_BLOCK_DATA_SIZE));
    if (!end)
        return 0;
    uint32_t level = event->level & (ANNOT_LEVELS - 1);
    level |= track ? 0 : (uint32_t)event->payload_kind << 3;
    level |= event->color ? ANNOT_RECORD_HAS_COLOR : 0;
    uint32_t granules = (uint32_t)(values - at) / ANNOT_GRANULE;
    uint64_t time = clock_now();
    record_base(at, time, record_head(kind, granules, flags, level), name);
    record_commit_to(control, block, place + (uint32_t)(end - at));
    if (kind == ANNOT_REC_PUSH)
        open_range(control, event, name, time);
    return 1;
}

int fast_event(struct control *control, uint8_t kind, const struct annot_event *event,
               const struct annot_track *track)
{
    const uint32_t size =
        sizeof(struct annot_record) + sizeof(struct annot_attr) + sizeof(struct annot_id);
    uint64_t generation = control->generation;
    uint32_t at;
    if (!event)
        return 0;
    if (!fast_enter(control, generation, size, &at))
        return fast_hold_bare(control, kind, event);
    int done = __builtin_expect(is_wanted(control, event), 1)
                   ? write_marked(control, kind, event, track, at)
                   : hold(control, kind);
    fast_leave(control, generation);
    return done;
}

static FAST int write_group(struct control *control, annot_name name,
                            const struct annot_value *values, uint64_t count, uint32_t place)
{
    struct annot_block *block = annot_load_relaxed(&control->block);
    uint8_t *begin = record_at(block, place), *at = begin + sizeof(struct annot_record);
    for (uint64_t i = 0; i < count && i < FAST_VALUES; i++)
        if (values[i].kind < ANNOT_PAYLOAD_INT64 || values[i].kind > ANNOT_PAYLOAD_DOUBLE)
            return 0;
    at = fast_passes(control, name)
             ? put_values(control, values, count, at, record_at(block, ANNOT_BLOCK_DATA_SIZE))
             : NULL;
    if (!at)
        return 0;
    record_base(begin, clock_now(), record_head(ANNOT_REC_COUNTER_GROUP, 1, 0, 0), name);
    record_commit_to(control, block, place + (uint32_t)(at - begin));
    return 1;
}

int fast_counters(struct control *control, annot_name name, const struct annot_value *values,
                  uint64_t count)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    int done = !fast_is_wanted(control) || write_group(control, name, values, count, at);
    fast_leave(control, generation);
    return done;
}
