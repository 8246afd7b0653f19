/* SPDX-License-Identifier: MIT */
/* Calls where every one is wanted as a range, and nothing else is asked for (trace_now.is_plain):
 * what the core does of them, without a call of it.
 *
 * Threads: as trace_enter and trace_leave. Each returns whether it is done, and the hook goes on;
 * else nothing is, and the other one of these does it. */
#ifndef PYANNOT_TRACING_PLAIN_H
#define PYANNOT_TRACING_PLAIN_H

#include "tracing_parts.h"

/* NULL: it is not known, or not just wanted. */
static inline struct trace_code *trace_plain_code(PyCodeObject *python_code)
{
    struct trace_code *code = trace_kept_find(python_code);
    return code != NULL && trace_verdict_of(code) == TRACE_WANTED ? code : NULL;
}

static inline bool trace_plain_enter(PyCodeObject *python_code, bool continues)
{
    if (RARE(!trace_now.is_plain))
        return false;
    uint32_t depth = trace_depth(); /* a call: nothing that it would have to keep is known yet */
    struct trace_code *code = trace_plain_code(python_code);
    struct trace_thread *thread = trace_thread_ready();
    if (RARE(code == NULL) || RARE(thread == NULL) || RARE(thread->lines != NULL))
        return false;
    uint32_t count = thread->count;
    struct trace_entry *entry = &thread->entries[count];
    if (RARE(count == thread->capacity) || (count > 0 && RARE(entry[-1].depth >= depth)))
        return false;
    entry->code = code;
    entry->depth = depth;
    entry->token = ANNOT_CODE_HELD;
    thread->count = count + 1;
    entry->token = annot_code_enter(code->name, continues);
    return true;
}

static inline bool trace_plain_leave(PyCodeObject *python_code)
{
    if (RARE(!trace_now.is_plain))
        return false;
    uint32_t depth = trace_depth();
    struct trace_thread *thread = trace_thread_ready();
    if (RARE(trace_plain_code(python_code) == NULL) || RARE(thread == NULL) ||
        RARE(thread->lines != NULL) || RARE(thread->count == 0))
        return false;
    uint32_t last = thread->count - 1;
    const struct trace_entry *entry = &thread->entries[last];
    if (RARE(entry->depth != depth))
        return false;
    thread->count = last;
    annot_code_leave(entry->token);
    return true;
}

#endif
