/* SPDX-License-Identifier: MIT */
/* The tables of lines of source, sampled and counted, and their cells. 0 or -ENOMEM. Thread-safety:
 * one thread per report. */
#ifndef ANNOT_REPORT_LINES_H
#define ANNOT_REPORT_LINES_H

#include "call_label.h"
#include "report_build.h"

#include <stdint.h>

struct line_stats;
struct source_texts;

/* Columns of a line of source. function: with its kind and module, as above; text: without its
 * indentation, and `shown` the part of it that readers see. */
struct line_columns {
    uint8_t location, name, function, file, line, shown, text;
};

/* With options.lines: the lines of source, NULL without samples; the texts of sources. */
const struct line_stats *report_lines(const struct report *report);
struct source_texts *report_texts(const struct report *report);

/* The whole for shares of these lines: as on the first screen. */
uint64_t report_lines_whole(const struct report *report);

struct line_counts;

/* Counted lines; NULL: not recorded. */
const struct line_counts *report_line_counts(const struct report *report);

#endif
