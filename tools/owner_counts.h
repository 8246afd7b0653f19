/* SPDX-License-Identifier: MIT */
/* The numbers of processes and threads of a recording, in words. Main thread only. */
#ifndef ANNOT_OWNER_COUNTS_H
#define ANNOT_OWNER_COUNTS_H

#include "text.h"
#include "trace.h"

/* "5,000 events", "1 process": `what` in the singular. */
void count_add(struct text *text, const char *before, uint64_t count, const char *what);

/* "1 process (and 44 of the start of the command, 3 without a sample), 2 threads": the number of
 * threads excludes those of the processes in parentheses. Short: omits processes without a
 * sample. */
void owner_counts_add(struct text *text, const struct trace *trace, bool is_short);

#endif
