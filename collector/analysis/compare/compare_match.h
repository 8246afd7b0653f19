/* SPDX-License-Identifier: MIT */
/* Rows of one side only, matched with rows of the other that have another name. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_COMPARE_MATCH_H
#define ANNOT_COMPARE_MATCH_H

struct compare;

/* Those that are the same thing under another name become one row. 0 or -ENOMEM. */
int compare_match(struct compare *compare);

#endif
