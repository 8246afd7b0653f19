/* SPDX-License-Identifier: MIT */
/* Tests of the numbers of rows, and verdicts over all rows of a table. Thread-safety: one thread
 * per object. */
#ifndef ANNOT_COMPARE_TEST_H
#define ANNOT_COMPARE_TEST_H

#include "compare.h"

#include <stddef.h>

struct compare;

/* A number of a row. */
struct compare_cell {
    size_t kind;
    const struct compare_row *row;
    unsigned metric;
};

/* Tests a cell at a level; level 0 fills in the medians only. 0 or -ENOMEM. */
int compare_measure(const struct compare *compare, const struct compare_cell *cell, double level,
                    struct compare_result *ret_result);

/* Of the runs that have it; where it adds up, those that don't have 0 of it. */
struct compare_sample {
    double of[COMPARE_SIDES][COMPARE_RUNS_MAX];
    size_t counts[COMPARE_SIDES];
};

/* Returns how many there are. */
size_t compare_gather(const struct compare *compare, const struct compare_cell *cell,
                      struct compare_sample *ret_values);

/* A change below the first is never called more or less; within the second it is the same. */
#define COMPARE_LEAST_CHANGE 0.005

#define COMPARE_SAME_CHANGE 0.01

/* After all were added. 0 or -ENOMEM. */
int compare_finish(struct compare *compare);

/* Rows that were tested, and of how many rows so few runs could be sure. */
size_t compare_tested(const struct compare *compare, size_t *ret_possible);

/* After finish of each pair: the verdicts about their wall times together. 0 or -ENOMEM. */
int compare_adjust_walls(struct compare *const *pairs, size_t count);

#endif
