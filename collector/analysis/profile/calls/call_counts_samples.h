/* SPDX-License-Identifier: MIT */
/* Calls known from samples: counted in the program, or estimated. Thread-safety: as the calls. */
#ifndef ANNOT_CALL_COUNTS_SAMPLES_H
#define ANNOT_CALL_COUNTS_SAMPLES_H

#include "call_counts_parts.h"

/* 0 or -ENOMEM. */
int calls_take_sample(struct calls *calls, const struct sample *sample);
int calls_take_mark(struct calls *calls, const struct item *item);
int calls_estimate(struct calls *calls);

#endif
