/* SPDX-License-Identifier: MIT */
/* What a thread was doing, as stretches one behind the other: it ran, could have run, or waited.
 *
 * Only recordings that have waits tell that. A thread runs between two stretches off the CPU, from
 * the first that is known of it until its end. Thread-safety: none. */
#ifndef ANNOT_THREAD_STATES_H
#define ANNOT_THREAD_STATES_H

#include "pass.h"
#include "sample.h"
#include "trace.h"

enum thread_doing { THREAD_RUNNING, THREAD_RUNNABLE, THREAD_WAITING };

struct thread_stretch {
    uint32_t thread;
    uint8_t state;             /* enum thread_doing */
    int64_t begin_ns, end_ns;  /* never empty */
    const struct sample *wait; /* the one that it is a part of; NULL: it ran */
};

/* "running", "runnable", else what it waited for: constant text. */
const char *thread_stretch_name(const struct thread_stretch *stretch);

/* Stretches of a thread in order of time. 0 or -errno. */
struct thread_states_sink {
    int (*take)(void *context, const struct thread_stretch *stretch);
    void *context;
};

struct thread_states {
    const struct trace *trace;
    struct thread_states_sink sink;
    struct thread_life *threads;
    uint32_t thread_count;
    int64_t to_ns; /* what comes afterwards is not known */
    bool pieces;   /* of a selection: what is between two waits may be left out, so nothing runs */
};

/* `trace` outlives the states. 0 or -ENOMEM; then call fini all the same. */
int thread_states_init(struct thread_states *states, const struct trace *trace,
                       const struct pass_selection *selection,
                       const struct thread_states_sink *sink);
void thread_states_fini(struct thread_states *states);

/* Samples of a thread in order of their time; then once finish. 0 or -errno. */
int thread_states_add(struct thread_states *states, const struct sample *sample);
int thread_states_finish(struct thread_states *states);

/* When a thread is known to be gone, 0: it is not. Nothing was told of it after `last_ns`; `runs`:
 * and then it was on a CPU. */
int64_t thread_gone_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, bool runs);

/* The same with an answer for each thread: the end of the recording, or of the selection. */
int64_t thread_last_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, int64_t to_ns);

/* Whether a selection leaves out parts of what a thread did between its begin and its end. */
bool thread_in_pieces(const struct pass_selection *selection);

#endif
