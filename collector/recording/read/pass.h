/* SPDX-License-Identifier: MIT */
/* One reading of a recording: events and samples go in, finished things come out, to any number of
 * sinks at once.
 *
 * Pushes are paired with pops, starts with ends, begins of tracks with their ends; samples get the
 * path of ranges that was open, spans the time in which their thread did not run. Whatever a
 * selection leaves out is cut off here, so all outputs agree on every duration and every sum.
 *
 * By default, items of one lane come in its order, and lanes in any: that needs no sorting. A sink
 * that wants order of time between lanes says so. Memory: the open ranges; samples that wait until
 * their lane has come so far; events of tracks and, in order of time, all events until nothing
 * earlier can come. Foreign times are taken as they are: what comes too late is told late and
 * counted. Thread-safety: one thread per object. */
#ifndef ANNOT_READ_PASS_H
#define ANNOT_READ_PASS_H

#include "event.h"
#include "sample.h"
#include "store.h"
#include "trace.h"

#include <stdbool.h>

enum item_kind {
    ITEM_OPENED = 0, /* a range began, inside `depth` others of its lane                          */
    ITEM_SPAN,       /* it ended: children before parents, within a lane ordered by end           */
    ITEM_INSTANT,    /* a mark                                                                    */
    ITEM_COUNTER,
    ITEM_FLOW,   /* a point of a flow, not yet paired                                             */
    ITEM_LOST,   /* a gap, after the ranges that it ended                                         */
    ITEM_EDGE,   /* recording was off until then; after the pushed ranges that it ended, in order
                    of time after all                                                             */
    ITEM_ORPHAN, /* an end without a begin. LANE_PROCESS: its start may still come, from another
                    thread: the span has ITEM_END_TOLD then                                       */
    ITEM_SAMPLE,
};

enum item_flags {
    ITEM_UNFINISHED = 1u << 0, /* no end: open at the thread's, process's or recording's end, or at
                                  an edge; end_ns is that time */
    ITEM_END_LOST = 1u << 1,   /* the end fell into a gap; end_ns is the end of the gap */
    ITEM_CUT_BEGIN = 1u << 2,  /* it began before the selection does: begin_ns is where that does */
    ITEM_CUT_END = 1u << 3,    /* it ends with the selection */
    ITEM_END_TOLD = 1u << 4,   /* see ITEM_ORPHAN */
    ITEM_CROSSED = 1u << 5, /* an EVENT_SPAN of LANE_THREAD that does not nest: it was reported to
                               last longer, and ends where the range around it ends, or where
                               something begins inside of it that outlasts it */
};

/* What a sink gets. All it points to is valid during the call. */
struct item {
    uint8_t kind; /* enum item_kind */
    uint8_t lane; /* enum lane_kind: LANE_THREAD, the pushed ranges of event->thread, and
                     EVENT_SPANs that an observer reports of it, which nest with them; LANE_PROCESS,
                     those that may overlap: no parents, no depth; LANE_TRACK, those that nest on
                     the lane event->lane, of whatever kind; LANE_QUEUE, EVENT_SPANs there: they may
                     overlap, and have no ITEM_OPENED */
    uint16_t flags;
    bool call;                 /* pushed ranges: event_is_python_call() */
    uint32_t depth;            /* ranges around it: how many; ITEM_LOST: that stay open */
    uint32_t ranges;           /* the same without calls, which are in no row or path of ranges */
    const struct event *event; /* the begin, or the event; its time is never before the selection */
    struct args args;          /* of `event`, then those of the end */
    uint32_t end_arg_count;    /* so many of the last are of the end */
    uint32_t end_thread;       /* spans: where it was ended */
    int64_t begin_ns, end_ns;
    int64_t child_ns;     /* spans: time in direct children */
    int64_t ranges_ns;    /* the same without calls: in those, but not in what calls are around */
    struct off_share off; /* WANT_TIMES, LANE_THREAD: when its thread did not run */
    const struct event *const *parents; /* those around it, outermost first: depth many, of items
                                           of every kind */
    uint64_t number;                    /* WANT_NUMBERS, LANE_THREAD, begin and span: what
                                           annot_current() told; 0: not known */
    uint32_t path, stack; /* WANT_ORIGINS, LANE_QUEUE: what the launching thread had open when it
                             launched this, and its stack; 0: nothing, or not known */
    const struct sample *sample;
};

