/* SPDX-License-Identifier: MIT */
/* The lines above a table of `annot top`. Main thread only. */
#ifndef ANNOT_TOP_HEAD_H
#define ANNOT_TOP_HEAD_H

#include "top.h"

/* Totals of all programs: three lines, and a fourth for warnings. */
enum { TOP_HEAD_LINES = 4, TOP_HEAD_SIZE = 1024 };

void top_head_make(const struct top_session *session, const struct top_data *data,
                   char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE]);

/* The same totals as a table of one row. Valid as long as the data. */
void top_head_table(const struct top_data *data, struct table *ret_table);

#endif
