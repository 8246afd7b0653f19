/* SPDX-License-Identifier: MIT */
/* "load > +5%", "function:parse self > 3ms", "wall > +2%", "memory > 100MiB": see annot-diff(1). */
#ifndef ANNOT_COMPARE_LIMIT_H
#define ANNOT_COMPARE_LIMIT_H

#include "compare.h"

#include <stddef.h>
#include <stdint.h>

struct compare;
struct compare_judgement;
struct compare_limit;

/* `text` is untrusted. 0, or -EINVAL with a line that explains the error. */
int compare_limit_parse(const char *text, struct compare_limit *ret_limit,
                        char error[COMPARE_ERROR_SIZE]);

/* Judges all rows that the limit names. Returns their number, or -ENOMEM. 0: no row of that name
 * has such a number. Owned by the caller (free). */
int64_t compare_judge(const struct compare *compare, const struct compare_limit *limit,
                      struct compare_judgement **ret_judgements);

#endif