/* What was known at the end of a range only. */
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
    WANT_PATHS = 1u << 2,      /* of samples: the ranges that were open, as far as anybody knows */
    WANT_TIMES = 1u << 3,      /* item.off */
    WANT_NUMBERS = 1u << 4,    /* item.number */
    WANT_TIME_ORDER = 1u << 5, /* between lanes too, EVENT_SPANs by their begins; not together with
                                  WANT_PATHS, WANT_TIMES */
    WANT_BEGINS = 1u << 6,     /* ITEM_OPENED of pushed ranges too: costs a tenth of an export */
    WANT_ORIGINS = 1u << 7,    /* item.path, item.stack of what lies on queues; it is told when its
                                  launch is known, so in lanes it may come after later ones */
};

/* A nonzero result of `take` stops the pass, whose call returns it. */
struct sink {
    int (*take)(void *context, const struct item *item);
    void *context;
    uint32_t wants; /* enum sink_wants */
};

enum { PASS_SINKS_MAX = 12 };

/* Samples as they are stored: nearly in order of the time at which they were told. */
struct sample_batch {
    const struct sample *samples;
    uint32_t count;
    int64_t settled_ns; /* no later one begins before this; INT64_MIN: not known */
};

/* A recording, or a program that makes one up for a test. `next...`: 1; 0 at the end, of a live
 * source: nothing for now; -errno. What they return is valid until their next call. */
struct pass_source {
    struct trace *trace; /* gains paths; complete unless live */
    int (*next_events)(void *context, struct event_batch *ret_batch);
    int (*next_samples)(void *context, struct sample_batch *ret_batch); /* NULL: there are none */
    void *context;
    int64_t begin_ns; /* what was before is not known, and not selected either; 0: all is known */
    bool live;        /* only in order of time: pass_settle tells what goes on */
    /* Goes to where reading may begin for what is told from then on; before, only what is still
     * open needs to come, `nested`: and is not of EVENT_STARTs, `in_time`: also in order of time.
     * NULL: it cannot. 0 or -errno. */
    int (*seek)(void *context, int64_t from_ns, bool nested, bool in_time);
};

/* A part of a recording that is a recording of its own. A range that is open at the first instant
 * begins there, one that is open at the last ends there. Inside of a range of a name is what its
 * thread does while it is open; overlapping ranges and ranges on tracks of that name are themselves
 * wanted, and what happens on a track inside of them; of EVENT_SPANs of queues, those that were
 * launched inside; those on a thread's own lane are what the thread does. */
struct pass_selection {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to); INT64_MIN, INT64_MAX: no limit */
    const char *range;      /* name or pattern (text_matches); NULL: whatever range, or none */
    int64_t samples_from_ns, samples_to_ns; /* of samples alone, as well; both 0: no limit */
    uint32_t flags; /* enum sample_flags that samples must have; events have none */
    bool (*wants)(void *context, uint32_t thread); /* NULL: all threads */
    void *context;
};

#define PASS_SELECT_ALL ((struct pass_selection){.from_ns = INT64_MIN, .to_ns = INT64_MAX})

/* All; of the samples, those in the block of the program that asked for the recording
 * (trace_block): what annot itself does before and after it is not the program's, but all that the
 * program has counted is. */
struct pass_selection pass_select_block(const struct trace *trace);

/* Does it take all? Is the thread wanted? Is the instant? The part of a sample, as sample_cut():
 * false if none is. */
bool pass_selects_all(const struct pass_selection *selection);
bool pass_selects_thread(const struct pass_selection *selection, uint32_t thread);
bool pass_selects_time(const struct pass_selection *selection, int64_t time_ns);
bool pass_selects_sample(const struct pass_selection *selection, const struct sample_sets *sets,
                         struct sample *sample, int64_t values[SAMPLE_VALUES_MAX]);

struct pass;

/* What `source` and `selection` point to outlives the pass. NULL: out of memory. destroy accepts
 * NULL. */
struct pass *pass_create(const struct pass_source *source, const struct pass_selection *selection,
                         const struct sink *sinks, unsigned sink_count);
void pass_destroy(struct pass *pass);

/* Goes on a little: in order of time by one event or sample, else by a batch. 1; 0: that was all
 * (what was open has ended), of a live source: nothing is settled; -errno, or what a sink returned.
 */
