/* SPDX-License-Identifier: MIT */
/* Calls counted in the program, and estimates from samples for functions that it stopped
 * counting. */
#include "call_sums_off.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Counted in the program ------------------------------------------------------------------ */

/* Allocates the paths by stack, for one group at a time; 0: not resolved. */
static int make_room(struct calls *calls, uint32_t group)
{
    uint32_t count = stacks_stack_count(trace_stacks_get(calls->trace));
    if (calls->path_of_stack && calls->stack_count >= count && calls->stack_group == group)
        return 0;
    free(calls->path_of_stack);
    calls->path_of_stack = calloc((size_t)count + 1, sizeof(*calls->path_of_stack));
    calls->stack_count = count;
    calls->stack_group = group;
    return calls->path_of_stack ? 0 : -ENOMEM;
}

/* Limit of the frames from a stack outwards to one with a known path. */
enum { DEPTH_MAX = 4096 };

/* Returns 1 + the index of the function of a stack's innermost frame. -ENOMEM. */
static int64_t function_of_stack(struct calls *calls, uint32_t group, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(calls->trace);
    uint32_t frame = stacks_get_stack(stacks, stack)->frame;
    return calls_function_of(calls, group, stacks_get_frame(stacks, frame)->label, 0);
}

/* Returns the path of a stack; 0: limit reached, or no frames. -ENOMEM. */
static int64_t path_of_stack(struct calls *calls, uint32_t group, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(calls->trace);
    uint32_t chain[DEPTH_MAX], count = 0;
    int64_t path = 0;
    for (; stack != 0 && count < DEPTH_MAX; stack = stacks_get_stack(stacks, stack)->parent) {
        if (calls->path_of_stack[stack])
            break;
        chain[count++] = stack;
    }
    if (stack != 0 && count < DEPTH_MAX)
        path = calls->path_of_stack[stack] - 1;
    while (count > 0) {
        int64_t function = function_of_stack(calls, group, chain[--count]);
        if (function < 0)
            return function;
        int64_t inner = calls_path_of(calls, (uint32_t)path, (uint32_t)function);
        if (inner < 0)
            return inner;
        path = inner ? inner : path;
        calls->path_of_stack[chain[count]] = (uint32_t)path + 1;
    }
    return path;
}

static int take_counts(struct calls *calls, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(calls->trace);
    uint32_t group = calls_group_of(calls, sample->thread);
    int error = make_room(calls, group);
    if (error || sample->stack == 0 || sample->stack >= calls->stack_count)
        return error;
    int64_t path = path_of_stack(calls, group, sample->stack);
    int64_t function = path < 0 ? path : function_of_stack(calls, group, sample->stack);
    if (function < 0)
        return (int)function;
    bool placed = calls->paths.items[path].function == (uint32_t)function;
    const struct call_count count = {
        .parent = (uint32_t)path,
        .path = placed ? (uint32_t)path : 0,
        .function = (uint32_t)function,
        .calls = (uint64_t)sample_value(sets, sample, VALUE_TYPE_CALLS),
        .own_ns = (uint64_t)sample_value(sets, sample, VALUE_TYPE_WALL)};
    calls_add(calls, &count);
    calls->functions.items[function - 1].sources |= CALLS_AGGREGATED;
    return 0;
}

/* ---- Functions that the program stopped counting --------------------------------------------- */

#define ANY_PROCESS UINT32_MAX /* in keys of stops: any process stopped counting the function */

/* Takes a mark with the function's name: from now on its calls are not counted (value true), or
 * are. */
