/* SPDX-License-Identifier: MIT */
/* Counts and durations: statistics of ranges, marks and counters, streamed over a recording.
 *
 * One row per range path (root/.../leaf; names of different domains differ), or per name, each for
 * the whole recording or per process or thread. Overlapping ranges (start/end), ranges on tracks,
 * marks and counters have rows of separate kinds; a range on a track belongs to the thread that
 * began it. Samples add CPU time to pushed ranges and to those of the track that the thread ran (a
 * task's), and stretches off the CPU add the waits of the threads of pushed ranges. Every duration
 * is that of the pass (pass.h). Memory is bounded: rows, histogram bytes and thread sets have
 * limits, and everything left out is counted here. Thread-safety: one thread per object. */
#ifndef ANNOT_RANGE_STATS_H
#define ANNOT_RANGE_STATS_H

#include "event.h"
#include "histogram.h"
#include "pass.h"
#include "sample.h"
#include "sample_weight.h"
#include "trace.h"

#include <stdbool.h>

enum range_grouping {
    RANGE_BY_PATH = 0,
    RANGE_BY_NAME = 1,    /* the leaf's name alone; total counts the outermost of nested ranges */
    RANGE_BY_PROCESS = 2, /* path within one process */
    RANGE_BY_THREAD = 3,  /* path within one thread  */
};

enum range_kind {
    RANGE_PUSHED = 0,
    RANGE_OVERLAPPING = 1, /* no parents and no self time */
    RANGE_MARK = 2,        /* only counted */
    RANGE_COUNTER = 3,     /* values; always per process */
    RANGE_TRACK = 4,       /* ranges on tracks: by the path on any track */
    /* Ranges known from samples but not from events: only CPU time, in no other row. */
    RANGE_INHERITED = 5,  /* of forked processes: ranges that were open in the parent at the fork */
    RANGE_UNRECORDED = 6, /* ranges with a lost start */
    RANGE_KIND_COUNT = 7,
};

/* True if samples give CPU time to rows of the kind. */
static inline bool range_kind_has_cpu(enum range_kind kind)
{
    return kind == RANGE_PUSHED || kind >= RANGE_TRACK;
}

#define RANGE_NO_OWNER UINT32_MAX

struct range_row {
    enum range_kind kind;
    uint32_t owner; /* ordinal of the process or thread, or RANGE_NO_OWNER */
    uint32_t scope; /* of its latest event: its category and observer; 0 if only samples have it */
    uint64_t count; /* starts, without continuations */
    uint64_t unfinished; /* part of count: without an end */
    uint64_t end_lost;   /* part of count: the end fell into a gap */
    uint64_t lost;       /* records lost directly inside: count may be too low, self too high */
    uint32_t process_count, thread_count;

    union {
        struct {
            uint64_t total_ns, self_ns, min_ns, max_ns;
            uint64_t nested_ns;               /* by name: part of total_ns inside of itself */
            uint64_t runnable_ns, blocked_ns; /* of total_ns - nested_ns; the rest was running */
            uint64_t cpu_ns, cpu_self_ns;     /* by samples; self: outside of inner ranges */
            uint64_t sample_count;            /* of cpu_ns */
            struct histogram durations;
        };

        struct {
            double value_last, value_min, value_max, value_sum;
            int64_t value_last_ns;
        };
    };

    uint64_t threads, processes; /* bits: the ordinals below 64 already counted */
    uint32_t recent_thread;      /* + 1 */
    bool has_durations;          /* min_ns is valid */
};

struct range_totals {
    uint64_t event_count[EVENT_KINDS];
    int64_t begin_ns; /* of the recording within the selection */
    int64_t wall_ns;
    uint64_t thread_ns;        /* of all threads, each from its first event to its last end */
    uint64_t covered_ns;       /* part of thread_ns inside pushed ranges: sum of all self times */
    uint64_t lost[LOSS_COUNT]; /* by cause, according to the gaps among the events */
    uint64_t lost_outside;     /* records lost outside any pushed range */
    uint64_t cpu_ns;           /* of all samples */
    uint64_t cpu_outside_ns;   /* part of cpu_ns outside any range */
    uint64_t cpu_inherited_ns; /* in RANGE_INHERITED rows: outside any range of its own process */
    uint64_t orphan_count;     /* ends without a start */
    uint64_t other_count;      /* entries in the "(other)" rows, beyond the row limit */
    uint64_t quantile_count;   /* durations missing from quantiles, beyond the histogram limit */
    bool threads_cut;          /* process and thread counts are lower bounds */
};

/* Called when a range of this row ends. Returns 0, or a value that ends the pass. */
typedef int range_ended(void *context, uint32_t row, const struct item *span);

struct range_watch {
    range_ended *ended; /* NULL: unused */
    void *context;
};

