/* SPDX-License-Identifier: MIT */
/* Stacks that have the sums of a file of pstats.
 *
 * The file says what each function took, and what of it came from which caller, but not by which
 * stacks. So, as gprof does, what a function calls is taken to be the same for all its callers:
 * from those without callers on, what flows into a function flows on to those that it calls, by
 * their shares. That keeps the calls and times of all functions and of all pairs of caller and
 * callee; stacks of three and more are estimates. Functions that call each other in a ring come
 * again, with less each time. What is too little to flow on is told as pairs in the end.
 */
#include "from_pstats_parts.h"

#include "stacks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 200, STACKS_MAX = 500000 };

#define LEAST_PART 1e-6 /* of all: less does not flow on */

/* Of an edge: what was told of it. Rounding is made good by what comes next. */
struct flow {
    double calls, own_ns; /* as they are */
    int64_t told_calls, told_ns;
};

struct teller {
    struct from_pstats *stats;
    struct import_sink *sink;
    uint16_t set;
    uint32_t thread, depth, told;
    int64_t end_ns;
    double least_ns;
    VEC(uint32_t) frames;                /* by function */
    VEC(struct from_pstats_sums) wholes; /* by function: of all calls; total: without its own */
    VEC(struct from_pstats_sums) roots;  /* by function: what nobody called */
    VEC(struct flow) flows;              /* by edge */
};

static double part_of(double part, double whole)
{
    return whole > 0 && part > 0 ? (part < whole ? part / whole : 1) : 0;
}

