/* SPDX-License-Identifier: MIT */
/* GPU work in exports: the roles of events, and their key-values. Thread-safety: none. */
#ifndef ANNOT_GPU_WORK_H
#define ANNOT_GPU_WORK_H

#include "trace.h"

/* Role of an event of the GPU observer. */
enum queue_role gpu_role_of(const struct trace *trace, uint32_t scope);

/* True if a call of the program started it on the device. */
static inline bool gpu_role_is_launched(enum queue_role role)
{
    return role == QUEUE_ROLE_KERNEL || role == QUEUE_ROLE_COPY || role == QUEUE_ROLE_SET ||
           role == QUEUE_ROLE_GRAPH;
}

/* True if the recording has items on queues, of any kind. */
bool gpu_has_queues(const struct trace *trace);
/* True if the recording has any GPU data; if it has calls of programs to their drivers. */
bool gpu_is_recorded(const struct trace *trace);
bool gpu_has_calls(const struct trace *trace);

/* True if a queue's lane is a stream. Observers have additional lanes, with numbers that no stream
 * has. */
static inline bool gpu_is_stream(const struct trace_lane *lane)
{
    return (uint32_t)lane->id < UINT32_C(0xfffffff0);
}

/* The device of a queue's lane, as 1 + its ordinal; 0: unknown. */
uint32_t gpu_device_of(const struct trace *trace, uint32_t lane);

/* ---- Key-values ------------------------------------------------------------------------------ */

/* Key-values with special fields in other formats; keys as in annot/queues.h. */
enum gpu_value {
    GPU_VALUE_OTHER,
    GPU_VALUE_GRID,
    GPU_VALUE_BLOCK,
    GPU_VALUE_CLUSTER,
    GPU_VALUE_REGISTERS,
    GPU_VALUE_SHARED,
    GPU_VALUE_LOCAL,
    GPU_VALUE_OCCUPANCY,
    GPU_VALUE_BYTES,
    GPU_VALUE_DIRECTION,
    GPU_VALUE_SOURCE,
    GPU_VALUE_DESTINATION,
    GPU_VALUE_MEMORY,
    GPU_VALUE_ADDRESS,
    GPU_VALUE_POOL,
    GPU_VALUE_GRAPH,
    GPU_VALUE_CORRELATION,
    GPU_VALUE_EXTERNAL,
    GPU_VALUE_ERROR,
    GPU_VALUE_DEVICE,
    GPU_VALUE_CAPABILITY,
    GPU_VALUE_MULTIPROCESSORS,
    GPU_VALUE_DEVICE_MEMORY,
    GPU_VALUE_PCI,
    GPU_VALUE_UUID,
    GPU_VALUE_COUNT,
};

/* The meaning of keys, cached. */
struct gpu_keys {
    const struct trace *trace;
    uint8_t *values; /* by string: 1 + enum gpu_value; 0: unchecked */
    uint32_t count;
};

/* 0 or -ENOMEM; then fini all the same. */
int gpu_keys_init(struct gpu_keys *keys, const struct trace *trace);
void gpu_keys_fini(struct gpu_keys *keys);

enum gpu_value gpu_key_value(const struct gpu_keys *keys, uint32_t key);

/* The key-value of this meaning; or NULL. */
const struct arg *gpu_value_find(const struct gpu_keys *keys, const struct args *args,
                                 enum gpu_value value);
/* As a number; 0 for other kinds. As a text; "" for other kinds. */
uint64_t gpu_value_number(const struct arg *value);
const char *gpu_value_text(const struct gpu_keys *keys, const struct arg *value);

/* "epoch/step/forward": the ranges of a path, outermost first; cut at a character. */
size_t gpu_path_text(const struct trace *trace, uint32_t path, char *buffer, size_t size);

/* "HtoD", of a copy; "": unknown. */
const char *gpu_copy_direction(const struct gpu_keys *keys, const struct event *event,
                               const struct args *args);

#endif
