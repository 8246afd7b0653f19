/* SPDX-License-Identifier: MIT */
/* `annot report --json` and `--csv`: all rows, for programs. Times are nanoseconds, and their names
 * say so; every row has the same fields. Main thread only. */
#ifndef ANNOT_REPORT_DATA_H
#define ANNOT_REPORT_DATA_H

#include "out_stream.h"
#include "pool_tasks.h"
#include "range_stats.h"
#include "report_samples.h"

struct report_data_options {
    const char *path;
    const struct store_reader *reader;
    const struct trace *trace;
    const struct range_stats *stats;
    enum range_grouping grouping;
    enum range_column sort;
    struct report_samples *samples;
    const struct pool_tasks *tasks;
};

/* One object; a table of ranges, marks and counters. 0 or -ENOMEM; errors of the stream stick. */
int report_json(const struct report_data_options *options, struct out_stream *out);
int report_csv(const struct report_data_options *options, struct out_stream *out);

#endif
