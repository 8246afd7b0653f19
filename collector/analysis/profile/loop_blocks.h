/* SPDX-License-Identifier: MIT */
/* Turns of event loops that took long, while other tasks had to wait: where their time went.
 *
 * pyannot marks such a turn when it ends (OBSERVER_ASYNCIO, ASYNCIO_ROLE_BLOCKED). The samples and
 * waits of its thread in that time say what it did. A turn that was short without the time in which
 * it had no processor is none, nor is one that kept nobody waiting: some task that awaited
 * something outside of the program (a sleep, a socket; not what other tasks do) has to go on as
 * soon as it is over.
 *
 * Memory: 88 bytes a turn, up to LOOP_BLOCKS_MAX; 40 bytes a sample in one, up to LOOP_PARTS_MAX;
 * what is beyond counts nowhere. The last LOOP_RECENT samples of each thread are kept, 48 bytes
 * each, as a turn's samples may come before its mark. Thread-safety: one thread per object. */
#ifndef ANNOT_LOOP_BLOCKS_H
#define ANNOT_LOOP_BLOCKS_H

#include "own_time.h"
#include "pass.h"
#include "trace.h"

#include <stdint.h>

enum { LOOP_BLOCKS_MAX = 1 << 16, LOOP_PARTS_MAX = 1 << 18, LOOP_RECENT = 128 };

/* Shorter turns are none: pyannot/observe/tasks.py. Its clock is some milliseconds coarse. */
enum { LOOP_BLOCK_NS = 45000000 };

/* Turns in which more time was spent in this own function than in any other. */
struct loop_place {
    uint32_t label; /* as struct own_row */
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason of most of their waits */
    int32_t line;
    uint32_t count;
    uint64_t time_ns, max_ns; /* of these turns, without the time they had no processor */
    uint64_t waiting_ns;      /* of time_ns: they waited */
};

/* One of them. */
struct loop_block {
    int64_t begin_ns, end_ns;
    uint64_t time_ns;        /* without the time it had no processor */
    uint32_t thread, others; /* tasks that it kept waiting */
    uint32_t place;          /* of the places, as they are told */
};

struct loop_totals {
    uint32_t loops;   /* that were blocked */
    uint32_t count;   /* turns */
    uint32_t waiting; /* most tasks that one of them kept waiting */
    uint64_t time_ns; /* of the loop that was blocked for longest */
};

struct loop_blocks;

/* `trace` outlives it and is complete. NULL: out of memory. destroy accepts NULL. */
struct loop_blocks *loop_blocks_create(const struct trace *trace);
void loop_blocks_destroy(struct loop_blocks *blocks);

/* What takes the items of a pass, in any order of threads; then once finish. 0 or -ENOMEM. */
struct sink loop_blocks_sink(struct loop_blocks *blocks, bool with_samples);
int loop_blocks_finish(struct loop_blocks *blocks, const struct own_time *own);

const struct loop_totals *loop_blocks_totals(const struct loop_blocks *blocks);
/* The longest time first; label 0 with PURPOSE_NONE: no sample shows it. Returns how many. */
uint32_t loop_blocks_places(const struct loop_blocks *blocks, const struct loop_place **ret_places);
/* Each of them, in order of time. Returns how many. */
uint32_t loop_blocks_each(const struct loop_blocks *blocks, const struct loop_block **ret_blocks);

#endif
