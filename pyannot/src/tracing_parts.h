/* SPDX-License-Identifier: MIT */
/* What the files of the tracer share: see tracing.h. */
#ifndef PYANNOT_TRACING_PARTS_H
#define PYANNOT_TRACING_PARTS_H

#include "tracing.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/tracer.h>

#define RARE(condition) (__builtin_expect((condition) != 0, 0))

enum trace_verdict {
    TRACE_UNKNOWN = 0,
    TRACE_IGNORED = 1,
    TRACE_WANTED = 2,
    TRACE_ESTIMATED = 3, /* adaptive: it is tiny, and no event any more */
    TRACE_COROUTINE = 4, /* wanted, and its task is told of it as well */
};

/* What the core keeps of a code object, in its co_extra; freed with it. */
struct trace_code {
    struct trace_code *previous, *next; /* of all: their verdicts end with a selection */
    annot_name name;
    uint8_t verdict; /* enum trace_verdict */
    bool is_library, is_chosen;
    bool is_generator;          /* or coroutine: it is left before it returns */
    bool is_lined, is_numbered; /* its lines are counted; it has a number */
    bool wants_lines;           /* they are wherever lines are: the program said so */
    bool has_lines, has_events; /* the hook has asked for events of these; of this one alone */
    uint32_t number;            /* of functions whose lines are counted, from 0 */
    uint32_t first_line;
    uint32_t least_ns, own_least_ns; /* as its name says; as the program said for it, or 0 */
    PyCodeObject *object;            /* borrowed: it owns this */
    uint32_t calls, pieces;          /* adaptive: told so far; pieces of them that were measured */
    uint64_t ticks;                  /* that these took, without calls of the same function */
};

static inline bool trace_code_is_wanted(const struct trace_code *code)
{
    return code->verdict == TRACE_WANTED || code->verdict == TRACE_COROUTINE;
}

struct trace_node; /* tracing_tree.c */

/* A frame that a thread is in. */
struct trace_entry {
    struct trace_code *code; /* NULL: a call of a C function */
    uint32_t depth;          /* of calls of Python */
    uint32_t token;          /* of annot_code_enter */
    annot_name name;         /* of a C function */

    union {
        uint64_t start;          /* adaptive */
        struct trace_node *node; /* aggregate: what called it */
    };
};

/* Of a thread of the operating system. */
struct trace_thread {
    struct trace_thread *previous, *next; /* of all */
    uint64_t generation; /* of the gate, and the epoch; 0: the stack below is not true */
    uint32_t count, capacity;
    struct trace_entry *entries;
    struct annot_sums sums;    /* where the next two count */
    struct trace_tree *tree;   /* aggregate; NULL: none yet */
    struct trace_lines *lines; /* the same of lines */
    const void *raised;        /* the last exception that left a call, and which */
    uint32_t raised_depth;
    bool is_watched;  /* its switches of greenlets are told */
    PyObject *behind; /* the function that was told of them before; owned */
};

extern __thread struct trace_thread *trace_self __attribute__((tls_model("initial-exec")));

/* How the process is traced now. */
struct trace_now {
    struct trace_options options;
    const struct trace_hook *hook; /* NULL: it is not */
    bool is_special;               /* depth or library make a difference */
    bool is_asked;                 /* from outside, for a recording that is in progress */
    uint64_t tiny_ticks;           /* adaptive: of TRACE_TINY_CALLS calls */
    bool reads_counter;            /* times of libannot are those of the time stamp counter */
    double ns_per_tick, event_ns;  /* measured at start; what an enter or exit costs */
    PyInterpreterState *interpreter;
    uint64_t epoch; /* which start this is: TRACE_EPOCH times its number */
};

#define TRACE_EPOCH (UINT64_C(1) << 40)

extern struct trace_now trace_now;
extern Py_ssize_t trace_extra; /* index of co_extra; -1: none */

#define TRACE_DOMAIN "python calls"

