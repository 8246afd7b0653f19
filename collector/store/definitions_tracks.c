/* SPDX-License-Identifier: MIT */
/* Tracks, many in one entry: there may be a hundred thousand, and most differ little from the one
 * before. Units of counters, one each. Foreign bytes: an entry is bounded by its length, the number
 * of tracks by the trace. Thread-safety: none. */
#include "definitions.h"
#include "format.h"
#include "varint.h"

#include <errno.h>

enum { TRACK_BYTES_MAX = 4 * VARINT_MAX, UNIT_BYTES_MAX = 3 * VARINT_MAX };

/* ---- Writing ---- */

static uint8_t *put_change(uint8_t *at, uint64_t value, uint64_t before)
{
    return varint_put(at, zigzag((int64_t)(value - before)));
}

static int put_tracks(const struct trace *trace, uint32_t begin, uint32_t end,
                      struct definitions_buffer *buffer)
{
    VEC(uint8_t) body = {0};
    struct trace_track before = {0};
    if (vec_reserve(&body, (size_t)(end - begin) * TRACK_BYTES_MAX + (size_t)2 * VARINT_MAX) != 0)
        return -ENOMEM;
    uint8_t *at = varint_put(body.items, begin);
    at = varint_put(at, end - begin);
    for (uint32_t i = begin; i < end; i++) {
        const struct trace_track *track = trace_track_get(trace, i);
        at = put_change(at, track->id, before.id);
        at = put_change(at, track->process, before.process);
        at = put_change(at, track->name, before.name);
        at = put_change(at, track->parent, before.parent);
        before = *track;
    }
    int error = definitions_put(buffer, STORE_DEFINE_TRACKS, body.items, (size_t)(at - body.items));
    vec_free(&body);
    return error;
}

static bool is_new(const struct trace *trace, const struct definitions_state *state, uint32_t track)
{
    return state->track_revisions.items[track] != trace_track_get(trace, track)->revision;
}

/* One entry for each run of tracks that are new or changed. */
static int collect_tracks(const struct trace *trace, struct definitions_state *state, size_t limit,
                          struct definitions_buffer *buffer)
{
    uint32_t count = trace_track_count(trace), begin = 0;
    while (state->track_revisions.count < count)
        if (vec_push(&state->track_revisions, 0) != 0)
            return -ENOMEM;
    while (begin < count && buffer->bytes.count < limit) {
        uint32_t end = begin;
        while (end < count && end - begin < STORE_STACKS_ENTRY && is_new(trace, state, end))
            end++;
        if (end == begin) {
            begin++;
            continue;
        }
        if (put_tracks(trace, begin, end, buffer) != 0)
            return -ENOMEM;
        for (; begin < end; begin++)
            state->track_revisions.items[begin] = trace_track_get(trace, begin)->revision;
    }
    return 0;
}

static int put_unit(struct definitions_buffer *buffer, const struct trace_unit *unit)
{
    uint8_t body[UNIT_BYTES_MAX], *at = body;
    at = varint_put(at, unit->counter);
    at = varint_put(at, unit->domain);
    at = varint_put(at, unit->unit);
    return definitions_put(buffer, STORE_DEFINE_UNIT, body, (size_t)(at - body));
}

static int collect_units(const struct trace *trace, struct definitions_state *state, size_t limit,
                         struct definitions_buffer *buffer)
{
    uint32_t count = trace_unit_count(trace);
    for (uint32_t i = 0; i < count && buffer->bytes.count < limit; i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        if (i >= state->unit_revisions.count && vec_push(&state->unit_revisions, 0) != 0)
            return -ENOMEM;
        if (state->unit_revisions.items[i] == unit->revision)
            continue;
        if (put_unit(buffer, unit) != 0)
            return -ENOMEM;
        state->unit_revisions.items[i] = unit->revision;
    }
    return 0;
}

int definitions_collect_tracks(const struct trace *trace, struct definitions_state *state,
                               size_t limit, struct definitions_buffer *buffer)
{
    int error = collect_tracks(trace, state, limit, buffer);
    return error ? error : collect_units(trace, state, limit, buffer);
}

/* ---- Reading ---- */

static uint64_t take_change(struct varint_reader *body, uint64_t before)
{
    return before + (uint64_t)varint_get_signed(body);
}

/* Those that damage took get entries that say nothing. */
static int fill_tracks(struct trace *trace, uint64_t ordinal)
{
    if (ordinal >= TRACE_TRACKS_MAX)
        return -EBADMSG;
    while (trace_track_count(trace) <= ordinal)
        if (trace_track_add(trace, 0) < 0)
            return -ENOMEM;
    return 0;
}

int definitions_apply_tracks(struct trace *trace, struct varint_reader *body)
{
    struct trace_track track = {0};
    uint64_t first = varint_get(body), size = varint_get(body);
    for (uint64_t i = 0; i < size; i++) {
        track.id = take_change(body, track.id);
        track.process = (uint32_t)take_change(body, track.process);
        track.name = (uint32_t)take_change(body, track.name);
        track.parent = (uint32_t)take_change(body, track.parent);
        int error = body->at ? fill_tracks(trace, first + i) : -EBADMSG;
        if (!error)
            error = trace_track_set_id(trace, (uint32_t)(first + i), track.id);
        if (error)
            return error;
        struct trace_track *entry = trace_track(trace, (uint32_t)(first + i));
        entry->process = track.process;
        entry->name = track.name;
        entry->parent = track.parent;
        entry->revision++;
    }
    return body->at ? 0 : -EBADMSG;
}

int definitions_apply_unit(struct trace *trace, struct varint_reader *body)
{
    uint32_t counter = (uint32_t)varint_get(body), domain = (uint32_t)varint_get(body);
    uint32_t unit = (uint32_t)varint_get(body);
    int error = body->at ? trace_unit_set(trace, domain, counter, unit) : -EBADMSG;
    return error == -EINVAL || error == -ENOSPC ? -EBADMSG : error;
}
