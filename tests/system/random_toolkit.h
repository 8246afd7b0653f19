/* SPDX-License-Identifier: MIT */
/* A recording of random ranges, flows, tracks and key-values, and its expected contents.
 * Thread-safety: none. */
#ifndef ANNOT_RANDOM_TOOLKIT_H
#define ANNOT_RANDOM_TOOLKIT_H

#include "trace_maker.h"

/* `steps` events of six threads in three processes, made up by a fixed seed; batches are not in the
 * order of time. Prints the expected contents of an export of them, as JSON. */
struct maker *random_toolkit_create(uint32_t steps);

#endif
