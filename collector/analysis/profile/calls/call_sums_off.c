/* SPDX-License-Identifier: MIT */
/* Time off the CPU of functions whose calls were counted in the program.
 *
 * Counts have no times of single calls, so samples and stretches show it, by the innermost counted
 * function of their stacks. The cost of counting a call is in other functions there: a thread that
 * is preempted in the hook at the begin of a call has the caller's stack, but the time counts for
 * the callee. Where a function's counted time and its samples differ by more than chance, the
 * difference moves, with the share of time that threads without a wait had no processor. */
#include "call_sums_off.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Samples by stack ------------------------------------------------------------------------ */

static struct call_seen *seen_at(struct calls *calls, uint32_t group, uint32_t stack)
{
    const struct wide_key *key = WIDE_KEY(group, stack);
    const uint64_t *found = wide_map_find(&calls->seen_by_key, key);
    if (found)
        return &calls->seen.items[*found];
    if (vec_push(&calls->seen, ((struct call_seen){.group = group, .stack = stack})) != 0 ||
        wide_map_put(&calls->seen_by_key, key, calls->seen.count - 1) != 0)
        return NULL;
    return &calls->seen.items[calls->seen.count - 1];
}

int calls_see(struct calls *calls, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(calls->trace);
    if (!calls->options.off_cpu || sample->stack == 0)
        return 0;
    struct call_seen *seen = seen_at(calls, calls_group_of(calls, sample->thread), sample->stack);
    if (!seen)
        return -ENOMEM;
    if (sample_role(sets, sample) == SAMPLE_ROLE_CPU) {
        seen->times.cpu_ns += sample_cpu_ns(sets, sample);
        seen->times.samples++;
        return 0;
    }
    const struct off_share off = sample_off_share(sets, sample);
    seen->times.runnable_ns += off.runnable_ns;
    seen->times.blocked_ns += off.blocked_ns;
    return 0;
}

/* ---- By function ----------------------------------------------------------------------------- */

/* The index of the innermost function of the stack with calls; -1: none. */
static int64_t counted_function(const struct calls *calls, const struct call_seen *seen)
{
    const struct stacks *stacks = trace_stacks_get(calls->trace);
    uint32_t stack = seen->stack, label;
    while ((label = calls_next_python(stacks, &stack)) != 0) {
        const uint64_t *found =
            wide_map_find(&calls->function_by_key, WIDE_KEY(seen->group, label, 0));
        if (found && calls->functions.items[*found - 1].sources)
            return (int64_t)*found - 1;
    }
    return -1;
}

static void add_times(struct call_times *sum, const struct call_times *times)
{
    sum->cpu_ns += times->cpu_ns;
    sum->samples += times->samples;
    sum->runnable_ns += times->runnable_ns;
    sum->blocked_ns += times->blocked_ns;
}

/* Only whole counts: single calls have their own stretches. */
static bool is_summed(const struct call_function *function)
{
    return function->label != 0 && !function->context && !(function->sources & CALLS_EXACT);
}

/* C functions, whose frames are not in the stacks of samples. */
static bool has_frames(const struct calls *calls, const struct call_function *function)
{
    return stacks_get_label(trace_stacks_get(calls->trace), function->label)->kind == FRAME_PYTHON;
}

/* ---- What moves ------------------------------------------------------------------------------ */

struct off_state {
    struct calls *calls;
    struct call_times *times; /* by function */
    double period_ns;         /* mean CPU time of a sample */
    double share;             /* of time without waits: ready */
    double kept;              /* part of the missing time that others have too much */
};

/* The counted time that samples place in other functions; below 0: the other way round. 0 if it may
 * be chance: three standard deviations of the number of samples. */
static double difference(const struct off_state *state, size_t index)
{
    const struct call_function *function = &state->calls->functions.items[index];
    const struct call_times *times = &state->times[index];
    double sampled = (double)(times->cpu_ns + times->runnable_ns + times->blocked_ns);
    double missing = (double)function->sum.own_ns - sampled;
    double beyond = (missing < 0 ? -missing : missing) - 3 * state->period_ns;
    bool is_chance = beyond <= 0 || beyond * beyond <= 9 * (double)times->cpu_ns * state->period_ns;
    return is_chance ? 0 : missing;
}

static void find_share(struct off_state *state)
{
    const struct calls *calls = state->calls;
    struct call_times all = {0};
    double missing = 0, excess = 0;
    for (size_t i = 0; i < calls->functions.count; i++)
        if (is_summed(&calls->functions.items[i]))
            add_times(&all, &state->times[i]);
    if (all.samples == 0 || all.cpu_ns == 0)
        return;
    state->period_ns = (double)all.cpu_ns / (double)all.samples;
    state->share = (double)all.runnable_ns / ((double)all.runnable_ns + (double)all.cpu_ns);
    for (size_t i = 0; i < calls->functions.count; i++) {
        bool summed = is_summed(&calls->functions.items[i]);
        double moved = summed ? difference(state, i) : 0;
        *(moved > 0 ? &missing : &excess) += moved > 0 ? moved : -moved;
    }
    state->kept = missing > excess ? excess / missing : 1;
}

static void set_off(const struct off_state *state, size_t index)
{
    struct call_function *function = &state->calls->functions.items[index];
    const struct call_times *times = &state->times[index];
    double moved = state->share > 0 ? difference(state, index) * state->share : 0;
    moved *= moved > 0 ? state->kept : 1;
    double off_ns = (double)(times->runnable_ns + times->blocked_ns) + moved;
    function->off_moved = moved != 0;
    function->off_ns = off_ns < 0                              ? 0
                       : off_ns > (double)function->sum.own_ns ? function->sum.own_ns
                                                               : (uint64_t)off_ns;
}

int calls_place_off(struct calls *calls)
{
    struct off_state state = {.calls = calls};
    state.times = calloc(calls->functions.count + 1, sizeof(*state.times));
    if (!state.times)
        return -ENOMEM;
    for (size_t i = 0; i < calls->seen.count; i++) {
        int64_t function = counted_function(calls, &calls->seen.items[i]);
        if (function >= 0)
            add_times(&state.times[function], &calls->seen.items[i].times);
    }
    find_share(&state);
    for (size_t i = 0; i < calls->functions.count; i++) {
        struct call_function *function = &calls->functions.items[i];
        bool summed = is_summed(function);
        function->off_known = calls->options.off_cpu && (!summed || has_frames(calls, function));
        if (summed && function->off_known)
            set_off(&state, i);
    }
    free(state.times);
    return 0;
}
