/* SPDX-License-Identifier: MIT */
/* The functions that samples were in: a flat list of hot ones.
 *
 * Lines of one function are one row (call_label.h). Memory: 16 bytes a stack of the recording and
 * 56 a function. Thread-safety: one thread per object. */
#ifndef ANNOT_FRAME_STATS_H
#define ANNOT_FRAME_STATS_H

#include "sample.h"
#include "trace.h"

struct function_row {
    uint32_t frame;     /* one of its frames; 0: of no function, see below */
    uint64_t count;     /* samples with it anywhere on the stack */
    uint64_t self_ns;   /* it was the innermost frame */
    uint64_t python_ns; /* Python, or its garbage collector: it was the innermost of these: with
                           the native code it calls */
    uint64_t total_ns;  /* it was anywhere on the stack, counted once */
};

/* The row without a function has what the others lack: as self and total time that of samples
 * without frames, as Python time that of samples without a Python frame. So both add up to all
 * samples. */

struct frame_totals {
    uint64_t total_ns;    /* of all samples */
    uint64_t no_stack_ns; /* of those without frames */
    uint64_t python_ns;   /* of those with a Python frame, or the garbage collector's */
};

struct frame_stats;

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct frame_stats *frame_stats_create(const struct trace *trace);
void frame_stats_destroy(struct frame_stats *stats);

/* Samples in any order, each for call_sample_weight_ns, then once finish. finish: 0 or -ENOMEM. */
void frame_stats_add(struct frame_stats *stats, const struct sample *sample);
int frame_stats_finish(struct frame_stats *stats);

const struct frame_totals *frame_stats_totals(const struct frame_stats *stats);

enum frame_order { FRAME_ORDER_SELF, FRAME_ORDER_TOTAL, FRAME_ORDER_PYTHON };

/* All rows, largest number of that order first; ties by their names and places. The
 * row without a function is
 * the last, if there is one. Owned by the object, until the next call. Returns how many. */
uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows);

#endif
