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
    TRACE_KNOWN = 5,     /* its calls are known: whether all are told is tested by them */
};

/* What the core keeps of a code object (tracing_kept.c). Without the GIL all threads read it at
 * once: what trace_code_make finds out does not change while the verdict is known. */
struct trace_code {
    struct trace_code *previous, *next; /* of all: their verdicts end with a selection */
    annot_name name;
    uint8_t verdict; /* enum trace_verdict: trace_verdict_of */
    bool is_library, is_chosen, is_known;
    bool is_generator;          /* or coroutine: it is left before it returns */
    bool is_lined, is_numbered; /* its lines are counted; it has a number */
    bool wants_lines;           /* they are wherever lines are: the program said so */
    bool has_lines, has_events; /* the hook has asked for events of these; of this one alone */
    bool is_open;               /* estimated: a thread may be in a call that began before */
    uint32_t number;            /* of functions whose lines are counted, from 0 */
    uint32_t first_line;
    uint32_t least_ns, own_least_ns; /* as its name says; as the program said for it, or 0 */
    PyCodeObject *object;            /* borrowed: it owns this; NULL: it is freed */
    PyObject *reference;             /* with has_events, without the GIL: a weak one; owned */
    uint32_t calls;                  /* adaptive: told so far, and TRACE_CLOSED when no more are */
    uint32_t pieces;                 /* of them that were measured */
    uint64_t ticks;                  /* that these took, without calls of the same function */
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
    struct annot_sums sums;           /* where the next two count */
    struct trace_tree *tree;          /* aggregate; NULL: none yet */
    struct trace_lines *lines;        /* the same of lines */
    struct trace_callable *callables; /* names that it keeps, without the GIL; NULL: none yet */
    const void *raised;               /* the last exception that left a call, and which */
    uint32_t raised_depth;
    uint32_t known; /* events of known calls so far */
    bool is_busy;   /* in the middle of an event: trace_threads_settle */
};

extern __thread struct trace_thread *trace_self __attribute__((tls_model("initial-exec")));

/* How the process is traced now. */
struct trace_now {
    struct trace_options options;
    const struct trace_hook *hook; /* NULL: it is not; trace_is_on */
    bool is_special;               /* depth or library make a difference */
    bool is_plain;                 /* exact, and nothing else is asked for */
    bool is_asked;                 /* from outside, for a recording that is in progress */
    uint64_t tiny_ticks;           /* adaptive: of TRACE_TINY_CALLS calls */
    bool reads_counter;            /* times of libannot are those of the time stamp counter */
    double ns_per_tick, event_ns;  /* measured at start; what an enter or exit costs */
    PyInterpreterState *interpreter;
    uint64_t epoch; /* which start this is: TRACE_EPOCH times its number */
};

#define TRACE_EPOCH (UINT64_C(1) << 40)

extern struct trace_now trace_now; /* changes while no thread is in the middle of an event */

/* For what is no event of the hook: asked with trace_thread_begins, the answer holds until
 * trace_thread_ends. Partner: trace_begin, trace_end. */
static inline bool trace_is_on(void)
{
    return __atomic_load_n(&trace_now.hook, __ATOMIC_RELAXED) != NULL;
}

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

/* ---- Where it is kept (tracing_kept.c) --------------------------------------------------------
 *
 * With the GIL in the code object itself (co_extra). Without it threads read that while it is
 * moved, so there it is found by the object's address in a table of our own. */

#if PYANNOT_FREE_THREADED

/* Open addressing: an object's place is the first that is free, from that of its hash on. Read
 * without a lock, changed with trace_code_lock. Who reads while places move may miss what is there,
 * and then looks again with the lock; what is found is right, as it has the object's address. */
struct trace_table {
    struct trace_table *older; /* somebody may read it still; together smaller than this one */
    uint32_t mask, count;
    struct trace_code *places[]; /* NULL: free; what they point to is never given back */
};

extern struct trace_table *trace_table;

