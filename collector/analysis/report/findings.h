/* SPDX-License-Identifier: MIT */
/* Helpers of the rules for findings. Each rule compares numbers of other tables, and adds a finding
 * only if those support it; docs/guides/findings.md lists all rules with their limits.
 * Thread-safety: one thread per report. */
#ifndef ANNOT_FINDINGS_H
#define ANNOT_FINDINGS_H

#include "own_time.h"
#include "report_build.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Minimum of samples for a statement about CPU time. */
enum { SAMPLES_FEW = 20 };

/* Hundredths of the wall time, of one processor, from which others' use of it matters. */
enum { OTHERS_PART = 10 };

enum { FINDING_NAME_SIZE = 256, FINDING_TEXT_SIZE = 512 };

struct finding {
    const char *kind; /* name for programs: "gil" */
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

/* Returns true if `cost` is nonzero and at least that many hundredths of `whole`. */
bool findings_reach(uint64_t cost, uint64_t whole, unsigned hundredths);

/* Adds a finding with empty texts; NULL: out of memory. Valid until the next one is added. */
struct finding *findings_add(struct findings *findings, const char *kind, uint64_t cost_ns,
                             uint64_t whole_ns);

/* Writes "call_api (io_bound.py:4)" into FINDING_NAME_SIZE bytes; returns `buffer`. */
const char *findings_place(const struct findings *findings, uint32_t label, int32_t line,
                           char *buffer);
uint64_t findings_wall_ns(const struct findings *findings);

/* Returns true if other programs, or the host of a virtual machine, used the processors
 * meanwhile. */
bool findings_has_others(const struct findings *findings);

/* The wall time without the time that others took: an estimate for a quiet machine. Costs are
 * compared with it. */
uint64_t findings_quiet_ns(const struct findings *findings);
const struct own_totals *findings_own(const struct findings *findings);

/* Data that a rule needs. */
enum finding_needs {
    FINDING_ALWAYS = 0,
    FINDING_NEEDS_WAITS,
    FINDING_NEEDS_SAMPLES,
    FINDING_NEEDS_GPU
};

/* Adds its findings, if the numbers support any. */
struct finding_rule {
    enum finding_needs needs;
    void (*find)(struct findings *findings);
};

/* Rules by their file; each list ends with a rule without `find`. */
extern const struct finding_rule findings_of_gpu[];        /* idle, small work, blocking copies */
extern const struct finding_rule findings_of_pools[];      /* cost of pools, balance of workers */
extern const struct finding_rule findings_of_processors[]; /* other programs, threads, the GIL */
extern const struct finding_rule findings_of_waits[];      /* own functions, pages, event loops */

#endif
