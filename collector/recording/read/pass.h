/* SPDX-License-Identifier: MIT */
/* One reading of a recording: events and samples go in, finished items go out to any number of
 * sinks.
 *
 * Pushes are paired with pops, starts with ends, begins of tracks with their ends; samples get the
 * path of open ranges, spans the time in which their thread did not run. Selections are applied
 * here, so all outputs agree on every duration and sum.
 *
 * By default, items of one lane come in its order, and lanes in any: that needs no sorting. A sink
 * may request order of time between lanes. Memory: the open ranges; samples waiting for their
 * lane's events; events of tracks and, in order of time, all events until no earlier one can come.
 * Foreign times are taken as they are: late items are reported late and counted. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_READ_PASS_H
#define ANNOT_READ_PASS_H

#include "event.h"
#include "sample.h"
#include "store.h"
#include "trace.h"

#include <stdbool.h>

enum item_kind {
    ITEM_OPENED = 0, /* a range began, inside `depth` others of its lane */
    ITEM_SPAN,       /* it ended: children before parents, within a lane ordered by end */
    ITEM_INSTANT,    /* a mark */
    ITEM_COUNTER,
    ITEM_FLOW,   /* a point of a flow, unpaired */
    ITEM_LOST,   /* a gap, after the ranges that it ended */
    ITEM_EDGE,   /* recording was off until then; after the pushed ranges that it ended; in order of
                  * time, after all ranges that it ended */
    ITEM_ORPHAN, /* an end without a begin. LANE_PROCESS: its start may still come, from another
                  * thread: the span then has ITEM_END_TOLD */
    ITEM_SAMPLE,
};

enum item_flags {
    ITEM_UNFINISHED = 1u << 0, /* no end: open at the thread's, process's or recording's end, or at
                                  an edge; end_ns is that time */
    ITEM_END_LOST = 1u << 1,   /* the end fell into a gap; end_ns is the end of the gap */
    ITEM_CUT_BEGIN = 1u << 2,  /* it began before the selection: begin_ns is where that starts */
    ITEM_CUT_END = 1u << 3,    /* it ends with the selection */
    ITEM_END_TOLD = 1u << 4,   /* its end was reported before as ITEM_ORPHAN */
    ITEM_CROSSED = 1u << 5, /* an EVENT_SPAN of LANE_THREAD that does not nest: its reported end was
                             * later; it ends with the range around it, or where a range that
                             * outlasts it begins inside of it */
};

/* Input of a sink. Its pointers are valid during the call. */
struct item {
    uint8_t kind; /* enum item_kind */
    uint8_t lane; /* enum lane_kind: LANE_THREAD: pushed ranges of event->thread, and EVENT_SPANs
                   * that an observer reports of it, which nest with them; LANE_PROCESS: ranges that
                   * may overlap, without parents and depth; LANE_TRACK: ranges that nest on
                   * event->lane, of any kind; LANE_QUEUE: EVENT_SPANs there, which may overlap and
                   * have no ITEM_OPENED */
    uint16_t flags;
    bool call;                 /* pushed ranges: event_is_python_call() */
    uint32_t depth;            /* number of ranges around it; ITEM_LOST: of those that stay open */
    uint32_t ranges;           /* the same without calls, which are in no row or path of ranges */
    const struct event *event; /* the begin, or the event; its time is never before the selection */
    struct args args;          /* of `event`, then those of the end */
    uint32_t end_arg_count;    /* number of the last ones, which belong to the end */
    uint32_t end_thread;       /* spans: the thread that ended it */
    int64_t begin_ns, end_ns;
    int64_t child_ns;                   /* spans: time in direct children */
    int64_t ranges_ns;                  /* the same in ranges only: calls between are skipped */
    struct off_share off;               /* WANT_TIMES, LANE_THREAD: off-CPU time of its thread */
    const struct event *const *parents; /* the ranges around it, outermost first: depth many, of
                                         * items of every kind */
    uint64_t number;                    /* WANT_NUMBERS, LANE_THREAD, begin and span: the number
                                         * that annot_current() returned; 0: unknown */
    uint32_t path, stack; /* WANT_ORIGINS, LANE_QUEUE: the path and stack of the launching thread at
                           * the launch; 0: outside of ranges, or unknown */
    const struct sample *sample;
};

/* The key-values that were given at the end of a range. */
static inline struct args item_end_args(const struct item *item)
{
    struct args args = {NULL, item->end_arg_count};
    if (args.count)
        args.items = item->args.items + (item->args.count - args.count);
    return args;
}

