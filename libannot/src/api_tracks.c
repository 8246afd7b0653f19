/* SPDX-License-Identifier: MIT */
/* The public functions of tracks.h. */
#include "api.h"
#include "fast.h"
#include "fast_event.h"
#include "mix.h"
#include "proc.h"
#include "spell.h"
#include "strings.h"

/* ---- Flows ----------------------------------------------------------------------------------- */

annot_flow annot_flow_new(void)
{
    FORWARD_VALUE(flow_new, 0);
    return emit_take_id();
}

/* The same in every process and version, so no other copy is asked. */
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
    const struct annot_track none = {0};
    FORWARD_VALUE(track_create, none, name, parent);
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

/* A copy that does not know of this still closes the range. */
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

/* ---- What is shown of the track that a thread runs ------------------------------------------- */

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

/* A thread that records nothing yet is told yes: it shows nothing either. */
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
