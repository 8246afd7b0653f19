/* SPDX-License-Identifier: MIT */
/* Machine-readable reports. Main thread only. */
#ifndef ANNOT_REPORT_DATA_H
#define ANNOT_REPORT_DATA_H

#include "report.h"
#include "table.h"

struct out_stream;

/* The requested tables. */
struct report_tables {
    const struct table *items[REPORT_TABLES_MAX];
    unsigned count;
};

/* Write all rows of the tables. Errors stick in the stream. 0 or -ENOMEM. */
int report_json(const struct report_tables *tables, struct out_stream *out);
int report_csv(const struct report_tables *tables, struct out_stream *out);

#endif
