/* SPDX-License-Identifier: MIT */
/* The state of one pass, lane by lane. Thread-safety: one thread per pass. */
#ifndef ANNOT_PASS_STATE_H
#define ANNOT_PASS_STATE_H

#include "event.h"
#include "hash_map.h"
#include "open_ranges.h"
#include "pass.h"
#include "sample.h"
#include "stacks.h"
#include "times.h"
#include "trace.h"
#include "vec.h"

#include <assert.h>
#include <errno.h>

enum {
    TRACKS_WAITING_MIN = 1 << 17,  /* so many events of tracks wait before they are sorted, */
    TRACKS_WAITING_MAX = 1 << 19,  /* and at most */
    SAMPLES_WAITING_MAX = 1 << 20, /* of all lanes: 120 MiB */
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A sample waiting for its lane's events, or a fork that needs the ranges of its parent. */
struct waiting_sample {
    struct sample sample;
    int64_t values[2];     /* values of the sample, if it has at most two: waiting_values() */
    int64_t time_ns;       /* of the sample, or if it was late the time of the lane's last change */
    uint32_t told, agreed; /* paths: open at the instant, by the events; the one that agrees with
                            * the path read */
    uint32_t fork;         /* process + 1; 0 for a sample */
    uint8_t verdict;       /* enum path_verdict */
    bool off_done;         /* a stretch that came late and is already in `off` as a whole */
};

struct lane_samples {
    VEC(struct waiting_sample) items; /* by time */
    size_t next;                      /* the first not handed out */
    size_t off_next;                  /* the first stretch that is not in `off` as a whole */
    struct off_share off, part;       /* sum of the stretches so far; the part of the first
                                       * unfinished one already in `off` */
    int64_t off_ns;                   /* `off` is up to then */
    bool listed;                      /* in pass->waiting_lanes */
};

/* A thread. */
struct lane {
    struct open_ranges open;
    struct lane_samples *samples;   /* NULL: no samples so far */
    struct lane_origins *origins;   /* NULL: no notes */
    uint64_t depth;                 /* as the producer counts it */
    int64_t last_ns;                /* of its last batch */
    int64_t since_ns;               /* when its path last changed */
    int64_t first_ns, last_told_ns; /* of its selected events; first > last: without events */
    uint32_t instances;             /* pushes so far */
    bool instances_unknown;
    bool known;  /* the next field is set */
    bool wanted; /* by the selection */
    bool begun;  /* an event of it was selected: the ranges open before have begun */
    bool over;   /* the selection's end has passed */
    bool lossy;  /* events were lost */
    bool probed; /* it may have spans that an observer reports */
    bool cut;    /* calls of it ended when their tracing ended */
};

struct tracks;
struct starts;
struct origins;

/* A sample of a forked process, until the ranges inherited at the fork are known. */
struct heir {
    struct sample sample;
    uint32_t path;
};

/* The sinks that want an item. */
struct sinks {
    struct sink items[PASS_SINKS_MAX];
    unsigned count;
};

struct pass {
    struct pass_source source;
    const struct sample_sets *sets; /* of the trace */
    struct pass_selection selection;
    struct sinks begins, events, samples; /* begins: of pushed ranges; events: of all other items */
    uint32_t wants;                       /* of all sinks */
    bool selects_all;
    bool runs;  /* there may be runs: see "Pair run" in pair.c */
    bool begun; /* the selection's first instant has passed */
    bool finished, inherited_news, samples_ended, events_ended;
    bool batch_waits; /* until samples of its time were read: `batch` */
    bool launches;    /* of queues: their stacks were sampled, and are wanted */
    struct item opened, span, point, sample, queue_span; /* the most frequent items: reused, so that
                                                          * few fields are written */
    struct item plain_opened, plain_span; /* of runs in pair.c: most fields never change */
    VEC(struct lane) lanes;               /* by thread */
    struct own_spans *own_spans;          /* made at the first batch of a thread with such spans */
    struct starts *starts;
    struct tracks *tracks;   /* made at the first event of a track */
    struct origins *origins; /* NULL: not wanted, or without queues */
    VEC(uint8_t) named;      /* by string: 0 unchecked, 1 the selection's range, 2 another name */
    struct pass_counts counts;
    struct event_batch batch;
    int64_t settled_ns; /* of events */
    /* Order of time. */
    struct merge *merge;
    struct sample_merge *samples_merge;
    /* Samples. */
    struct value_pool values; /* of the waiting samples */
    int64_t samples_settled_ns;
    uint64_t late_samples; /* that came after their lane had passed their time */
    size_t waiting_count;
    VEC(uint32_t) waiting_lanes;
    int64_t *inherited; /* by process: the path open at its fork; -1: not yet known; -2: will never
                         * be known */
    VEC(struct heir) heirs;
    struct map64 block_paths; /* of sampled blocks of memory, until they are freed */
    struct path_matches matches;
};

/* ---- Look-ups ---------------------------------------------------------------------------------
 */

/* NULL: out of memory. Lanes move when one is added. */
struct lane *pass_lane(struct pass *pass, uint32_t thread);

/* True if a string is a name of the selection's range. */
bool pass_names(struct pass *pass, uint32_t name);
uint32_t pass_process_of(const struct pass *pass, uint32_t thread);

/* The earliest time at which a path open at `time_ns` agrees: PATH_EDGE_NS before. */
static inline int64_t edge_before(int64_t time_ns)
{
    return time_ns < INT64_MIN + PATH_EDGE_NS ? INT64_MIN : time_ns - PATH_EDGE_NS;
}

/* ---- Reporting ------------------------------------------------------------------------------- */

/* Inline: every item of a recording passes here. */
static inline int sinks_emit(const struct sinks *sinks, const struct item *item)
{
    int status = 0;
    assert(item->depth == 0 || (item->parents && item->parents[item->depth - 1]));
    for (unsigned i = 0; !status && i < sinks->count; i++)
        status = sinks->items[i].take(sinks->items[i].context, item);
    return status;
}

/* Counts a selected event. */
static inline void pass_count(struct pass *pass, struct lane *lane, uint8_t kind, int64_t time_ns)
{
    pass->counts.events[event_known_kind(kind)]++;
    if (time_ns < lane->first_ns)
        lane->first_ns = time_ns;
    if (time_ns > lane->last_told_ns)
        lane->last_told_ns = time_ns;
}

#endif
