/* SPDX-License-Identifier: MIT */
/* The state of a reader, for readers of several recordings (joined.c) and for writers that continue
 * a recording. */
#ifndef ANNOT_READER_PARTS_H
#define ANNOT_READER_PARTS_H

#include "chunk.h"
#include "event.h"
#include "event_encode.h"
#include "fields.h"
#include "reader.h"
#include "sample_stream.h"
#include "vec.h"
#include "volumes.h"

struct event_decoder;
struct joined;

struct thread_position {
    struct thread_state state;
    int64_t last_ns;
    uint32_t missing; /* volumes before it */
};

struct events_chunk {
    struct chunk_place chunk;
    int64_t settled_ns; /* no event of it or of a later one is earlier */
    bool damage_noted;
};

struct store_reader {
    struct joined *joined; /* then only this and the trace are used */
    struct volumes own;
    struct volumes *volumes;
    struct trace *trace;
    uint32_t *stack_map; /* from the stacks in the file, by stacks_expand(); NULL: unchanged */
    struct chunk_buffer buffer;
    struct event_decoder *decoder;
    struct sample_stream samples;
    VEC(struct events_chunk) chunks;
    VEC(struct chunk_place) checkpoints;
    uint64_t begin_order; /* chunks of stream 0 before this place are skipped */
    bool has_late;        /* it has declared streams */
    size_t next_chunk;
    bool in_chunk;
    bool in_checkpoint; /* the current chunk is a checkpoint */
    struct thread_position *threads;
    uint32_t thread_capacity, stack_map_count;
    uint32_t scanned; /* volumes before this one were read to their end */
    bool follow;      /* read as it grows */
    bool again;       /* volumes and trace are borrowed */
    struct definitions_holes holes;
    struct store_info info;
    /* A batch that waits for the EVENT_LOST made before it. */
    struct event lost;
    struct event_batch waiting;
    bool has_waiting;
    struct event_batch spans; /* the rest of a batch of a declared stream */
};

#endif
