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
#include "trace_captures.h"
#include "vec.h"

#include <assert.h>
#include <errno.h>

enum {
    TRACKS_WAITING_MIN = 1 << 17,  /* so many events of tracks wait before they are looked at, */
    TRACKS_WAITING_MAX = 1 << 19,  /* and at most */
    SAMPLES_WAITING_MAX = 1 << 20, /* of all lanes: 120 MiB */
};

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
    bool runs;  /* there may be some: see "Runs" in pair.c */
    bool begun; /* the selection's first instant has passed */
    bool finished, inherited_news, samples_ended, events_ended;
    bool batch_waits; /* for samples of its time to be read: `batch` */
    bool launches;    /* of queues: stacks were sampled, and are wanted */
    struct item opened, span, point, sample, queue_span; /* told most: filled in, not made anew */
    struct item plain_opened, plain_span; /* of runs in pair.c: most of it stays as it is */
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

/* ---- Look-ups ---------------------------------------------------------------------------------
 */

/* NULL: out of memory. Lanes move when one is added. */
struct lane *pass_lane(struct pass *pass, uint32_t thread);

/* Whether a string is a name of the selection's range. */
bool pass_names(struct pass *pass, uint32_t name);
uint32_t pass_process_of(const struct pass *pass, uint32_t thread);

/* The earliest time at which a path that was open at `time_ns` agrees: PATH_EDGE_NS before. */
static inline int64_t edge_before(int64_t time_ns)
{
    return time_ns < INT64_MIN + PATH_EDGE_NS ? INT64_MIN : time_ns - PATH_EDGE_NS;
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* Inline: every item of a recording goes through here. */
static inline int sinks_tell(const struct sinks *sinks, const struct item *item)
{
    int status = 0;
    assert(item->depth == 0 || (item->parents && item->parents[item->depth - 1]));
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

#endif
