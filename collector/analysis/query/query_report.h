/* SPDX-License-Identifier: MIT */
/* The tables of a report as tables of a query. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_REPORT_H
#define ANNOT_QUERY_REPORT_H

struct query_report;

void query_report_destroy(struct query_report *report);

#endif
