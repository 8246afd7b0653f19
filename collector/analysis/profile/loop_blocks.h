/* SPDX-License-Identifier: MIT */
/* Long turns of event loops that kept other tasks waiting, and where their time went.
 *
 * pyannot marks such a turn when it ends (OBSERVER_ASYNCIO, ASYNCIO_ROLE_BLOCKED). The samples and
 * waits of its thread during the turn are attributed to it. A turn does not count if it is short
 * without the time it was runnable but had no processor, or if no task was ready when it ended: a
 * task that awaited something outside of the program (a sleep, a socket; not other tasks) has to
 * continue right after it. Loops may be nested: a turn lacks the time of long turns inside of it.
 *
 * Memory: 96 bytes a turn, up to LOOP_BLOCKS_MAX; 40 bytes a sample in one, up to LOOP_PARTS_MAX;
 * further ones are dropped. The last LOOP_RECENT samples of each thread are kept, 48 bytes each, as
 * a turn's samples may come before its mark. Thread-safety: one thread per object. */
#ifndef ANNOT_LOOP_BLOCKS_H
#define ANNOT_LOOP_BLOCKS_H

#include "own_time.h"
#include "pass.h"
#include "trace.h"

#include <stdint.h>

enum { LOOP_BLOCKS_MAX = 1 << 16, LOOP_PARTS_MAX = 1 << 18, LOOP_RECENT = 128 };

/* Minimum length of a turn; pyannot/observe/tasks.py marks them, with a clock of some milliseconds
 * resolution. */
enum { LOOP_BLOCK_NS = 45000000 };

/* The turns that spent most of their time in this own function. */
struct loop_place {
    uint32_t label; /* as struct own_row */
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason of most of their waits */
    int32_t line;
    uint32_t count;
    uint64_t time_ns, max_ns; /* of these turns, without runnable time */
    uint64_t blocked_ns;      /* part of time_ns */
};

/* One such turn. */
struct loop_block {
    int64_t begin_ns, end_ns;
    uint64_t time_ns;        /* without runnable time */
    uint32_t thread, others; /* others: tasks kept waiting */
    uint32_t place;          /* index into loop_blocks_places() */
};

struct loop_totals {
    uint32_t loops;   /* with blocked turns */
    uint32_t count;   /* turns */
    uint32_t waiting; /* maximum of tasks kept waiting by one turn */
    uint64_t time_ns; /* of the loop that was blocked for longest */
};

struct loop_blocks;

/* `trace` outlives it and is complete. NULL: out of memory. destroy accepts NULL. */
struct loop_blocks *loop_blocks_create(const struct trace *trace);
void loop_blocks_destroy(struct loop_blocks *blocks);

/* The sink takes the items of a pass, in any order of threads; call finish once after the last. 0
 * or -ENOMEM. */
struct sink loop_blocks_sink(struct loop_blocks *blocks, bool with_samples);
int loop_blocks_finish(struct loop_blocks *blocks, const struct own_time *own);

const struct loop_totals *loop_blocks_totals(const struct loop_blocks *blocks);
/* Returns the number of places, longest time first; label 0 with PURPOSE_NONE: turns without
 * samples. */
uint32_t loop_blocks_places(const struct loop_blocks *blocks, const struct loop_place **ret_places);
/* Returns the number of turns, in order of time. */
uint32_t loop_blocks_each(const struct loop_blocks *blocks, const struct loop_block **ret_blocks);

#endif
