/* SPDX-License-Identifier: MIT */
/* What samples say about threads as a whole: CPU time, waits and their reasons, complete stacks.
 *
 * Memory: 48 bytes a thread. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_STATS_H
#define ANNOT_SAMPLE_STATS_H

#include "sample.h"
#include "trace.h"

struct thread_share {
    uint64_t cpu_ns, sample_count;
    uint64_t runnable_ns, blocked_ns; /* from stretches off the CPU */
    uint64_t gc_ns, gil_ns;           /* CPU time collecting garbage; holding the GIL */
};

/* Of stretches off the CPU that had such a part. */
struct wait_share {
    uint64_t count;
    uint64_t total_ns, max_ns;
};

struct sample_stats {
    const struct sample_sets *sets;
    struct thread_share *threads; /* by ordinal */
    uint32_t thread_count;
    struct thread_share all;
    struct wait_share waits[WAIT_REASON_COUNT]; /* until it could run again */
    struct wait_share runnable;                 /* and from then on */
    uint64_t stretch_count;
    uint64_t walk_count, complete_count; /* CPU samples with a stack; to its root on each side */
    uint64_t ends[2][STACK_END_COUNT];   /* how walks ended: native, Python; unknown ends are 0 */
};

/* `trace` outlives it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sample_stats_init(struct sample_stats *stats, const struct trace *trace);
void sample_stats_fini(struct sample_stats *stats);

/* Of sets that are neither CPU time nor off the CPU: nothing. */
void sample_stats_add(struct sample_stats *stats, const struct sample *sample);

#endif
