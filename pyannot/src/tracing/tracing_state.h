/* SPDX-License-Identifier: MIT */
/* How the process is traced now, and counters of all its threads.
 *
 * Threads: trace_now and trace_has_values change while no thread is in the middle of an event. */
#ifndef PYANNOT_TRACING_STATE_H
#define PYANNOT_TRACING_STATE_H

#include "tracing.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/tracer.h>

#define RARE(condition) (__builtin_expect((condition) != 0, 0))

struct trace_now {
    struct trace_options options;
    const struct trace_hook *hook; /* NULL: tracing is off; see trace_is_on */
    bool is_special;               /* depth, library or ranges make a difference */
    bool is_plain;                 /* exact, without further options */
    bool is_asked;                 /* requested from outside, for the current recording */
    bool hears_all;                /* callees: the hook reports every function for now */
    uint64_t tiny_ticks;           /* adaptive: limit for tiny_calls calls of a tiny function */
    uint32_t tiny_calls;           /* number of calls that decide */
    bool reads_counter;            /* libannot's time is the time stamp counter */
    double ns_per_tick;            /* measured at start */
    PyInterpreterState *interpreter;
    uint64_t epoch; /* number of the start, times TRACE_EPOCH */
};

#define TRACE_EPOCH (UINT64_C(1) << 40)

extern struct trace_now trace_now; /* changes while no thread is in the middle of an event */

/* For code outside the hook's events: between trace_thread_begins and trace_thread_ends the answer
 * holds. Partner: trace_begin, trace_end. */
static inline bool trace_is_on(void)
{
    return __atomic_load_n(&trace_now.hook, __ATOMIC_RELAXED) != NULL;
}

#define TRACE_DOMAIN "python calls"

/* As annot_queue_time, without a call where it is one instruction. */
static inline uint64_t trace_time(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(trace_now.reads_counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return annot_queue_time();
}

/* A function is tiny if a number of its calls together take less than this: a thousand calls at
 * first, fewer (longer ones) while reports take too much of a thread's time. */
enum { TRACE_TINY_NS = 2000000, TRACE_TINY_CALLS = 1000, TRACE_TINY_CALLS_LEAST = 62 };

/* The recording that requested tracing is over: tracing ends soon. (tracing_state.c) */
void trace_end_later(void);

/* Arguments, results or exceptions are recorded with the calls. */
extern bool trace_has_values;

/* ---- Counts of all threads --------------------------------------------------------------------
 *
 * Returns the previous value. */

static inline uint32_t trace_count(uint32_t *count, uint32_t number)
{
#if PYANNOT_FREE_THREADED
    return __atomic_fetch_add(count, number, __ATOMIC_RELAXED);
#else
    uint32_t before = *count;
    *count += number;
    return before;
#endif
}

static inline void trace_count_ticks(uint64_t *ticks, uint64_t number)
{
#if PYANNOT_FREE_THREADED
    __atomic_fetch_add(ticks, number, __ATOMIC_RELAXED);
#else
    *ticks += number;
#endif
}

/* Returns true the first time. */
static inline bool trace_first(bool *is_done)
{
    return !__atomic_exchange_n(is_done, true, __ATOMIC_RELAXED);
}

#endif
