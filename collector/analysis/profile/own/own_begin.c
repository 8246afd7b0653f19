/* SPDX-License-Identifier: MIT */
/* Classifies labels, and finds the stacks of start-up and of the command's start. See
 * own_begin.h. */
#include "own_begin.h"

#include "code_owner.h"
#include "launch.h"

#include <stdlib.h>

static void find_labels(const struct trace *trace, struct own_label *labels)
{
    uint32_t count = stacks_label_count(trace_stacks_get(trace));
    for (uint32_t i = 1; i < count; i++)
        labels[i] =
            (struct own_label){(uint8_t)code_owner_of(trace, i), (uint8_t)code_purpose_of(trace, i),
                               (uint8_t)code_begins(trace, i), code_is_bootstrap(trace, i)};
}

/* Progress of a stack, from its outermost frame inwards. */
enum state { BEFORE, STARTS, HANDS_OVER, BEGUN };

static enum state after(enum state before, const struct own_label *label)
{
    if (before == BEGUN || (before == HANDS_OVER && label->begins == BEGINS_MODULE))
        return BEGUN;
    if (label->purpose == PURPOSE_START_UP)
        return label->begins == BEGINS_MAIN ? HANDS_OVER : STARTS;
    if (before != BEFORE)
        return STARTS;
    return label->purpose == PURPOSE_IMPORT ? BEFORE : BEGUN;
}

/* A caller's stack has a smaller number, so its state is known. */
bool *own_begin_stacks(const struct trace *trace, struct own_label *labels)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t count = stacks_stack_count(stacks);
    uint8_t *states = calloc((size_t)count + 1, sizeof(*states));
    bool *starts = calloc((size_t)count + 1, sizeof(*starts));
    find_labels(trace, labels);
    for (uint32_t i = 1; i < count && states && starts; i++) {
        const struct stack *stack = stacks_get_stack(stacks, i);
        const struct frame *frame = stacks_get_frame(stacks, stack->frame);
        enum state before = (enum state)states[stack->parent];
        states[i] = before;
        if (frame->kind == FRAME_PYTHON)
            states[i] = after(before, &labels[frame->label]);
        starts[i] = states[i] == STARTS || states[i] == HANDS_OVER;
    }
    if (!states) {
        free(starts);
        starts = NULL;
    }
    free(states);
    return starts;
}

bool own_begin_has_python(const struct stacks *stacks, uint32_t stack)
{
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent)
        if (stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame)->kind == FRAME_PYTHON)
            return true;
    return false;
}

/* ---- The command's start --------------------------------------------------------------------- */

static bool is_launch(const struct trace *trace, const bool *launches, uint32_t thread)
{
    return thread < trace_thread_count(trace) && launches[trace_thread_get(trace, thread)->process];
}

bool *own_launch_stacks(const struct own_sums *sums)
{
    uint32_t count = stacks_stack_count(trace_stacks_get(sums->trace));
    bool *stacks = calloc((size_t)count + 1, sizeof(*stacks));
    struct launch_counts counts;
    bool *launches = launch_find(sums->trace, &counts);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] |= is_launch(sums->trace, launches, sums->items[i].thread);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] &= is_launch(sums->trace, launches, sums->items[i].thread);
    if (!launches) {
        free(stacks);
        stacks = NULL;
    }
    free(launches);
    return stacks;
}
