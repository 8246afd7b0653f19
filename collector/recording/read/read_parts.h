/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: the state of one pass, lane by lane. Thread-safety: none. */
#ifndef ANNOT_READ_PARTS_H
#define ANNOT_READ_PARTS_H

#include "event.h"
#include "hash_map.h"
#include "pass.h"
#include "sample.h"
#include "stacks.h"
#include "trace_captures.h"
#include "vec.h"

#include <errno.h>

enum {
    TRACKS_WAITING_MIN = 1 << 17,  /* so many events of tracks wait before they are looked at, */
    TRACKS_WAITING_MAX = 1 << 19,  /* and at most */
    SAMPLES_WAITING_MAX = 1 << 20, /* of all lanes: 120 MiB */
};

/* ---- Order of time: merge.c ----
 *
 * The events of all threads in order of time, and the samples: a merge, not a sort.
 *
 * Batches come thread by thread, as they were collected, nearly all in order. They wait here until
 * no earlier event can come (event_batch.settled_ns), or too many wait: then the earliest goes on,
 * and what comes later than it should is counted. Gaps are told when they end (event_told_ns),
 * stretches off the CPU likewise. What has the same time stays in the order in which it came.
 * Memory: at most about 150 MiB. Thread-safety: one thread per object. */

enum { MERGE_EVENTS_MAX = 1 << 20, MERGE_SAMPLES_MAX = 1 << 16 }; /* that wait */

struct merge;

struct merge_source {
    int (*next)(void *context, struct event_batch *ret_batch);
    void *context;
    bool live; /* more may come after next returned 0; only merge_settle then tells what goes on */
};

/* NULL: out of memory. destroy accepts NULL. */
struct merge *merge_create(const struct merge_source *source);
void merge_destroy(struct merge *merge);

/* The next event with its key-values, as a batch that stays until the next merge_next: 1; 0 at the
 * end, of a live source: nothing that is settled; -errno. Its settled_ns is when it is told. `peek`
 * does not take it. */
int merge_peek(struct merge *merge, int64_t *ret_told_ns);
int merge_next(struct merge *merge, struct event_batch *ret_batch);

/* Live sources: behind the next 0 that the source returns, nothing before this will come.
 * INT64_MAX: nothing at all. */
void merge_settle(struct merge *merge, int64_t settled_ns);

/* Events that came behind later ones. */
uint64_t merge_late_count(const struct merge *merge);

struct sample_batch;
struct sample_merge;

struct sample_merge_source {
    int (*next)(void *context, struct sample_batch *ret_batch);
    void *context;
    bool live;
};

/* The same for samples. */
struct sample_merge *sample_merge_create(const struct sample_merge_source *source);
void sample_merge_destroy(struct sample_merge *merge);
int sample_merge_peek(struct sample_merge *merge, int64_t *ret_told_ns);
int sample_merge_next(struct sample_merge *merge, struct sample *ret_sample);
void sample_merge_settle(struct sample_merge *merge, int64_t settled_ns);
uint64_t sample_merge_late_count(const struct sample_merge *merge);

/* ---- Spans that an observer reports of a thread: own_spans.c ----
 *
 * In front of all else: what it hands out of such a thread is in order of time, spans among its own
 * events. Memory: at most about 100 MiB. Thread-safety: one thread per object. */

struct own_spans;

struct own_source {
    int (*next)(void *context, struct event_batch *ret_batch);
    void *context;
    const struct trace *trace; /* has the threads of all batches */
    bool live;
};

/* NULL: out of memory. destroy accepts NULL. */
struct own_spans *own_spans_create(const struct own_source *source);
void own_spans_destroy(struct own_spans *own);

/* A batch that was read before: 0 or -ENOMEM. */
int own_spans_take(struct own_spans *own, const struct event_batch *batch);

/* As pass_source.next_events, and merge_settle. */
int own_spans_next(struct own_spans *own, struct event_batch *ret_batch);
void own_spans_settle(struct own_spans *own, int64_t settled_ns);