/* As annot_queue_time, without a call where that is one instruction. */
static inline uint64_t trace_time(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(trace_now.reads_counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return annot_queue_time();
}

enum { TRACE_TINY_CALLS = 1000, TRACE_TINY_NS = 2000 };

/* Who asked for it records no more: it ends soon. (tracing_module.c) */
void trace_end_later(void);

/* ---- Code objects (tracing_code.c) ----------------------------------------------------------- */

/* Makes what the core keeps of a code object, and its verdict. NULL: no memory. */
struct trace_code *trace_code_make(PyCodeObject *code);
/* From here on it is wanted, whatever is selected, if calls of it last that long (0: as those of
 * others). 0, or -1: no memory. */
int trace_code_choose(PyCodeObject *code, uint32_t least_ns);
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

/* Objects/codeobject.c; trace_code_setup checks that it is so. */
struct trace_extras {
    Py_ssize_t count;
    void *items[1];
};

static inline struct trace_code *trace_code_of(PyCodeObject *code)
{
    const struct trace_extras *extras = (const struct trace_extras *)code->co_extra;
    struct trace_code *found = NULL;
    if (!RARE(extras == NULL) && !RARE(extras->count <= trace_extra))
        found = extras->items[trace_extra];
    if (RARE(found == NULL) || RARE(found->verdict == TRACE_UNKNOWN))
        found = trace_code_make(code);
    return found;
}

/* The name of something that is called, and not written in Python; 0: none.
 * (tracing_callable.c) */
annot_name trace_callable_name(PyObject *callable);

/* ---- Selection (tracing_select.c) ------------------------------------------------------------ */

/* Texts by comma, as in ANNOT_TRACE. 0, or -1 with an exception. */
int trace_select(const char *patterns, const char *library_folder, const char *own_folder);
enum trace_verdict trace_judge(const char *file, const char *qualname, bool *ret_is_library);
/* Whose lines are counted: the same patterns, of which "-" takes away. */
int trace_select_lines(const char *patterns);
bool trace_judge_lines(const char *file, const char *qualname);

/* ---- Threads (tracing_thread.c) -------------------------------------------------------------- */

/* The thread's state, its stack put right by the frames that it is in, without the innermost if
 * that begins; `calls`: of the interpreter's recursion, inside of the innermost. NULL: nobody
 * records, or no memory. */
struct trace_thread *trace_thread_sync(bool is_entering, uint32_t calls);

/* The same if that is so already. */
static inline struct trace_thread *trace_thread_now(bool is_entering)
{
    struct trace_thread *thread = trace_self;
    uint64_t gate = *(const volatile uint64_t *)&annot_gate_v1.generation;
    if (RARE(thread == NULL) || RARE(thread->generation != (gate ^ trace_now.epoch)) ||
        RARE(gate == 0))
        return trace_thread_sync(is_entering, 0);
    return thread;
}

/* Room for one more entry. */
bool trace_thread_grow(struct trace_thread *thread);
/* Closes entries that the interpreter has left: those at this depth and deeper. */
void trace_thread_close(struct trace_thread *thread, uint32_t depth);
int trace_thread_setup(void);
/* What is counted lasts no longer, in any thread: the caller holds the interpreter's lock. */
void trace_threads_pause(void);

/* Twice as deep as the calling thread is in calls of Python: the depth of the innermost frame. What
 * that calls and is no frame is deeper by one. */
static inline uint32_t trace_depth(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    const PyThreadState *state = PyThreadState_Get();
    return 2 * (uint32_t)(state->py_recursion_limit - state->py_recursion_remaining);
#elif PY_VERSION_HEX >= 0x030B0000
    const PyThreadState *state = PyThreadState_Get();
    return 2 * (uint32_t)(state->recursion_limit - state->recursion_remaining);
#else
    return 2 * (uint32_t)PyThreadState_Get()->recursion_depth;
#endif
}

/* ---- Values (tracing_values.c), with trace_has_values -----------------------------------------
 */

/* As annot_code_enter and annot_code_leave, with what is known of arguments, result, exception. */
uint32_t trace_values_enter(const struct trace_code *kept, PyCodeObject *code, bool continues);
void trace_values_leave(struct trace_thread *thread, const struct trace_entry *entry);

/* ---- Greenlets (tracing_greenlets.c) ----------------------------------------------------------
 */

/* The calling thread's switches are told from here on, if the program has greenlets. */
void trace_greenlets_watch(struct trace_thread *thread);
/* trace_greenlets(greenlet.settrace, greenlet.gettrace): the program has. Returns what is to stand
 * in their places. */
PyObject *trace_greenlets(PyObject *module, PyObject *args);

/* ---- Tasks (tracing_tasks.c)
 * ----------------------------------------------------------------------
 */

enum trace_piece { TRACE_BEGINS, TRACE_RESUMES, TRACE_SUSPENDS, TRACE_ENDS };

/* The innermost range that the calling thread, or the task that it runs, has open; 0: none. */
annot_name trace_range_now(void);
/* Of a coroutine that the calling thread runs, in a task or not. */
void trace_coroutine(const struct trace_code *code, enum trace_piece piece);
/* Something that is no frame, and in the innermost one; trace_c_leave ends it. False: no memory. */
bool trace_named_enter(struct trace_thread *thread, annot_name name, bool continues);

/* ---- Modes ----------------------------------------------------------------------------------- */

void trace_tree_enter(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                      bool continues);
/* The same of a call that begins in a range; 0: in none. */
void trace_tree_enter_in(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                         annot_name range);
void trace_tree_leave(struct trace_thread *thread, struct trace_entry *entry);
/* The thread is in none of what is counted. */
void trace_tree_pause(struct trace_thread *thread);
/* Touches nothing that is shared: that may be gone. */
void trace_tree_free(struct trace_thread *thread);

/* Of lines (tracing_lines.c), the same. */
void trace_lines_pause(struct trace_thread *thread);
void trace_lines_free(struct trace_thread *thread);

/* A call at this depth begins and ends that is told: the line which it is made from has none of its
 * time as its own. */
void trace_line_calls(struct trace_thread *thread, uint32_t depth);
void trace_line_called(struct trace_thread *thread, uint32_t depth);

#endif
