/* SPDX-License-Identifier: MIT */
/* The texts of source files that samples were in. */
#ifndef ANNOT_COLLECTOR_SOURCES_H
#define ANNOT_COLLECTOR_SOURCES_H

struct trace;

/* Reads the source files that samples were in, 16 MiB at most, and keeps their texts in the trace;
 * what is left out is noted there. 0 or -ENOMEM. Thread-safety: as the trace. */
int sources_keep(struct trace *trace);

#endif
