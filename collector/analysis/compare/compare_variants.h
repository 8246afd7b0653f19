/* SPDX-License-Identifier: MIT */
/* Commands that were run several times: one by itself, and variants in one table. Thread-safety:
 * one thread per object. */
#ifndef ANNOT_COMPARE_VARIANTS_H
#define ANNOT_COMPARE_VARIANTS_H

#include "compare.h"
#include "table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a table of one side: for each number of runs and ranges the mean with its interval, the
 * median, the minimum and the maximum. Owned by the caller (table_fini). 0 or -ENOMEM. */
int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table);

/* Writes "471 ms +- 12.1 ms, median 465 ms, least 452 ms" for a number of whole runs; "": no such
 * number. */
size_t compare_run_text(const struct compare *compare, enum compare_side side, const char *name,
                        char *buffer, size_t size);

/* ---- Variants -------------------------------------------------------------------------------- */

enum { COMPARE_PARAMETERS_MAX = 8 };

struct compare_parameters {
    const char *names[COMPARE_PARAMETERS_MAX];
    size_t count;
    bool commands; /* the variants also differ in their commands */
};

/* One side of a comparison with the first variant as A. */
struct compare_variant {
    const struct compare *compare;
    enum compare_side side;
    const char *label;
    const char *const *values; /* of the parameters */
};

/* Makes a table with a row for each variant; owned by the caller (table_fini). The arguments
 * outlive it. 0 or -ENOMEM. */
int compare_variants_table(const struct compare_variant *variants, size_t count,
                           const struct compare_parameters *parameters, struct table *ret_table);

/* Returns true for the names of its predefined columns. */
bool compare_is_variant_column(const char *name);

#endif
