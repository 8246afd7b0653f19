/* SPDX-License-Identifier: MIT */
/* Tables under construction: a new one with its title. 0 or -ENOMEM. Thread-safety: one thread per
 * report. */
#ifndef ANNOT_REPORT_BUILD_H
#define ANNOT_REPORT_BUILD_H

#include "report_model.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

/* Adds a table with the report as its context; readers see all its rows if it has a title. */
struct table *report_add_table(struct report *report, const char *name, table_fill *fill);

/* "hottest functions inside ranges named load". 0 or -ENOMEM. */
int report_title(const struct report *report, struct table *table, const char *title);

/* The same, independent of the chosen range. */
int report_plain_title(struct table *table, const char *title);

/* Returns true if another process has the same label, or if there are too many processes to
 * compare. */
bool report_has_namesake(const struct trace *trace, uint32_t process);

#endif
