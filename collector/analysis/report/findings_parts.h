/* SPDX-License-Identifier: MIT */
/* The diagnosis: what its rules share. Each looks at the numbers of other tables and adds a finding
 * only if those support it; docs/guides/diagnosis.md has all of them with their limits. */
#ifndef ANNOT_FINDINGS_PARTS_H
#define ANNOT_FINDINGS_PARTS_H

#include "report_parts.h"
#include "vec.h"

/* So many samples say something of CPU time. */
enum { SAMPLES_FEW = 20 };

enum { FINDING_NAME_SIZE = 256, FINDING_TEXT_SIZE = 512 };

struct finding {
    const char *disease; /* what programs call it */
    uint64_t cost_ns, whole_ns;
    char finding[FINDING_TEXT_SIZE]; /* "of the wall time ..." */
    char evidence[FINDING_TEXT_SIZE];
    char advice[FINDING_TEXT_SIZE]; /* "try ..." */
};

struct findings {
    const struct report *report;
    const struct trace *trace;
    VEC(struct finding) items;
    bool failed; /* out of memory */
};

/* Is `cost` so many hundredths of `whole`, and anything at all? */
bool findings_reach(uint64_t cost, uint64_t whole, unsigned hundredths);

/* A new one, whose texts are still empty; NULL: out of memory. Valid until the next one is added.
 */
struct finding *findings_add(struct findings *findings, const char *disease, uint64_t cost_ns,
                             uint64_t whole_ns);

/* "call_api (io_bound.py:4)" into FINDING_NAME_SIZE bytes; returns them. */
const char *findings_place(const struct findings *findings, uint32_t label, int32_t line,
                           char *buffer);

uint64_t findings_wall_ns(const struct findings *findings);
const struct own_totals *findings_own(const struct findings *findings);

/* ---- The rules, each of which adds what it finds ---- */

/* findings_waits.c: one own function waits; pages are read from disk. */
void find_waits(struct findings *findings);
void find_faults(struct findings *findings);
/* findings_loop.c: an event loop could not go on; its tasks await one thing after the other. */
void find_loop(struct findings *findings);
void find_awaits(struct findings *findings);
/* Were more than half of so long waits in that function an event loop's? */
bool findings_block_loop(const struct findings *findings, uint32_t label, uint64_t time_ns);
/* findings_processors.c: who had them, and for how many there was something to do. */
void find_host(struct findings *findings);
void find_crowd(struct findings *findings);
void find_gil(struct findings *findings);
void find_serial(struct findings *findings);
/* findings_pools.c: what pools cost, and how even the work of their workers is. */
void find_hand_over(struct findings *findings);
void find_uneven(struct findings *findings);
/* findings_gpu.c: GPUs that have nothing to do; only if the report has any. */
void find_gpu(struct findings *findings);

#endif
