/* SPDX-License-Identifier: MIT */
/* Lanes and units of counters: see trace.h. */
#include "trace_parts.h"

#include <errno.h>

enum { UNITS_MAX = 65536 };

int64_t trace_lane_add(struct trace *trace, uint64_t id)
{
    int64_t ordinal = (int64_t)trace->lanes.count;
    if (ordinal >= TRACE_LANES_MAX)
        return -ENOSPC;
    const struct trace_lane lane = {.revision = 1, .levels = 1, .kind = LANE_TRACK};
    int error = vec_push(&trace->lanes, lane);
    if (!error)
        error = trace_lane_set_id(trace, (uint32_t)ordinal, id);
    return error ? error : ordinal;
}

/* Ids of tracks are the same in all processes, ids of other lanes are per process. */
#define LANE_KEY(kind, process, id) WIDE_KEY(kind, (kind) == LANE_TRACK ? 0 : (process), id)

int trace_lane_set_id(struct trace *trace, uint32_t ordinal, uint64_t id)
{
    struct trace_lane *lane = &trace->lanes.items[ordinal];
    const struct wide_key *key = LANE_KEY(lane->kind, lane->process, id);
    lane->id = id;
    if ((lane->kind == LANE_TRACK && id == 0) || wide_map_find(&trace->lanes_by_key, key))
        return 0;
    return wide_map_put(&trace->lanes_by_key, key, ordinal);
}

int64_t trace_lane_find(const struct trace *trace, uint64_t id)
{
    const uint64_t *found =
        id ? wide_map_find(&trace->lanes_by_key, LANE_KEY(LANE_TRACK, 0, id)) : NULL;
    return found ? (int64_t)*found : -ENOENT;
}

int64_t trace_lane_of(struct trace *trace, enum lane_kind kind, uint32_t process, uint64_t id)
{
    const uint64_t *found = wide_map_find(&trace->lanes_by_key, LANE_KEY(kind, process, id));
    int64_t ordinal = found ? (int64_t)*found : trace_lane_add(trace, 0);
    if (found || ordinal < 0)
        return ordinal;
    struct trace_lane *lane = &trace->lanes.items[ordinal];
    lane->kind = (uint8_t)kind;
    lane->process = process;
    int error = trace_lane_set_id(trace, (uint32_t)ordinal, id);
    return error ? error : ordinal;
}

struct trace_lane *trace_lane(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->lanes.count ? &trace->lanes.items[ordinal] : NULL;
}

const struct trace_lane *trace_lane_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->lanes.count ? &trace->lanes.items[ordinal] : NULL;
}

uint32_t trace_lane_count(const struct trace *trace)
{
    return (uint32_t)trace->lanes.count;
}

/* Levels from the top to a track, itself included; 0 if `child` is among them. */
static uint32_t level_of(const struct trace *trace, uint32_t ordinal, uint32_t child)
{
    uint32_t level = 1;
    for (; ordinal != child; level++) {
        uint32_t parent = trace->lanes.items[ordinal].parent;
        if (parent == 0)
            return level;
        ordinal = parent - 1;
    }
    return 0;
}

bool trace_lane_set_parent(struct trace *trace, uint32_t ordinal, uint32_t parent_ordinal)
{
    struct trace_lane *track = trace_lane(trace, ordinal);
    if (!track || track->parent != 0 || parent_ordinal >= trace->lanes.count)
        return false;
    uint32_t level = level_of(trace, parent_ordinal, ordinal);
    if (level == 0 || level + track->levels > TRACE_LANE_LEVELS)
        return false;
    track->parent = parent_ordinal + 1;
    track->revision++;
    for (uint32_t levels = track->levels; track->parent != 0; levels++) {
        track = &trace->lanes.items[track->parent - 1];
        if (track->levels <= levels)
            track->levels = (uint8_t)(levels + 1);
    }
    return true;
}

int trace_lanes_check(struct trace *trace)
{
    size_t count = trace->lanes.count;
    VEC(uint32_t) parents = {0};
    if (count == 0)
        return 0;
    if (vec_reserve(&parents, count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct trace_lane *track = &trace->lanes.items[i];
        parents.items[i] = track->parent;
        track->parent = 0;
        track->levels = 1;
        if (track->process >= trace->processes.count)
            track->process = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (parents.items[i] != 0)
            trace_lane_set_parent(trace, (uint32_t)i, parents.items[i] - 1);
    vec_free(&parents);
    return 0;
}

static uint64_t unit_key(uint32_t domain, uint32_t counter)
{
    return (uint64_t)domain << 32 | counter;
}

static struct trace_unit *find_unit(const struct trace *trace, uint32_t domain, uint32_t counter)
{
    const uint64_t *index =
        counter ? map64_find(&trace->units_by_counter, unit_key(domain, counter)) : NULL;
    return index ? &trace->units.items[*index] : NULL;
}

int trace_unit_set(struct trace *trace, uint32_t domain, uint32_t counter, uint32_t unit)
{
    struct trace_unit *known = find_unit(trace, domain, counter);
    if (known) {
        known->revision += known->unit != unit;
        known->unit = unit;
        return 0;
    }
    if (counter == 0)
        return -EINVAL;
    if (trace->units.count >= UNITS_MAX)
        return -ENOSPC;
    struct trace_unit added = {.revision = 1, .counter = counter, .domain = domain, .unit = unit};
    int error = map64_put(&trace->units_by_counter, unit_key(domain, counter), trace->units.count);
    return error ? error : vec_push(&trace->units, added);
}

uint32_t trace_unit_find(const struct trace *trace, uint32_t domain, uint32_t counter)
{
    const struct trace_unit *unit = find_unit(trace, domain, counter);
    return unit ? unit->unit : 0;
}

uint32_t trace_unit_count(const struct trace *trace)
{
    return (uint32_t)trace->units.count;
}

const struct trace_unit *trace_unit_get(const struct trace *trace, uint32_t index)
{
    return index < trace->units.count ? &trace->units.items[index] : NULL;
}
