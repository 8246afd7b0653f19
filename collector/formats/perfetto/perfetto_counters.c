/* SPDX-License-Identifier: MIT */
/* See perfetto_counters.h. Only the first values of a counter wait for their group, as its track is
 * known afterwards. Thread-safety: one thread per object. */
#include "perfetto_counters.h"

#include "perfetto_sequence.h"
#include "perfetto_tracks.h"

#include "hash.h"
#include "perfetto_fields.h"
#include "trace_devices.h"

#include <errno.h>
#include <string.h>

static uint64_t process_uuid(const struct perfetto_counters *counters, const struct event *event)
{
    const struct trace *trace = counters->tracks->px->trace;
    const struct trace_thread *thread = trace_thread_get(trace, event->thread);
    return perfetto_process_uuid(thread ? thread->process : UINT32_MAX);
}

static uint64_t key_of(const struct perfetto_counters *counters, const struct event *event)
{
    return process_uuid(counters, event) << 32 | event->name;
}

/* Returns index + 1 of the first of a chain, and that of the counter itself in *ret_index; 0 = not
 * found. */
static uint32_t find(const struct perfetto_counters *counters, const struct event *event,
                     uint32_t *ret_index)
{
    const uint64_t *found = map64_find(&counters->by_key, key_of(counters, event));
    uint32_t first = found ? (uint32_t)*found : 0, at = first;
    uint32_t domain = trace_scope_domain(counters->tracks->px->trace, event->scope);
    while (at && counters->counters.items[at - 1].domain != domain)
        at = counters->counters.items[at - 1].next;
    *ret_index = at;
    return first;
}

static uint64_t describe_group(struct perfetto_counters *counters, const struct event *event,
                               const char *label, size_t length)
{
    struct perfetto_tracks *tracks = counters->tracks;
    int64_t name = strtab_add(&counters->group_names, label, length);
    const struct wide_key *key = WIDE_KEY(process_uuid(counters, event), (uint64_t)name);
    const uint64_t *known = name < 0 ? NULL : wide_map_find(&counters->group_by_key, key);
    if (known)
        return *known;
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, process_uuid(counters, event));
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK,
               PERFETTO_RANK_COUNTERS + counters->counters.count);
    proto_bytes(packet, PX_TRACK_NAME, label, length);
    perfetto_track_end(tracks);
    if (name < 0 || wide_map_put(&counters->group_by_key, key, uuid) != 0)
        tracks->px->error = -ENOMEM;
    return uuid;
}

/* A track below another one. */
static uint64_t describe_below(struct perfetto_counters *counters, const struct event *event,
                               uint64_t parent, const struct trace_string *name)
{
    struct perfetto_tracks *tracks = counters->tracks;
    uint32_t unit = counter_unit(&counters->groups, event);
    const struct trace_string *unit_text = trace_string(tracks->px->trace, unit);
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, parent);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK,
               PERFETTO_RANK_COUNTERS + counters->counters.count);
    proto_bytes(packet, PX_TRACK_NAME, name->bytes, name->length);
    proto_begin(packet, PX_TRACK_COUNTER);
    if (unit)
        proto_bytes(packet, PX_COUNTER_UNIT_NAME, unit_text->bytes, unit_text->length);
    proto_end(packet);
    perfetto_track_end(tracks);
    return uuid;
}

/* The first `group_length` bytes of the name are the group; 0 = without group. */
static uint64_t describe(struct perfetto_counters *counters, const struct event *event,
                         size_t group_length)
{
    const struct export_text *label = &counters->label;
    size_t name_length = trace_string(counters->tracks->px->trace, event->name)->length;
    uint64_t parent = process_uuid(counters, event);
    size_t name = 0;
    if (group_length) { /* the domain precedes the group */
        size_t before = label->count - name_length + group_length;
        parent = describe_group(counters, event, label->items, before);
        name = before + 1;
    }
    return describe_below(counters, event, parent,
                          &(struct trace_string){label->items + name, label->count - name});
}

static int push(struct perfetto_counters *counters, const struct event *event, uint64_t uuid,
                uint32_t next)
{
    const struct perfetto_counter counter = {
        .uuid = uuid,
        .domain = trace_scope_domain(counters->tracks->px->trace, event->scope),
        .next = next};
    return vec_push(&counters->counters, counter);
}

