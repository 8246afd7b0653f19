/* SPDX-License-Identifier: MIT */
/* The tables of lines of source, sampled and counted, and their cells. 0 or -ENOMEM. Thread-safety:
 * one thread per report. */
#ifndef ANNOT_REPORT_LINES_H
#define ANNOT_REPORT_LINES_H

#include "call_label.h"
#include "report_model.h"

#include <stdint.h>

struct line_stats;
struct source_texts;

int report_add_lines(struct report *report);

/* Columns of a line of source. function: with its kind and module, as above; text: without what it
 * is indented by, and `shown` as much of it as people see. */
struct line_columns {
    uint8_t location, name, function, file, line, shown, text;
};

/* With options.lines: the lines of source, NULL if there are no samples; the texts of sources. */
const struct line_stats *report_lines(const struct report *report);
struct source_texts *report_texts(const struct report *report);

/* What shares of these lines are of: as on the first screen. */
uint64_t report_lines_whole(const struct report *report);

struct line_counts;

/* If the recording has any, before it is read: their sink costs. 0 or -ENOMEM. */
int report_begin_line_counts(struct report *report);
int report_add_line_counts(struct report *report);

/* Lines that were counted; NULL: none. */
const struct line_counts *report_line_counts(const struct report *report);

#endif
