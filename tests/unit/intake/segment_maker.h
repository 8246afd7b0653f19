/* SPDX-License-Identifier: MIT */
/* A segment composed by hand, in private memory, for tests of its readers. One thread per
 * object. */
#ifndef ANNOT_SEGMENT_MAKER_H
#define ANNOT_SEGMENT_MAKER_H

#include "clock_map.h"
#include "drain.h"

enum { MAKER_BLOCKS = 16, MAKER_THREADS = 4, MAKER_STRINGS = 4096 };

struct maker {
    struct annot_segment page;
    struct annot_thread threads[MAKER_THREADS];
    uint8_t strings[MAKER_STRINGS];
    uint32_t states[MAKER_BLOCKS], nexts[MAKER_BLOCKS];
    uint8_t padding[4096 - (MAKER_THREADS * 640 + 2 * MAKER_BLOCKS * 4) % 4096];
    uint8_t blocks[MAKER_BLOCKS][ANNOT_BLOCK_SIZE];
};

/* A valid segment without blocks, timestamps in CLOCK_MONOTONIC. */
struct maker *maker_create(void);
void maker_destroy(struct maker *maker);

/* The id of a text in its string table. */
uint32_t maker_string(struct maker *maker, uint8_t kind, uint16_t number, const char *text);

/* An empty block of thread `serial`. */
struct annot_block *maker_block(struct maker *maker, uint32_t index, uint32_t serial,
                                uint32_t sequence, uint32_t state);

/* Appends a record with the parts after its base. */
void maker_record(struct annot_block *block, struct annot_record record, const void *parts,
                  uint32_t parts_size);

/* Collects the events of a drain. */
struct maker_events {
    struct trace *trace;
    struct clock_map clock;
    struct segment segment;
    struct drain *drain;
    struct event events[4096];
    struct arg args[4096];
    uint32_t arg_count;
    struct batch_source sources[64];
    unsigned count, batch_count;
};

void maker_attach(struct maker_events *seen, struct maker *maker);
void maker_detach(struct maker_events *seen);

#endif
