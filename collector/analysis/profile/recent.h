/* SPDX-License-Identifier: MIT */
/* The last seconds of a running program: collects its samples as they arrive.
 *
 * Samples of the last minute are kept one by one, so that any window that ends now can be cut out
 * of them exactly; all samples since the last reset are kept as sums (own_time.h). Unfinished
 * stretches off the CPU are reported again and again; the latest report counts. Memory: 120 bytes a
 * sample of the last minute, at most RECENT_SAMPLES (then the window is shorter); 80 bytes for each
 * stack of a thread. Thread-safety: none. */
#ifndef ANNOT_RECENT_H
#define ANNOT_RECENT_H

#include "event.h"
#include "own_time.h"
#include "range_stats.h"
#include "sample.h"
#include "strtab.h"
#include "trace.h"
#include "vec.h"

enum { RECENT_SAMPLES = 1 << 18 };

#define RECENT_NS INT64_C(60000000000)

struct recent;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct recent *recent_create(const struct trace *trace, int64_t now_ns);
void recent_destroy(struct recent *recent);

/* Samples with SAMPLE_UNFINISHED hold the values known so far. 0 or -ENOMEM. */
int recent_add(struct recent *recent, const struct sample *sample);

/* Call before each report of the unfinished stretches: a stretch missing from a round has ended.
 * Also drops samples older than a minute. */
void recent_renew(struct recent *recent, int64_t now_ns);

/* Clears the sums. 0 or -ENOMEM. */
int recent_reset(struct recent *recent, int64_t now_ns);

/* true freezes the sums for readers while samples still arrive; false resumes. 0 or -ENOMEM. */
int recent_hold(struct recent *recent, bool hold);

/* Start and end of the sums; start of the complete samples. */
int64_t recent_reset_ns(const struct recent *recent);
int64_t recent_last_ns(const struct recent *recent);
int64_t recent_kept_ns(const struct recent *recent);

/* Number of distinct sums: a reader that follows a program for days resets them at some limit. */
size_t recent_size(const struct recent *recent);

/* A time window and a choice of threads. */
struct recent_part {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to) */
    own_time_wants *wants;  /* threads; NULL: all */
    void *context;
};

/* Calls `take` for each sample, cut to the part, in no order. Stops at the first nonzero result and
 * returns it. */
int recent_each(const struct recent *recent, const struct recent_part *part,
                int (*take)(void *context, const struct sample *sample), void *context);

/* Add to `own` the samples of the part, or all since the reset (unfinished stretches up to the
 * part's end). 0 or -ENOMEM. */
int recent_sum(const struct recent *recent, const struct recent_part *part, struct own_time *own);
int recent_sum_all(const struct recent *recent, const struct recent_part *part,
                   struct own_time *own);

/* ---- Ranges: recent_ranges.c ----
 *
 * Counts and durations of the ranges of the last seconds.
 *
 * Events go through a pass in order of time, about a second after they happened, into the same
 * statistics as a report's (range_stats.h); a window is the difference between these statistics now
 * and at its start. An open pushed range counts up to now; other ranges when they end. CPU time
 * comes from samples, by the ranges that were read with them and the domains from the events, so
 * both cover the same time. Memory: that of the statistics, with RECENT_RANGES rows, 16 bytes of
 * each for each second of a minute, and 24 for each sample of it. Thread-safety: none. */

enum { RECENT_RANGES = 2000 };

struct recent_ranges;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct recent_ranges *recent_ranges_create(struct trace *trace, int64_t now_ns);
void recent_ranges_destroy(struct recent_ranges *ranges);

/* Add events of any thread in order of arrival, and samples for the CPU time since the reset. 0 or
 * -ENOMEM. */
int recent_ranges_add(struct recent_ranges *ranges, const struct event_batch *batch);
int recent_ranges_add_sample(struct recent_ranges *ranges, const struct sample *sample);

/* Processes events up to `settled_ns`; all of them have arrived. 0 or -ENOMEM. */
#define RECENT_HOLD_NS INT64_C(1000000000) /* delay after which all events have arrived */
int recent_ranges_settle(struct recent_ranges *ranges, int64_t settled_ns);

/* Clears the counts. 0 or -ENOMEM. */
int recent_ranges_reset(struct recent_ranges *ranges);

/* The ranges of one path in all processes. */
struct recent_range {
    const char *label;
    uint8_t kind; /* enum range_kind: PUSHED, OVERLAPPING or TRACK */
    uint64_t count, total_ns;
    uint64_t open; /* open now */
    uint64_t cpu_ns, cpu_self_ns;
};

/* `{0}` is empty. */
struct recent_range_rows {
    VEC(struct recent_range) items;
    struct strtab labels; /* of the items, in their order: kind and text */
};

/* Adds the ranges of the part, or all since the reset. 0 or -ENOMEM. */
int recent_ranges_rows(const struct recent_ranges *ranges, const struct recent_part *part, bool all,
                       struct recent_range_rows *rows);
void recent_ranges_free(struct recent_range_rows *rows);

#endif
