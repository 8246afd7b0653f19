/* SPDX-License-Identifier: MIT */
/* Tracing of calls: what hooks of the interpreter tell, and what becomes of it.
 *
 * A hook (one for each way in which an interpreter tells of calls) finds out that a code object
 * begins, goes on or ends; the core decides whether it is wanted, keeps a stack for each thread and
 * tells libannot (annot/tracer.h). Exits need not match: one whose code is not innermost closes
 * what is inside of it, one that was not entered does nothing.
 *
 * Threads: hooks are called with the interpreter's lock, or on free-threaded builds in an attached
 * thread; start and stop one at a time. Nothing here raises, runs Python code or waits, but where a
 * function says so. Only one interpreter of a process is traced, the first that asks. */
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

/* What becomes of functions of the standard library. */
enum trace_library {
    TRACE_LIBRARY_ALL = 0,
    TRACE_LIBRARY_BOX = 1, /* the outermost of them stands for what it calls there */
    TRACE_LIBRARY_OFF = 2,
};

struct trace_options {
    enum trace_mode mode;
    enum trace_library library;
    bool c_calls;
    bool is_chosen_only; /* those of trace_choose alone */
    bool callees;        /* and those that a thread makes inside of one that has callees */
    bool lines;          /* of chosen functions are counted; mode may be TRACE_OFF */
    uint32_t max_depth;  /* 0: any */
    uint64_t least_ns;   /* exact: shorter calls are of no interest; 0: all are */
    bool arguments, results, exceptions; /* are told with the calls */
    bool ranges; /* aggregate: calls are counted by the innermost range, too */
};

/* One way to hear of calls. */
struct trace_hook {
    const char *name; /* as the recording tells it: "sys.monitoring", "PEP 523" */
    /* It tells of a frame that begins or has ended while the one around it is innermost. */
    bool is_outside;
    /* Why it cannot be used here and now, or NULL. The text stays. */
    const char *(*refused)(const struct trace_options *options);
    /* From here on it calls the functions below. 0, or -1 with an exception. */
    int (*start)(const struct trace_options *options);
    /* With is_chosen_only: this one, too. NULL: the hook reports every function. */
    int (*choose)(PyCodeObject *code);
    /* With options.callees: of all, as at the start, or of those alone that are chosen. An error of
     * the interpreter changes nothing. NULL: the hook reports every function. */
    void (*hear)(bool all);
    /* No more of them, also from threads that are in the middle of something. */
    void (*stop)(void);
    /* The interpreter has ended, and with it every object; there may be another one. NULL: nothing
     * is kept. */
    void (*forget)(void);
};

extern const struct trace_hook trace_monitoring; /* CPython 3.12 and later */
extern const struct trace_hook trace_eval;       /* 3.9 to 3.11; the same: */
extern const struct trace_hook trace_profile;    /* dearer, with calls of C functions */

/* How often trace_eval told of no call, for want of stack, until one had returned. */
uint64_t trace_left_out(void);

/* A frame of the code begins, or goes on (`continues`: a generator or coroutine is resumed, also by
 * throw). Called with the frame as the thread's innermost. Returns false if the hook need not tell
 * of this code any more: it is not wanted, or estimated from here on. */
bool trace_enter(PyCodeObject *code, bool continues);
/* It ends, or an exception leaves it; the other one: it is suspended. */
bool trace_leave(PyCodeObject *code);
bool trace_suspend(PyCodeObject *code);
/* A call of something that is not written in Python, with options.c_calls; the callable is
 * borrowed. What is not left ends with the frame that called it. */
void trace_c_enter(PyObject *callable);
void trace_c_leave(PyObject *callable);

/* Functions of _native, ended by NULL. */
extern PyMethodDef trace_functions[];

#endif