static inline uint32_t trace_place_of(const struct trace_table *table, const PyCodeObject *code)
{
    return (uint32_t)((uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->mask;
}

/* NULL: none, or missed. Partners: trace_kept_add and what it calls. */
static inline struct trace_code *trace_kept_find(const PyCodeObject *code)
{
    const struct trace_table *table = __atomic_load_n(&trace_table, __ATOMIC_ACQUIRE);
    uint32_t place = trace_place_of(table, code);
    for (uint32_t i = 0; i <= table->mask; i++, place = (place + 1) & table->mask) {
        struct trace_code *found = __atomic_load_n(&table->places[place], __ATOMIC_ACQUIRE);
        if (found == NULL || __atomic_load_n(&found->object, __ATOMIC_ACQUIRE) == code)
            return found;
    }
    return NULL;
}

#else

/* Objects/codeobject.c; trace_kept_setup checks that it is so. */
struct trace_extras {
    Py_ssize_t count;
    void *items[1];
};

extern Py_ssize_t trace_extra; /* index of co_extra; -1: none */

static inline struct trace_code *trace_kept_find(const PyCodeObject *code)
{
    const struct trace_extras *extras = (const struct trace_extras *)code->co_extra;
    if (RARE(extras == NULL) || RARE(extras->count <= trace_extra))
        return NULL;
    return extras->items[trace_extra];
}

#endif

/* 0, or -1 with an exception. */
int trace_kept_setup(void);
bool trace_kept_is_set_up(void);
/* The interpreter has ended. */
void trace_kept_forget(void);
/* What is kept of the object, made if there is nothing yet. NULL: no memory. */
struct trace_code *trace_kept_add(PyCodeObject *code);

/* For tracing_kept.c. The lock is held for some instructions, in which nothing of the interpreter
 * is called. */
void trace_code_lock(void);
void trace_code_unlock(void);
/* Begins and ends to be among all, with the lock. */
void trace_code_link(struct trace_code *kept, PyCodeObject *code);
void trace_code_unlink(struct trace_code *kept);

/* ---- Code objects (tracing_code.c) ----------------------------------------------------------- */

/* Makes what the core keeps of a code object, and its verdict. NULL: no memory. */
struct trace_code *trace_code_make(PyCodeObject *code);
/* From here on it is wanted, whatever is selected, if calls of it last that long (0: as those of
 * others). 0, or -1: no memory. */
int trace_code_choose(PyCodeObject *code, uint32_t least_ns);
/* Calls of it are known ones, whatever is selected. 0, or -1: no memory. */
int trace_code_know(PyCodeObject *code);
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

static inline struct trace_code *trace_code_of(PyCodeObject *code)
{
    struct trace_code *found = trace_kept_find(code);
    if (RARE(found == NULL) || RARE(trace_verdict_of(found) == TRACE_UNKNOWN))
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

/* The same if that is so already, else NULL. */
static inline struct trace_thread *trace_thread_ready(void)
{
    struct trace_thread *thread = trace_self;
    uint64_t gate = *(const volatile uint64_t *)&annot_gate_v1.generation;
    if (RARE(thread == NULL) || RARE(thread->generation != (gate ^ trace_now.epoch)) ||
        RARE(gate == 0))
        return NULL;
    return thread;
}

/* Either of them. */
static inline struct trace_thread *trace_thread_now(bool is_entering)
{
    struct trace_thread *thread = trace_thread_ready();
    return RARE(thread == NULL) ? trace_thread_sync(is_entering, 0) : thread;
}

/* Makes trace_self. False: no memory. */
bool trace_thread_make(void);

#if PYANNOT_FREE_THREADED

/* Around all that is done for an event. Between the two a thread may be stopped by others only
 * where it waits; so, once the world was stopped, who stopped it knows by is_busy whether it is in
 * there. False: no memory, and nothing is to be done. Partner: trace_threads_settle. */
static inline bool trace_thread_begins(void)
{
    if (RARE(trace_self == NULL) && !trace_thread_make())
        return false;
    __atomic_store_n(&trace_self->is_busy, true, __ATOMIC_RELAXED);
    return true;
}

static inline void trace_thread_ends(void)
{
    __atomic_store_n(&trace_self->is_busy, false, __ATOMIC_RELEASE);
}

#else

static inline bool trace_thread_begins(void)
{
    return true;
}

static inline void trace_thread_ends(void)
{
}

#endif

/* Without the GIL: returns when no other thread is in the middle of an event. The world has been
 * stopped since events ended. */
void trace_threads_settle(void);

/* Room for one more entry. */
bool trace_thread_grow(struct trace_thread *thread);
/* Closes entries that the interpreter has left: those at this depth and deeper. */
void trace_thread_close(struct trace_thread *thread, uint32_t depth);
int trace_thread_setup(void);
/* What is counted lasts no longer, in any thread: none is in the middle of an event. */
void trace_threads_pause(void);
/* Whether a thread is in a call of it. Where there is no lock, that cannot be known: true. */
bool trace_threads_have(const struct trace_code *code);

/* Twice as deep as the calling thread is in calls of Python: the depth of the innermost frame. What
 * that calls and is no frame is deeper by one. */
static inline uint32_t trace_depth_of(const PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030C0000
    return 2 * (uint32_t)(state->py_recursion_limit - state->py_recursion_remaining);
#elif PY_VERSION_HEX >= 0x030B0000
    return 2 * (uint32_t)(state->recursion_limit - state->recursion_remaining);
#else
    return 2 * (uint32_t)state->recursion_depth;
#endif
}

static inline uint32_t trace_depth(void)
{
    return trace_depth_of(PyThreadState_Get());
}

/* ---- Values (tracing_values.c), with trace_has_values -----------------------------------------
 */

/* As annot_code_enter and annot_code_leave, with what is known of arguments, result, exception. */
uint32_t trace_values_enter(const struct trace_code *kept, PyCodeObject *code, bool continues);
void trace_values_leave(struct trace_thread *thread, const struct trace_entry *entry);

/* ---- Tasks (tracing_tasks.c)
 * ----------------------------------------------------------------------
 */

enum trace_piece { TRACE_BEGINS, TRACE_RESUMES, TRACE_SUSPENDS, TRACE_ENDS };

/* The innermost range that the calling thread, or the task that it runs, has open; 0: none. */
annot_name trace_range_now(void);
/* Of a coroutine that the calling thread runs, in a task or not. */
void trace_coroutine(const struct trace_code *code, enum trace_piece piece);
/* Something that is no frame; in the innermost one if it is deeper than that, and trace_c_leave
 * ends it. False: no memory. */
bool trace_named_enter(struct trace_thread *thread, annot_name name, bool continues,
                       uint32_t depth);
/* The frame that has called the innermost step of the thread, borrowed; NULL: it is in none. Calls
 * inside of it are that step's again. */
PyFrameObject *trace_step_caller(void);
void trace_step_again(struct trace_thread *thread, uint32_t depth);
/* The thread, which is in no call, is in the greenlet that it runs. */
void trace_greenlet_enter(struct trace_thread *thread);

/* ---- Counts of all threads --------------------------------------------------------------------
 *
 * Returns what it was. */

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

/* Whether it is the first time. */
static inline bool trace_first(bool *is_done)
{
    return !__atomic_exchange_n(is_done, true, __ATOMIC_RELAXED);
}

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
