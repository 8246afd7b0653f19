/* SPDX-License-Identifier: MIT */
/* The data that the one reading of a recording gathers for a report, and its tables. Thread-safety:
 * one thread per report. */
#ifndef ANNOT_REPORT_MODEL_H
#define ANNOT_REPORT_MODEL_H

#include "report.h"
#include "report_samples.h"
#include "table.h"

#include <stdint.h>

struct report {
    struct report_options options;
    const struct trace *trace;
    struct range_stats *stats;
    struct report_samples samples;
    struct pool_tasks *tasks;
    struct loop_blocks *loops;
    struct awaits *awaits;
    struct gpu_stats *gpu;
    struct calls *calls;             /* NULL: not recorded */
    struct line_counts *line_counts; /* NULL: not recorded */
    struct source_texts *texts;
    struct report_facts facts;
    struct table tables[REPORT_TABLES_MAX];
    unsigned table_count;
    char *nothing; /* text of a note; or NULL */
};

typedef void table_fill(const struct table *table, uint64_t index, struct table_row *row);

#endif
