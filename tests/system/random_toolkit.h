/* SPDX-License-Identifier: MIT */
/* A recording of random ranges, flows, tracks and key-values, and what is in it. Thread-safety:
 * none. */
#ifndef ANNOT_RANDOM_TOOLKIT_H
#define ANNOT_RANDOM_TOOLKIT_H

#include "trace_maker.h"

/* `steps` events of six threads in three processes, made up by a fixed seed; batches are not in the
 * order of time. Prints what an export of them has to show, as JSON. */
struct maker *random_toolkit_create(uint32_t steps);

#endif
