/* SPDX-License-Identifier: MIT */
/* Names of kernels with what they were launched as, interned once each.
 *
 * A table of what was seen, by where CUPTI has the name and by grid, block, registers, memory,
 * graph, device and where it was captured: a kernel costs a hash and a comparison. CUPTI's names
 * live until somebody ends CUPTI: then another name may stand in the same place, so what was seen
 * before is not believed. A full table costs time, nothing else. */
#include "gpu_parts.h"

#include <stdio.h>
#include <string.h>

enum { SHAPES = 4096, TRIES = 8 };

static struct known {
    struct gpu_shape shape;
    uint32_t id; /* 0: empty */
    uint32_t life;
    bool is_bare; /* the label does not have the shape */
} known[SHAPES];

static uint32_t life; /* of CUPTI: how often it was ended; W: gpu_shapes_forget, release; R: find */

void gpu_shapes_forget(void)
{
    __atomic_add_fetch(&life, 1, __ATOMIC_RELEASE);
}

static uint32_t hash_of(const struct gpu_shape *shape)
{
    uint64_t words[sizeof(*shape) / sizeof(uint64_t)], hash = 0;
    memcpy(words, shape, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        hash = (hash ^ words[i] ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

_Static_assert(sizeof(struct gpu_shape) == 2 * sizeof(char *) + 64, "no padding to compare");

static bool is_same(const struct gpu_shape *one, const struct gpu_shape *other)
{
    return memcmp(one, other, sizeof(*one)) == 0;
}

/* The texts of its values, until the next one. */
struct texts {
    char grid[40], block[40], cluster[40];
};

static void add_three(struct gpu_values *values, enum gpu_key key, const uint32_t numbers[3],
                      char text[40])
{
    snprintf(text, 40, "%u,%u,%u", numbers[0], numbers[1], numbers[2]);
    gpu_values_text(values, key, text);
}

static void add_values(const struct gpu_shape *shape, struct gpu_values *values,
                       struct texts *texts)
{
    double occupancy = gpu_device_occupancy(shape->device, shape);
    add_three(values, GPU_KEY_GRID, shape->grid, texts->grid);
    add_three(values, GPU_KEY_BLOCK, shape->block, texts->block);
    if (shape->cluster[0] > 1 || shape->cluster[1] > 1 || shape->cluster[2] > 1)
        add_three(values, GPU_KEY_CLUSTER, shape->cluster, texts->cluster);
    gpu_values_number(values, GPU_KEY_REGISTERS, shape->registers);
    gpu_values_number(values, GPU_KEY_SHARED, shape->shared_bytes);
    if (shape->local_bytes)
        gpu_values_number(values, GPU_KEY_LOCAL, shape->local_bytes);
    if (occupancy > 0)
        gpu_values_real(values, GPU_KEY_OCCUPANCY, occupancy);
    if (shape->priority)
        gpu_values_number(values, GPU_KEY_PRIORITY, shape->priority);
    if (shape->graph)
        gpu_values_number(values, GPU_KEY_GRAPH, shape->graph);
    gpu_values_text(values, GPU_KEY_CAPTURED, shape->captured_in);
}

/* The label is its name alone where the table of names has no room for more. */
static struct known make_known(const struct gpu_shape *shape, uint32_t now)
{
    struct gpu_values values = {0};
    struct texts texts;
    const char *name = shape->name ? shape->name : "kernel";
    add_values(shape, &values, &texts);
    uint32_t id = gpu_tell_label(name, &values);
    return (struct known){*shape, id, now, id == gpu_tell_name(name)};
}

static struct known find(const struct gpu_shape *shape)
{
    uint32_t place = hash_of(shape), now = __atomic_load_n(&life, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < TRIES; i++) {
        struct known *one = &known[(place + i) % SHAPES];
        bool is_empty = one->id == 0 || one->life != now;
        if (!is_empty && !is_same(&one->shape, shape))
            continue;
        if (is_empty)
            *one = make_known(shape, now);
        return *one;
    }
    return make_known(shape, now);
}

uint32_t gpu_shape_name(const struct gpu_shape *shape, struct gpu_values *values)
{
    static struct texts texts;
    struct known found = find(shape);
    if (found.is_bare)
        add_values(shape, values, &texts);
    return found.id;
}
