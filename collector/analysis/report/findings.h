/* SPDX-License-Identifier: MIT */
/* Helpers of the rules of the diagnosis. Each rule compares numbers of other tables, and adds a
 * finding only if those support it; docs/guides/diagnosis.md has all of them with their limits.
 * Thread-safety: one thread per report. */
#ifndef ANNOT_FINDINGS_H
#define ANNOT_FINDINGS_H

#include "own_time.h"
#include "report_model.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* So many samples say something of CPU time. */
enum { SAMPLES_FEW = 20 };

/* Of the wall time, of one processor: from so many hundredths on, others used it. */
enum { OTHERS_PART = 10 };

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

/* Did other programs, or the host of a virtual machine, use the processors meanwhile? */
bool findings_has_others(const struct findings *findings);

/* The wall time without the time that others took of it: what a quiet machine would need, about.
 * What a program does for a good part of that is worth a finding. */
uint64_t findings_quiet_ns(const struct findings *findings);
const struct own_totals *findings_own(const struct findings *findings);

#endif