int calls_take_mark(struct calls *calls, const struct item *item)
{
    const struct trace_thread *thread = trace_thread_get(calls->trace, item->event->thread);
    uint32_t label = trace_name_label(calls->trace, item->event->name);
    if (!thread || label == 0 ||
        trace_scope(calls->trace, item->event->scope)->observer != OBSERVER_PYTHON_CALLS)
        return 0;
    const struct call_stop stop = {thread->process, label, item->begin_ns,
                                   item->event->value.uint64 != 0};
    uint64_t key = calls_key(thread->process, label);
    calls->totals.stopped_count += stop.stopped && !map64_find(&calls->stop_by_key, key);
    if (vec_push(&calls->stops, stop) != 0)
        return -ENOMEM;
    if (stop.stopped &&
        map64_put(&calls->stop_by_key, calls_key(ANY_PROCESS, label), calls->stops.count - 1) != 0)
        return -ENOMEM;
    return map64_put(&calls->stop_by_key, key, calls->stops.count - 1);
}

static bool is_stopped(const struct calls *calls, uint32_t process, uint32_t label, int64_t time_ns)
{
    const uint64_t *found = map64_find(&calls->stop_by_key, calls_key(process, label));
    const struct call_stop *stop = found ? &calls->stops.items[*found] : NULL;
    return stop && stop->stopped && stop->since_ns <= time_ns;
}

uint32_t calls_next_python(const struct stacks *stacks, uint32_t *stack)
{
    while (*stack != 0) {
        const struct stack *at = stacks_get_stack(stacks, *stack);
        const struct frame *frame = stacks_get_frame(stacks, at->frame);
        *stack = at->parent;
        if (frame->kind == FRAME_PYTHON)
            return frame->label;
    }
    return 0;
}

static int take_cpu(struct calls *calls, const struct sample *sample)
{
    const struct trace_thread *thread = trace_thread_get(calls->trace, sample->thread);
    uint32_t stack = sample->stack;
    uint32_t label = calls_next_python(trace_stacks_get(calls->trace), &stack);
    if (!thread || !is_stopped(calls, thread->process, label, sample->time_ns))
        return 0;
    const struct call_sampled sampled = {calls_group_of(calls, sample->thread), thread->process,
                                         sample->stack,
                                         sample_cpu_ns(trace_sets_get(calls->trace), sample)};
    const struct wide_key *key = WIDE_KEY(sampled.group, sampled.process, sampled.stack);
    const uint64_t *found = wide_map_find(&calls->sampled_by_key, key);
    if (found) {
        calls->sampled.items[*found].time_ns += sampled.time_ns;
        return 0;
    }
    if (vec_push(&calls->sampled, sampled) != 0)
        return -ENOMEM;
    return wide_map_put(&calls->sampled_by_key, key, calls->sampled.count - 1);
}

/* ---- All of them ----------------------------------------------------------------------------- */

int calls_take_sample(struct calls *calls, const struct sample *sample)
{
    switch (sample_role(trace_sets_get(calls->trace), sample)) {
    case SAMPLE_ROLE_CALLS:
        return take_counts(calls, sample);
    case SAMPLE_ROLE_CPU:
        return calls->stops.count > 0 && take_cpu(calls, sample) != 0 ? -ENOMEM
                                                                      : calls_see(calls, sample);
    case SAMPLE_ROLE_OFF_CPU:
        return calls_see(calls, sample);
    default:
        return 0;
    }
}

/* ---- Estimates ------------------------------------------------------------------------------- */

/* Approximate time of an empty function; the rest of the least own time of any function is the cost
 * of recording the call. If all functions take longer than an empty one can, it is unknown. */
enum { EMPTY_NS = 20, EMPTY_RECORDED_NS = 100, FEW_CALLS = 100 };

#define LEAST_PART 0.05 /* quantile; lower times come from clocks that were read late */

/* Uses functions with enough calls. */
static void find_recording(struct calls *calls)
{
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < calls->functions.count; i++) {
        const struct histogram *first = &calls->functions.items[i].first;
        if (first->count < FEW_CALLS)
            continue;
        uint64_t own_ns = histogram_quantile(calls->first, first, LEAST_PART);
        least_ns = own_ns < least_ns ? own_ns : least_ns;
    }
    bool is_known = least_ns > EMPTY_NS && least_ns <= EMPTY_RECORDED_NS;
    calls->totals.recording_ns = is_known ? least_ns - EMPTY_NS : 0;
}

/* Divides the time by the median of the counted calls: a few that met an interrupt or a cold cache
 * took a hundred times as long. */
