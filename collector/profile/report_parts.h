/* SPDX-License-Identifier: MIT */
/* Shared by the files of a report only. */
#ifndef ANNOT_REPORT_PARTS_H
#define ANNOT_REPORT_PARTS_H

#include "frame_stats.h"
#include "pool_tasks.h"
#include "report.h"
#include "wait_places.h"

/* ---- Samples (report_samples.c): CPU time and waits of threads and functions ------------------
 */

/* The function that a Python thread was started with. */
struct thread_entry {
    uint32_t frame; /* 0: not known */
    uint32_t tries; /* samples that did not show it */
};

struct report_samples {
    const struct trace *trace;
    const struct pass_selection *selection; /* what is not of it counts nowhere */
    bool present;                           /* there are samples; else all below is empty */
    bool off_cpu;                           /* some are stretches off the CPU */
    const char *range; /* the functions and waits are of ranges of this name; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; else the same as all */
    struct frame_stats *frames;   /* of samples on a CPU */
    struct wait_places *places;   /* of stretches off it */
    struct thread_entry *entries; /* by thread */
    struct path_matches matches;  /* of `range` */
    struct sample_checks checks;  /* of all */
    uint64_t late;                /* came too late to be given their ranges exactly */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half filled object. */
int report_samples_begin(struct report_samples *samples, const struct report_options *options);
void report_samples_fini(struct report_samples *samples);

/* What takes the samples of a pass; then, once that has read all, finish. 0 or -ENOMEM. */
struct sink report_samples_sink(struct report_samples *samples);
int report_samples_finish(struct report_samples *samples, struct pass *pass);

/* ---- Tables ---------------------------------------------------------------------------------- */

struct report {
    struct report_options options;
    const struct trace *trace;
    struct range_stats *stats;
    struct report_samples samples;
    struct pool_tasks *tasks;
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

/* Is the row's range one that pyannot made, not the program itself? */
bool report_row_is_observed(const struct range_stats *stats, uint32_t index);

/* Is the row told by the table of imports: an import, or what pyannot saw inside of one? */
bool report_row_is_import(const struct range_stats *stats, uint32_t index);

/* Rows of so few samples that their times say little. */
#define REPORT_FEW_NOTE "(~ from fewer than 10 samples: a rough estimate)"
bool report_few_samples(uint64_t count);

/* Cells that several tables have: what people call a function, with `mark` behind it; what programs
 * call it, its kind and its module, in three columns from `column` on. Frame 0: of none. */
void report_function_label(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t frame, const char *mark);
void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t frame);

#endif
