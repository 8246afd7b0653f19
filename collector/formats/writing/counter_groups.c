/* SPDX-License-Identifier: MIT */
/* See counter_groups.h. Thread-safety: none. */
#include "counter_groups.h"

#include <stdbool.h>
#include <string.h>

int counter_groups_init(struct counter_groups *groups, const struct trace *trace)
{
    int error = 0;
    groups->trace = trace;
    for (uint32_t i = 0; !error && i < trace_unit_count(trace); i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        error = wide_map_put(&groups->units, WIDE_KEY(unit->domain, unit->counter), unit->unit);
    }
    return error;
}

void counter_groups_fini(struct counter_groups *groups)
{
    wide_map_free(&groups->units);
    wide_map_free(&groups->known);
    strtab_free(&groups->names);
}

static uint32_t domain_of(const struct counter_groups *groups, const struct event *event)
{
    return trace_scope_domain(groups->trace, event->scope);
}

/* The length of GROUP in "GROUP/SERIES", else 0. */
static size_t group_length(const struct counter_groups *groups, const struct event *event)
{
    const struct trace_string *name = trace_string(groups->trace, event->name);
    const char *slash = memrchr(name->bytes, '/', name->length);
    bool both = slash && slash > name->bytes && slash[1];
    return both ? (size_t)(slash - name->bytes) : 0;
}

/* ---- Units ----------------------------------------------------------------------------------- */

static uint32_t unit_of_group(const struct counter_groups *groups, const struct event *event)
{
    const struct trace_string *name = trace_string(groups->trace, event->name);
    size_t length = group_length(groups, event);
    for (uint32_t i = 0; length && i < trace_unit_count(groups->trace); i++) {
        const struct trace_unit *unit = trace_unit_get(groups->trace, i);
        const struct trace_string *counter = trace_string(groups->trace, unit->counter);
        if (unit->domain == domain_of(groups, event) && counter->length == length &&
            memcmp(counter->bytes, name->bytes, length) == 0)
            return unit->unit;
    }
    return 0;
}

uint32_t counter_unit(struct counter_groups *groups, const struct event *event)
{
    const struct wide_key *key = WIDE_KEY(domain_of(groups, event), event->name);
    const uint64_t *known = wide_map_find(&groups->units, key);
    if (known || trace_unit_count(groups->trace) == 0)
        return known ? (uint32_t)*known : 0;
    uint32_t unit = unit_of_group(groups, event);
    return wide_map_put(&groups->units, key, unit) ? 0
                                                   : unit; /* not cached: it is computed again */
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Several series at one instant make a group; from then on a single series belongs to it as
 * well. */
static int find_group(struct counter_groups *groups, struct counter_run *run, size_t length)
{
    const struct trace_string *name = trace_string(groups->trace, run->events[0].name);
    int64_t group = strtab_add(&groups->names, name->bytes, length);
    if (group < 0)
        return (int)group;
    const struct wide_key *key = WIDE_KEY(domain_of(groups, &run->events[0]), (uint64_t)group);
    if (run->count > 1 || wide_map_find(&groups->known, key))
        run->group_length = length;
    return run->count > 1 ? wide_map_put(&groups->known, key, 1) : 0;
}

int counter_groups_finish(struct counter_groups *groups)
{
    struct counter_run run = {groups->held, groups->held_count, 0};
    groups->held_count = 0;
    if (run.count == 0)
        return 0;
    size_t length = group_length(groups, &run.events[0]);
    int error = find_group(groups, &run, length);
    return error ? error : groups->put(groups->context, &run);
}

/* True if the held values and this one are series of one group at one instant. */
static bool belongs(const struct counter_groups *groups, const struct event *event, size_t length)
{
    const struct event *first = &groups->held[0];
    if (groups->held_count == 0 || groups->held_count == COUNTER_SERIES_MAX ||
        event->time_ns != first->time_ns || event->thread != first->thread ||
        domain_of(groups, event) != domain_of(groups, first) ||
        group_length(groups, first) != length)
        return false;
    for (uint32_t i = 0; i < groups->held_count; i++) {
        if (groups->held[i].name == event->name)
            return false;
    }
    return memcmp(trace_string(groups->trace, first->name)->bytes,
                  trace_string(groups->trace, event->name)->bytes, length) == 0;
}

int counter_groups_add(struct counter_groups *groups, const struct event *event)
{
    size_t length = group_length(groups, event);
    int status = 0;
    if (groups->held_count && !belongs(groups, event, length))
        status = counter_groups_finish(groups);
    if (status)
        return status;
    if (length == 0)
        return groups->put(groups->context, &(struct counter_run){event, 1, 0});
    groups->held[groups->held_count++] = *event;
    return 0;
}
