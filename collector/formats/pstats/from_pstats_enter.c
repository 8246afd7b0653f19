/* SPDX-License-Identifier: MIT */
/* What comes into each ring from outside, and how it goes on in it: see from_pstats_told.c.
 *
 * Outside of rings, and of a function that calls itself, the time of a call is that of its own code
 * and of its callees. In a ring of several, it says nothing of who called whom below: what comes in
 * at A and ends at C may have passed B or not. The total time of B, which the file has, says how
 * much of it did. So a part of all that the ring does makes a detour by B, just as large that its
 * total time comes out; of several such members, the parts lie in each other, and are adjusted one
 * by one until they fit, as far as they can. */
#include "from_pstats_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
    EDGES_MAX = 1 << 14, /* of rings with detours */
    ENTRIES_MAX = 16,    /* of a ring that are looked at */
    ROUNDS = 24,
};

#define DEFICIT_MIN 1e-4 /* of the total time of a member */
#define UNFIT_MIN   1e-2

static double part_of(double part, double whole)
{
    return whole > 0 && part > 0 ? fmin(part / whole, 1) : 0;
}

/* ---- What comes from outside ----------------------------------------------------------------- */

static void add_sums(struct from_pstats_sums *sums, const struct from_pstats_sums *more, int sign)
{
    sums->calls += sign * more->calls;
    sums->own_ns += sign * more->own_ns;
    sums->total_ns += sign * more->total_ns;
}

/* Without times of edges, they have the share of the callee's that their calls have: of the total
 * time, among calls from outside of the ring. */
static void share_times(struct from_pstats *stats)
{
    for (size_t i = 0; i < stats->functions.count; i++)
        stats->functions.items[i].outside.calls = stats->functions.items[i].sums.calls;
    for (size_t i = 0; i < stats->edges.count; i++)
        if (from_pstats_inside(stats, &stats->edges.items[i]))
            stats->functions.items[stats->edges.items[i].callee].outside.calls -=
                stats->edges.items[i].sums.calls;
    for (size_t i = 0; i < stats->edges.count; i++) {
        struct from_pstats_edge *edge = &stats->edges.items[i];
        const struct from_pstats_function *callee = &stats->functions.items[edge->callee];
        double among = from_pstats_inside(stats, edge) ? callee->sums.calls : callee->outside.calls;
        if (edge->timed)
            continue;
        edge->sums.own_ns = callee->sums.own_ns * part_of(edge->sums.calls, callee->sums.calls);
        edge->sums.total_ns = callee->sums.total_ns * part_of(edge->sums.calls, among);
    }
    for (size_t i = 0; i < stats->functions.count; i++)
        stats->functions.items[i].outside.calls = 0;
}

static double below(const struct from_pstats_sums *sums)
{
    return fmax(sums->total_ns - sums->own_ns, 0);
}

/* What members call outside, and their own time there: all that a ring does. */
static double time_of_ring(const struct from_pstats *stats, const struct from_pstats_ring *ring)
{
    double all_ns = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        const struct from_pstats_function *member =
            &stats->functions.items[stats->members.items[i]];
        all_ns += member->sums.own_ns;
        for (uint32_t at = member->first; at < member->first + member->count; at++)
            if (!from_pstats_inside(stats, &stats->edges.items[at]))
                all_ns += stats->edges.items[at].sums.total_ns;
    }
    return all_ns;
}

/* Of the time that no edge brings, each member that nobody called has its share. */
static void share_roots(struct from_pstats *stats, struct from_pstats_ring *ring)
{
    double rest_ns = time_of_ring(stats, ring), calls = 0, entered = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        const struct from_pstats_function *member =
            &stats->functions.items[stats->members.items[i]];
        rest_ns -= member->outside.total_ns + fmax(member->root.own_ns, 0);
        calls += fmax(member->root.calls, 0);
        entered += member->outside.calls;
    }
    bool uncalled = calls < 0.5 && entered < 0.5; /* the profiler itself, in the module profile */
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        struct from_pstats_function *member = &stats->functions.items[stats->members.items[i]];
        struct from_pstats_sums *root = &member->root;
        *root = (struct from_pstats_sums){fmax(root->calls, 0), fmax(root->own_ns, 0), 0};
        double share = uncalled ? i == ring->first : part_of(root->calls, calls);
        root->total_ns = root->own_ns + fmax(rest_ns, 0) * share;
        add_sums(&member->outside, root, 1);
        ring->calls += member->outside.calls;
        ring->below_ns += below(&member->outside);
    }
}

