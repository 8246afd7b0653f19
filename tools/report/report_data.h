/* SPDX-License-Identifier: MIT */
/* A report for programs. Main thread only. */
#ifndef ANNOT_REPORT_DATA_H
#define ANNOT_REPORT_DATA_H

#include "report.h"
#include "table.h"

struct out_stream;

/* Those that were asked for. */
struct report_tables {
    const struct table *items[REPORT_TABLES_MAX];
    unsigned count;
};

/* For programs, all rows, of the tables that were asked for. Errors of the stream stick. 0 or
 * -ENOMEM. */
int report_json(const struct report_tables *tables, struct out_stream *out);
int report_csv(const struct report_tables *tables, struct out_stream *out);

#endif