enum sink_wants {
    WANT_EVENTS = 1u << 0,     /* all items but samples and begins of pushed ranges */
    WANT_SAMPLES = 1u << 1,    /* ITEM_SAMPLE, cut to the selection */
    WANT_PATHS = 1u << 2,      /* of samples: the open ranges, as far as known */
    WANT_TIMES = 1u << 3,      /* item.off */
    WANT_NUMBERS = 1u << 4,    /* item.number */
    WANT_TIME_ORDER = 1u << 5, /* between lanes too, EVENT_SPANs by their begins; not together with
                                * WANT_PATHS, WANT_TIMES */
    WANT_BEGINS = 1u << 6,     /* ITEM_OPENED of pushed ranges too: costs a tenth of an export */
    WANT_ORIGINS = 1u << 7,    /* item.path, item.stack of spans on queues; a span is reported when
                                * its launch is known, so within a lane possibly after later ones */
};

/* A nonzero result of `take` stops the pass; the pass returns it. */
struct sink {
    int (*take)(void *context, const struct item *item);
    void *context;
    uint32_t wants; /* enum sink_wants */
};

enum { PASS_SINKS_MAX = 16 };

/* Samples as stored: nearly in the order of sample_order_ns(). */
struct sample_batch {
    const struct sample *samples;
    uint32_t count;
    int64_t settled_ns; /* no later one begins before this; INT64_MIN: unknown */
};

/* A recording, or a generated one in tests. `next...`: 1; 0 at the end, or, of a live source, if it
 * is empty for now; -errno. Results are valid until the next call. */
struct pass_source {
    struct trace *trace; /* gains paths; complete unless live */
    int (*next_events)(void *context, struct event_batch *ret_batch);
    int (*next_samples)(void *context, struct sample_batch *ret_batch); /* NULL: without samples */
    void *context;
    int64_t begin_ns; /* earlier items are unknown, and not selected either; 0: all are known */
    bool live;        /* only in order of time: pass_settle releases items */
    /* Moves to a place from which all items at or after from_ns are read; earlier items are needed
     * only of ranges still open, `nested`: except EVENT_STARTs, `in_time`: also in order of time.
     * NULL: not supported. 0 or -errno. */
    int (*seek)(void *context, int64_t from_ns, bool nested, bool in_time);
};

/* A part of a recording, treated as a whole recording. A range that is open at the first instant
 * begins there, one that is open at the last ends there. A selected range contains the items of its
 * thread while it is open; of overlapping ranges and ranges on tracks, those with that name, and
 * the items on a track inside of them; of EVENT_SPANs of queues, those launched inside; EVENT_SPANs
 * on a thread's own lane are items of the thread. */
struct pass_selection {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to); INT64_MIN, INT64_MAX: no limit */
    const char *range;      /* name or pattern (text_matches); NULL: inside and outside of ranges */
    int64_t samples_from_ns, samples_to_ns; /* for samples only, in addition; both 0: no limit */
    uint32_t flags; /* enum sample_flags that samples must have; does not apply to events */
    bool (*wants)(void *context, uint32_t thread); /* NULL: all threads */
    void *context;
};

#define PASS_SELECT_ALL ((struct pass_selection){.from_ns = INT64_MIN, .to_ns = INT64_MAX})

/* Selects all events; of the samples, those in the block of the program that requested the
 * recording (trace_block): annot's own work before and after it is left out. Counts made by the
 * program itself are all kept. */
struct pass_selection pass_select_block(const struct trace *trace);

/* True if it selects all; the thread; the instant. The part of a sample, as sample_cut(): false if
 * no part is selected. */
bool pass_selects_all(const struct pass_selection *selection);
bool pass_selects_thread(const struct pass_selection *selection, uint32_t thread);
bool pass_selects_time(const struct pass_selection *selection, int64_t time_ns);
bool pass_selects_sample(const struct pass_selection *selection, const struct sample_sets *sets,
                         struct sample *sample, int64_t values[SAMPLE_VALUES_MAX]);

struct pass;

/* Pointers in `source` and `selection` must outlive the pass. NULL: out of memory. destroy accepts
 * NULL. */
struct pass *pass_create(const struct pass_source *source, const struct pass_selection *selection,
                         const struct sink *sinks, unsigned sink_count);
void pass_destroy(struct pass *pass);

