/* SPDX-License-Identifier: MIT */
/* A process with calls of Python functions, recorded in one block of one thread. */
#ifndef ANNOT_CALLS_SCENE_H
#define ANNOT_CALLS_SCENE_H

#include "segment_maker.h"

extern struct maker_events seen;
extern struct maker *maker;
extern struct annot_block *block;

void scene_begin(void);
void scene_end(void);

/* The string id of a CODE. */
uint32_t scene_code(const char *text);
void scene_record(uint8_t kind, uint64_t time, uint32_t name, uint8_t level);

#endif
