/* SPDX-License-Identifier: MIT */
/* The functions that samples were in: a flat list of hot ones.
 *
 * Memory: 16 bytes a stack of the recording and 40 a label. Thread-safety: one thread per object.
 */
#ifndef ANNOT_REPORT_FUNCTIONS_H
#define ANNOT_REPORT_FUNCTIONS_H

#include "call_label.h"
#include "report_model.h"
#include "sample.h"
#include "sample_weight.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_stats;
struct trace;

/* Rows of so few samples that their times say little. */
#define REPORT_FEW_NOTE "(~ from fewer than 10 samples: a rough estimate)"

struct function_row {
    uint32_t label;     /* 0: of no function, see below */
    uint64_t count;     /* samples with it anywhere on the stack */
    uint64_t self_ns;   /* it was the innermost frame */
    uint64_t python_ns; /* Python, or its garbage collector: it was the innermost of these: with
                           the native code it calls */
    uint64_t total_ns;  /* it was anywhere on the stack, counted once */
};

struct frame_totals {
    uint64_t total_ns;    /* of all samples */
    uint64_t no_stack_ns; /* of those without frames */
    uint64_t python_ns;   /* of those with a Python frame, or the garbage collector's */
};

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct frame_stats *frame_stats_create(const struct trace *trace, struct sample_weight weight);
void frame_stats_destroy(struct frame_stats *stats);

/* Samples in any order, then once finish. */
void frame_stats_add(struct frame_stats *stats, const struct sample *sample);
void frame_stats_finish(struct frame_stats *stats);
const struct frame_totals *frame_stats_totals(const struct frame_stats *stats);

enum frame_order { FRAME_ORDER_SELF, FRAME_ORDER_TOTAL, FRAME_ORDER_PYTHON };

/* All rows, largest number of that order first; ties by their names and places. The
 * row without a function is
 * the last, if there is one. Owned by the object, until the next call. Returns how many. */
uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows);
int report_add_functions(struct report *report);
bool report_few_samples(uint64_t count);

/* Does each sample that counts stand for itself? Then few are no estimate. */
bool report_is_exact(const struct report *report);

/* A column of CPU time as one of the value that was asked for, with its name for programs; NULL: it
 * stays. The title says which value it is. */
struct table_column report_value_column(const struct report *report, struct table_column column,
                                        const char *name);

/* Cells that several tables have, from `column` on. name: what people call a function, and where
 * it is, in two columns; the row is coloured by whose it is. function: what
 * programs call it, its kind and its module, in three. Label 0: of none. */
void report_name_cells(const struct report *report, struct table_row *row, unsigned column,
                       const struct call_place *place);
void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t label);

int report_add_callers(struct report *report);

#endif