static uint64_t estimate_calls(const struct calls *calls, const struct call_function *function,
                               uint64_t time_ns)
{
    uint64_t own_ns = histogram_quantile(calls->first, &function->first, 0.5);
    uint64_t recording_ns = calls->totals.recording_ns;
    uint64_t each_ns = own_ns > recording_ns + EMPTY_NS ? own_ns - recording_ns : EMPTY_NS;
    return function->first.count == 0 || time_ns < each_ns ? 1 : (time_ns + each_ns / 2) / each_ns;
}

/* An estimate: the sampled stack, and the time and calls that move from the caller to the
 * callee. */
struct estimate {
    struct calls *calls;
    struct map64 *edges;
    const struct call_sampled *sampled;
    uint64_t time_ns, count;
};

/* True if the group has recorded calls of the function, all or the first ones. Callers that the
 * program does not trace have samples, but no calls. */
static bool has_calls(const struct calls *calls, uint32_t group, uint32_t label)
{
    const uint64_t *found = wide_map_find(&calls->function_by_key, WIDE_KEY(group, label, 0));
    return found && calls->functions.items[*found - 1].sources;
}

/* Returns the next function of a stack, from `*stack` outwards, with calls that are recorded or
 * were until it was stopped, and sets *stack to its caller. 0: not found. */
static uint32_t next_counted(const struct calls *calls, const struct call_sampled *sampled,
                             uint32_t *stack)
{
    uint32_t label;
    do
        label = calls_next_python(trace_stacks_get(calls->trace), stack);
    while (label && !has_calls(calls, sampled->group, label) &&
           !is_stopped(calls, sampled->process, label, INT64_MAX));
    return label;
}

/* Returns the innermost function of a stack that is still counted: the time was added to its own
 * time. 0: not found. */
static uint32_t find_payer(const struct calls *calls, const struct call_sampled *sampled)
{
    uint32_t stack = sampled->stack, label;
    do
        label = next_counted(calls, sampled, &stack);
    while (label && is_stopped(calls, sampled->process, label, INT64_MAX));
    return label;
}

/* Moves the time away from that function, as far as it has any. 0 or -ENOMEM. */
static int take_from_payer(struct estimate *estimate)
{
    struct calls *calls = estimate->calls;
    uint32_t label = find_payer(calls, estimate->sampled);
    if (label == 0) { /* outside of all counted functions */
        calls->totals.own_ns += estimate->time_ns;
        return 0;
    }
    int64_t payer = calls_function_of(calls, estimate->sampled->group, label, 0);
    if (payer < 0)
        return (int)payer;
    struct call_numbers *sum = &calls->functions.items[payer - 1].sum;
    if (sum->own_ns < estimate->time_ns)
        estimate->time_ns = sum->own_ns;
    sum->own_ns -= estimate->time_ns;
    calls->functions.items[payer - 1].given_ns += estimate->time_ns;
    return 0;
}

static void give(struct estimate *estimate, int64_t callee)
{
    struct calls *calls = estimate->calls;
    struct call_function *function = &calls->functions.items[callee - 1];
    estimate->count = estimate_calls(calls, function, estimate->time_ns);
    function->sources |= CALLS_ESTIMATED;
    function->sum.calls += estimate->count;
    function->sum.primitive += estimate->count;
    function->sum.own_ns += estimate->time_ns;
    function->sum.total_ns += estimate->time_ns;
    function->estimated_calls += estimate->count;
    function->estimated_ns += estimate->time_ns;
    calls->totals.calls += estimate->count;
    calls->totals.estimated_calls += estimate->count;
    calls->totals.estimated_ns += estimate->time_ns;
}

