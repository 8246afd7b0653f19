/* SPDX-License-Identifier: MIT */
/* Key-values of spans and labels. */
#include "gpu_values.h"

#include <annot/queues.h>

const char *gpu_key_text(uint8_t key)
{
    static const char *const texts[GPU_KEY_COUNT] = {
        [GPU_KEY_GRID] = ANNOT_QUEUE_KEY_GRID,
        [GPU_KEY_BLOCK] = ANNOT_QUEUE_KEY_BLOCK,
        [GPU_KEY_CLUSTER] = ANNOT_QUEUE_KEY_CLUSTER,
        [GPU_KEY_REGISTERS] = ANNOT_QUEUE_KEY_REGISTERS,
        [GPU_KEY_SHARED] = ANNOT_QUEUE_KEY_SHARED,
        [GPU_KEY_LOCAL] = ANNOT_QUEUE_KEY_LOCAL,
        [GPU_KEY_OCCUPANCY] = ANNOT_QUEUE_KEY_OCCUPANCY,
        [GPU_KEY_PRIORITY] = ANNOT_QUEUE_KEY_PRIORITY,
        [GPU_KEY_GRAPH] = ANNOT_QUEUE_KEY_GRAPH,
        [GPU_KEY_CAPTURED] = ANNOT_QUEUE_KEY_CAPTURED,
        [GPU_KEY_BYTES] = ANNOT_QUEUE_KEY_BYTES,
        [GPU_KEY_DIRECTION] = ANNOT_QUEUE_KEY_DIRECTION,
        [GPU_KEY_SOURCE] = ANNOT_QUEUE_KEY_SOURCE,
        [GPU_KEY_DESTINATION] = ANNOT_QUEUE_KEY_DESTINATION,
        [GPU_KEY_MEMORY] = ANNOT_QUEUE_KEY_MEMORY,
        [GPU_KEY_ADDRESS] = ANNOT_QUEUE_KEY_ADDRESS,
        [GPU_KEY_POOL] = ANNOT_QUEUE_KEY_POOL,
        [GPU_KEY_HELD] = ANNOT_QUEUE_KEY_HELD,
        [GPU_KEY_FUNCTION] = ANNOT_QUEUE_KEY_FUNCTION,
        [GPU_KEY_ERROR] = ANNOT_QUEUE_KEY_ERROR,
        [GPU_KEY_CORRELATION] = ANNOT_QUEUE_KEY_CORRELATION,
        [GPU_KEY_DEVICE] = ANNOT_QUEUE_KEY_DEVICE,
        [GPU_KEY_COMPUTE_CAPABILITY] = ANNOT_QUEUE_KEY_COMPUTE_CAPABILITY,
        [GPU_KEY_MULTIPROCESSORS] = ANNOT_QUEUE_KEY_MULTIPROCESSORS,
        [GPU_KEY_DEVICE_MEMORY] = ANNOT_QUEUE_KEY_DEVICE_MEMORY,
        [GPU_KEY_PCI] = ANNOT_QUEUE_KEY_PCI,
        [GPU_KEY_UUID] = ANNOT_QUEUE_KEY_UUID,
        [GPU_KEY_CARD] = ANNOT_QUEUE_KEY_CARD,
    };

    return key < GPU_KEY_COUNT ? texts[key] : "";
}

static struct gpu_value *add(struct gpu_values *values, enum gpu_key key)
{
    static struct gpu_value beyond;
    struct gpu_value *value =
        values->count < GPU_VALUES_MAX ? &values->items[values->count++] : &beyond;
    *value = (struct gpu_value){.key = (uint8_t)key};
    return value;
}

void gpu_values_number(struct gpu_values *values, enum gpu_key key, int64_t number)
{
    add(values, key)->number = number;
}

void gpu_values_text(struct gpu_values *values, enum gpu_key key, const char *text)
{
    if (text && *text)
        add(values, key)->text = text;
}

void gpu_values_real(struct gpu_values *values, enum gpu_key key, double number)
{
    add(values, key)->real = number;
}
