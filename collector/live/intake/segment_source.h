/* SPDX-License-Identifier: MIT */
/* A process that takes part: its segment, how it is emptied, and how it ends. One object per
 * segment; a further copy of the runtime in the same process makes a second object with the same
 * ordinal. */
#ifndef ANNOT_SEGMENT_SOURCE_H
#define ANNOT_SEGMENT_SOURCE_H

#include "annot_wire.h"
#include "annot_wire_queues.h"
#include "clock_map.h"
#include "drain.h"
#include "event.h"
#include "intake_directory.h"
#include "intake_filter.h"
#include "kin.h"
#include "lives.h"
#include "proc_info.h"
#include "segment_reader.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

enum source_state {
    SOURCE_LIVE,    /* its segment is being emptied */
    SOURCE_EMPTIED, /* ended or left; completely read, blocks wait until they are in the file */
    SOURCE_GONE,    /* segment unlinked; only its exit status may still be missing */
};

/* The share of one segment in the totals of its process. */
struct source_share {
    uint64_t lost[LOSS_COUNT], misuse[MISUSE_COUNT], queued[QUEUED_COUNT];
    uint64_t event_count;
};

/* Counts of faults that the decoder finds and the segment does not have. */
struct source_found {
    uint64_t corrupt, schema, payload_cut;
};

struct segment_source {
    enum source_state state;
    const struct directory *directory; /* of its segment */
    struct segment segment;
    struct drain *drain; /* NULL in SOURCE_GONE */
    struct process_watch watch;
    struct who who;
    uint32_t relative;             /* its index among the kin */
    struct image *image;           /* of the registry; NULL: not the image of a visible process */
    int32_t host_pid;              /* in our namespace, also if it ended at once; 0: unknown */
    bool primary;                  /* the first segment of its process */
    struct source_share published; /* already in the trace's totals */
    struct source_found former;    /* in a recovery: found before, but in no segment */
    struct filter_applied filter;  /* of the segment */
    uint32_t wishes;               /* last value written to the segment */
    struct annot_shared shared;    /* at the last look */
    uint64_t queues[ANNOT_QUEUE_COUNTS];
    uint64_t shared_bytes; /* memory held, at the last look */
    uint64_t ticket;       /* emptied: ticket of its last chunk; 0: none yet */
    bool status_known, end_published;
    bool status_final; /* the state of its end is final */
    bool orderly;
    bool note_published;      /* its last note is in the trace */
    int32_t note_tid;         /* its thread, or 0 */
    uint64_t cut_published;   /* of names.cut */
    uint64_t short_published; /* of drain.short_count */
    int64_t end_ns;           /* when its end was seen */
    uint64_t kernels_address; /* AT_RANDOM from the kernel, if the program uses another one */
};

/* Fills the trace's entry from the segment: pids, names, times. 0 or -ENOMEM. */
int source_describe(struct segment_source *source, struct trace *trace, struct clock_map *clock);

/* Removes from the process's entry what its segments and threads still hold, so that it can be
 * counted again. A recovery calls it for the first segment, before source_publish. */
void source_recount(struct segment_source *source, struct trace *trace);

/* Reads the segment's process-wide data: losses, name, peak. 0 or -ENOMEM. */
int source_publish(struct segment_source *source, struct trace *trace);

/* True if exec replaced the program: it lives without its mapping. */
bool source_was_replaced(struct segment_source *source);

/* Notes the end in the trace. `wait_status` only if status_known. */
void source_end(struct segment_source *source, struct trace *trace, int wait_status,
                int64_t end_ns);
void source_end_exec(struct segment_source *source, struct trace *trace, int64_t end_ns);

/* Unlinks and unmaps the segment. */
void source_remove_segment(struct segment_source *source);
void source_destroy(struct segment_source *source);

#endif
