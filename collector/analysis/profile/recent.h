/* SPDX-License-Identifier: MIT */
/* What a program did in the last seconds, while it runs: its samples as they come.
 *
 * Those of the last minute are kept one by one, so that any window that ends now can be cut out of
 * them exactly; all since the last reset are kept as sums (own_time.h). Stretches off the CPU that
 * go on are told again and again: the last word counts. Memory: 120 bytes a sample of the last
 * minute, of which there are RECENT_SAMPLES at most (then the window is shorter); 80 bytes for each
 * stack that a thread was in. Thread-safety: none. */
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

/* Those with SAMPLE_UNFINISHED are only what is known so far. 0 or -ENOMEM. */
int recent_add(struct recent *recent, const struct sample *sample);

/* Before such stretches are told anew: what is not told again by the next time has ended. Forgets
 * what is older than a minute, too. */
void recent_renew(struct recent *recent, int64_t now_ns);

/* Sums begin anew. 0 or -ENOMEM. */
int recent_reset(struct recent *recent, int64_t now_ns);

/* Sums stay as they are for those who ask, while samples still come; and go on. 0 or -ENOMEM. */
int recent_hold(struct recent *recent, bool hold);

/* Since when there are sums, and up to when; since when samples are complete. */
int64_t recent_reset_ns(const struct recent *recent);
int64_t recent_last_ns(const struct recent *recent);
int64_t recent_kept_ns(const struct recent *recent);

/* How many different sums there are: who follows a program for days begins anew at some number. */
size_t recent_size(const struct recent *recent);

/* A part of what there is. */
struct recent_part {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to) */
    own_time_wants *wants;  /* threads; NULL: all */
    void *context;
};

/* Calls back for each sample, cut to the part, in no order. Ends at the first result that is not 0,
 * and returns that. */
int recent_each(const struct recent *recent, const struct recent_part *part,
                int (*take)(void *context, const struct sample *sample), void *context);

/* Adds up to `own`: the samples of the part, or all since the reset (what goes on, up to the part's
 * end). 0 or -ENOMEM. */
int recent_sum(const struct recent *recent, const struct recent_part *part, struct own_time *own);
int recent_sum_all(const struct recent *recent, const struct recent_part *part,
                   struct own_time *own);

/* ---- Ranges: recent_ranges.c ----
 *
 * How often and how long ranges were open in the last seconds.
 *
 * Events go through a pass in order of time, about a second after they happened, into the same
 * statistics as a report's (range_stats.h); a window is what these have more now than at its begin.
 * A pushed range that is open counts as far as it has come; others when they end. CPU time is that
 * of samples, by the ranges that were read with them and the domains that the events tell: so it is
 * of the same time. Memory: that of the statistics, with RECENT_RANGES rows, 16 bytes of each for
 * each second of a minute, and 24 for each sample of it. Thread-safety: none. */

enum { RECENT_RANGES = 2000 };

struct recent_ranges;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct recent_ranges *recent_ranges_create(struct trace *trace, int64_t now_ns);
void recent_ranges_destroy(struct recent_ranges *ranges);

/* As they come, of any threads; samples for their CPU time since the reset. 0 or -ENOMEM. */
int recent_ranges_add(struct recent_ranges *ranges, const struct event_batch *batch);
int recent_ranges_add_sample(struct recent_ranges *ranges, const struct sample *sample);

/* Takes in what happened up to then: all of that has come. 0 or -ENOMEM. */
#define RECENT_HOLD_NS INT64_C(1000000000) /* whatever happened so long ago */
int recent_ranges_settle(struct recent_ranges *ranges, int64_t settled_ns);

/* What is counted begins anew. 0 or -ENOMEM. */
int recent_ranges_reset(struct recent_ranges *ranges);

/* Ranges of one path, whatever their process. */
struct recent_range {
    const char *label;
    uint8_t kind; /* enum range_kind: PUSHED, OVERLAPPING or TRACK */
    uint64_t count, total_ns;
    uint64_t open; /* that are, now */
    uint64_t cpu_ns, cpu_self_ns;
};

/* `{0}` is empty. */
struct recent_range_rows {
    VEC(struct recent_range) items;
    struct strtab labels; /* of the items, in their order: kind and text */
};

/* Adds those of the part, or of all since the reset. 0 or -ENOMEM. */
int recent_ranges_rows(const struct recent_ranges *ranges, const struct recent_part *part, bool all,
                       struct recent_range_rows *rows);
void recent_ranges_free(struct recent_range_rows *rows);

#endif
