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
    bool c_calls, arguments, results;
    uint32_t max_depth;       /* 0: any */
    uint64_t min_duration_ns; /* exact: shorter calls are left out */
};

/* One way to hear of calls. */
struct trace_hook {
    const char *name; /* as the recording tells it: "sys.monitoring", "PEP 523" */
    /* Why it cannot be used here and now, or NULL. The text stays. */
    const char *(*refused)(const struct trace_options *options);
    /* From here on it calls the functions below. 0, or -1 with an exception. */
    int (*start)(const struct trace_options *options);
    /* No more of them, also from threads that are in the middle of something. */
    void (*stop)(void);
};

extern const struct trace_hook trace_monitoring; /* CPython 3.12 and later */
extern const struct trace_hook trace_eval;       /* 3.9 to 3.11 */

/* What the core keeps of a code object (in its co_extra); freed with it. */
struct trace_code {
    annot_name name;
    uint8_t verdict; /* enum trace_verdict */
    uint8_t is_library, is_disabled;
    uint32_t calls; /* adaptive: counted so far, and the ticks that they took */
    uint64_t ticks;
};

enum trace_verdict {
    TRACE_UNKNOWN = 0,
    TRACE_IGNORED = 1, /* the hook need not tell of it any more, where it can say so */
    TRACE_WANTED = 2,
};

/* What the core holds of a code object. NULL: no memory; then it is not traced. Fast. */
struct trace_code *trace_code_of(PyCodeObject *code);

/* A frame of the code begins, or goes on (`continues`: a generator or coroutine is resumed, also by
 * throw). Returns false if the hook need not tell of this code any more. */
bool trace_enter(PyCodeObject *code, bool continues);
/* It ends or is suspended; the same for an exception that leaves it. */
bool trace_leave(PyCodeObject *code);
/* A call of something that is not written in Python, with options.c_calls. `callable` is borrowed.
 * Each entry is followed by an exit of the same thread. */
void trace_c_enter(PyObject *callable);
void trace_c_leave(PyObject *callable);

#endif
