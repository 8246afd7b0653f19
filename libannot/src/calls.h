/* SPDX-License-Identifier: MIT */
/* The calls of instrumented functions that a thread is in, and detection of those that were left.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. The list lies in
 * separate private memory that is mapped at the first call, and outlives fork; entries deeper than
 * CALLS_KEPT are only counted, and lost.
 * Stacks grow down. A call with a lower stack pointer than a later one was left, unless the later
 * one is on another stack. When another call begins, the position of its return address shows if
 * the innermost call is still open: its frame lies below. */
#ifndef ANNOT_CALLS_H
#define ANNOT_CALLS_H

#include "emit.h"

#include <annot/function_calls.h>
#include <annot_barrier.h>

enum { CALLS_KEPT = 16384 };

struct call {
    uintptr_t function, site, stack;
    uint32_t depth;    /* open ranges before it */
    uint32_t is_shown; /* it has a range */
};

struct calls {
    uint32_t count;
    uint32_t beyond; /* calls deeper than CALLS_KEPT */
    struct call at[CALLS_KEPT];
};

/* The number of ANNOT_FUNCTIONS_DOMAIN; 0 until the first function has a name. */
extern uint16_t calls_domain;

/* Starts a new stream. `is_forked`: the range stack is the parent's. */
void calls_begin(struct control *control, int is_forked);

/* Returns the number of calls that stay open after emission->call: the others were left, or return.
 * CALLS_KEPT: all of them. */
uint32_t calls_left(struct control *control, const struct emission *emission);
/* Removes calls, from the innermost on, down to `count`; but stops at one with an open range, and
 * returns 1: the caller closes that range first. */
int calls_have_range(struct control *control, uint32_t count);
/* Adds the call that begins. Returns 1 if it has a range, else 0. */
int calls_enter(struct control *control, struct emission *emission);

/* The return address is searched within this many bytes of stack. */
enum { CALLS_SEARCH = 512 };

/* Returns 1 if the return address stands in the stack below `end`, or may. Reads the bytes between
 * two stack pointers of one stack. */
__attribute__((no_sanitize("address"))) static inline int
calls_is_site_below(const struct annot_call *made, uintptr_t end)
{
#if defined(__x86_64__)
    uintptr_t at = (uintptr_t)made->stack;
    uintptr_t limit = end - at > CALLS_SEARCH ? at + CALLS_SEARCH : end;
    for (; at < limit; at += sizeof(uintptr_t))
        if (*(const volatile uintptr_t *)at == (uintptr_t)made->site)
            return 1;
    return limit != end;
#else
    (void)made;
    (void)end;
    return 1; /* detected when the frame around it is left */
#endif
}

/* True if `call` is still open when another one begins. Functions inlined into one another share
 * one frame, hence one return address. */
static inline int calls_is_open(const struct call *call, const struct annot_call *made)
{
    uintptr_t stack = (uintptr_t)made->stack;
    if (call->stack <= stack)
        return call->stack == stack;
    return call->site == (uintptr_t)made->site || calls_is_site_below(made, call->stack);
}

/* True if a function's calls are wanted. Partner of both loads: the collector's stores; any order
 * will do. */
static inline int calls_are_wanted(const struct control *control, annot_name name)
{
    uint64_t mask = annot_load_relaxed(&control->mask[ANNOT_CALL_LEVEL]);
    const struct annot_string *string =
        (const void *)(control->segment->strings + (uint64_t)name * ANNOT_STRING_UNIT);
    return (mask >> (calls_domain & 63) & 1) &&
           !(annot_load_relaxed(&string->flags) & ANNOT_STRING_MASKED);
}

#endif
