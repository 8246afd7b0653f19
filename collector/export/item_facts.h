/* SPDX-License-Identifier: MIT */
/* What exports tell of an item beside its times and attributes: of the end of a range, and of an
 * event of a track: which track it is where several share a line, and which thread emitted it.
 * Thread-safety: no state. */
#ifndef ANNOT_ITEM_FACTS_H
#define ANNOT_ITEM_FACTS_H

#include "export_ids.h"
#include "pass.h"
#include "session_facts.h"
#include "track_lines.h"

/* Nobody knows when it ended. */
enum { ITEM_LACKS_END = ITEM_UNFINISHED | ITEM_END_LOST };

/* A fact without a name ends the list. */
struct end_facts {
    struct fact items[4];
};

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item);

/* A thread by its number of the export; 0 if the recording does not define it. */
struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread);

/* A fact without a name ends the list. Points into itself. */
struct track_facts {
    struct fact items[6];
    char id[24], parent_id[24];
};

void track_facts_init(struct track_facts *facts, const struct track_lines *lines,
                      const struct export_ids *ids, const struct event *event, uint32_t depth);

#endif
