/* SPDX-License-Identifier: MIT */
/* See trace_devices.h. */
#include "trace_devices.h"

#include "trace_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int64_t trace_device_add(struct trace *trace)
{
    if (trace->devices.count >= TRACE_DEVICES_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->devices, ((struct trace_device){.revision = 1}));
    return error ? error : (int64_t)trace->devices.count - 1;
}

struct trace_device *trace_device(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->devices.count ? &trace->devices.items[ordinal] : NULL;
}

const struct trace_device *trace_device_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->devices.count ? &trace->devices.items[ordinal] : NULL;
}

uint32_t trace_device_count(const struct trace *trace)
{
    return (uint32_t)trace->devices.count;
}

const struct trace_device *trace_device_of_lane(const struct trace *trace, uint32_t lane)
{
    for (size_t i = 0; i < trace->devices.count; i++)
        if (trace->devices.items[i].lane && trace->devices.items[i].lane - 1 == lane)
            return &trace->devices.items[i];
    return NULL;
}

const struct trace_device *trace_device_of_thread(const struct trace *trace, uint32_t thread)
{
    for (size_t i = 0; i < trace->devices.count; i++)
        if (trace->devices.items[i].thread && trace->devices.items[i].thread - 1 == thread)
            return &trace->devices.items[i];
    return NULL;
}

/* ---- Which are the same ---------------------------------------------------------------------- */

/* 1 + ordinal; 0: unknown. */
static uint32_t host_of(const struct trace *trace, const struct trace_device *device)
{
    const struct trace_lane *lane = device->lane ? trace_lane_get(trace, device->lane - 1) : NULL;
    const struct trace_thread *thread =
        device->thread ? trace_thread_get(trace, device->thread - 1) : NULL;
    const struct trace_process *process = lane     ? trace_process_get(trace, lane->process)
                                          : thread ? trace_process_get(trace, thread->process)
                                                   : NULL;
    return process ? process->host + 1 : 0;
}

static const char *text_of(const struct trace *trace, uint32_t string)
{
    return string ? trace_string(trace, string)->bytes : "";
}

static bool is_same_text(const struct trace *trace, uint32_t one, uint32_t other)
{
    return one != 0 && other != 0 &&
           (one == other || strcmp(text_of(trace, one), text_of(trace, other)) == 0);
}

/* "00000000:1A:00.0" is "0000:1a:00.0": the number of digits of a domain varies. */
static bool is_same_place(const struct trace *trace, uint32_t one, uint32_t other)
{
    const char *left = text_of(trace, one), *right = text_of(trace, other);
    left += strspn(left, "0");
    right += strspn(right, "0");
    return *left && strcasecmp(left, right) == 0;
}

static bool is_instance(const struct trace *trace, const struct trace_device *device)
{
    return device->card != 0 || strncmp(text_of(trace, device->uuid), "MIG", 3) == 0;
}

enum device_relation trace_device_relation(const struct trace *trace,
                                           const struct trace_device *counted,
                                           const struct trace_device *used)
{
    uint32_t host = host_of(trace, counted);
    bool at_same_place = is_same_place(trace, counted->place, used->place);
    if (host == 0 || host != host_of(trace, used))
        return DEVICE_OTHER;
    if (is_same_text(trace, counted->uuid, used->uuid))
        return DEVICE_SAME;
    if (is_instance(trace, counted))
        return DEVICE_OTHER;
    if (is_instance(trace, used)) {
        bool is_part = counted->uuid != 0 && used->card != 0
                           ? is_same_text(trace, counted->uuid, used->card)
                           : at_same_place;
        return is_part ? DEVICE_PART : DEVICE_OTHER;
    }
    bool both_known = counted->uuid != 0 && used->uuid != 0;
    return !both_known && at_same_place ? DEVICE_SAME : DEVICE_OTHER;
}

uint32_t trace_device_first(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_device *device = &trace->devices.items[ordinal];
    uint32_t first = 0;
    while (first < ordinal &&
           trace_device_relation(trace, &trace->devices.items[first], device) != DEVICE_SAME)
        first++;
    return first;
}

uint32_t trace_device_next_lane(const struct trace *trace, uint32_t thread, uint32_t after)
{
    const struct trace_device *counted = trace_device_of_thread(trace, thread);
    uint32_t next = 0;
    for (size_t i = 0; counted && i < trace->devices.count; i++) {
        const struct trace_device *used = &trace->devices.items[i];
        bool later = used->lane > after && (next == 0 || used->lane < next);
        if (later && trace_device_relation(trace, counted, used) != DEVICE_OTHER)
            next = used->lane;
    }
    return next;
}

const char *trace_device_counter(const struct trace *trace, const struct device_counter *counter,
                                 char buffer[TRACE_DEVICE_COUNTER_SIZE])
{
    const struct trace_device *counted = trace_device_of_thread(trace, counter->thread);
    const struct trace_device *used = trace_device_of_lane(trace, counter->lane);
    const char *name = counter->name;
    const char *prefix = counted ? text_of(trace, counted->name) : "";
    size_t length = strlen(prefix);
    bool is_part = counted && used && trace_device_relation(trace, counted, used) == DEVICE_PART;
    if (length > 0 && strncmp(name, prefix, length) == 0 && name[length] == ' ')
        name += length + 1;
    snprintf(buffer, TRACE_DEVICE_COUNTER_SIZE, "%s%s", name, is_part ? " of the whole GPU" : "");
    return buffer;
}
