/* SPDX-License-Identifier: MIT */
/* Matches rows of one side only with renamed rows of the other. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_COMPARE_MATCH_H
#define ANNOT_COMPARE_MATCH_H

struct compare;

/* Merges rows that are the same item under different names. 0 or -ENOMEM. */
int compare_match(struct compare *compare);

#endif
