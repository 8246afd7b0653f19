/* SPDX-License-Identifier: MIT */
/* Fast paths where every call is wanted as a range, and no other option is set
 * (trace_now.is_plain): the core's work without calling it.
 *
 * Threads: as trace_enter and trace_leave. Each returns true if it has handled the event; if not,
 * it has no effect, and the hook calls trace_enter or trace_leave. */
#ifndef PYANNOT_TRACING_PLAIN_H
#define PYANNOT_TRACING_PLAIN_H

#include "tracing.h"
#include "tracing_code.h"
#include "tracing_kept.h"
#include "tracing_thread.h"

/* NULL: unknown, or not just wanted. */
static inline struct trace_code *trace_plain_code(PyCodeObject *python_code)
{
    struct trace_code *code = trace_kept_find(python_code);
    return code != NULL && trace_verdict_of(code) == TRACE_WANTED ? code : NULL;
}

/* NULL: the thread's state is not current, or its lines are counted. */
static inline struct trace_thread *trace_plain_thread(void)
{
    struct trace_thread *thread = trace_thread_ready();
    return thread != NULL && thread->lines == NULL ? thread : NULL;
}

/* ---- With is_plain, for a hook around calls -------------------------------------------------- */

/* Returns the number of open calls of the thread; 0: not handled. */
static inline uint32_t trace_plain_enter_at(PyCodeObject *python_code, uint32_t depth,
                                            bool continues)
{
    struct trace_code *code = trace_plain_code(python_code);
    struct trace_thread *thread = trace_plain_thread();
    if (RARE(code == NULL) || RARE(thread == NULL))
        return 0;
    uint32_t count = thread->count;
    struct trace_entry *entry = &thread->entries[count];
    if (RARE(count == thread->capacity) || (count > 0 && RARE(entry[-1].depth >= depth)))
        return 0;
    entry->code = code;
    entry->depth = depth;
    entry->token = ANNOT_CODE_HELD;
    thread->count = count + 1;
    entry->token = annot_code_enter(code->name, continues);
    return count + 1;
}

static inline bool trace_plain_pop(struct trace_thread *thread, uint32_t count, uint32_t depth)
{
    const struct trace_entry *entry = &thread->entries[count - 1];
    if (RARE(entry->depth != depth))
        return false;
    thread->count = count - 1;
    annot_code_leave(entry->token);
    return true;
}

/* Leaves a call that trace_plain_enter_at entered. If it is still innermost, its code need not be
 * found again. */
static inline bool trace_plain_leave_at(uint32_t count, uint32_t depth)
{
    struct trace_thread *thread = trace_plain_thread();
    return !RARE(thread == NULL) && !RARE(thread->count != count) &&
           trace_plain_pop(thread, count, depth);
}

/* ---- For any hook ---------------------------------------------------------------------------- */

/* Calls trace_depth first, while no value has to be kept across the call. */

static inline bool trace_plain_enter(PyCodeObject *python_code, bool continues)
{
    if (RARE(!trace_now.is_plain))
        return false;
    uint32_t depth = trace_depth();
    return trace_plain_enter_at(python_code, depth, continues) != 0;
}

static inline bool trace_plain_leave(PyCodeObject *python_code)
{
    if (RARE(!trace_now.is_plain))
        return false;
    uint32_t depth = trace_depth();
    struct trace_thread *thread = trace_plain_thread();
    return !RARE(trace_plain_code(python_code) == NULL) && !RARE(thread == NULL) &&
           !RARE(thread->count == 0) && trace_plain_pop(thread, thread->count, depth);
}

#endif
