/* SPDX-License-Identifier: MIT */
/* The open calls of a thread.
 *
 * Threads: each its own. The state is made at a thread's first event and freed when it ends. */
#ifndef PYANNOT_TRACING_THREAD_H
#define PYANNOT_TRACING_THREAD_H

#include "tracing.h"
#include "tracing_callees.h"
#include "tracing_code.h"

struct trace_node; /* tracing_tree.c */

/* An open call of a thread. */
struct trace_entry {
    struct trace_code *code; /* NULL: a call of a C function */
    uint32_t depth;          /* of calls of Python, or TRACE_DEPTH_UNKNOWN */
    uint32_t token;          /* of annot_code_enter */
    bool is_inside;          /* it or a caller has callees */

    union {
        annot_name name; /* of a C function */
        uint32_t place;  /* of Python code, with TRACE_DEPTH_UNKNOWN: trace_place_of_frame */
    };

    union {
        uint64_t start;          /* adaptive */
        struct trace_node *node; /* aggregate: its caller */
    };
};

/* Before 3.12 the depth counts calls of C, too, so the depth of a call that began before tracing is
 * unknown. Its frame shows whether it lasts: tracing_frames.c. As a number it is deeper than any
 * event, so that a comparison of depths never takes such a call for a caller. */
#define TRACE_DEPTH_UNKNOWN UINT32_MAX

static inline bool trace_entry_is_of(const struct trace_entry *entry, const struct trace_code *code)
{
    return entry->code == code || (entry->code != NULL && entry->code->of == code);
}

/* State of a thread of the operating system. */
struct trace_thread {
    struct trace_thread *previous, *next; /* list of all */
    uint64_t generation; /* of the gate, and the epoch; 0: the stack below is invalid */
    uint32_t count, capacity;
    struct trace_entry *entries;
    uint32_t forked;    /* in a child before its first event: count at the fork */
    uint32_t inherited; /* in a child: number of inherited calls still open, the outermost ones */
    const void *inherited_in;         /* the greenlet with these calls; NULL: no greenlets */
    struct annot_sums sums;           /* storage of the next two */
    struct trace_tree *tree;          /* aggregate; NULL: not made yet */
    struct trace_lines *lines;        /* the same for lines */
    struct trace_callable *callables; /* cached names, without the GIL; NULL: not made yet */
    const void *raised; /* the last exception that left a call, and the index of that entry */
    uint32_t raised_index;
    uint32_t known;      /* events of known calls so far */
    uint32_t unchecked;  /* adaptive: calls since check_cost() */
    uint64_t checked_ns; /* the thread's CPU time then, in ns */
    bool is_busy;        /* in the middle of an event: trace_threads_settle */
};

extern __thread struct trace_thread *trace_self __attribute__((tls_model("initial-exec")));

/* True if a caller of the thread's next call is chosen with callees. */
static inline bool trace_is_inside(const struct trace_thread *thread)
{
    return thread->count > 0 && thread->entries[thread->count - 1].is_inside;
}

/* Returns the thread's state, its stack corrected by its frames, without the innermost frame if
 * that begins. NULL without a recording or memory. */
struct trace_thread *trace_thread_sync(bool is_entering);
/* Corrects the stack after a switch to another greenlet. */
void trace_thread_switched(struct trace_thread *thread);

/* Returns the state if its stack is current, else NULL. */
static inline struct trace_thread *trace_thread_ready(void)
{
    struct trace_thread *thread = trace_self;
    uint64_t gate = *(const volatile uint64_t *)&annot_gate_v1.generation;
    if (RARE(thread == NULL) || RARE(thread->generation != (gate ^ trace_now.epoch)) ||
        RARE(gate == 0))
        return NULL;
    return thread;
}

/* Returns the state, corrected if necessary. */
static inline struct trace_thread *trace_thread_now(bool is_entering)
{
    struct trace_thread *thread = trace_thread_ready();
    return RARE(thread == NULL) ? trace_thread_sync(is_entering) : thread;
}

/* Makes trace_self. False: no memory. */
bool trace_thread_make(void);

#if PYANNOT_FREE_THREADED

/* Around all work for an event. In between, a thread can be stopped only where it waits, so after
 * the world was stopped is_busy shows whether the thread is in an event. False: no memory, the
 * event is skipped. Partner: trace_threads_settle. */
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

/* Without the GIL: returns when no other thread is in the middle of an event. The world must have
 * been stopped since events ended. */
void trace_threads_settle(void);

/* In a forked child, where Python code may run again: opens the parent's calls. */
void trace_thread_forked(void);
/* Makes room for one more entry. */
bool trace_thread_grow(struct trace_thread *thread);
/* Closes entries that the interpreter has left: those at this depth and deeper, and those of
 * unknown depth without a frame around the event. 0: all. */
void trace_thread_close(struct trace_thread *thread, uint32_t depth);
/* The same at an exit; also measures the calls with TRACE_ADAPTIVE. */
void trace_thread_leave(struct trace_thread *thread, uint32_t depth);
/* True if a call has no range because of its place in the stack. */
bool trace_is_held(const struct trace_thread *thread, const struct trace_code *code);
/* Enters something that is not a frame; if deeper than the innermost frame, it is inside it, and
 * trace_c_leave ends it. False: no memory. */
bool trace_named_enter(struct trace_thread *thread, annot_name name, bool continues,
                       uint32_t depth);
int trace_thread_setup(void);
/* The recording that requested tracing is over: tracing ends soon. */
void trace_end_later(void);
/* Closes the counts of all threads that are not in the middle of an event. */
void trace_threads_pause(void);
/* True if threads other than the calling one have open calls. */
bool trace_threads_have_calls(void);
/* True if a thread is in a call of it. Always true without the GIL, where this is unknown. */
bool trace_threads_have(const struct trace_code *code);

/* Returns twice the calling thread's depth in calls of Python: the depth of the innermost frame.
 * Its calls that are not frames are deeper by one. */
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

/* Returns the entry for a call that begins; it counts once thread->count is raised. NULL: no
 * memory. */
static inline struct trace_entry *trace_thread_push(struct trace_thread *thread,
                                                    struct trace_code *code, uint32_t depth)
{
    uint32_t count = thread->count;
    if (RARE(count > 0 && thread->entries[count - 1].depth >= depth)) {
        trace_thread_close(thread, depth);
        count = thread->count;
    }
    if (RARE(count == thread->capacity) && !trace_thread_grow(thread))
        return NULL;
    struct trace_entry *entry = &thread->entries[count];
    entry->code = code;
    entry->depth = depth;
    entry->is_inside = trace_is_inside(thread);
    if (RARE(code != NULL && code->has_callees) && !entry->is_inside) {
        entry->is_inside = true;
        trace_callees_begin();
    }
    return entry;
}

#endif
