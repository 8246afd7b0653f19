/* SPDX-License-Identifier: MIT */
/* Work of queues: see import_parts.h. */
#include "import_parts.h"

#include <stdio.h>

/* No number of a stream. */
#define WAITS UINT32_C(0xfffffffe)

/* The lane of a stream, below that of its device. */
static int find_lanes(struct import_sink *sink, const struct import_work *work, uint32_t process,
                      struct import_lanes *ret_lanes)
{
    uint64_t above = work->context > 0 ? (uint64_t)work->context : 1 + (uint64_t)work->device;
    uint64_t id = above << 32 | ((uint64_t)work->stream & UINT32_MAX);
    uint32_t before = trace_lane_count(sink->trace);
    int64_t queue = trace_lane_of(sink->trace, LANE_QUEUE, process, id);
    *ret_lanes = (struct import_lanes){.queue = queue < 0 ? 0 : (uint32_t)queue};
    if (queue < 0 || trace_lane_count(sink->trace) == before)
        return queue < 0 ? (int)queue : 0;
    ret_lanes->is_new = true;
    ret_lanes->device = ret_lanes->queue;
    if (work->device == IMPORT_NO_DEVICE)
        return 0;
    int64_t device = trace_lane_of(sink->trace, LANE_DEVICE, process, (uint64_t)work->device);
    if (device < 0)
        return (int)device;
    ret_lanes->device = (uint32_t)device;
    trace_lane_set_parent(sink->trace, ret_lanes->queue, ret_lanes->device);
    return 0;
}

int import_work(struct import_sink *sink, const struct import_work *work, struct event *event,
                const struct arg *args, struct import_lanes *ret_lanes)
{
    bool caused = work->has_launch && work->launch_ns <= event->time_ns;
    uint32_t process = trace_thread_get(sink->trace, event->thread)->process;
    struct trace_process *entry = trace_process(sink->trace, process);
    int error = find_lanes(sink, work, process, ret_lanes);
    if (error)
        return error;
    sink->left[LEFT_UNLAUNCHED] += !caused && !work->is_own;
    entry->queued[QUEUED_LAUNCHED]++;
    entry->queued[QUEUED_TOLD]++;
    event->kind = EVENT_SPAN;
    event->lane = ret_lanes->queue;
    event->origin_ns = caused ? work->launch_ns : EVENT_NO_ORIGIN;
    return import_add(sink, event, args);
}

int import_wait(struct import_sink *sink, const struct import_work *work, struct event *event)
{
    uint32_t process = trace_thread_get(sink->trace, event->thread)->process;
    uint64_t id = (uint64_t)work->context << 32 | WAITS;
    uint32_t before = trace_lane_count(sink->trace);
    int64_t lane = trace_lane_of(sink->trace, LANE_QUEUE, process, id);
    char name[48];
    if (lane < 0)
        return (int)lane;
    if (trace_lane_count(sink->trace) > before) {
        snprintf(name, sizeof(name), "waits of context %lld", (long long)work->context);
        trace_lane(sink->trace, (uint32_t)lane)->name = import_text(sink, name);
    }
    event->kind = EVENT_SPAN;
    event->lane = (uint32_t)lane;
    event->origin_ns = work->has_launch ? work->launch_ns : EVENT_NO_ORIGIN;
    return import_add(sink, event, NULL);
}

void import_lanes_name(struct import_sink *sink, const struct import_lanes *lanes,
                       uint32_t queue_name, uint32_t device_name)
{
    trace_lane(sink->trace, lanes->device)->name = device_name;
    trace_lane(sink->trace, lanes->queue)->name = queue_name;
}
