/* SPDX-License-Identifier: MIT */
/* What exports tell of an event of a track beside its own: which track it is where several share a
 * line, and which thread emitted it. Thread-safety: no state. */
#ifndef ANNOT_TRACK_FACTS_H
#define ANNOT_TRACK_FACTS_H

#include "export_ids.h"
#include "session_facts.h"
#include "track_lines.h"

/* A fact without a name ends the list. Points into itself. */
struct track_facts {
    struct fact items[6];
    char id[24], parent_id[24];
};

void track_facts_init(struct track_facts *facts, const struct track_lines *lines,
                      const struct export_ids *ids, const struct event *event, uint32_t depth);

#endif
