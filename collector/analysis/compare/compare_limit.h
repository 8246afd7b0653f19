/* SPDX-License-Identifier: MIT */
/* Limits of a comparison: "load > +5%", "function:parse self > 3ms", "wall > +2%", "memory >
 * 100MiB". See annot-diff(1). Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_LIMIT_H
#define ANNOT_COMPARE_LIMIT_H

#include "compare.h"
#include "table.h"

#include <stddef.h>
#include <stdint.h>

enum { COMPARE_NAME_SIZE = 256, COMPARE_ERROR_SIZE = 256 };

struct compare_limit {
    const char *text; /* as given; outlives the limit */
    const char *kind; /* constant text; NULL: ranges, functions and runs */
    char name[COMPARE_NAME_SIZE];
    const char *metric; /* constant text; NULL: the kind's first */
    bool below;         /* "<": a lower limit */
    bool relative;      /* relative to A, as a part of it */
    bool difference;    /* difference to A, in its unit */
    uint8_t unit;       /* enum column_type of the value */
    double value;
};

enum compare_state { COMPARE_HOLDS, COMPARE_UNDECIDED, COMPARE_FAILS };

/* The judgement of a limit on a row. `result` has the level that the number of rows requires. */
struct compare_judgement {
    const struct compare_limit *limit;
    const char *variant; /* name of the variant; "": there are two sides */
    enum compare_state state;
    struct compare_result result;
    double low, high, value; /* of the limited quantity, in its unit */
};

/* `text` is untrusted. 0, or -EINVAL with a line that explains the error. */
int compare_limit_parse(const char *text, struct compare_limit *ret_limit,
                        char error[COMPARE_ERROR_SIZE]);

/* Judges all rows that the limit names. Returns their number, or -ENOMEM. 0: no row of that name
 * has such a number. Owned by the caller (free). */
int64_t compare_judge(const struct compare *compare, const struct compare_limit *limit,
                      struct compare_judgement **ret_judgements);

/* Makes a table of judgements, which outlive it; owned by the caller (table_fini). */
void compare_limits_table(const struct compare_judgement *judgements, size_t count,
                          struct table *ret_table);

#endif
