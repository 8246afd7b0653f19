/* SPDX-License-Identifier: MIT */
/* Points of flows as instants of their threads, and arrows ("s", "f") between these.
 *
 * Readers bind an arrow to what the thread's innermost slice is at that time. Without an instant,
 * the Perfetto UI takes a complete event that is over already. Thread-safety: none. */
#ifndef ANNOT_CHROME_FLOWS_H
#define ANNOT_CHROME_FLOWS_H

#include "chrome_writer.h"
#include "flow_arrows.h"

/* `context`: struct chrome_writer. For flow_arrows. */
int chrome_put_flow(void *context, const struct flow_place *place);

#endif
