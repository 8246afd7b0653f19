/* SPDX-License-Identifier: MIT */
/* What exports tell of the end of a range beside its time. Thread-safety: no state. */
#ifndef ANNOT_END_FACTS_H
#define ANNOT_END_FACTS_H

#include "export_ids.h"
#include "pass.h"
#include "session_facts.h"

/* Nobody knows when it ended. */
enum { ITEM_LACKS_END = ITEM_UNFINISHED | ITEM_END_LOST };

/* A fact without a name ends the list. */
struct end_facts {
    struct fact items[4];
};

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item);

/* A thread by its number of the export; 0 if the recording does not define it. */
struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread);

#endif
