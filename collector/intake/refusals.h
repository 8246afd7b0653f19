/* SPDX-License-Identifier: MIT */
/* Processes that wanted to take part, or that one would expect, and that do not: with the reason,
 * in one sentence for humans. From the slots behind the wake page, from parents, and from a look at
 * the collector's descendants that run under another uid. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_REFUSALS_H
#define ANNOT_INTAKE_REFUSALS_H

#include "session_file.h"
#include "trace.h"
#include "vec.h"
#include "wide_map.h"

/* A process that has a slot. */
struct refused {
    uint64_t owner, time_ns;
    uint64_t told;    /* events that its entry in the trace has as lost */
    uint64_t lost;    /* of those, the ones that no segment will tell of */
    uint32_t process; /* its ordinal in the trace */
    bool is_there;    /* its slot was seen in this poll */
};

struct refusals {
    struct trace *trace;  /* outlives it */
    struct wide_map seen; /* by pid, reason and command name */
    int64_t next_scan_ns;
    uint64_t generation; /* of the session's begin: slots of earlier ones are others' */
    uint64_t unnamed;    /* events of processes without a slot, before the session's begin */
    VEC(struct refused) refused;
};

void refusals_init(struct refusals *refusals, struct trace *trace);
void refusals_fini(struct refusals *refusals);

/* Before the gate is opened: what is counted by then is others'. */
void refusals_begin(struct refusals *refusals, const struct directory *directory);

/* Notes one, once. `reason`: enum annot_refusal; `detail`: see annot_refusal_slot. 0 or -ENOMEM. */
int refusals_note(struct refusals *refusals, const struct annot_refusal_slot *slot);

/* Reads the slots of the wake file, and, if it is due, looks for descendants of other uids. The
 * look costs a pass over /proc and takes at most about 1/200 of the time. `last`: nothing comes
 * later. 0 or -ENOMEM. */
int refusals_poll(struct refusals *refusals, const struct directory *directory,
                  const struct session_file *session, bool last);

#endif
