/* SPDX-License-Identifier: MIT */
/* What the tracer keeps of code objects: names, and whether they are wanted.
 *
 * Threads: with the interpreter's lock; without it any, but for what a function says. */
#ifndef PYANNOT_TRACING_CODE_H
#define PYANNOT_TRACING_CODE_H

#include "tracing_state.h"

enum trace_verdict {
    TRACE_UNKNOWN = 0,
    TRACE_IGNORED = 1,
    TRACE_WANTED = 2,
    TRACE_ESTIMATED = 3, /* adaptive: it is tiny, and no event any more */
    TRACE_COROUTINE = 4, /* wanted, and its task is told of it as well */
    TRACE_KNOWN = 5,     /* its calls are known: whether all are told is tested by them */
    TRACE_CALLEE = 6,    /* wanted inside of calls that have callees */
};

/* What the core keeps of a code object (tracing_kept.c). Without the GIL all threads read it at
 * once: what trace_code_make finds out does not change while the verdict is known. */
struct trace_code {
    struct trace_code *previous, *next; /* of all: their verdicts end with a selection */
    annot_name name;
    uint8_t verdict; /* enum trace_verdict: trace_verdict_of */
    bool is_library, is_chosen, is_known;
    bool has_callees;           /* chosen, and what it calls is wanted as well */
    bool is_generator;          /* or coroutine: it is left before it returns */
    bool has_lane;              /* a coroutine, which its task's track shows as well */
    bool is_lined, is_numbered; /* its lines are counted; it has a number */
    bool wants_lines;           /* they are wherever lines are: the program said so */
    bool has_lines, has_events; /* the hook has asked for events of these; of this one alone */
    bool is_open;               /* estimated: a thread may be in a call that began before */
    uint32_t missed_in;         /* a callee: the turn in which it was called elsewhere */
    uint32_t number;            /* of functions whose lines are counted, from 0 */
    uint32_t first_line;
    uint32_t least_ns, own_least_ns; /* as its name says; as the program said for it, or 0 */
    PyCodeObject *object;            /* borrowed: it owns this; NULL: it is freed */
    PyObject *reference;             /* with has_events, without the GIL: a weak one; owned */
    uint32_t calls;                  /* adaptive: told so far, and TRACE_CLOSED when no more are */
    uint32_t pieces;                 /* of them that were measured */
    uint64_t ticks;                  /* that these took, without calls of the same function */
    struct trace_code *inherited;    /* in a forked child: its calls open at the fork; owned */
    const struct trace_code *of;     /* of such a one: the function */
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

/* Makes what the core keeps of a code object, and its verdict. NULL: no memory. */
struct trace_code *trace_code_make(PyCodeObject *code);
/* From here on it is wanted, whatever is selected, if calls of it last that long (0: as those of
 * others), and with callees what it calls. 0, or -1: no memory. */
int trace_code_choose(PyCodeObject *code, uint32_t least_ns, bool callees);
/* Calls of it are known ones, whatever is selected. 0, or -1: no memory. */
int trace_code_know(PyCodeObject *code);
/* Stands for the function in calls that were open at a fork, in the child: they are the parent's,
 * and so named apart. The function itself without memory. */
struct trace_code *trace_code_inherited(struct trace_code *kept);
/* The hook asks for events of this one alone. */
void trace_code_watch(PyCodeObject *code, struct trace_code *kept);
/* A list of all of these, of which it asks no more; NULL with an exception. */
PyObject *trace_code_unwatch(void);
/* Lines of it are counted wherever lines are. 0, or -1 without memory. */
int trace_code_choose_lines(PyCodeObject *code);
/* All verdicts are to be found anew. */
void trace_code_forget_verdicts(void);
/* 0, or -1 with an exception. */
int trace_code_setup(void);
/* In a child: whoever held a lock is not there. */
void trace_code_forked(void);
/* The interpreter has ended, and all code objects. */
void trace_code_forget(void);

/* With options.lines: the code object if its lines are counted, else NULL. */
struct trace_code *trace_lined(PyCodeObject *code);

/* ---- Of all of them -------------------------------------------------------------------------- */

/* The lock is held for some instructions, in which nothing of the interpreter
 * is called. */
void trace_code_lock(void);
void trace_code_unlock(void);
/* Begins and ends to be among all, with the lock. */
void trace_code_link(struct trace_code *kept, PyCodeObject *code);
void trace_code_unlink(struct trace_code *kept);

#endif
