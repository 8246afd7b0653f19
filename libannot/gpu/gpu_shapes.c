/* SPDX-License-Identifier: MIT */
/* Names of kernels with what they were launched as, interned once each.
 *
 * A table of what was seen, by where CUPTI has the name and by grid, block, registers and shared
 * memory: a kernel costs a hash and a comparison. CUPTI's names live as long as the process. A full
 * table costs time, nothing else. */
#include "gpu_parts.h"

#include <string.h>

enum { SHAPES = 4096, TRIES = 8 };

static struct known {
    struct gpu_shape shape;
    uint32_t id; /* 0: empty */
} known[SHAPES];

static uint32_t hash_of(const struct gpu_shape *shape)
{
    const uint32_t numbers[] = {shape->grid[0],   shape->grid[1],     shape->grid[2],
                                shape->block[0],  shape->block[1],    shape->block[2],
                                shape->registers, shape->shared_bytes};
    uint64_t hash = (uintptr_t)shape->name;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        hash = (hash ^ numbers[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

_Static_assert(sizeof(struct gpu_shape) == sizeof(char *) + 32, "no padding to compare");

static bool is_same(const struct gpu_shape *one, const struct gpu_shape *other)
{
    return memcmp(one, other, sizeof(*one)) == 0;
}

uint32_t gpu_shape_name(const struct gpu_shape *shape)
{
    uint32_t place = hash_of(shape);
    for (uint32_t i = 0; i < TRIES; i++) {
        struct known *one = &known[(place + i) % SHAPES];
        if (one->id != 0 && !is_same(&one->shape, shape))
            continue;
        if (one->id == 0) {
            one->shape = *shape;
            one->id = gpu_tell_kernel(shape);
        }
        return one->id;
    }
    return gpu_tell_kernel(shape);
}