/* Spans that came too late. */
uint64_t own_spans_late_count(const struct own_spans *own);

/* ---- Times ---- */

static inline int64_t time_latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t time_earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Foreign times may add up to anything. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- Open ranges of a lane ------------------------------------------------------------------- */

struct open_range {
    struct event begin; /* first, see open_ranges_parent(); never before the selection. An
                           EVENT_SPAN: it ends by itself */
    uint64_t level;     /* threads: open ranges below it, as the producer counts; tracks: hidden
                           ranges that began directly inside it and are open */
    int64_t child_ns, ranges_ns; /* as struct item */
    struct off_share off;        /* of its thread, until it began */
    size_t first_arg;
    uint32_t path;     /* of model/stacks.h; 0: nobody asked for it yet */
    uint32_t instance; /* of its thread's pushes; 0: not known */
    bool wanted;       /* the selection has it */
    bool cut;          /* it began before that */
    bool told;         /* ITEM_OPENED is out */
    bool call;         /* event_is_python_call() */
    uint32_t ranges;   /* that are wanted and no calls: around it, and itself */
};

/* Below `parent`, or NULL. */
static inline void open_range_place(struct open_range *range, const struct open_range *parent,
                                    bool call)
{
    range->ranges_ns = 0;
    range->call = call;
    range->ranges = (parent ? parent->ranges : 0) + !call;
}

/* How many are around it. */
static inline uint32_t open_range_outer(const struct open_range *range)
{
    return range->ranges - !range->call;
}

/* What it adds to the one around it. */
static inline void open_range_add(struct open_range *parent, const struct open_range *range,
                                  int64_t duration_ns)
{
    parent->child_ns = time_add(parent->child_ns, duration_ns);
    parent->ranges_ns = time_add(parent->ranges_ns, range->call ? range->ranges_ns : duration_ns);
}

/* Innermost last. Their key-values lie in one array, in the order of the ranges. */
struct open_ranges {
    struct open_range *items;
    const struct event **begins; /* of those that are wanted */
    size_t count, capacity, wanted_count, begins_capacity;
    VEC(struct arg) args;
};

/* 0 or -ENOMEM. */
int open_ranges_grow(struct open_ranges *open);
int open_ranges_keep_args(struct open_ranges *open, const struct args *args);
void open_ranges_free(struct open_ranges *open);

/* The innermost range; NULL: none is open. */
static inline struct open_range *open_ranges_top(const struct open_ranges *open)
{
    return open->count ? &open->items[open->count - 1] : NULL;
}

/* The innermost that is wanted. */
static inline struct open_range *open_ranges_parent(const struct open_ranges *open)
{
    return open->wanted_count ? (struct open_range *)open->begins[open->wanted_count - 1] : NULL;
}

/* `call`: event_is_python_call(). NULL: out of memory. */
static inline struct open_range *open_ranges_push(struct open_ranges *open,
                                                  const struct event *event,
                                                  const struct args *args, bool wanted, bool call)
{
    if (open->count >= open->capacity && open_ranges_grow(open) != 0)
        return NULL;
    size_t first_arg = open->args.count;
    if (args->count && open_ranges_keep_args(open, args) != 0)
        return NULL;
    const struct open_range *parent = open_ranges_parent(open);
    struct open_range *range = &open->items[open->count++];
    range->begin = *event; /* one by one: this is the hottest place of all reading */
    range->level = 0;
    range->child_ns = 0;
    open_range_place(range, parent, call);
    range->off.runnable_ns = range->off.blocked_ns = 0;
    range->first_arg = first_arg;
    range->path = range->instance = 0;
    range->wanted = wanted;
    range->cut = range->told = false;
    if (wanted)
        open->begins[open->wanted_count++] = &range->begin;
    return range;
}