int pass_step(struct pass *pass);

/* To the end. 0, -errno, or what a sink returned. */
int pass_run(struct pass *pass);

/* The two in one. */
int pass_read(const struct pass_source *source, const struct pass_selection *selection,
              const struct sink *sinks, unsigned sink_count);

/* Not in order of time: no sample that was not told yet begins before this; INT64_MIN: not known.
 */
int64_t pass_samples_settled_ns(const struct pass *pass);

/* ---- Order of time --------------------------------------------------------------------------- */

/* Live sources: nothing before this will come. INT64_MAX: nothing at all; then the next step that
 * finds nothing ends what is open. */
void pass_settle(struct pass *pass, int64_t settled_ns);

/* When what the next step tells happened: 1; 0: there is none for now; -errno. */
int pass_next_ns(struct pass *pass, int64_t *ret_time_ns);

/* The thread's process has ended, and all its events have come: ends its pushed ranges. */
int pass_finish_thread(struct pass *pass, uint32_t thread);

/* ---- What was read --------------------------------------------------------------------------- */

/* Of samples, how what was read from their thread agrees with its events (WANT_PATHS). */
struct sample_checks {
    uint64_t checked;      /* those of threads with events whose ranges were read */
    uint64_t at_edge;      /* agree with what was open PATH_EDGE_NS before or after only */
    uint64_t unsure;       /* do not, but events are missing there */
    uint64_t contradicted; /* do not: they have the ranges that the events tell */
};

struct pass_counts {
    uint64_t events[EVENT_KINDS]; /* of the selection, with the ends that it makes */
    uint64_t samples, stretches;  /* on a CPU, off it */
    uint64_t other_samples;       /* of sets that are neither */
    uint64_t no_numbers;          /* values of counters that are infinite, or NaN */
    uint64_t orphans;             /* ends without a begin */
    uint64_t late;                /* events and samples that came behind later ones */
    uint64_t crossed;             /* spans with ITEM_CROSSED */
    int64_t last_ns;              /* when the last event of all was told; INT64_MIN: none */
    struct sample_checks checks;
};

const struct pass_counts *pass_counts(struct pass *pass);

/* When the selected events of a thread begin and end. False: it has none. */
bool pass_thread_span(const struct pass *pass, uint32_t thread, int64_t *ret_first_ns,
                      int64_t *ret_last_ns);

/* Time stamps are taken a moment before a range is to be seen, and clocks differ by a little: a
 * path that was open at most so long before or after a sample agrees with it. */
enum { PATH_EDGE_NS = 2000 };

/* Whether a path of ranges has one of the selection's. Each path is looked at once. */
struct path_matches {
    uint8_t *items; /* by path: 1 yes, 0 no */
    uint32_t count, capacity;
};

/* 1, 0, -ENOMEM. */
int path_matches(struct path_matches *matches, const struct trace *trace, const char *range,
                 uint32_t path);
void path_matches_fini(struct path_matches *matches);

/* Whether calls that were counted at a stack were made inside of such a range, as far as the stack
 * has the ranges that they were made in. */
bool stack_is_inside(const struct trace *trace, const char *range, uint32_t stack);

/* When ranges end that nobody ended: with their process if that is known, else with its recording,
 * which lasts until `last_ns` at least. */
int64_t range_end_ns(const struct trace *trace, uint32_t process, int64_t last_ns);

/* ---- Recordings ------------------------------------------------------------------------------ */

/* A recording as a pass reads it: from where the reader stands, or where the selection begins, to
 * its end. */
struct pass_source recording_pass_source(struct store_reader *reader);

/* ---- Samples with their paths ---------------------------------------------------------------- */

/* Samples with their paths of ranges, as a source that another pass puts in order of time: which
 * ranges were open is known lane by lane only, a moment later than samples are told. This needs the
 * events, too; a pass that wants both reads its own from store_reader_again. Thread-safety: one
 * thread per object. */

struct sample_feed;

/* What the arguments point to outlives the feed; nothing else reads from the source. NULL: out of
 * memory. destroy accepts NULL. */
struct sample_feed *sample_feed_create(const struct pass_source *source,
                                       const struct pass_selection *selection);
void sample_feed_destroy(struct sample_feed *feed);

/* next_samples of a pass_source; the context is the feed. */
int sample_feed_next(void *feed, struct sample_batch *ret_batch);

#endif