/* The track of a device's lane; 0: it shares its track with others. */
static int find_device(struct perfetto_counters *counters, uint32_t lane, int64_t time_ns,
                       uint64_t *ret_uuid)
{
    struct track_groups *groups = &counters->groups_of_tracks->groups;
    uint32_t group = track_groups_find(groups, lane);
    *ret_uuid = 0;
    return groups->groups.items[group].track_count > 1
               ? 0
               : track_group_id(groups, group, time_ns, ret_uuid);
}

/* For a device that programs use: a track in each of them, chained from the current end of the
 * list. */
static int push_on_devices(struct perfetto_counters *counters, const struct event *event,
                           uint32_t next)
{
    const struct trace *trace = counters->tracks->px->trace;
    size_t first = counters->counters.count;
    struct device_counter counter;
    char name[TRACE_DEVICE_COUNTER_SIZE];
    uint32_t lane = 0;
    int error = 0;
    while (!error && (lane = trace_device_next_lane(trace, event->thread, lane)) != 0) {
        uint64_t device, uuid;
        error = find_device(counters, lane - 1, event->time_ns, &device);
        if (error || device == 0)
            continue;
        counter = (struct device_counter){trace_string(trace, event->name)->bytes, event->thread,
                                          lane - 1};
        trace_device_counter(trace, &counter, name);
        uuid = describe_below(counters, event, device, &(struct trace_string){name, strlen(name)});
        error = push(counters, event, uuid, next);
    }
    for (size_t i = first; i + 1 < counters->counters.count; i++)
        counters->counters.items[i].more = (uint32_t)i + 2;
    return error;
}

/* Adds the counter if it is new: its index + 1 goes to *ret_index. */
static int add_counter(struct perfetto_counters *counters, const struct event *event,
                       size_t group_length, uint32_t *ret_index)
{
    uint32_t first = find(counters, event, ret_index);
    size_t count = counters->counters.count;
    if (*ret_index)
        return 0;
    *ret_index = (uint32_t)count + 1;
    int error = export_counter_label(counters->tracks->px->trace, event, &counters->label);
    if (!error)
        error = map64_put(&counters->by_key, key_of(counters, event), count + 1);
    if (!error)
        error = push_on_devices(counters, event, first);
    if (!error && counters->counters.count == count)
        error = push(counters, event, describe(counters, event, group_length), first);
    return error;
}

static int put_value(struct perfetto_counters *counters, const struct event *event, uint32_t index)
{
    int error = 0;
    for (uint32_t at = index; at && !error; at = counters->counters.items[at - 1].more)
        error = counters->put(counters->context, event, counters->counters.items[at - 1].uuid);
    return error;
}

static int put_run(void *context, const struct counter_run *run)
{
    struct perfetto_counters *counters = context;
    uint32_t index;
    int error = 0;
    for (uint32_t i = 0; !error && i < run->count; i++) {
        error = add_counter(counters, &run->events[i], run->group_length, &index);
        if (!error)
            error = put_value(counters, &run->events[i], index);
    }
    return error;
}

int perfetto_counters_init(struct perfetto_counters *counters, struct perfetto_tracks *tracks)
{
    counters->tracks = tracks;
    counters->groups.put = put_run;
    counters->groups.context = counters;
    return counter_groups_init(&counters->groups, tracks->px->trace);
}

int perfetto_counters_add(struct perfetto_counters *counters, const struct event *event)
{
    const struct counter_groups *groups = &counters->groups;
    uint32_t index;
    if (groups->held_count && groups->held[0].time_ns != event->time_ns) {
        int error = perfetto_counters_finish(counters);
        if (error)
            return error;
    }
    find(counters, event, &index);
    if (index)
        return put_value(counters, event, index);
    return counter_groups_add(&counters->groups, event);
}

int perfetto_counters_finish(struct perfetto_counters *counters)
{
    return counter_groups_finish(&counters->groups);
}

void perfetto_counters_fini(struct perfetto_counters *counters)
{
    counter_groups_fini(&counters->groups);
    vec_free(&counters->counters);
    map64_free(&counters->by_key);
    wide_map_free(&counters->group_by_key);
    strtab_free(&counters->group_names);
    vec_free(&counters->label);
}