/* What part of all that a function calls is called by these calls of it. */
static double share_of(const struct teller *teller, uint32_t function,
                       const struct from_pstats_sums *sums)
{
    const struct from_pstats_sums *whole = &teller->wholes.items[function];
    double below_ns = sums->total_ns - sums->own_ns;
    return whole->total_ns >= 0.5 ? part_of(below_ns, whole->total_ns)
                                  : part_of(sums->calls, whole->calls);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int put(struct teller *teller, uint32_t stack, int64_t calls, int64_t own_ns)
{
    const int64_t values[] = {calls > 0 ? calls : 0, own_ns > 0 ? own_ns : 0};
    const struct sample sample = {.set = teller->set,
                                  .thread = teller->thread,
                                  .time_ns = 1,
                                  .end_ns = teller->end_ns,
                                  .stack = stack,
                                  .values = values,
                                  .value_count = 2};
    return values[0] || values[1] ? import_sample(teller->sink, &sample) : 0;
}

/* A part of an edge, but no more than is left of it. */
static int put_edge(struct teller *teller, uint32_t index, uint32_t stack, double share)
{
    const struct from_pstats_sums *sums = &teller->stats->edges.items[index].sums;
    struct flow *flow = &teller->flows.items[index];
    flow->calls = fmin(flow->calls + share * sums->calls, sums->calls);
    flow->own_ns = fmin(flow->own_ns + share * sums->own_ns, sums->own_ns);
    int64_t calls = llround(flow->calls) - flow->told_calls;
    int64_t own_ns = llround(flow->own_ns) - flow->told_ns;
    flow->told_calls += calls;
    flow->told_ns += own_ns;
    teller->told++;
    return put(teller, stack, calls, own_ns);
}

/* ---- What flows on --------------------------------------------------------------------------- */

static int flow_on(struct teller *teller, uint32_t function, uint32_t stack, double share)
{
    const struct from_pstats *stats = teller->stats;
    const struct from_pstats_function *caller = &stats->functions.items[function];
    int error = 0;
    teller->depth++;
    for (uint32_t i = caller->first; i < caller->first + caller->count && !error; i++) {
        const struct from_pstats_edge *edge = &stats->edges.items[i];
        const struct from_pstats_sums sums = {edge->sums.calls * share, edge->sums.own_ns * share,
                                              edge->sums.total_ns * share};
        bool goes_on = sums.total_ns - sums.own_ns >= teller->least_ns &&
                       teller->depth < DEPTH_MAX && teller->told < STACKS_MAX;
        if (sums.total_ns < teller->least_ns && teller->depth > 1)
            continue; /* told in the end */
        uint32_t below = import_stack(teller->sink, stack, teller->frames.items[edge->callee]);
        error = put_edge(teller, i, below, share);
        double on = share_of(teller, edge->callee, &sums);
        if (!error && goes_on && on > 0)
            error = flow_on(teller, edge->callee, below, on);
    }
    teller->depth--;
    return error;
}

static int begin_root(struct teller *teller, uint32_t function)
{
    const struct from_pstats_sums *sums = &teller->roots.items[function];
    if (sums->calls < 0.5 && sums->own_ns < 0.5)
        return 0;
    uint32_t stack = import_stack(teller->sink, 0, teller->frames.items[function]);
    int error = put(teller, stack, llround(sums->calls), llround(sums->own_ns));
    double share = share_of(teller, function, sums);
    return error || share <= 0 ? error : flow_on(teller, function, stack, share);
}

static int tell_rest(struct teller *teller, uint32_t index)
{
    const struct from_pstats_edge *edge = &teller->stats->edges.items[index];
    const struct flow *flow = &teller->flows.items[index];
    if (llround(edge->sums.calls) == flow->told_calls &&
        llround(edge->sums.own_ns) == flow->told_ns)
        return 0;
    uint32_t caller = import_stack(teller->sink, 0, teller->frames.items[edge->caller]);
    uint32_t pair = import_stack(teller->sink, caller, teller->frames.items[edge->callee]);
    return put_edge(teller, index, pair, 1);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void find_roots(struct teller *teller)
{
    const struct from_pstats *stats = teller->stats;
    for (size_t i = 0; i < stats->functions.count; i++)
        teller->roots.items[i] = stats->functions.items[i].sums;
    for (size_t i = 0; i < stats->edges.count; i++) {
        const struct from_pstats_edge *edge = &stats->edges.items[i];
        struct from_pstats_sums *root = &teller->roots.items[edge->callee];
        root->calls -= edge->sums.calls;
        root->own_ns -= edge->sums.own_ns;
        if (edge->caller != edge->callee)
            root->total_ns -= edge->sums.total_ns;
    }
}

static void add_whole(struct teller *teller, uint32_t function, const struct from_pstats_sums *sums)
{
    struct from_pstats_sums *whole = &teller->wholes.items[function];
    whole->calls += fmax(sums->calls, 0);
    whole->total_ns += fmax(sums->total_ns - sums->own_ns, 0);
}

static void find_wholes(struct teller *teller)
{
    const struct from_pstats *stats = teller->stats;
    for (uint32_t i = 0; i < stats->functions.count; i++)
        add_whole(teller, i, &teller->roots.items[i]);
    for (size_t i = 0; i < stats->edges.count; i++)
        add_whole(teller, stats->edges.items[i].callee, &stats->edges.items[i].sums);
}

static void make_frames(struct teller *teller)
{
    for (size_t i = 0; i < teller->stats->functions.count; i++) {
        const struct from_pstats_function *function = &teller->stats->functions.items[i];
        const struct import_frame frame = {.function = function->name,
                                           .file = function->file,
                                           .first_line = function->line,
                                           .kind = function->file ? FRAME_PYTHON : FRAME_NATIVE};
        teller->frames.items[i] = import_frame(teller->sink, &frame);
    }
}

/* A thread, and a set for calls; the time that all of it took. 0 or -errno. */
static int begin(struct teller *teller)
{
    struct import_sink *sink = teller->sink;
    const struct import_id one = {.number = 1};
    const struct sample_set set = {.name = import_text(sink, "calls"),
                                   .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   .count = 2,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    int64_t number = sample_sets_add(trace_sets(sink->trace), &set);
    uint32_t process = import_process(sink, &one);
    double all_ns = 0;
    teller->thread = import_thread(sink, process, &one);
    teller->set = number < 0 ? 0 : (uint16_t)number;
    if (number < 0 || sink->error)
        return number < 0 ? (int)number : sink->error;
    trace_process(sink->trace, process)->name =
        import_text(sink, text_base_name(sink->options->source));
    for (size_t i = 0; i < teller->stats->functions.count; i++)
        all_ns += teller->stats->functions.items[i].sums.own_ns;
    teller->least_ns = all_ns * LEAST_PART;
    if (all_ns > (double)IMPORT_TIME_MAX / 2) {
        import_problem(sink, "times that cannot be", 0);
        return -EBADMSG;
    }
    teller->end_ns = 2 + llround(all_ns);
    return 0;
}

static int make_tables(struct teller *teller)
{
    size_t functions = teller->stats->functions.count, edges = teller->stats->edges.count;
    if (vec_reserve(&teller->frames, functions) != 0 ||
        vec_reserve(&teller->wholes, functions) != 0 ||
        vec_reserve(&teller->roots, functions) != 0 || vec_reserve(&teller->flows, edges) != 0)
        return -ENOMEM;
    if (functions)
        memset(teller->wholes.items, 0, functions * sizeof(*teller->wholes.items));
    if (edges)
        memset(teller->flows.items, 0, edges * sizeof(*teller->flows.items));
    return 0;
}

int from_pstats_tell(struct from_pstats *stats)
{
    struct teller teller = {.stats = stats, .sink = stats->sink};
    int error = begin(&teller);
    if (!error)
        error = make_tables(&teller);
    if (!error) {
        make_frames(&teller);
        find_roots(&teller);
        find_wholes(&teller);
    }
    for (uint32_t i = 0; i < stats->functions.count && !error; i++)
        error = begin_root(&teller, i);
    for (uint32_t i = 0; i < stats->edges.count && !error; i++)
        error = tell_rest(&teller, i);
    vec_free(&teller.frames);
    vec_free(&teller.wholes);
    vec_free(&teller.roots);
    vec_free(&teller.flows);
    if (!error)
        import_note(stats->sink, "the file has callers but no stacks: those of three and more "
                                 "functions are estimates, as are total times of recursion");
    return error ? error : stats->sink->error;
}
