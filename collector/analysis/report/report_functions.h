/* SPDX-License-Identifier: MIT */
/* The functions on the stacks of samples: a flat list of hot ones.
 *
 * Memory: 16 bytes a stack of the recording and 40 a label. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_REPORT_FUNCTIONS_H
#define ANNOT_REPORT_FUNCTIONS_H

#include "call_label.h"
#include "report_build.h"
#include "sample.h"
#include "sample_weight.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_stats;
struct trace;

/* Note for rows with too few samples for a precise time. */
#define REPORT_FEW_NOTE "(~ from fewer than 10 samples: a rough estimate)"

struct function_row {
    uint32_t label;     /* 0: time outside of functions, see below */
    uint64_t count;     /* samples with it anywhere on the stack */
    uint64_t self_ns;   /* it was the innermost frame */
    uint64_t python_ns; /* Python, or its garbage collector: it was the innermost of these,
                           including native code called there */
    uint64_t total_ns;  /* it was anywhere on the stack, counted once */
};

struct frame_totals {
    uint64_t total_ns;    /* of all samples */
    uint64_t no_stack_ns; /* of samples without frames */
    uint64_t python_ns;   /* of samples with a Python frame, or the garbage collector's */
};

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct frame_stats *frame_stats_create(const struct trace *trace, struct sample_weight weight);
void frame_stats_destroy(struct frame_stats *stats);

/* Add samples in any order, then call finish once. */
void frame_stats_add(struct frame_stats *stats, const struct sample *sample);
void frame_stats_finish(struct frame_stats *stats);
const struct frame_totals *frame_stats_totals(const struct frame_stats *stats);

enum frame_order { FRAME_ORDER_SELF, FRAME_ORDER_TOTAL, FRAME_ORDER_PYTHON };

/* All rows, largest number of that order first; ties by their names and places. A row without a
 * function is the last. Owned by the object, until the next call. Returns their number. */
uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows);
bool report_few_samples(uint64_t count);

/* True if each sample of the weight stands for itself: then few samples are not an estimate. */
bool report_is_exact(const struct report *report);

/* Changes a column of CPU time to one of the chosen value, with its name for programs; NULL:
 * unchanged. The title names the value. */
struct table_column report_value_column(const struct report *report, struct table_column column,
                                        const char *name);

/* Cells that several tables have, from `column` on. name: display name and place of a function, in
 * two columns; the row is coloured by owner. function: its name for programs, kind and module, in
 * three. Label 0: no function. */
void report_name_cells(const struct report *report, struct table_row *row, unsigned column,
                       const struct call_place *place);
void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t label);

#endif
