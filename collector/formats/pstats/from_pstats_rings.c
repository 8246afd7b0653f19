/* SPDX-License-Identifier: MIT */
/* Rings of functions that call each other: Tarjan's strongly connected components, and Dijkstra's
 * widest paths in them. Iterative, as the call depth may equal the file's length. */
#include "from_pstats_rings.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A function on the search path, and its next edge. */
struct visit {
    uint32_t function, edge;
};

struct search {
    struct from_pstats *stats;
    VEC(uint32_t) numbers; /* by function: order of the visit from 1; 0: not visited */
    VEC(uint32_t) lowest;  /* by function: lowest number reachable among functions without a ring */
    VEC(struct visit) path;
    VEC(uint32_t) waiting; /* visited functions without a ring */
    uint32_t number;
};

enum { NO_RING = UINT32_MAX };

static int meet(struct search *search, uint32_t function)
{
    const struct visit visit = {function, search->stats->functions.items[function].first};
    search->numbers.items[function] = search->lowest.items[function] = ++search->number;
    return vec_push(&search->path, visit) != 0 || vec_push(&search->waiting, function) != 0
               ? -ENOMEM
               : 0;
}

static void lower(struct search *search, uint32_t function, uint32_t to)
{
    uint32_t *lowest = &search->lowest.items[function];
    *lowest = to < *lowest ? to : *lowest;
}

/* Closes a ring: the function reaches nothing earlier, so all functions waiting since it belong to
 * its ring. */
static int close_ring(struct search *search, uint32_t function)
{
    struct from_pstats *stats = search->stats;
    struct from_pstats_ring ring = {.first = (uint32_t)stats->members.count};
    uint32_t member;
    do {
        member = search->waiting.items[--search->waiting.count];
        stats->functions.items[member].ring = (uint32_t)stats->rings.count;
        if (vec_push(&stats->members, member) != 0)
            return -ENOMEM;
        ring.count++;
    } while (member != function);
    return vec_push(&stats->rings, ring) != 0 ? -ENOMEM : 0;
}

/* Follows one edge, or returns to the caller. */
static int step(struct search *search)
{
    struct from_pstats *stats = search->stats;
    struct visit *visit = &search->path.items[search->path.count - 1];
    const struct from_pstats_function *function = &stats->functions.items[visit->function];
    if (visit->edge < function->first + function->count) {
        uint32_t callee = stats->edges.items[visit->edge++].callee;
        if (!search->numbers.items[callee])
            return meet(search, callee);
        if (stats->functions.items[callee].ring == NO_RING)
            lower(search, visit->function, search->numbers.items[callee]);
        return 0;
    }
    uint32_t done = visit->function;
    search->path.count--;
    if (search->path.count)
        lower(search, search->path.items[search->path.count - 1].function,
              search->lowest.items[done]);
    return search->lowest.items[done] == search->numbers.items[done] ? close_ring(search, done) : 0;
}

