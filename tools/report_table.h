/* SPDX-License-Identifier: MIT */
/* The tables of `annot report`: ranges, overlapping ranges, marks, counters.
 *
 * Main thread only: prints. */
#ifndef ANNOT_REPORT_TABLE_H
#define ANNOT_REPORT_TABLE_H

#include "range_stats.h"

struct report_table_options {
    const struct trace *trace;
    const struct range_stats *stats;
    enum range_grouping grouping;
    enum range_column sort;
    uint64_t limit;  /* rows per table */
    bool sampled;    /* CPU time of ranges is known by samples */
    bool off_cpu;    /* and what they waited for */
    bool all;        /* rows that other tables sum up, too */
    uint64_t cpu_ns; /* of all samples */
    unsigned width;  /* 0 = unlimited */
    bool color;
};

/* All tables that have rows, to standard output. 0 or -ENOMEM. */
int report_table_print(const struct report_table_options *options);

#endif
