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

/* The values of a number in the runs that have it; numbers that are sums are 0 in the other
 * runs. */
struct compare_sample {
    double of[COMPARE_SIDES][COMPARE_RUNS_MAX];
    size_t counts[COMPARE_SIDES];
};

/* Returns the number of values. */
size_t compare_gather(const struct compare *compare, const struct compare_cell *cell,
                      struct compare_sample *ret_values);

/* A change below the first is never called more or less; below the second it may be called the
 * same. */
#define COMPARE_LEAST_CHANGE 0.005

#define COMPARE_SAME_CHANGE 0.01

/* Call after the last recording. 0 or -ENOMEM. */
int compare_finish(struct compare *compare);

/* Returns the number of tested rows, and the maximum for which so few runs could be conclusive. */
size_t compare_tested(const struct compare *compare, size_t *ret_possible);

/* After finish of each pair: adjusts the verdicts about their wall times together. 0 or -ENOMEM. */
int compare_adjust_walls(struct compare *const *pairs, size_t count);

#endif
