/* SPDX-License-Identifier: MIT */
/* The texts of source files of samples. */
#ifndef ANNOT_COLLECTOR_SOURCES_H
#define ANNOT_COLLECTOR_SOURCES_H

struct trace;

/* Reads the source files of samples, 16 MiB at most, and keeps their texts in the trace; skipped
 * files are noted there. 0 or -ENOMEM. Thread-safety: as the trace. */
int sources_keep(struct trace *trace);

#endif
