/* SPDX-License-Identifier: MIT */
/* Times when the processes of a recording with --capture-range recorded. Thread-safety: one thread
 * per reader. */
#ifndef ANNOT_CAPTURES_H
#define ANNOT_CAPTURES_H

struct store_reader;

/* Finds the times when processes recorded, once for a recording: trace_captures(). */
void captures_read(struct store_reader *reader);

#endif
