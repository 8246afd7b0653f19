/* SPDX-License-Identifier: MIT */
/* Data of the tracer for code objects: names, and whether they are wanted.
 *
 * Threads: with the interpreter's lock; without it any, unless a function says otherwise. */
#ifndef PYANNOT_TRACING_CODE_H
#define PYANNOT_TRACING_CODE_H

#include "tracing.h"

enum trace_verdict {
    TRACE_UNKNOWN = 0,
    TRACE_IGNORED = 1,
    TRACE_WANTED = 2,
    TRACE_ESTIMATED = 3, /* adaptive: tiny, so its calls are estimated, not reported */
    TRACE_COROUTINE = 4, /* wanted, and shown on its task's track as well */
    TRACE_KNOWN = 5,     /* its calls test whether all events are reported */
    TRACE_CALLEE = 6,    /* wanted inside calls that have callees */
};

/* Data of a code object (tracing_kept.c). Without the GIL all threads read it at once: fields that
 * trace_code_make sets do not change while the verdict is known. */
struct trace_code {
    struct trace_code *previous, *next; /* list of all: a new selection resets their verdicts */
    annot_name name;
    uint8_t verdict; /* enum trace_verdict: trace_verdict_of */
    bool is_library, is_chosen, is_known;
    bool has_callees;           /* chosen, and its callees are wanted as well */
    bool is_generator;          /* or coroutine: it may be suspended before it returns */
    bool has_lane;              /* a coroutine, also shown on its task's track */
    bool is_lined, is_numbered; /* its lines are counted; it has a number */
    bool wants_lines;           /* the program chose them, wherever lines are counted */
    bool has_lines, has_events; /* the hook requested line events; events of this code alone */
    bool is_open;               /* estimated: a thread may be in a call that began before */
    uint32_t missed_in;         /* a callee: the last turn in which it was called elsewhere */
    uint32_t number;            /* of functions with counted lines, from 0 */
    uint32_t first_line;
    uint32_t least_ns, own_least_ns; /* of its name; set by the program for it, or 0 */
    PyCodeObject *object;            /* borrowed: it owns this; NULL: freed */
    PyObject *reference;             /* with has_events, without the GIL: weak; owned */
    uint32_t calls;               /* adaptive: reported so far, with TRACE_CLOSED once estimated */
    uint32_t pieces;              /* measured ones of them */
    uint64_t ticks;               /* time of these, without calls of the same function */
    struct trace_code *inherited; /* in a forked child: for its calls open at the fork; owned */
    const struct trace_code *of;  /* of an inherited one: the function */
};

#define TRACE_CLOSED (UINT32_C(1) << 31)

/* Partner: judge. */
static inline enum trace_verdict trace_verdict_of(const struct trace_code *code)
{
    return (enum trace_verdict)__atomic_load_n(&code->verdict, __ATOMIC_ACQUIRE);
}

static inline bool trace_code_is_wanted(const struct trace_code *code)
{
    enum trace_verdict verdict = trace_verdict_of(code);
    return verdict == TRACE_WANTED || verdict == TRACE_COROUTINE;
}

/* Makes the data of a code object, and its verdict. NULL: no memory. */
struct trace_code *trace_code_make(PyCodeObject *code);
/* Selects the function from now on, whatever the patterns: its calls of at least least_ns (0: as
 * for others), and with callees also its callees. 0, or -1: no memory. */
int trace_code_choose(PyCodeObject *code, uint32_t least_ns, bool callees);
/* Makes its calls known ones (TRACE_KNOWN), whatever the patterns. 0, or -1: no memory. */
int trace_code_know(PyCodeObject *code);
/* Returns a stand-in for the function in calls that were open at a fork, in the child: they are the
 * parent's, and have another name. Returns the function itself without memory. */
struct trace_code *trace_code_inherited(struct trace_code *kept);
/* The hook requests events of this code alone. */
void trace_code_watch(PyCodeObject *code, struct trace_code *kept);
/* Returns a list of all watched code objects, and stops watching them; NULL with an exception. */
PyObject *trace_code_unwatch(void);
/* Counts its lines wherever lines are counted. 0, or -1 without memory. */
int trace_code_choose_lines(PyCodeObject *code);
/* Resets all verdicts. */
void trace_code_forget_verdicts(void);
/* 0, or -1 with an exception. */
int trace_code_setup(void);
/* In a child: resets locks, as the threads that held them do not exist there. */
void trace_code_forked(void);
/* The interpreter has ended, with all code objects. */
void trace_code_forget(void);

/* With options.lines: returns the data of the code if its lines are counted, else NULL. */
struct trace_code *trace_lined(PyCodeObject *code);

/* ---- The list of all ------------------------------------------------------------------------- */

/* The lock is held for a few instructions, which do not call the interpreter. */
void trace_code_lock(void);
void trace_code_unlock(void);
/* Add to and remove from the list, with the lock. */
void trace_code_link(struct trace_code *kept, PyCodeObject *code);
void trace_code_unlink(struct trace_code *kept);

#endif
