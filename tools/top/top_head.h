/* SPDX-License-Identifier: MIT */
/* The lines above a table of `annot top`. Main thread only. */
#ifndef ANNOT_TOP_HEAD_H
#define ANNOT_TOP_HEAD_H

#include "top.h"

/* What the programs do as a whole: three lines, and one more if there is something to know. */
enum { TOP_HEAD_LINES = 4, TOP_HEAD_SIZE = 1024 };

void top_head_make(const struct top_session *session, const struct top_data *data,
                   char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE]);

/* The same as a table of one row. The data outlive it. */
void top_head_table(const struct top_data *data, struct table *ret_table);

#endif
