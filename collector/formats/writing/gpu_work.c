/* SPDX-License-Identifier: MIT */
/* See gpu_work.h. */
#include "gpu_work.h"

#include "stacks.h"
#include "text.h"
#include "trace_devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum queue_role gpu_role_of(const struct trace *trace, uint32_t scope)
{
    const struct scope *of = trace_scope(trace, scope);
    bool known = of->observer == OBSERVER_CUPTI && of->role < QUEUE_ROLE_COUNT;
    return known ? (enum queue_role)of->role : QUEUE_ROLE_NONE;
}

bool gpu_has_queues(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        if (trace_lane_get(trace, i)->kind == LANE_QUEUE)
            return true;
    return false;
}

bool gpu_is_recorded(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        if (trace_lane_get(trace, i)->kind == LANE_DEVICE)
            return true;
    for (uint32_t i = 1; i < trace_scope_count(trace); i++)
        if (gpu_role_of(trace, i) != QUEUE_ROLE_NONE)
            return true;
    return false;
}

bool gpu_has_calls(const struct trace *trace)
{
    for (uint32_t i = 1; i < trace_scope_count(trace); i++)
        if (gpu_role_of(trace, i) == QUEUE_ROLE_CALL)
            return true;
    return false;
}

uint32_t gpu_device_of(const struct trace *trace, uint32_t lane)
{
    const struct trace_lane *entry = trace_lane_get(trace, lane);
    for (int i = 0; entry && i < TRACE_LANE_LEVELS; i++) {
        uint32_t above = entry->parent;
        entry = above ? trace_lane_get(trace, above - 1) : NULL;
        if (entry && entry->kind == LANE_DEVICE)
            return above;
    }
    return 0;
}

/* ---- Key-values ------------------------------------------------------------------------------ */

static const char *const key_texts[GPU_VALUE_COUNT] = {
    [GPU_VALUE_GRID] = QUEUE_KEY_GRID,
    [GPU_VALUE_BLOCK] = QUEUE_KEY_BLOCK,
    [GPU_VALUE_CLUSTER] = "cluster",
    [GPU_VALUE_REGISTERS] = QUEUE_KEY_REGISTERS,
    [GPU_VALUE_SHARED] = QUEUE_KEY_SHARED,
    [GPU_VALUE_LOCAL] = "local memory per thread [bytes]",
    [GPU_VALUE_OCCUPANCY] = QUEUE_KEY_OCCUPANCY,
    [GPU_VALUE_BYTES] = QUEUE_KEY_BYTES,
    [GPU_VALUE_DIRECTION] = QUEUE_KEY_DIRECTION,
    [GPU_VALUE_SOURCE] = "source",
    [GPU_VALUE_DESTINATION] = "destination",
    [GPU_VALUE_MEMORY] = "memory",
    [GPU_VALUE_ADDRESS] = "address",
    [GPU_VALUE_POOL] = "pool",
    [GPU_VALUE_GRAPH] = QUEUE_KEY_GRAPH,
    [GPU_VALUE_CORRELATION] = "correlation",
    [GPU_VALUE_EXTERNAL] = "external id",
    [GPU_VALUE_ERROR] = "error",
    [GPU_VALUE_DEVICE] = "device",
    [GPU_VALUE_CAPABILITY] = "compute capability",
    [GPU_VALUE_MULTIPROCESSORS] = "multiprocessors",
    [GPU_VALUE_DEVICE_MEMORY] = "device memory [bytes]",
    [GPU_VALUE_PCI] = QUEUE_KEY_PCI,
    [GPU_VALUE_UUID] = QUEUE_KEY_UUID,
};

int gpu_keys_init(struct gpu_keys *keys, const struct trace *trace)
{
    *keys = (struct gpu_keys){.trace = trace, .count = trace_string_count(trace)};
    keys->values = calloc(keys->count + 1u, 1);
    return keys->values ? 0 : -ENOMEM;
}

void gpu_keys_fini(struct gpu_keys *keys)
{
    free(keys->values);
    *keys = (struct gpu_keys){0};
}

static enum gpu_value look_at(const struct gpu_keys *keys, uint32_t key)
{
    const char *text = trace_string(keys->trace, key)->bytes;
    for (unsigned i = GPU_VALUE_OTHER + 1; i < GPU_VALUE_COUNT; i++)
        if (strcmp(text, key_texts[i]) == 0)
            return (enum gpu_value)i;
    return GPU_VALUE_OTHER;
}

enum gpu_value gpu_key_value(const struct gpu_keys *keys, uint32_t key)
{
    if (key >= keys->count)
        return look_at(keys, key);
    if (!keys->values[key])
        keys->values[key] = (uint8_t)(1 + look_at(keys, key));
    return (enum gpu_value)(keys->values[key] - 1);
}

const struct arg *gpu_value_find(const struct gpu_keys *keys, const struct args *args,
                                 enum gpu_value value)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (gpu_key_value(keys, args->items[i].key) == value)
            return &args->items[i];
    return NULL;
}

uint64_t gpu_value_number(const struct arg *value)
{
    if (!value)
        return 0;
    if (value->kind == VALUE_INT64)
        return value->value.int64 > 0 ? (uint64_t)value->value.int64 : 0;
    return value->kind == VALUE_UINT64 ? value->value.uint64 : 0;
}

const char *gpu_value_text(const struct gpu_keys *keys, const struct arg *value)
{
    bool is_text = value && value->kind == VALUE_STRING;
    return is_text ? trace_string(keys->trace, value->value.string)->bytes : "";
}

size_t gpu_path_text(const struct trace *trace, uint32_t path, char *buffer, size_t size)
{
    enum { LEVELS = 64 };

    uint32_t names[LEVELS];
    uint32_t count = stacks_names(trace_stacks_get(trace), path, names, LEVELS);
    struct text text = text_init(buffer, size);
    for (uint32_t i = 0; i < count && i < LEVELS; i++)
        text_format(&text, "%s%s", i ? "/" : "", trace_string(trace, names[i])->bytes);
    return text.length;
}

/* From the name of a copy, if no value gives it. */
const char *gpu_copy_direction(const struct gpu_keys *keys, const struct event *event,
                               const struct args *args)
{
    static const struct {
        const char *name, *direction;
    } known[] = {
        {"copy host to device", "HtoD"},   {"copy device to host", "DtoH"},
        {"copy device to device", "DtoD"}, {"copy host to host", "HtoH"},
        {"copy between devices", "PtoP"},  {"copy host to array", "HtoA"},
        {"copy array to host", "AtoH"},    {"copy array to array", "AtoA"},
        {"copy array to device", "AtoD"},  {"copy device to array", "DtoA"},
    };

    const char *direction = gpu_value_text(keys, gpu_value_find(keys, args, GPU_VALUE_DIRECTION));
    const char *name = trace_string(keys->trace, event->name)->bytes;
    if (direction[0])
        return direction;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].direction;
    return "";
}
