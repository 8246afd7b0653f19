/* SPDX-License-Identifier: MIT */
/* Track events of a Perfetto trace: sorted until all tracks are known, then sent to the sink.
 * Thread-safety: one thread per reader. */
#ifndef ANNOT_FROM_PERFETTO_EVENTS_H
#define ANNOT_FROM_PERFETTO_EVENTS_H

#include "from_perfetto.h"
#include "proto_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Fields of an event that struct event lacks. */
struct perfetto_told {
    uint64_t type, track;
    uint32_t category;
    struct proto legacy; /* LegacyEvent */
    bool has_stack;
    uint64_t bound; /* a flow that it is a point of, if `binds` */
    uint8_t binds;  /* enum event_kind; 0: not a point */
};

/* TrackEvent and TrackDescriptor. 0 or -errno. */
int perfetto_take_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, int64_t time_ns);
int perfetto_take_track(struct perfetto *trace, struct proto message);

/* Sends all events to the sink, after the file was read. 0 or -errno. */
int perfetto_emit(struct perfetto *trace);

#endif