struct range_stats_options {
    enum range_grouping grouping;
    uint32_t row_limit;           /* 0 = 200,000: about 60 MiB */
    size_t histogram_limit_bytes; /* 0 = 96 MiB */
    struct sample_weight weight;  /* weight of samples: the value of everything named cpu here */
    int64_t from_ns, to_ns;       /* the part of the recording that is passed; 0: no limit */
    struct range_watch watch;
    uint32_t durations; /* limit of durations kept one by one for each row, an even number; 0:
                           disabled */
};

struct range_stats;

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct range_stats *range_stats_create(const struct trace *trace,
                                       const struct range_stats_options *options);
void range_stats_destroy(struct range_stats *stats);

/* The sink takes the items of a pass: events, and samples with their paths; call finish once after
 * the last. 0 or -ENOMEM. */
struct sink range_stats_sink(struct range_stats *stats);
int range_stats_finish(struct range_stats *stats, struct pass *pass);

/* After finish. Rows with count 0 and no samples exist (inner nodes) and are to be ignored. */
const struct range_totals *range_stats_totals(const struct range_stats *stats);
uint32_t range_stats_row_count(const struct range_stats *stats);
const struct range_row *range_stats_row(const struct range_stats *stats, uint32_t index);
uint64_t range_stats_quantile(const struct range_stats *stats, uint32_t index, double fraction);

struct range_duration {
    uint64_t duration_ns;
    uint64_t runnable_ns; /* part of it, as far as known, in which the thread was runnable without a
                          processor */
};

/* Durations of a row one by one, in the order of a pass; beyond the limit every second, fourth, ...
 * one. NULL: not kept. Owned by the object. */
const struct range_duration *range_stats_durations(const struct range_stats *stats, uint32_t index,
                                                   uint32_t *ret_count);

/* True for the rows "(other)", which hold everything beyond the row limit. They are the first ones,
 * one per kind. */
static inline bool range_stats_is_other(uint32_t index)
{
    return index < RANGE_KIND_COUNT;
}

/* "load/parse", "nvtx:step", "(other)"; paths deeper than 64 lose their middle. Writes at most
 * size >= 1 bytes with NUL; returns the length. */
size_t range_stats_label(const struct range_stats *stats, uint32_t index, char *buffer,
                         size_t size);

/* Samples that give a time to within a third, in two of three cases; fewer are rough. */
enum { RANGE_FEW_SAMPLES = 10 };

static inline bool range_row_is_rough(const struct range_row *row)
{
    return row->sample_count > 0 && row->sample_count < RANGE_FEW_SAMPLES;
}

/* Observer and role of a row's ranges; those of the program for a row "(other)". */
const struct scope *range_stats_scope(const struct range_stats *stats, uint32_t index);

static inline enum observer range_stats_observer(const struct range_stats *stats, uint32_t index)
{
    return (enum observer)range_stats_scope(stats, index)->observer;
}

/* The name of a row's innermost range, and its domain ("": no domain). NULL: a row "(other)". */
const char *range_stats_name(const struct range_stats *stats, uint32_t index,
                             const char **ret_domain);

/* The row of the enclosing range, or RANGE_NO_ROW. */
#define RANGE_NO_ROW UINT32_MAX
uint32_t range_stats_parent(const struct range_stats *stats, uint32_t index);

/* During the pass: the row of a thread's open pushed range inside `depth` others; RANGE_NO_ROW: not
 * open. */
uint32_t range_stats_open(const struct range_stats *stats, uint32_t thread, uint32_t depth);

/* ---- Values and order ------------------------------------------------------------------------ */

enum range_column {
    RANGE_COLUMN_PATH = 0, /* ascending; all others descending */
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_MIN,
    RANGE_COLUMN_MEAN,
    RANGE_COLUMN_P50,
    RANGE_COLUMN_P90,
    RANGE_COLUMN_P99,
    RANGE_COLUMN_MAX,
    RANGE_COLUMN_PROCESSES,
    RANGE_COLUMN_THREADS,
    RANGE_COLUMN_UNFINISHED,
    RANGE_COLUMN_LOST,
    RANGE_COLUMN_CPU,
    RANGE_COLUMN_CPU_SELF,
    RANGE_COLUMN_RUNNING,
    RANGE_COLUMN_RUNNABLE,
    RANGE_COLUMN_BLOCKED,
};

/* The value of a column in nanoseconds or as a count; 0 for RANGE_COLUMN_PATH. */
uint64_t range_stats_value(const struct range_stats *stats, uint32_t index,
                           enum range_column column);

/* The rows of one kind that have a count or samples, sorted; ties by path, then by owner; "(other)"
 * last. Owned by the caller (free). Returns their number, or -ENOMEM. */
int64_t range_stats_sort(const struct range_stats *stats, enum range_kind kind,
                         enum range_column column, uint32_t **ret_rows);

#endif
