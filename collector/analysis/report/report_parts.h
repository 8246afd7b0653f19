/* SPDX-License-Identifier: MIT */
/* What the files of a report share with each other only. */
#ifndef ANNOT_REPORT_PARTS_H
#define ANNOT_REPORT_PARTS_H

#include "awaits.h"
#include "call_counts.h"
#include "call_label.h"
#include "gpu_stats.h"
#include "line_counts.h"
#include "line_stats.h"
#include "loop_blocks.h"
#include "own_tree.h"
#include "pass.h"
#include "pool_tasks.h"
#include "report.h"
#include "sample.h"
#include "trace.h"
#include "wall.h"

/* ---- Functions: report_functions.c ----
 *
 * The functions that samples were in: a flat list of hot ones.
 *
 * Memory: 16 bytes a stack of the recording and 40 a label. Thread-safety: one thread per object.
 */

struct function_row {
    uint32_t label;     /* 0: of no function, see below */
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
struct frame_stats *frame_stats_create(const struct trace *trace, struct sample_weight weight);
void frame_stats_destroy(struct frame_stats *stats);

/* Samples in any order, then once finish. */
void frame_stats_add(struct frame_stats *stats, const struct sample *sample);
void frame_stats_finish(struct frame_stats *stats);

const struct frame_totals *frame_stats_totals(const struct frame_stats *stats);

/* After finish: of a stack and all that it called. */
uint64_t frame_stats_stack_ns(const struct frame_stats *stats, uint32_t stack);

enum frame_order { FRAME_ORDER_SELF, FRAME_ORDER_TOTAL, FRAME_ORDER_PYTHON };

/* All rows, largest number of that order first; ties by their names and places. The
 * row without a function is
 * the last, if there is one. Owned by the object, until the next call. Returns how many. */
uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows);

/* ---- Samples (report_samples.c): CPU time and waits of threads and functions ------------------
 */

/* The function that a Python thread was started with. */
struct thread_entry {
    uint32_t label; /* 0: not known */
    uint32_t tries; /* samples that did not show it */
    uint32_t stack; /* of the last of these */
};

struct report_samples {
    const struct trace *trace;
    const struct pass_selection *selection; /* what is not of it counts nowhere */
    bool present;                           /* there are samples; else all below is empty */
    bool off_cpu;                           /* some are stretches off the CPU */
    bool by_wall, with_waits;               /* as struct report_facts */
    struct sample_weight weight;
    const char *range; /* the functions and waits are of ranges of this name; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; else the same as all */
    struct frame_stats *frames;   /* of samples that have the weight */
    struct own_time *own;         /* both by own functions */
    struct own_tree *tree;        /* of these */
    struct wall *wall;            /* of all */
    struct line_stats *lines;     /* of samples that have the weight, and waits; or NULL */
    struct thread_entry *entries; /* by thread */
    struct path_matches matches;  /* of `range` */
    struct sample_checks checks;  /* of all */
    uint64_t late;                /* came too late to be given their ranges exactly */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half filled object. */
int report_samples_begin(struct report_samples *samples, const struct report_options *options);
void report_samples_fini(struct report_samples *samples);

/* What takes the samples of a pass; then, once that has read all, finish: 0 or -ENOMEM. */
struct sink report_samples_sink(struct report_samples *samples);
int report_samples_finish(struct report_samples *samples, struct pass *pass,
                          const struct range_totals *totals);

/* ---- Tables ---------------------------------------------------------------------------------- */

struct report {
    struct report_options options;
    const struct trace *trace;
    struct range_stats *stats;
    struct report_samples samples;
    struct pool_tasks *tasks;
    struct loop_blocks *loops;
    struct awaits *awaits;
    struct gpu_stats *gpu;
    struct calls *calls;             /* NULL: none were counted */
    struct line_counts *line_counts; /* NULL: none were counted */
    struct source_texts *texts;
    struct report_facts facts;
    struct table tables[REPORT_TABLES_MAX];
    unsigned table_count;
    char *nothing; /* text of a note; or NULL */
};

typedef void table_fill(const struct table *table, uint64_t index, struct table_row *row);

/* A table whose context is the report; people see all rows of it if it has a title. */
struct table *report_add_table(struct report *report, const char *name, table_fill *fill);

/* "hottest functions inside ranges named load". 0 or -ENOMEM. */
int report_title(const struct report *report, struct table *table, const char *title);
/* The same, whatever range was chosen. */
int report_plain_title(struct table *table, const char *title);

/* If the recording has any, before it is read: their sink costs. 0 or -ENOMEM. */
int report_begin_line_counts(struct report *report);

/* The makers, in the order of the tables. 0 or -ENOMEM. */
int report_add_ranges(struct report *report);
int report_add_imports(struct report *report);
int report_add_plain(struct report *report); /* marks, counters */
int report_add_stalls(struct report *report);
int report_add_gpu(struct report *report); /* with the next two */
int report_add_gpu_captures(struct report *report);
int report_add_gpu_queues(struct report *report);
int report_add_tasks(struct report *report);
int report_add_pools(struct report *report); /* pools, their workers */
int report_add_owners(struct report *report);
int report_add_functions(struct report *report);
int report_add_calls(struct report *report);      /* calls, who called whom */
int report_add_calls_made(struct report *report); /* by task and range; coroutines as a whole */
int report_add_waits(struct report *report);
int report_add_awaits(struct report *report);
int report_add_loops(struct report *report); /* what blocked event loops */
int report_add_own(struct report *report);
int report_add_lines(struct report *report);
int report_add_line_counts(struct report *report);
int report_add_findings(struct report *report);
int report_add_callers(struct report *report);

/* Is another process called the same? Of many, as if: to look for others would take long. */
bool report_has_namesake(const struct trace *trace, uint32_t process);

/* As report_durations, of tables of GPUs. */
const struct range_duration *report_gpu_durations(const struct report *report,
                                                  const struct table *table, uint64_t row,
                                                  uint32_t *ret_count);

/* Is the row's range one that pyannot made, not the program itself? */
bool report_row_is_observed(const struct range_stats *stats, uint32_t index);

/* Is the row told by the table of imports: an import, or what pyannot saw inside of one? */
bool report_row_is_import(const struct range_stats *stats, uint32_t index);

/* What people call a row's range: with whose it is, as they asked for. Returns the length. */
size_t report_range_label(const struct report *report, uint32_t index, char *buffer, size_t size);

/* Of counters: report_devices.c. Is there one of a device that a program has a lane for? */
bool report_has_devices(const struct report *report);
/* Into a cell, of the counter of a row of the statistics: "GPU 1: NVIDIA H100 (train.py, 17)" of
 * each program, or that it is of the whole of an instance; "" of another counter. */
void report_fill_device(const struct report *report, uint32_t index, struct table_row *row,
                        unsigned column);
/* As the first program with the device would call it: "power: GPU 1 of train.py". */
void report_fill_device_label(const struct report *report, uint32_t index, struct table_row *row,
                              unsigned column);

/* The module whose import took longest, with those that it imports; NULL: there is none. */
const char *report_longest_import(const struct range_stats *stats, uint64_t *ret_total_ns);

/* Rows of so few samples that their times say little. */
#define REPORT_FEW_NOTE "(~ from fewer than 10 samples: a rough estimate)"
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

/* Columns of a line of source. function: with its kind and module, as above; text: without what it
 * is indented by, and `shown` as much of it as people see. */
struct line_columns {
    uint8_t location, name, function, file, line, shown, text;
};

void report_line_cells(const struct report *report, struct table_row *row,
                       const struct line_columns *at, const struct call_place *place);

#endif
