/* SPDX-License-Identifier: MIT */
/* What elfutils' libdw says about frames, as rules of ours: an independent decoder to compare with.
 * Thread-safety: none. */
#ifndef ANNOT_CFI_TRUTH_H
#define ANNOT_CFI_TRUTH_H

#include "unwind_rule.h"

#include <stdbool.h>

struct cfi_truth;

/* NULL: the file has no frames. */
struct cfi_truth *cfi_truth_open(const char *path);
void cfi_truth_close(struct cfi_truth *truth);

enum cfi_verdict {
    TRUTH_NONE,  /* nothing describes the address */
    TRUTH_RULE,  /* *ret_rule is what holds       */
    TRUTH_OTHER, /* described, but no rule of ours can say it */
};

enum cfi_verdict cfi_truth_rule(struct cfi_truth *truth, uint64_t address,
                                struct unwind_rule *ret_rule);

#endif
