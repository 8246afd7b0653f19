/* SPDX-License-Identifier: MIT */
/* Frame descriptions by elfutils' libdw, converted to unwind rules: an independent decoder for
 * comparison. Thread-safety: none. */
#ifndef ANNOT_CFI_TRUTH_H
#define ANNOT_CFI_TRUTH_H

#include "unwind_rule.h"

#include <stdbool.h>

struct cfi_truth;

/* NULL: the file has no frame descriptions. */
struct cfi_truth *cfi_truth_open(const char *path);
void cfi_truth_close(struct cfi_truth *truth);

enum cfi_verdict {
    TRUTH_NONE,  /* the address is undescribed */
    TRUTH_RULE,  /* *ret_rule is the rule */
    TRUTH_OTHER, /* described, but not expressible as a rule */
};

enum cfi_verdict cfi_truth_rule(struct cfi_truth *truth, uint64_t address,
                                struct unwind_rule *ret_rule);

#endif
