/* SPDX-License-Identifier: MIT */
/* Rows of samples below each thread: its flame chart (flame_chart.h) as slices on a track "stacks",
 * all on one sequence, which has the name of each function once; its states (thread_states.h) as
 * slices on a track "run state". Thread-safety: one thread per object. */
#ifndef ANNOT_PERFETTO_ROWS_H
#define ANNOT_PERFETTO_ROWS_H

#include "export.h"
#include "flame_chart.h"
#include "thread_states.h"

#include <stdbool.h>
#include <stdint.h>

struct perfetto_tracks;
struct trace;

struct perfetto_chart {
    struct perfetto_tracks *tracks;
    struct flame_chart chart;
    const char *prefixes; /* of file names: profile/call_label.h */
    uint32_t sequence;
    bool begun;
    uint64_t *track_uuids; /* by thread; 0: not yet made */
    bool *known;           /* by label */
    uint32_t label_count;
};

/* The first sample begins the output. The caller feeds and finishes `chart`. 0 or -errno; then call
 * fini all the same. */
int perfetto_chart_init(struct perfetto_chart *chart, struct perfetto_tracks *tracks,
                        const struct export_job *job, uint32_t number);
void perfetto_chart_fini(struct perfetto_chart *chart);

/* The innermost Python function of a stack, else the innermost of native code; 0 = not found. */
uint32_t perfetto_innermost(const struct trace *trace, uint32_t stack);

struct perfetto_state_rows {
    struct perfetto_tracks *tracks;
    const char *prefixes; /* of file names: profile/call_label.h */
    struct thread_states states;
    uint64_t *track_uuids; /* by thread; 0: not yet made */
};

/* The caller feeds and finishes `states`. 0 or -ENOMEM; then call fini all the same. */
int perfetto_state_rows_init(struct perfetto_state_rows *rows, struct perfetto_tracks *tracks,
                             const struct export_job *job);
void perfetto_state_rows_fini(struct perfetto_state_rows *rows);

#endif
