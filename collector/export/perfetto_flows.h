/* SPDX-License-Identifier: MIT */
/* Points of flows as instants of their threads, with the numbers of the arrows that touch them.
 *
 * The reader draws an arrow from the end of one slice to the begin of another. Of a range that
 * waits for what it sent, the arrow would go back in time; an instant inside of the range has the
 * time of the point itself. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_FLOWS_H
#define ANNOT_PERFETTO_FLOWS_H

#include "flow_arrows.h"
#include "perfetto_tracks.h"

/* `track_uuid`: where the ranges of the point's thread are. */
void perfetto_put_flow(struct perfetto_tracks *tracks, uint64_t track_uuid,
                       const struct flow_place *place);

#endif
