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
#include <stdbool.h>
#include <stdint.h>

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
    void (*hear)(bool all);
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

#endif
