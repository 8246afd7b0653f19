/* SPDX-License-Identifier: MIT */
/* Activity of a thread as consecutive stretches: it ran, could have run, or waited.
 *
 * Needs a recording with waits. A thread runs between two stretches off the CPU, from its first
 * known time until its end. Thread-safety: one thread per object. */
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
    const struct sample *wait; /* the wait that it is a part of; NULL: it ran */
};

/* "running", "runnable", else the reason of the wait: constant text. */
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
    int64_t to_ns; /* end of the known time */
    bool pieces;   /* of a selection: gaps between waits may be left out, so are not running */
};

/* `trace` outlives the states. 0 or -ENOMEM; then call fini all the same. */
int thread_states_init(struct thread_states *states, const struct trace *trace,
                       const struct pass_selection *selection,
                       const struct thread_states_sink *sink);
void thread_states_fini(struct thread_states *states);

/* Samples of a thread in order of their time; then once finish. 0 or -errno. */
int thread_states_add(struct thread_states *states, const struct sample *sample);
int thread_states_finish(struct thread_states *states);

/* The time by which a thread is known to have ended, 0: it has not. Its last item was at `last_ns`;
 * `runs`: it was on a CPU then. */
int64_t thread_gone_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, bool runs);

/* The same with a result for each thread: the end of the recording, or of the selection. */
int64_t thread_last_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, int64_t to_ns);

/* True if a selection leaves out parts of a thread's time between its start and its end. */
bool thread_in_pieces(const struct pass_selection *selection);

/* ---- Order of samples ------------------------------------------------------------------------ */

/* Samples of each thread in order of time. A thread that returns to a CPU is sampled before its
 * wait is reported, if a timer was pending: so a sample on a CPU is held until the next one of its
 * thread, and a wait that ended by then goes first. Thread-safety: one thread per object. */

struct sample_order {
    const struct sample_sets *sets;
    struct held_sample *threads;
    uint32_t thread_count;
    int (*take)(void *context, const struct sample *sample); /* 0 or -errno */
    void *context;
};

/* `trace` outlives the order. 0 or -ENOMEM; then call fini all the same. */
int sample_order_init(struct sample_order *order, const struct trace *trace,
                      int (*take)(void *context, const struct sample *sample), void *context);
void sample_order_fini(struct sample_order *order);

/* Adds samples in the order of the pass; then once finish. Samples of unknown threads are dropped.
 * Returns the result of take. */
int sample_order_add(struct sample_order *order, const struct sample *sample);
int sample_order_finish(struct sample_order *order);

#endif