static void find_outside(struct from_pstats *stats)
{
    for (size_t i = 0; i < stats->functions.count; i++)
        stats->functions.items[i].root = stats->functions.items[i].sums;
    for (size_t i = 0; i < stats->edges.count; i++) {
        const struct from_pstats_edge *edge = &stats->edges.items[i];
        struct from_pstats_function *callee = &stats->functions.items[edge->callee];
        add_sums(&callee->root, &edge->sums, -1);
        if (!from_pstats_inside(stats, edge))
            add_sums(&callee->outside, &edge->sums, 1);
    }
    for (size_t i = 0; i < stats->rings.count; i++)
        share_roots(stats, &stats->rings.items[i]);
}

/* ---- Detours --------------------------------------------------------------------------------- */

struct ranked {
    uint32_t function;
    double size;
};

struct plan {
    struct from_pstats *stats;
    const struct from_pstats_ring *ring;
    struct from_pstats_detours detours;
    struct ranked entries[ENTRIES_MAX]; /* members by what comes in there */
    uint32_t entry_count;
    VEC(double) covered_ns; /* by function: how long it is on the stacks */
    VEC(uint32_t) passed;   /* by function: the turn in which the way so far has passed it */
    uint32_t turn;
    double all_ns; /* of what comes in at the entries */
    int error;
};

/* The largest first. Returns how many there are then. */
static uint32_t rank(struct ranked *largest, uint32_t count, uint32_t max, struct ranked fresh)
{
    uint32_t at = count < max ? count : max - 1;
    if (count == max && largest[at].size >= fresh.size)
        return count;
    for (; at && largest[at - 1].size < fresh.size; at--)
        largest[at] = largest[at - 1];
    largest[at] = fresh;
    return count < max ? count + 1 : count;
}

static void cover(struct plan *plan, uint32_t function, double time_ns)
{
    if (plan->passed.items[function] != plan->turn)
        plan->covered_ns.items[function] += time_ns;
}

/* The way so far goes on to the function. */
static void pass(struct plan *plan, uint32_t function)
{
    const struct from_pstats_function *functions = plan->stats->functions.items;
    for (uint32_t at = function; at != FROM_PSTATS_NO_FUNCTION; at = functions[at].above)
        plan->passed.items[at] = plan->turn;
}

/* What the edge takes lies on the way to its caller, and if it stays inside, on its callee. */
static double cover_edge(struct plan *plan, const struct from_pstats_edge *edge, double part)
{
    const struct from_pstats_function *functions = plan->stats->functions.items;
    bool inside = from_pstats_inside(plan->stats, edge), met = !inside;
    double time_ns = part * (inside ? edge->sums.own_ns : edge->sums.total_ns);
    for (uint32_t at = edge->caller; at != FROM_PSTATS_NO_FUNCTION; at = functions[at].above) {
        cover(plan, at, time_ns);
        met = met || at == edge->callee;
    }
    if (!met)
        cover(plan, edge->callee, time_ns);
    return time_ns;
}

/* All members from where the way has got to. */
static void cover_members(struct plan *plan, double part)
{
    const struct from_pstats *stats = plan->stats;
    const struct from_pstats_ring *ring = plan->ring;
    double all_ns = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        const struct from_pstats_function *member =
            &stats->functions.items[stats->members.items[i]];
        for (uint32_t at = member->first; at < member->first + member->count; at++)
            all_ns += cover_edge(plan, &stats->edges.items[at], part);
    }
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++)
        if (plan->passed.items[stats->members.items[i]] == plan->turn)
            plan->covered_ns.items[stats->members.items[i]] += all_ns;
}

static void look(struct plan *plan, uint32_t function)
{
    int error = from_pstats_ways(plan->stats, function);
    plan->error = plan->error ? plan->error : error;
}

/* What comes in at an entry, with all detours. */
static void cover_from(struct plan *plan, const struct ranked *entry)
{
    const struct from_pstats_detours *detours = &plan->detours;
    double share = entry->size / plan->all_ns, before = 1;
    plan->turn++;
    look(plan, entry->function);
    pass(plan, entry->function);
    for (uint32_t i = 0; i <= detours->count; i++) {
        cover_members(plan, share * (before - detours->part[i]));
        before = detours->part[i];
        if (i == detours->count || before <= 0)
            break;
        pass(plan, detours->via[i]);
        look(plan, detours->via[i]);
    }
}

static void measure(struct plan *plan)
{
    const struct from_pstats_ring *ring = plan->ring;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        uint32_t member = plan->stats->members.items[i];
        plan->covered_ns.items[member] = plan->stats->functions.items[member].outside.own_ns;
    }
    for (uint32_t i = 0; i < plan->entry_count; i++)
        cover_from(plan, &plan->entries[i]);
}

static double missing(const struct plan *plan, uint32_t function)
{
    return plan->stats->functions.items[function].sums.total_ns - plan->covered_ns.items[function];
}

/* What part of that which does not pass by the function has to. */
static double part_missing(const struct plan *plan, uint32_t function)
{
    double elsewhere_ns = plan->ring->below_ns - plan->covered_ns.items[function];
    return elsewhere_ns > 0 ? missing(plan, function) / elsewhere_ns : 0;
}