/* Adds the time to an edge; calls and own time only if the callee is the innermost function. */
static int give_edge(const struct estimate *estimate, int64_t caller, int64_t callee,
                     bool innermost)
{
    struct calls *calls = estimate->calls;
    int64_t at = calls_edge_of(calls, estimate->edges, (uint32_t)caller, (uint32_t)callee);
    if (at < 0)
        return (int)at;
    struct call_edge *edge = &calls->edges.items[at];
    edge->sum.total_ns += estimate->time_ns;
    if (!innermost)
        return 0;
    edge->sum.own_ns += estimate->time_ns;
    edge->sum.calls += estimate->count;
    edge->sum.primitive += estimate->count;
    edge->estimated_calls += estimate->count;
    return 0;
}

/* Adds the time outwards, up to the first caller that is still counted; stopped functions on the
 * way get it in their total. */
static int give_callers(const struct estimate *estimate, int64_t callee)
{
    struct calls *calls = estimate->calls;
    uint32_t stack = estimate->sampled->stack, process = estimate->sampled->process;
    bool stopped = true, innermost = true;
    calls_next_python(trace_stacks_get(calls->trace), &stack);
    for (uint32_t label = next_counted(calls, estimate->sampled, &stack); label && stopped;
         label = next_counted(calls, estimate->sampled, &stack)) {
        int64_t caller = calls_function_of(calls, estimate->sampled->group, label, 0);
        if (caller < 0 || give_edge(estimate, caller, callee, innermost) != 0)
            return -ENOMEM;
        stopped = is_stopped(calls, process, label, INT64_MAX);
        if (stopped && caller != callee)
            calls->functions.items[caller - 1].sum.total_ns += estimate->time_ns;
        callee = caller;
        innermost = false;
    }
    return 0;
}

static int estimate_one(struct calls *calls, struct map64 *edges,
                        const struct call_sampled *sampled)
{
    struct estimate estimate = {calls, edges, sampled, sampled->time_ns, 0};
    uint32_t stack = sampled->stack;
    uint32_t label = calls_next_python(trace_stacks_get(calls->trace), &stack);
    int64_t callee = calls_function_of(calls, sampled->group, label, 0);
    if (callee < 0 || take_from_payer(&estimate) != 0)
        return -ENOMEM;
    if (estimate.time_ns == 0)
        return 0;
    give(&estimate, callee);
    return give_callers(&estimate, callee);
}

/* Marks functions with missing calls: their numbers are estimates, or too low without a sample in
 * the function. */
static void mark_partial(struct calls *calls)
{
    for (size_t i = 0; i < calls->functions.count; i++) {
        struct call_function *function = &calls->functions.items[i];
        const struct trace_thread *thread = trace_thread_get(calls->trace, function->group);
        uint32_t process = calls->options.group == CALLS_TOGETHER     ? ANY_PROCESS
                           : calls->options.group == CALLS_BY_PROCESS ? function->group
                           : thread                                   ? thread->process
                                                                      : 0;
        if (function->label != 0 && is_stopped(calls, process, function->label, INT64_MAX))
            function->sources |= CALLS_ESTIMATED;
    }
}

/* Reduces the own time on edges by the part that moved to estimated callees. */
static void take_given(struct calls *calls)
{
    for (size_t i = 0; i < calls->edges.count; i++) {
        struct call_edge *edge = &calls->edges.items[i];
        const struct call_function *callee = &calls->functions.items[edge->callee];
        uint64_t before_ns = callee->sum.own_ns - callee->estimated_ns + callee->given_ns;
        if (callee->given_ns > 0 && before_ns > 0)
            edge->sum.own_ns -=
                (uint64_t)((double)edge->sum.own_ns * (double)callee->given_ns / (double)before_ns);
    }
}

int calls_estimate(struct calls *calls)
{
    struct map64 edges = {0};
    int error = calls_place_off(calls);
    find_recording(calls);
    for (size_t i = 0; i < calls->edges.count && !error; i++)
        error = map64_put(
            &edges, calls_key(calls->edges.items[i].caller + 1, calls->edges.items[i].callee + 1),
            i);
    for (size_t i = 0; i < calls->sampled.count && !error; i++)
        error = estimate_one(calls, &edges, &calls->sampled.items[i]);
    take_given(calls);
    mark_partial(calls);
    map64_free(&edges);
    return error;
}
