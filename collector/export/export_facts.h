/* SPDX-License-Identifier: MIT */
/* What every export tells about the recording as a whole: where and how it was made, what was
 * lost and why, which processes could not take part. Thread-safety: reads the trace only. */
#ifndef ANNOT_EXPORT_FACTS_H
#define ANNOT_EXPORT_FACTS_H

#include "export_ids.h"
#include "pass.h"
#include "shelves.h"
#include "trace.h"

struct fact {
    const char *name; /* "lost: buffer full" */
    enum value_kind kind;
    union value value;
    const char *text; /* VALUE_STRING: the text itself */
};

typedef void fact_visitor(void *context, const struct fact *fact);

/* In a fixed order; what is unknown or zero is left out. A fact is valid during its call. */
void session_facts(const struct trace *trace, fact_visitor *visit, void *context);

/* What people call the recording: the command it recorded, else its host. Never empty. */
const char *session_title(const struct trace *trace);

/* The end of the session; of the last event if the collector died before. CLOCK_MONOTONIC. */
int64_t session_end_ns(const struct trace *trace);

/* ---- Of one item ----------------------------------------------------------------------------- */

/* What exports tell of an item beside its times and attributes: of the end of a range, and of an
 * event of a track: which track it is where several share a group, and which thread emitted it.
 * Thread-safety: no state. */

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
    struct fact items[7];
    char id[24], parent_id[24];
};

void track_facts_init(struct track_facts *facts, const struct track_groups *groups,
                      const struct export_ids *ids, const struct event *event, uint32_t depth);

#endif