int from_pstats_rings(struct from_pstats *stats)
{
    struct search search = {.stats = stats};
    size_t count = stats->functions.count;
    int error = vec_reserve(&search.numbers, count) || vec_reserve(&search.lowest, count);
    error = error ? -ENOMEM : 0;
    for (size_t i = 0; !error && i < count; i++) {
        search.numbers.items[i] = 0;
        stats->functions.items[i].ring = NO_RING;
    }
    for (size_t i = 0; !error && i < count; i++) {
        if (!search.numbers.items[i])
            error = meet(&search, (uint32_t)i);
        while (!error && search.path.count)
            error = step(&search);
    }
    vec_free(&search.numbers);
    vec_free(&search.lowest);
    vec_free(&search.path);
    vec_free(&search.waiting);
    return error;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/* Prefers the way with the longer shortest call, then the one with fewer steps. */
static bool is_wider(const struct from_pstats_way *a, const struct from_pstats_way *b)
{
    return a->width_ns > b->width_ns || (a->width_ns == b->width_ns && a->steps < b->steps);
}

/* Pushes onto a heap, widest first. */
static int push(struct from_pstats *stats, const struct from_pstats_way *way)
{
    if (vec_push(&stats->ways, *way) != 0)
        return -ENOMEM;
    size_t at = stats->ways.count - 1;
    for (; at && is_wider(way, &stats->ways.items[(at - 1) / 2]); at = (at - 1) / 2)
        stats->ways.items[at] = stats->ways.items[(at - 1) / 2];
    stats->ways.items[at] = *way;
    return 0;
}

static struct from_pstats_way pop(struct from_pstats *stats)
{
    struct from_pstats_way *ways = stats->ways.items;
    const struct from_pstats_way first = ways[0], last = ways[--stats->ways.count];
    size_t at = 0, count = stats->ways.count, child;
    for (; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_wider(&ways[child + 1], &ways[child]);
        if (!is_wider(&ways[child], &last))
            break;
        ways[at] = ways[child];
    }
    ways[at] = last;
    return first;
}

static int push_callees(struct from_pstats *stats, const struct from_pstats_way *way)
{
    const struct from_pstats_function *functions = stats->functions.items;
    const struct from_pstats_function *caller = &functions[way->function];
    int error = 0;
    for (uint32_t i = caller->first; i < caller->first + caller->count && !error; i++) {
        const struct from_pstats_edge *edge = &stats->edges.items[i];
        const struct from_pstats_way next = {.function = edge->callee,
                                             .above = way->function,
                                             .steps = way->steps + 1,
                                             .width_ns = fmin(way->width_ns, edge->sums.total_ns)};
        bool fresh = functions[edge->callee].above == edge->callee;
        if (fresh && from_pstats_inside(stats, edge))
            error = push(stats, &next);
    }
    return error;
}

int from_pstats_ways(struct from_pstats *stats, uint32_t function)
{
    struct from_pstats_function *functions = stats->functions.items;
    const struct from_pstats_ring *ring = &stats->rings.items[functions[function].ring];
    uint32_t *members = stats->members.items + ring->first, found = 0;
    const struct from_pstats_way begin = {
        .function = function, .above = FROM_PSTATS_NO_FUNCTION, .width_ns = INFINITY};
    for (uint32_t i = 0; i < ring->count; i++)
        functions[members[i]].above = members[i]; /* not visited */
    stats->ways.count = 0;
    int error = push(stats, &begin);
    while (!error && stats->ways.count) {
        const struct from_pstats_way way = pop(stats);
        if (functions[way.function].above != way.function)
            continue;
        functions[way.function].above = way.above;
        members[found++] = way.function; /* safe to overwrite: all members are reachable */
        error = push_callees(stats, &way);
    }
    return error;
}

/* ---- Calls into rings ------------------------------------------------------------------------ */

/* The inflow of each ring and its distribution inside: see from_pstats.c.
 *
 * Outside of rings, and for functions that call themselves, the time of a call is that of its own
 * code and its callees. In a ring of several functions it does not give the calls below: a call
 * that enters at A and ends at C may have passed B or not. The total time of B in the file gives
 * the amount that did. So a part of the ring's time is routed through B, just large enough to match
 * B's total time. With several such members the parts are nested and are adjusted in turn until
 * they fit as well as possible. */

enum {
    EDGES_MAX = 1 << 14, /* limit for rings with detours */
    ENTRIES_MAX = 16,    /* considered per ring */
    ROUNDS = 24,
};

#define DEFICIT_MIN 1e-4 /* as part of a member's total time */

#define UNFIT_MIN 1e-2

static double part_of(double part, double whole)
{
    return whole > 0 && part > 0 ? fmin(part / whole, 1) : 0;
}

/* ---- Inflow ---------------------------------------------------------------------------------- */

static void add_sums(struct from_pstats_sums *sums, const struct from_pstats_sums *more, int sign)
{
    sums->calls += sign * more->calls;
    sums->own_ns += sign * more->own_ns;
    sums->total_ns += sign * more->total_ns;
}

/* If the file has no times for edges, splits the total time of each callee by calls: among its
 * calls from outside the ring. */
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

/* The total time of a ring: the members' own time and their calls to functions outside. */
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

/* Gives members without callers their share of the time that no edge brings in. */
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
    bool uncalled =
        calls < 0.5 && entered < 0.5; /* such as the profiler itself in the module profile */
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
    struct ranked entries[ENTRIES_MAX]; /* members by inflow */
    uint32_t entry_count;
    VEC(double) covered_ns; /* by function: time on the stacks */
    VEC(uint32_t) passed;   /* by function: last turn with a way through it */
    uint32_t turn;
    double all_ns; /* inflow of all entries */
    int error;
};

/* Inserts into a list sorted by descending size. Returns the new count. */
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

/* Extends the way to the function. */
static void pass(struct plan *plan, uint32_t function)
{
    const struct from_pstats_function *functions = plan->stats->functions.items;
    for (uint32_t at = function; at != FROM_PSTATS_NO_FUNCTION; at = functions[at].above)
        plan->passed.items[at] = plan->turn;
}

/* Adds an edge's time to the functions on the way to its caller, and for an inner edge to its
 * callee. */
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

/* Adds the time of all members, reached from the end of the current way. */
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

/* Adds the inflow of an entry, with all detours. */
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

/* The part of the time not passing the function that must be routed through it. */
static double part_missing(const struct plan *plan, uint32_t function)
{
    double elsewhere_ns = plan->ring->below_ns - plan->covered_ns.items[function];
    return elsewhere_ns > 0 ? missing(plan, function) / elsewhere_ns : 0;
}

/* Keeps the largest parts, in descending order. */
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

/* Chooses the members with the largest missing times. */
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

/* Changes each part by the member's missing or excess time. */
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
