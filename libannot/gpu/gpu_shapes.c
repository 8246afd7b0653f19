/* SPDX-License-Identifier: MIT */
/* Names of kernels with what they were launched as, interned once each.
 *
 * A table of what was seen, by where CUPTI has the name and by grid, block, registers and shared
 * memory: a kernel costs a hash and a comparison. CUPTI's names live as long as the process. A full
 * table costs time, nothing else. */
#include "gpu_parts.h"

#include <stdio.h>
#include <string.h>

enum { SHAPES = 4096, TRIES = 8, TEXT_MAX = 1024 };

struct shape {
    const char *name;
    uint32_t numbers[8]; /* grid, block, registers, shared bytes */
    uint32_t id;         /* 0: empty */
};

static struct shape shapes[SHAPES];

static void shape_of(const struct gpu_record *kernel, struct shape *ret_shape)
{
    *ret_shape = (struct shape){.name = kernel->name};
    memcpy(ret_shape->numbers, kernel->grid, sizeof(kernel->grid));
    memcpy(ret_shape->numbers + 3, kernel->block, sizeof(kernel->block));
    ret_shape->numbers[6] = kernel->registers;
    ret_shape->numbers[7] = kernel->shared_bytes;
}

static uint32_t hash_of(const struct shape *shape)
{
    uint64_t hash = (uintptr_t)shape->name;
    for (int i = 0; i < 8; i++)
        hash = (hash ^ shape->numbers[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

static uint32_t intern(const struct shape *shape)
{
    char text[TEXT_MAX];
    const uint32_t *numbers = shape->numbers;
    /* The numbers stay also if the name is cut. */
    snprintf(text, sizeof(text), "%.900s\x1f%u,%u,%u\x1f%u,%u,%u\x1f%u\x1f%u",
             shape->name ? shape->name : "kernel", numbers[0], numbers[1], numbers[2], numbers[3],
             numbers[4], numbers[5], numbers[6], numbers[7]);
    return gpu_tell_name(text);
}

uint32_t gpu_shape_name(const struct gpu_record *kernel)
{
    struct shape shape;
    shape_of(kernel, &shape);
    uint32_t place = hash_of(&shape);
    for (uint32_t i = 0; i < TRIES; i++) {
        struct shape *known = &shapes[(place + i) % SHAPES];
        if (known->id == 0) {
            shape.id = intern(&shape);
            *known = shape;
            return shape.id;
        }
        if (known->name == shape.name &&
            memcmp(known->numbers, shape.numbers, sizeof(shape.numbers)) == 0)
            return known->id;
    }
    return intern(&shape);
}
