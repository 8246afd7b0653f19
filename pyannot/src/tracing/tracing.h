/* SPDX-License-Identifier: MIT */
/* Tracing of calls.
 *
 * A hook (one for each way in which an interpreter reports calls) sees that a code object begins,
 * resumes or ends; the core decides whether it is wanted, keeps a stack for each thread and reports
 * to libannot (annot/tracer.h). Exits need not match: the exit of a code that is not innermost
 * closes the calls inside it; an exit without an entry has no effect.
 *
 * Threads: hooks are called with the interpreter's lock, or on free-threaded builds in an attached
 * thread; start and stop one at a time. Functions neither raise, nor run Python code, nor wait,
 * unless they say so. Only one interpreter of a process is traced, the first that requests it. */
#ifndef PYANNOT_TRACING_H
#define PYANNOT_TRACING_H

#include "compat.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/tracer.h>
#include <stdbool.h>
#include <stdint.h>

#define RARE(condition) (__builtin_expect((condition) != 0, 0))

enum trace_mode {
    TRACE_OFF = 0,
    TRACE_EXACT = 1,
    TRACE_ADAPTIVE = 2, /* exact, until a function is known to be tiny */
    TRACE_AGGREGATE = 3,
};

/* Treatment of functions of the standard library. */
enum trace_library {
    TRACE_LIBRARY_ALL = 0,
    TRACE_LIBRARY_BOX = 1, /* calls inside the library count for the outermost one */
    TRACE_LIBRARY_OFF = 2,
};

struct trace_options {
    enum trace_mode mode;
    enum trace_library library;
    bool c_calls;
    bool is_chosen_only; /* only functions of trace_choose */
    bool callees;        /* also calls inside functions that are chosen with callees */
    bool lines;          /* counts lines of chosen functions; mode may be TRACE_OFF */
    uint32_t max_depth;  /* 0: unlimited */
    uint64_t least_ns;   /* exact: drops shorter calls; 0: keeps all */
    bool arguments, results, exceptions; /* recorded with the calls */
    bool ranges;                         /* aggregate: also counts calls by the innermost range */
};

/* A source of call events. */
struct trace_hook {
    const char *name; /* name in the recording: "sys.monitoring", "PEP 523" */
    /* Reports the start and end of a frame while the frame around it is innermost. */
    bool is_outside;
    /* Returns the reason why it cannot be used here and now, or NULL. The text is static. */
    const char *(*refused)(const struct trace_options *options);
    /* Starts to call the functions below. 0, or -1 with an exception. */
    int (*start)(const struct trace_options *options);
    /* With is_chosen_only: also reports this function. NULL: the hook reports every function. */
    int (*choose)(PyCodeObject *code);
    /* With options.callees: reports all functions, as at the start, or only chosen ones. Ignores
     * errors of the interpreter. NULL: the hook reports every function. */
    void (*report_all)(bool all);
    /* Stops all reports, also from threads in the middle of an event. */
    void (*stop)(void);
    /* The interpreter has ended, and with it every object; another one may follow. NULL: the hook
     * keeps no objects. */
    void (*forget)(void);
};

extern const struct trace_hook trace_monitoring; /* CPython 3.12 and later */
extern const struct trace_hook trace_eval;       /* CPython 3.9 to 3.11 */
extern const struct trace_hook trace_profile;    /* 3.9 to 3.11; slower, with C functions */

/* Number of times that trace_eval left calls out for lack of stack, each until one had returned. */
uint64_t trace_left_out(void);

/* A frame of the code begins or resumes (`continues`: a generator or coroutine is resumed, also by
 * throw). Called with the frame as the thread's innermost. Returns false if the hook may cease to
 * report this code: it is not wanted, or estimated from now on. */
bool trace_enter(PyCodeObject *code, bool continues);
/* The frame ends, or an exception leaves it; trace_suspend: it is suspended. */
bool trace_leave(PyCodeObject *code);
bool trace_suspend(PyCodeObject *code);
/* A call of a function that is not written in Python, with options.c_calls; the callable is
 * borrowed. A call that is not left ends with the frame that made it. */
void trace_c_enter(PyObject *callable);
void trace_c_leave(PyObject *callable);

/* Functions of _native, terminated by NULL. */
extern PyMethodDef trace_functions[];

/* ---- How the process is traced now ----------------------------------------------------------- */

struct trace_now {
    struct trace_options options;
    const struct trace_hook *hook; /* NULL: tracing is off; see trace_is_on */
    bool is_special;               /* depth, library or ranges make a difference */
    bool is_plain;                 /* exact, without further options */
    bool is_requested;             /* requested from outside, for the current recording */
    bool reports_all;              /* callees: the hook reports every function for now */
    uint64_t tiny_ticks;           /* adaptive: limit for tiny_calls calls of a tiny function */
    uint32_t tiny_calls;           /* number of calls that decide */
    bool reads_counter;            /* libannot's time is the time stamp counter */
    double ns_per_tick;            /* measured at start */
    PyInterpreterState *interpreter;
    uint64_t epoch; /* number of the start, times TRACE_EPOCH */
};

#define TRACE_EPOCH (UINT64_C(1) << 40)

/* Both change while no thread is in the middle of an event. */
extern struct trace_now trace_now;
extern bool trace_has_values; /* arguments, results or exceptions are recorded with the calls */

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
