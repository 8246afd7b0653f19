/* SPDX-License-Identifier: MIT */
/* Rows of samples below each thread: its flame chart (flame_chart.h) as slices on a track "stacks",
 * all on one sequence, which has the name of each function once; its states (thread_states.h) as
 * slices on a track "run state". Thread-safety: one thread per object. */
#ifndef ANNOT_PERFETTO_ROWS_H
#define ANNOT_PERFETTO_ROWS_H

#include "export.h"
#include "flame_chart.h"
#include "sample.h"
#include "thread_states.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct perfetto_tracks;
struct state_thread;
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

/* ---- Scheduler ------------------------------------------------------------------------------- */

/* Threads as in a system trace: when and where each ran, when it was runnable, and the reasons of
 * its waits.
 *
 * The reader makes its thread states (running, runnable, sleeping, uninterruptible with I/O wait)
 * and its tracks of CPUs from switches; the reason is the "blocked function" of a state. The reader
 * adds tracks above the program: of CPUs, of kernel events, of counts. So this is an option. If a
 * stretch off the CPU was too short to be recorded and another thread ran in it, the thread counts
 * as runnable there. */

enum { PERFETTO_RUNS_MAX = 4 << 20 }; /* 96 MiB; later ones are not checked for such stretches */

/* A stretch on a CPU. */
struct perfetto_run {
    int64_t begin_ns, end_ns;
    uint32_t thread;
    uint16_t cpu;
};

struct perfetto_states {
    struct perfetto_tracks *tracks;
    uint32_t sequence;
    bool begun;
    uint32_t symbols; /* bits: reasons with a name already written */
    struct state_thread *threads;
    uint32_t thread_count;
    VEC(struct perfetto_run) runs;
    int64_t to_ns; /* end of the known time */
};

/* The first switch begins the output. 0 or -errno. */
int perfetto_states_init(struct perfetto_states *states, struct perfetto_tracks *tracks,
                         uint32_t number);

/* All samples, in recording order; then finish. */
int perfetto_states_put(struct perfetto_states *states, const struct sample *sample);
int perfetto_states_finish(struct perfetto_states *states);
void perfetto_states_fini(struct perfetto_states *states);

#endif
