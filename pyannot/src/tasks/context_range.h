/* SPDX-License-Identifier: MIT */
/* A range that an observer opens around code of the program: an import, a task of a pool.
 *
 * Such code may switch to another greenlet before it returns. A greenlet other than the main one of
 * its thread therefore has the range on its track, or on that of the asyncio task that it runs for.
 * The main greenlet, and a program without greenlets, push it on the thread's stack. So does a task
 * of asyncio, which cannot be suspended inside of such a call.
 *
 * Threads: a range begins and ends in one greenlet. Functions do not raise, and preserve an
 * exception that is set. */
#ifndef PYANNOT_CONTEXT_RANGE_H
#define PYANNOT_CONTEXT_RANGE_H

#include "task.h"

/* All zero: not open. */
struct context_range {
    struct task_track *track; /* owned; NULL: the thread's stack */
    uint32_t forks;           /* entered_forks at its start */
    bool is_open;
};

/* Both only while annot_enabled(), and not while it is open. The second one does not open it on the
 * thread's stack. */
void context_range_begin(struct state *state, struct context_range *range,
                         const struct annot_event *event);
void context_range_begin_on_track(struct state *state, struct context_range *range,
                                  const struct annot_event *event);

/* `exception`: its type, or NULL. No effect if the range is not open. */
void context_range_end(struct context_range *range, PyObject *exception);

/* True if threading starts greenlets in place of threads: gevent or eventlet has replaced
 * _thread.start_new_thread. Cost: two look-ups in dictionaries. */
bool threads_are_greenlets(void);

#endif
