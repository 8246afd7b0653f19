/* SPDX-License-Identifier: MIT */
/* The samples of a recording, one by one, each with its path of ranges, as far as a filter lets
 * them through.
 *
 * A path that was read together with the sample is held against the events of the sample's thread,
 * which also tell the domains of its ranges: a pass over samples and events goes before the first
 * sample is handed out. Where both contradict each other (more than PATH_EDGE_NS from an event),
 * the events are believed, of which the rows of reports are made, and the sample is counted. Where
 * events were lost, ranges that only the live stack knows are RANGE_PATH_UNRECORDED. A forked
 * process has RANGE_PATH_INHERITED ones outside of its own. Memory: 44 bytes a sample (8 million at
 * most), besides what the source takes. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_WALK_H
#define ANNOT_SAMPLE_WALK_H

#include "event.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

#include <stdbool.h>

/* A recording: store_reader_next, store_reader_next_samples and store_reader_rewind have these
 * shapes. `trace` is complete and gains paths. */
struct sample_source {
    struct trace *trace;
    int (*next_batch)(void *context, struct event_batch *ret_batch);
    int (*next_samples)(void *context, const struct sample **ret_samples, uint32_t *ret_count);
    int (*rewind)(void *context);
    void *context;
};

/* {0} lets all through. */
struct sample_filter {
    uint32_t process, thread; /* ordinal + 1; 0 = any */
    uint8_t kind;             /* enum sample_kind; 0 = any */
    const char *range;        /* some range of the path has this name; NULL = any */
    bool exact;               /* else its name need only contain the text */
    bool pattern;             /* it may be a pattern: text_matches */
};

struct sample_walk;

/* Rewinds the source at its begin and end; nothing else may read from it until destroy, but after
 * create the events may be read between samples. The texts of the filter outlive the walk. 0,
 * -ENOMEM, or what the source returns. destroy accepts NULL. */
int sample_walk_create(const struct sample_source *source, const struct sample_filter *filter,
                       struct sample_walk **ret_walk);
void sample_walk_destroy(struct sample_walk *walk);

/* The next sample: 1, 0 at the end, or -errno. Its path is an ordinal of the trace's stacks, with
 * SAMPLE_PATH_KNOWN unless nobody can know it. Valid until the next call. */
int sample_walk_next(struct sample_walk *walk, const struct sample **ret_sample);

/* Of the samples handed out so far, how what was read agrees with the events of their threads. */
struct sample_walk_checks {
    uint64_t checked;      /* those of threads with events whose ranges were read */
    uint64_t at_edge;      /* agree with what was open PATH_EDGE_NS before or after only */
    uint64_t unsure;       /* do not, but events are missing there */
    uint64_t contradicted; /* do not: they have the ranges that the events tell */
    uint64_t unresolved;   /* of all: neither checked nor found out, for want of room */
};

struct sample_walk_checks sample_walk_checks(const struct sample_walk *walk);

#endif
