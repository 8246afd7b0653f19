/* SPDX-License-Identifier: MIT */
/* Storage of the tracer's data for code objects.
 *
 * With the GIL it is in the code object itself (co_extra). Without it, threads would read co_extra
 * while it moves, so a table of our own finds the data by the object's address. */
#ifndef PYANNOT_TRACING_KEPT_H
#define PYANNOT_TRACING_KEPT_H

#include "tracing_code.h"

#if PYANNOT_FREE_THREADED

/* Open addressing: an object's place is the first free one from that of its hash on. Read without a
 * lock, changed with trace_code_lock. A reader may miss an entry while places move, and then
 * searches again with the lock; a found entry is right, because it has the object's address. */
struct trace_table {
    struct trace_table *older; /* may still have readers; all together smaller than this one */
    uint32_t mask, count;
    struct trace_code *places[]; /* NULL: free; the entries are never freed */
};

extern struct trace_table *trace_table;

static inline uint32_t trace_place_of(const struct trace_table *table, const PyCodeObject *code)
{
    return (uint32_t)((uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->mask;
}

/* NULL: absent, or missed. Partners: trace_kept_add and what it calls. */
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

/* Layout of Objects/codeobject.c; trace_kept_setup checks it. */
struct trace_extras {
    Py_ssize_t count;
    void *items[1];
};

extern Py_ssize_t trace_extra; /* index of co_extra; -1: not set up */

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
/* Returns the data of the object, made if it is absent. NULL: no memory. */
struct trace_code *trace_kept_add(PyCodeObject *code);

/* The same, made and judged if it is unknown. NULL: no memory. */
static inline struct trace_code *trace_code_of(PyCodeObject *code)
{
    struct trace_code *found = trace_kept_find(code);
    if (RARE(found == NULL) || RARE(trace_verdict_of(found) == TRACE_UNKNOWN))
        found = trace_code_make(code);
    return found;
}

#endif
