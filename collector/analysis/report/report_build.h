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

/* A table whose context is the report; people see all rows of it if it has a title. */
struct table *report_add_table(struct report *report, const char *name, table_fill *fill);

/* "hottest functions inside ranges named load". 0 or -ENOMEM. */
int report_title(const struct report *report, struct table *table, const char *title);

/* The same, whatever range was chosen. */
int report_plain_title(struct table *table, const char *title);

/* Is another process called the same? Of many, as if: to look for others would take long. */
bool report_has_namesake(const struct trace *trace, uint32_t process);

#endif