/* The largest parts first. */
static void set_parts(struct plan *plan, const struct ranked *parts, uint32_t count)
{
    struct from_pstats_detours *detours = &plan->detours;
    struct ranked largest[FROM_PSTATS_DETOURS];
    for (uint32_t i = 0; i < count; i++)
        rank(largest, i, FROM_PSTATS_DETOURS, parts[i]);
    detours->count = count;
    for (uint32_t i = 0; i < count; i++) {
        detours->via[i] = largest[i].function;
        detours->part[i] = fmax(0, fmin(largest[i].size, 1));
    }
    detours->part[count] = 0;
}

/* The members whose total times lack most. */
static void choose(struct plan *plan)
{
    struct ranked lack[FROM_PSTATS_DETOURS];
    const struct from_pstats_ring *ring = plan->ring;
    uint32_t count = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        uint32_t member = plan->stats->members.items[i];
        double lacks_ns = missing(plan, member);
        if (lacks_ns > DEFICIT_MIN * plan->stats->functions.items[member].sums.total_ns)
            count = rank(lack, count, FROM_PSTATS_DETOURS, (struct ranked){member, lacks_ns});
    }
    for (uint32_t i = 0; i < count; i++)
        lack[i].size = part_missing(plan, lack[i].function);
    set_parts(plan, lack, count);
}

/* Each by what it lacks or has too much. */
static void adjust(struct plan *plan)
{
    const struct from_pstats_detours *detours = &plan->detours;
    struct ranked parts[FROM_PSTATS_DETOURS];
    for (uint32_t i = 0; i < detours->count; i++)
        parts[i] =
            (struct ranked){detours->via[i], detours->part[i] + missing(plan, detours->via[i]) /
                                                                    plan->ring->below_ns};
    set_parts(plan, parts, detours->count);
}

static void find_entries(struct plan *plan)
{
    const struct from_pstats_ring *ring = plan->ring;
    plan->entry_count = 0;
    plan->all_ns = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        uint32_t member = plan->stats->members.items[i];
        double size = below(&plan->stats->functions.items[member].outside);
        if (size > 0)
            plan->entry_count =
                rank(plan->entries, plan->entry_count, ENTRIES_MAX, (struct ranked){member, size});
    }
    for (uint32_t i = 0; i < plan->entry_count; i++)
        plan->all_ns += plan->entries[i].size;
}

static uint64_t count_unfit(const struct plan *plan)
{
    const struct from_pstats_ring *ring = plan->ring;
    uint64_t unfit = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++) {
        uint32_t member = plan->stats->members.items[i];
        double total_ns = plan->stats->functions.items[member].sums.total_ns;
        unfit += fabs(missing(plan, member)) > UNFIT_MIN * total_ns;
    }
    return unfit;
}

static int plan_detours(struct plan *plan, struct from_pstats_ring *ring)
{
    measure(plan);
    choose(plan);
    for (int i = 0; i < ROUNDS && plan->detours.count && !plan->error; i++) {
        measure(plan);
        adjust(plan);
    }
    measure(plan);
    plan->stats->unfit += count_unfit(plan);
    if (!plan->detours.count || plan->error)
        return plan->error;
    ring->detours = 1 + (uint32_t)plan->stats->detours.count;
    return vec_push(&plan->stats->detours, plan->detours);
}

static int plan_ring(struct plan *plan, struct from_pstats_ring *ring)
{
    uint64_t edges = 0;
    for (uint32_t i = ring->first; i < ring->first + ring->count; i++)
        edges += plan->stats->functions.items[plan->stats->members.items[i]].count;
    plan->ring = ring;
    plan->detours = (struct from_pstats_detours){0};
    find_entries(plan);
    if (edges <= EDGES_MAX && plan->all_ns > 0)
        return plan_detours(plan, ring);
    plan->stats->unfit += ring->count;
    return 0;
}

int from_pstats_enter(struct from_pstats *stats)
{
    struct plan plan = {.stats = stats};
    size_t count = stats->functions.count;
    int error = vec_reserve(&plan.covered_ns, count);
    if (!error)
        error = vec_reserve(&plan.passed, count);
    for (size_t i = 0; !error && i < count; i++)
        plan.passed.items[i] = 0;
    if (!error)
        share_times(stats);
    if (!error)
        find_outside(stats);
    for (size_t i = 0; i < stats->rings.count && !error; i++) {
        struct from_pstats_ring *ring = &stats->rings.items[i];
        if (ring->count > 1)
            error = plan_ring(&plan, ring);
    }
    vec_free(&plan.covered_ns);
    vec_free(&plan.passed);
    return error ? -ENOMEM : 0;
}
