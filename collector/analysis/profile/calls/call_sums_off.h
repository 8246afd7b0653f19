/* SPDX-License-Identifier: MIT */
/* Time off the CPU of functions whose calls were counted in the program. For call_sums_samples.c.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_SUMS_OFF_H
#define ANNOT_CALL_SUMS_OFF_H

#include "call_sums.h"

/* CPU samples and stretches. 0 or -ENOMEM. */
int calls_see(struct calls *calls, const struct sample *sample);

/* After calls_add_up: sets the time off the CPU of functions. 0 or -ENOMEM. */
int calls_place_off(struct calls *calls);

#endif
