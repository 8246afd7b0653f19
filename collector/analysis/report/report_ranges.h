/* SPDX-License-Identifier: MIT */
/* The tables of ranges, imports, marks and counters, and labels of their rows. 0 or -ENOMEM.
 * Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_RANGES_H
#define ANNOT_REPORT_RANGES_H

#include "range_stats.h"
#include "report_build.h"
#include "table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_stats;

/* True if the row's range was made by pyannot, not by the program. */
bool report_row_is_observed(const struct range_stats *stats, uint32_t index);

/* Writes the display label of a row's range, with its owner if rows are grouped by it. Returns the
 * length. */
size_t report_range_label(const struct report *report, uint32_t index, char *buffer, size_t size);

/* Returns the module with the longest import, which includes the modules that it imports; NULL: not
 * found. */
const char *report_longest_import(const struct range_stats *stats, uint64_t *ret_total_ns);

/* With options.durations: those of a row of a table of ranges, as range_stats_durations. NULL: not
 * kept. */
const struct range_duration *report_durations(const struct report *report,
                                              const struct table *table, uint64_t row,
                                              uint32_t *ret_count);

#endif
