/* SPDX-License-Identifier: MIT */
/* ITT's counters, and numbers of its types. Threads: any. */
#ifndef ANNOT_ITT_COUNTERS_H
#define ANNOT_ITT_COUNTERS_H

#include "itt.h"
#include "itt_wire.h"

#include <annot/annot.h>

/* Registers the counters that an image created before it was initialised. */
void itt_counters_adopt(struct itt_counter_info *list);

/* Reads a number of an enum itt_type as a value without a key. Returns 0 for an unknown type or
 * NULL. */
int itt_number(int type, const void *at, struct annot_value *ret_value);

#endif
