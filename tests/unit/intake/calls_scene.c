/* SPDX-License-Identifier: MIT */
/* Implements calls_scene.h. */
#include "calls_scene.h"

struct maker_events seen;
struct maker *maker;
struct annot_block *block;

void scene_begin(void)
{
    maker = maker_create();
    block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
}

void scene_end(void)
{
    maker_detach(&seen);
    maker_destroy(maker);
}

uint32_t scene_code(const char *text)
{
    return maker_string(maker, ANNOT_STRING_CODE, 0, text);
}

void scene_record(uint8_t kind, uint64_t time, uint32_t name, uint8_t level)
{
    maker_record(
        block, (struct annot_record){.time = time, .kind = kind, .name = name, .level = level | 4},
        NULL, 0);
}
