/* SPDX-License-Identifier: MIT */
/* Tracks become entries of the trace when they are first named, with what each record tells of
 * them. Ids are foreign: how many a segment may add is bounded. */
#include "decode_parts.h"

#include <errno.h>

/* -ENOSPC: too many. */
static int64_t find_track(struct decoder *decoder, uint64_t id)
{
    struct trace *trace = decoder->names.trace;
    int64_t ordinal = trace_track_find(trace, id);
    if (ordinal >= 0)
        return ordinal;
    if (decoder->track_count >= DECODE_TRACKS_MAX)
        return -ENOSPC;
    ordinal = trace_track_add(trace, id);
    if (ordinal < 0)
        return ordinal;
    decoder->track_count++;
    trace_track(trace, (uint32_t)ordinal)->process = decoder->process;
    return ordinal;
}

static int name_track(struct decoder *decoder, int64_t ordinal, uint32_t name_id)
{
    struct trace_track *track = trace_track(decoder->names.trace, (uint32_t)ordinal);
    if (track->name != 0 || name_id == 0)
        return 0;
    int64_t name = names_by_id(&decoder->names, name_id);
    if (name <= 0)
        return (int)name;
    track->name = (uint32_t)name;
    track->revision++;
    return 0;
}

/* What is above a track is known by what is below it, and may never emit itself. */
static int place_track(struct decoder *decoder, int64_t ordinal, uint64_t parent_id,
                       uint32_t parent_name)
{
    struct trace *trace = decoder->names.trace;
    uint32_t placed = trace_track_get(trace, (uint32_t)ordinal)->parent;
    if (parent_id == 0)
        return 0;
    if (placed != 0) { /* perhaps by an end, which tells no names */
        bool is_same = parent_name != 0 && trace_track_get(trace, placed - 1)->name == 0 &&
                       trace_track_find(trace, parent_id) == (int64_t)placed - 1;
        return is_same ? name_track(decoder, (int64_t)placed - 1, parent_name) : 0;
    }
    int64_t parent = find_track(decoder, parent_id);
    if (parent < 0)
        return parent == -ENOSPC ? 0 : (int)parent;
    trace_track_set_parent(trace, (uint32_t)ordinal, (uint32_t)parent);
    return name_track(decoder, parent, parent_name);
}

int decode_track(struct decoder *decoder, const struct decode_parts *parts, struct event *event)
{
    if (!(parts->record.flags & ANNOT_FLAG_ID) || parts->id.id == 0)
        return -EBADMSG;
    int64_t ordinal = find_track(decoder, parts->id.id);
    if (ordinal < 0)
        return ordinal == -ENOSPC ? 0 : (int)ordinal;
    event->id = (uint64_t)ordinal;
    bool named = parts->record.flags & ANNOT_FLAG_ATTR;
    int error = name_track(decoder, ordinal, named ? (uint32_t)parts->attr.value : 0);
    if (error == 0)
        error = place_track(decoder, ordinal, parts->id.reserved,
                            named ? (uint32_t)(parts->attr.value >> 32) : 0);
    return error != 0 ? error : 1;
}
