/* SPDX-License-Identifier: MIT */
/* Threads as in a system trace: when and where each ran, when it was runnable, and the reasons of
 * its waits.
 *
 * The reader makes its thread states (running, runnable, sleeping, uninterruptible with I/O wait)
 * and its tracks of CPUs from switches; the reason is the "blocked function" of a state. The reader
 * adds tracks above the program: of CPUs, of kernel events, of counts. So this is an option. If a
 * stretch off the CPU was too short to be recorded and another thread ran in it, the thread counts
 * as runnable there. */
#ifndef ANNOT_PERFETTO_STATES_H
#define ANNOT_PERFETTO_STATES_H

#include "sample.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct perfetto_tracks;
struct state_thread;

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
