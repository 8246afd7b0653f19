/* SPDX-License-Identifier: MIT */
/* The part of `annot report` about imports of Python modules, which pyannot makes ranges of: a row
 * per module, whatever imported it. By path they would outnumber the program's own ranges.
 *
 * Main thread only: prints. */
#ifndef ANNOT_REPORT_IMPORTS_H
#define ANNOT_REPORT_IMPORTS_H

#include "report_table.h"

/* Is the row's range one that pyannot made, not the program itself? */
bool report_row_is_observed(const struct range_stats *stats, uint32_t index);

/* Is the row told by the table of imports: an import, or what pyannot saw inside of one? */
bool report_row_is_import(const struct range_stats *stats, uint32_t index);

/* The table, if there are any. 0 or -ENOMEM. */
int report_imports_print(const struct report_table_options *options);

#endif
