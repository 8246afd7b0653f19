/* SPDX-License-Identifier: MIT */
/* Begins and ends of processes and threads, and last words, in order of time: what the trace knows
 * beside the events. A thread begins and ends with its first and last event. Thread-safety: none.
 */
#ifndef ANNOT_LINE_FACTS_H
#define ANNOT_LINE_FACTS_H

#include "line.h"
#include "time_order.h"
#include "vec.h"

struct line_fact {
    enum line_kind kind;
    uint32_t ordinal; /* of the process, or the thread */
};

struct line_facts {
    const struct trace *trace;
    VEC(struct line_fact) facts;
    VEC(struct time_place) places; /* of facts, in order; and as much room again */
    size_t next;
    VEC(uint8_t) processes, threads; /* what of each is told or waits */
};

/* Takes in what the trace has learned; ends of threads only if `ended`, as before that nobody knows
 * which event is the last. 0 or -ENOMEM. */
int line_facts_update(struct line_facts *facts, bool ended);

/* The next one, which waits until line_facts_take; false: there is none. Ends stand behind events
 * of the same time, all else before them. */
bool line_facts_peek(const struct line_facts *facts, struct line *ret_line);
void line_facts_take(struct line_facts *facts);

/* Is it an end? */
bool line_is_end(enum line_kind kind);

void line_facts_fini(struct line_facts *facts);

#endif
