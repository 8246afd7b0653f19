/* SPDX-License-Identifier: MIT */
/* Rules about pools: their cost, and even work of their workers. Thread-safety: one thread per
 * report. */
#ifndef ANNOT_FINDINGS_POOLS_H
#define ANNOT_FINDINGS_POOLS_H

#include "findings.h"

/* The cost of pools; the balance of their workers. */
void find_hand_over(struct findings *findings);
void find_uneven(struct findings *findings);

#endif
