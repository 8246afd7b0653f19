/* SPDX-License-Identifier: MIT */
/* The calls of instrumented functions that a thread is in: see calls.h. */
#include "calls.h"

#include "levels.h"
#include "proc.h"
#include "stream.h"
#include "strings.h"
#include "watched.h"

#include <signal.h>
#include <sys/mman.h>

/* Two places of one stack are rarely further apart; those of two stacks mostly are. */
enum { STACK_REACH = 8 << 20 };

uint16_t calls_domain;

void calls_begin(struct control *control, int is_forked)
{
    struct calls *calls = control->keep->calls;
    if (calls && !is_forked)
        calls->count = calls->beyond = 0;
    annot_signal_fence();
    control->calls = calls;
}

static struct calls *take_calls(struct control *control)
{
    if (control->calls)
        return control->calls;
    void *memory = mmap(NULL, sizeof(struct calls), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    return control->calls = control->keep->calls = memory;
}

/* Returns 1 if `stack` may be on another stack than the call. */
static int is_elsewhere(const struct call *call, uintptr_t stack)
{
    stack_t other;
    if (stack > call->stack && stack - call->stack > STACK_REACH)
        return 1;
    return sigaltstack(NULL, &other) != 0 || (other.ss_flags & SS_ONSTACK);
}

int calls_have_range(struct control *control, uint32_t count)
{
    struct calls *calls = control->calls;
    if (!calls || count >= calls->count)
        return 0;
    calls->beyond = 0;
    uint32_t open = calls->count < CALLS_KEPT ? calls->count : (uint32_t)CALLS_KEPT;
    for (; open > count; open--) {
        const struct call *call = &calls->at[open - 1];
        if (call->is_shown && control_own(control) > call->depth)
            return 1;
        calls->count = open - 1;
    }
    return 0;
}

/* Counts the calls that were not left by an exception or longjmp. */
static uint32_t count_open(const struct calls *calls, const struct annot_call *made)
{
    uintptr_t stack = (uintptr_t)made->stack;
    uint32_t count = calls->count < CALLS_KEPT ? calls->count : (uint32_t)CALLS_KEPT;
    while (count > 0 && !calls_is_open(&calls->at[count - 1], made)) {
        if (calls->at[count - 1].stack < stack && is_elsewhere(&calls->at[count - 1], stack))
            break;
        count--;
    }
    return count;
}

/* Finds the call that returns: the innermost one of the function on this side of its stack pointer,
 * or, if its frame is removed already, the outermost one below that. CALLS_KEPT: not recorded. */
static uint32_t find_call(const struct calls *calls, const struct annot_call *made, int is_down)
{
    uintptr_t stack = (uintptr_t)made->stack;
    uint32_t found = CALLS_KEPT;
    uint32_t open = calls->count < CALLS_KEPT ? calls->count : (uint32_t)CALLS_KEPT;
    for (uint32_t i = open; i-- > 0;) {
        const struct call *call = &calls->at[i];
        int is_same =
            call->function == (uintptr_t)made->function && call->site == (uintptr_t)made->site;
        if (is_down && (call->stack >= stack || stack - call->stack > STACK_REACH))
            break;
        if (is_same && is_down)
            found = i;
        else if (is_same && call->stack >= stack)
            return i;
    }
    return found;
}

/* A return without its call has no effect. */
static uint32_t count_after_return(struct control *control, const struct emission *emission)
{
    struct calls *calls = control->calls;
    if (calls->beyond && (uintptr_t)emission->call->stack <= calls->at[CALLS_KEPT - 1].stack) {
        calls->beyond--;
        stream_lose(control, ANNOT_LOSS_TOO_LARGE);
        return CALLS_KEPT;
    }
    return find_call(calls, emission->call, emission->is_down);
}

APART uint32_t calls_left(struct control *control, const struct emission *emission)
{
    if (!control->calls)
        return CALLS_KEPT;
    return emission->kind == ANNOT_REC_PUSH ? count_open(control->calls, emission->call)
                                            : count_after_return(control, emission);
}

APART int calls_enter(struct control *control, struct emission *emission)
{
    const struct annot_call *made = emission->call;
    struct calls *calls = take_calls(control);
    if (!calls) {
        stream_lose(control, ANNOT_LOSS_NO_MEMORY);
        return 0;
    }
    if (calls->count >= CALLS_KEPT) {
        calls->beyond++;
        stream_lose(control, ANNOT_LOSS_TOO_LARGE);
        return 0;
    }
    int is_ready = strings_sync_one(control->segment, emission->name);
    emission->domain = 0; /* the filter's; a record without attributes is shorter */
    calls->at[calls->count] = (struct call){
        .function = (uintptr_t)made->function,
        .site = (uintptr_t)made->site,
        .stack = (uintptr_t)made->stack,
        .depth = control_own(control),
        .is_shown =
            watch_records(control) && (!is_ready || calls_are_wanted(control, emission->name)),
    };
    annot_signal_fence();
    return (int)calls->at[calls->count++].is_shown;
}
