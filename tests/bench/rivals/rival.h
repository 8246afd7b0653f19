/* SPDX-License-Identifier: MIT */
/* What each tool in this folder gives to driver.c. One tool per program, so that none meets
 * another's threads or memory. The loops stand in the tool's own file: what a user would write. */
#ifndef ANNOT_BENCH_RIVAL_H
#define ANNOT_BENCH_RIVAL_H

/* Once, from the first thread. `trace`: the file to write, or NULL: nobody records, or records
 * from outside. */
void rival_begin(const char *trace);

/* Once, after all events. */
void rival_end(void);

/* `count` ranges of a static name, begun and ended. Any thread. */
void rival_pairs(int count);

/* `count` values of one counter, else marks with one integer. Any thread. */
void rival_counters(int count);

#endif
