/* SPDX-License-Identifier: MIT */
/* What the files of a report share with each other only. */
#ifndef ANNOT_REPORT_PARTS_H
#define ANNOT_REPORT_PARTS_H

#include "line_stats.h"
#include "own_time.h"
#include "pass.h"
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

/* ---- Tasks of pools: pool_tasks.c ----
 *
 * The tasks of Python's pools and executors: how long each was on which part of its way.
 *
 * What a parent and a worker tell of one task is joined by the flow that both emit points of
 * (pyannot/observe/pools.py). The parts of a task follow each other without a gap, so that they add
 * up to the time from its submission to the moment when the parent has its result. A worker that is
 * terminated as soon as its last result is read may not get as far as telling that it was sent:
 * then the parent's receipt tells it.
 *
 * Memory: 150 bytes for each task that is on its way at once, up to POOL_TASKS_MAX, and 50 KiB for
 * a function with long tasks. Thread-safety: one thread per object. */

enum { POOL_TASKS_MAX = 1 << 20 };

enum pool_part {
    POOL_QUEUED = 0, /* submitted, until the worker had all of its bytes */
    POOL_UNPICKLE,   /* until the function was called */
    POOL_RUN,        /* until it returned */
    POOL_SEND,       /* the result is pickled and written */
    POOL_WAITING,    /* it lies in the pipe, until the parent has read it */
    POOL_FETCH,      /* the parent unpickles it */
    POOL_WHOLE,      /* all of them */
    POOL_PART_COUNT,
};

/* "queued", "unpickle", ...; "" for the whole. */
const char *pool_part_name(enum pool_part part);

struct pool_part_times {
    uint64_t sum_ns, p50_ns, p90_ns, max_ns;
};

struct pool_function {
    uint32_t name;             /* string */
    bool is_local;             /* run by threads: queued and run are all there is */
    uint64_t count;            /* tasks, or chunks, that are known from end to end */
    uint64_t item_count;       /* calls of the function in these */
    uint64_t unfinished_count; /* begun, but something of the rest is missing */
    uint64_t received_count;   /* of `count`: the worker ended in "send", the result had arrived */
    uint64_t bytes_in, bytes_out;
    struct pool_part_times parts[POOL_PART_COUNT];
};

/* A process or thread that runs tasks. */
struct pool_worker {
    uint32_t thread;  /* ordinal */
    int64_t start_ns; /* it was ready for tasks; 0: not known */
    int64_t first_ns; /* when it began with its first task, and ended its last one */
    int64_t last_ns;
    uint64_t task_count; /* 0: it got none */
    uint64_t busy_ns;    /* in tasks */
    uint64_t longest_ns; /* one of them */
    uint32_t longest_name;
};

struct pool_tasks;

/* `trace` outlives the object. NULL: out of memory. destroy accepts NULL. */
struct pool_tasks *pool_tasks_create(const struct trace *trace);
void pool_tasks_destroy(struct pool_tasks *tasks);

/* What takes the items of a pass, in any order of threads. Then, once that has read all, finish. 0
 * or -ENOMEM. */
struct sink pool_tasks_sink(struct pool_tasks *tasks);
int pool_tasks_finish(struct pool_tasks *tasks);

/* After that: the functions, that with the longest time first. Owned by the object. */
uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions);

/* By thread. */
uint32_t pool_tasks_workers(const struct pool_tasks *tasks, const struct pool_worker **ret_workers);

/* Tasks that were submitted and of which no worker told anything. */
uint64_t pool_tasks_unseen(const struct pool_tasks *tasks);

/* Tasks that found no room: counted nowhere else. */
uint64_t pool_tasks_refused(const struct pool_tasks *tasks);

/* ---- Samples (report_samples.c): CPU time and waits of threads and functions ------------------
 */

/* The function that a Python thread was started with. */
struct thread_entry {
    uint32_t label; /* 0: not known */
    uint32_t tries; /* samples that did not show it */
};

struct report_samples {
    const struct trace *trace;
    const struct pass_selection *selection; /* what is not of it counts nowhere */
    bool present;                           /* there are samples; else all below is empty */
    bool off_cpu;                           /* some are stretches off the CPU */
    struct sample_weight weight;
    const char *range; /* the functions and waits are of ranges of this name; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; else the same as all */
    struct frame_stats *frames;   /* of samples that have the weight */
    struct own_time *own;         /* both by own functions */
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

/* The makers, in the order of the tables. 0 or -ENOMEM. */
int report_add_ranges(struct report *report);
int report_add_imports(struct report *report);
int report_add_plain(struct report *report); /* marks, counters */
int report_add_tasks(struct report *report);
int report_add_owners(struct report *report);
int report_add_functions(struct report *report);
int report_add_waits(struct report *report);
int report_add_own(struct report *report);
int report_add_lines(struct report *report);
int report_add_findings(struct report *report);
int report_add_callers(struct report *report);

/* Is the row's range one that pyannot made, not the program itself? */
bool report_row_is_observed(const struct range_stats *stats, uint32_t index);

/* Is the row told by the table of imports: an import, or what pyannot saw inside of one? */
bool report_row_is_import(const struct range_stats *stats, uint32_t index);

/* Rows of so few samples that their times say little. */
#define REPORT_FEW_NOTE "(~ from fewer than 10 samples: a rough estimate)"
bool report_few_samples(uint64_t count);
/* Does each sample that counts stand for itself? Then few are no estimate. */
bool report_is_exact(const struct report *report);

/* A column of CPU time as one of the value that was asked for, with its name for programs; NULL: it
 * stays. The title says which value it is. */
struct table_column report_value_column(const struct report *report, struct table_column column,
                                        const char *name);

/* Cells that several tables have: what people call a function, with `mark` behind it; what programs
 * call it, its kind and its module, in three columns from `column` on. Label 0: of none. */
void report_function_label(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t label, const char *mark);
void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t label);

#endif