static inline bool open_ranges_inside(const struct open_ranges *open)
{
    return open->count && open->items[open->count - 1].wanted;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A sample until its lane has come so far, or a fork whose ranges somebody inherits. */
struct waiting_sample {
    struct sample sample;
    int64_t values[2]; /* of the sample, if it has no more: waiting_values() */
    int64_t time_ns;   /* of the sample, or when the lane last changed if it came too late */
    uint32_t told,
        agreed;      /* paths: open at the instant, by the events; that agrees with the read */
    uint32_t fork;   /* process + 1: no sample */
    uint8_t verdict; /* enum path_verdict */
    bool off_done;   /* a stretch that came late, all of which is in `off` */
};

struct lane_samples {
    VEC(struct waiting_sample) items; /* by time */
    size_t next;                      /* of those not handed out */
    size_t off_next;                  /* the first stretch that is not in `off` as a whole */
    struct off_share off, part;       /* of all stretches so far; of that one, already in `off` */
    int64_t off_ns;                   /* `off` is up to then */
    bool listed;                      /* in pass->waiting_lanes */
};

/* A thread. */
struct lane {
    struct open_ranges open;
    struct lane_samples *samples;   /* NULL: it had none yet */
    struct lane_origins *origins;   /* NULL: nothing was noted */
    uint64_t depth;                 /* as the producer counts it */
    int64_t last_ns;                /* of its last batch */
    int64_t since_ns;               /* when its path last changed */
    int64_t first_ns, last_told_ns; /* of its events in the selection; first > last: none */
    uint32_t instances;             /* pushes so far */
    bool instances_unknown;
    bool known;  /* the line below is filled in */
    bool wanted; /* by the selection */
    bool begun;  /* something of it lies in the selection: what was open before has begun */
    bool over;   /* the selection's end has passed */
    bool lossy;  /* events are missing */
    bool probed; /* it may have spans that an observer reports */
};

struct tracks;
struct starts;
struct origins;

/* Samples of forked processes until the ranges that these inherited are known. */
struct heir {
    struct sample sample;
    uint32_t path;
};

/* Those that want an item. */
struct sinks {
    struct sink items[PASS_SINKS_MAX];
    unsigned count;
};

struct pass {
    struct pass_source source;
    const struct sample_sets *sets; /* of the trace */
    struct pass_selection selection;
    struct sinks begins, events, samples; /* begins: of pushed ranges; events: of all else */
    uint32_t wants;                       /* of all sinks */
    bool selects_all;
    bool runs;  /* there may be some: see pair_run.c */
    bool begun; /* the selection's first instant has passed */
    bool finished, inherited_news, samples_ended, events_ended;
    bool batch_waits; /* for samples of its time to be read: `batch` */
    bool launches;    /* of queues: stacks were sampled, and are wanted */
    struct item opened, span, point, sample, queue_span; /* told most: filled in, not made anew */
    struct item plain_opened, plain_span; /* of runs of pair_run.c: most of it stays as it is */
    VEC(struct lane) lanes;               /* by thread */
    struct own_spans *own_spans;          /* made at the first batch of a thread that has some */
    struct starts *starts;
    struct tracks *tracks;   /* made at the first event of one */
    struct origins *origins; /* NULL: nobody asks, or there are no queues */
    VEC(uint8_t) named;      /* of string: 0 not looked at, 1 the selection's range, 2 not */
    struct pass_counts counts;
    struct event_batch batch;
    int64_t settled_ns; /* of events */
    /* Order of time. */
    struct merge *merge;
    struct sample_merge *samples_merge;
    /* Samples. */
    struct value_pool values; /* of those that wait */
    int64_t samples_settled_ns;
    uint64_t late_samples; /* that came when their lane had passed */
    size_t waiting_count;
    VEC(uint32_t) waiting_lanes;
    int64_t *inherited; /* by process: the path that was open when it was forked; -1: none is known
                           yet; -2: nobody will tell */
    VEC(struct heir) heirs;
    struct path_matches matches;
};

/* ---- Telling --------------------------------------------------------------------------------- */

/* Inline, because all that a recording tells goes through here. */
static inline int sinks_tell(const struct sinks *sinks, const struct item *item)
{
    int status = 0;
    for (unsigned i = 0; !status && i < sinks->count; i++)
        status = sinks->items[i].take(sinks->items[i].context, item);
    return status;
}

/* An event is of the selection. */
static inline void pass_count(struct pass *pass, struct lane *lane, uint8_t kind, int64_t time_ns)
{
    pass->counts.events[event_known_kind(kind)]++;
    if (time_ns < lane->first_ns)
        lane->first_ns = time_ns;
    if (time_ns > lane->last_told_ns)
        lane->last_told_ns = time_ns;
}

/* NULL: out of memory. Lanes move when one is added. */
struct lane *pass_lane(struct pass *pass, uint32_t thread);
bool pass_names(struct pass *pass, uint32_t name);
uint32_t pass_process_of(const struct pass *pass, uint32_t thread);

/* ITEM_OPENED of the innermost, which is wanted; of all that is wanted and was not told. */
int open_ranges_tell_top(struct pass *pass, enum lane_kind kind, struct open_ranges *open);
int open_ranges_tell(struct pass *pass, enum lane_kind kind, struct open_ranges *open);

/* How a range ends. */
struct range_end {
    int64_t time_ns;
    uint32_t thread, flags;
    uint32_t arg_count;   /* key-values of the end, which open_ranges_keep_args keeps already */
    struct off_share off; /* of its thread, until it ended */
};

/* Ends the innermost range, and tells it if it is wanted and of the selection. */
int open_ranges_close(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                      const struct range_end *end);

/* ---- Threads: pair.c ------------------------------------------------------------------------- */

/* Events of one thread, in its order. */
int pair_batch(struct pass *pass, const struct event_batch *batch);
int pair_finish_thread(struct pass *pass, uint32_t thread);
/* Takes events from `at` on as long as they make a run, and moves it (pair_run.c). 0, -ENOMEM, or
 * what a sink returned. */
int pair_take_run(struct pass *pass, struct lane *lane, const struct event_batch *batch,
                  uint32_t *at);

/* When the ranges of a thread end that nobody ended. */
int64_t pair_end_ns(const struct pass *pass, uint32_t thread);

/* ---- Overlapping ranges: overlapping.c; tracks: tracks.c ------------------------------------- */

struct starts *starts_create(void);
void starts_destroy(struct starts *starts);
/* EVENT_START or EVENT_END. `wanted`: what the selection says of a start. */
int starts_take(struct pass *pass, const struct event *event, const struct args *args, bool wanted);
/* EVENT_SPAN on another lane, of the lane's thread. */
int span_take(struct pass *pass, struct lane *lane, const struct event *event,
              const struct args *args);

/* What its thread did when it launched the work of a span: {0} where that is not known. */
struct span_origin {
    uint32_t path, stack;
};

/* Hands it out, if the selection has it. */
int span_tell(struct pass *pass, const struct event *event, const struct args *args,
              const struct span_origin *origin);

int starts_begin(struct pass *pass); /* ITEM_OPENED of all that is open */
int starts_finish(struct pass *pass);

struct tracks *tracks_create(void);
void tracks_destroy(struct tracks *tracks);

/* What is known of an event of a track when its thread tells it. */
struct track_told {
    bool wanted; /* its thread is */
    bool inside; /* of one of the selection's ranges */
};

/* EVENT_TRACK_..., or EVENT_EDGE: ends the ranges that its thread began. */
int tracks_take(struct pass *pass, const struct event *event, const struct args *args,
                struct track_told told);
int tracks_begin(struct pass *pass);
int tracks_finish(struct pass *pass);

/* Puts things in order of time that are in order already for the most part, as events of several
 * threads are: stretches that rise are merged. Pure functions. */

struct time_place {
    int64_t time_ns;
    uint32_t index;
};

/* Equal times stay in the order in which they were. `spare` has room for as many. Cost: count times
 * the logarithm of the number of stretches. */
void time_order_sort(struct time_place *places, struct time_place *spare, size_t count);

/* ---- Origins of spans: origins.c ------------------------------------------------------------- */

/* Makes pass->origins if the trace has queues, or is live. 0 or -ENOMEM. */
int origins_start(struct pass *pass);
void origins_destroy(struct origins *origins);
void lane_origins_free(struct lane *lane);

/* The ranges of the lane are about to change. */
int origins_note(struct pass *pass, struct lane *lane);
/* The same in two parts, for many changes: where what a lane had open is noted, NULL if it need not
 * be; and what it had open from a time on. 0 or -ENOMEM. */
int origins_find(struct pass *pass, struct lane *lane, struct lane_origins **ret_own);
int origins_note_path(struct pass *pass, struct lane_origins *own, uint32_t path, int64_t since_ns);
/* A sample of a launch. */
int origins_launch(struct pass *pass, const struct sample *sample);

/* Hands out a span, with its origin, when that is known. */
int origins_take(struct pass *pass, const struct event *event, const struct args *args);
/* The thread has gone on; all that is settled has. */
int origins_lane_passed(struct pass *pass, uint32_t thread);
int origins_settle(struct pass *pass);

/* ---- Samples: lane_samples.c, sample_paths.c ------------------------------------------------- */

enum path_verdict {
    PATH_AGREES = 1,  /* with what was open at the instant */
    PATH_AT_EDGE = 2, /* with what was open a moment before or after */
    PATH_UNSURE = 4,  /* events of the thread are missing before, or none follow */
};

/* Registers the forks of the trace. 0 or -ENOMEM. */
int samples_start(struct pass *pass);
void lane_samples_free(struct lane *lane);

/* Whether the pass reads samples at all. */
bool pass_reads_samples(const struct pass *pass);

/* A batch of them, unless no sample is to come that begins before that time, or too many wait: 1;
 * 0: none was needed, or there are no more. */
int samples_read_some(struct pass *pass, int64_t time_ns);

/* Whether more may wait. */
bool samples_room(const struct pass *pass);

/* The lane's path changes at that time, or, `final`, never again. */
int lane_samples_settle(struct pass *pass, struct lane *lane, int64_t until_ns, bool final);

/* No thread has an event before that time any more. */
int samples_settle(struct pass *pass, int64_t until_ns, bool final);

/* When its thread did not run, until that time. */
struct off_share lane_off_until(const struct pass *pass, struct lane *lane, int64_t time_ns);

/* The path of a range below another one; -ENOMEM. */
int64_t range_path_add(struct pass *pass, uint32_t parent, const struct event *begin);

/* The path of the lane's innermost open range, or 0; -ENOMEM. */
int64_t lane_path(struct pass *pass, struct lane *lane);

/* Hands out a sample that waited, or one without a lane (`answer` NULL). */
int sample_finish(struct pass *pass, const struct sample *sample,
                  const struct waiting_sample *answer);
/* Those whose forks are known by now; `all`: no more will be. */
int heirs_finish(struct pass *pass, bool all);
/* Hands out one as it is. */
int sample_tell(struct pass *pass, struct sample *sample);

/* ---- Paths: sample_paths.c ----
 *
 * One path of ranges from two: what was read from a thread's live stack, and what its events tell.
 * Each returns a path of the table, or -ENOMEM. Thread-safety: none. */

/* Without the innermost ranges that only an observer knows: RANGE_PATH_PROBED. */
uint32_t sample_path_own(const struct stacks *stacks, uint32_t path);

/* Both agree: the thread's ranges are those of `told`, with their domains; ranges of tracks stay
 * where they were read, and what was inherited goes if there is anything else. */
int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told);

/* Events may be missing: of the thread's ranges that were read, those that are no part of `told`
 * become RANGE_PATH_UNRECORDED. `cut`: the outermost are missing in `read`. */
int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut);

/* All of it RANGE_PATH_INHERITED. */
int64_t sample_path_inherited(struct stacks *stacks, uint32_t path);

/* Whether it is. */
bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path);

/* Whether both have the same names. */
bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b);

/* ---- captures.c ---- */

/* Finds out when processes recorded, once for a recording: trace_captures(). */
void captures_read(struct store_reader *reader);

#endif