/* Processes one event or sample in order of time, else one batch. 1; 0 at the end (open ranges have
 * ended), or, of a live source, if no item is settled; -errno, or the result of a sink. */
int pass_step(struct pass *pass);

/* Runs to the end. 0, -errno, or the result of a sink. */
int pass_run(struct pass *pass);

/* Creates and runs a pass. */
int pass_read(const struct pass_source *source, const struct pass_selection *selection,
              const struct sink *sinks, unsigned sink_count);

/* Not in order of time: no sample that is still to be reported begins before this; INT64_MIN:
 * unknown. */
int64_t pass_samples_settled_ns(const struct pass *pass);

/* ---- Order of time --------------------------------------------------------------------------- */

/* Live sources: no item before this will come. INT64_MAX: the source has ended; then the next step
 * without an item ends all open ranges. */
void pass_settle(struct pass *pass, int64_t settled_ns);

/* Time of the item that the next step reports: 1; 0: it has no item; -errno. */
int pass_next_ns(struct pass *pass, int64_t *ret_time_ns);

/* Ends the pushed ranges of a thread after its process has ended and all its events have come. */
int pass_finish_thread(struct pass *pass, uint32_t thread);

/* ---- Counts ---------------------------------------------------------------------------------- */

/* How paths read from the threads agree with the events (WANT_PATHS). */
struct sample_checks {
    uint64_t checked;      /* samples of threads with events and with a path that was read */
    uint64_t at_edge;      /* agree only with the path PATH_EDGE_NS before or after */
    uint64_t unsure;       /* disagree, but events are missing there */
    uint64_t contradicted; /* disagree: the path of the events is used */
};

struct pass_counts {
    uint64_t events[EVENT_KINDS]; /* of the selection, with the ends that it makes */
    uint64_t samples, stretches;  /* on a CPU, off it */
    uint64_t other_samples;       /* of other sets */
    uint64_t no_numbers;          /* values of counters that are infinite, or NaN */
    uint64_t orphans;             /* ends without a begin */
    uint64_t late;                /* events and samples that came after later ones */
    uint64_t crossed;             /* spans with ITEM_CROSSED */
    int64_t last_ns;              /* time of the last event of all; INT64_MIN: no event */
    struct sample_checks checks;
};

const struct pass_counts *pass_counts(struct pass *pass);

/* First and last time of a thread's selected events. False if it has no such event. */
bool pass_thread_span(const struct pass *pass, uint32_t thread, int64_t *ret_first_ns,
                      int64_t *ret_last_ns);

/* Time stamps are taken a moment before a range becomes visible, and clocks differ by a little: a
 * path that was open at most so long before or after a sample agrees with it. */
enum { PATH_EDGE_NS = 2000 };

/* Caches for each path whether it contains a range of the selection. */
struct path_matches {
    uint8_t *items; /* by path: 1 yes, 0 no */
    uint32_t count, capacity;
};

/* 1, 0, -ENOMEM. */
int path_matches(struct path_matches *matches, const struct trace *trace, const char *range,
                 uint32_t path);
void path_matches_fini(struct path_matches *matches);

/* True if counted calls with this stack were made inside of such a range, as far as the stack
 * contains their ranges. */
bool stack_is_inside(const struct trace *trace, const char *range, uint32_t stack);

/* End time of ranges without an end: that of their process if known, else that of its recording,
 * which lasts until `last_ns` at least. */
int64_t range_end_ns(const struct trace *trace, uint32_t process, int64_t last_ns);

/* ---- Recordings ------------------------------------------------------------------------------ */

/* A recording as source of a pass: from the reader's position, or the selection's start, to its
 * end. */
struct pass_source recording_pass_source(struct store_reader *reader);

/* ---- Samples with their paths ---------------------------------------------------------------- */

/* Samples with their paths of ranges, as a source for another pass that orders them by time: paths
 * are known lane by lane only, a moment after the samples. The feed reads events too; a pass that
 * needs both reads its own from store_reader_again. Thread-safety: one thread per object. */

struct sample_feed;

/* The pointers of the arguments must outlive the feed; the source has no other reader. NULL: out of
 * memory. destroy accepts NULL. */
struct sample_feed *sample_feed_create(const struct pass_source *source,
                                       const struct pass_selection *selection);
void sample_feed_destroy(struct sample_feed *feed);

/* next_samples of a pass_source; the context is the feed. */
int sample_feed_next(void *feed, struct sample_batch *ret_batch);

#endif
