/* SPDX-License-Identifier: MIT */
/* The interface of each tool in this folder to driver.c. One tool per program, so that tools share
 * no threads or memory. The loops are in the tool's own file, as a user would write them. */
#ifndef ANNOT_BENCH_RIVAL_H
#define ANNOT_BENCH_RIVAL_H

/* Once, from the first thread. `trace`: the file to write, or NULL without a recording, or with one
 * from outside. */
void rival_begin(const char *trace);

/* Once, after all events. */
void rival_end(void);

/* `count` ranges of a static name, begun and ended. Any thread. */
void rival_pairs(int count);

/* `count` values of one counter, else marks with one integer. Any thread. */
void rival_counters(int count);

#endif
