/* SPDX-License-Identifier: MIT */
/* The speed of the machine in each run. Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_SPEED_H
#define ANNOT_COMPARE_SPEED_H

#include "compare.h"

/* Computes METRIC_RELATIVE. 0 or -ENOMEM. */
int compare_even_out(struct compare *compare);

#endif
