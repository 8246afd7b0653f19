/* SPDX-License-Identifier: MIT */
/* Functions that call each other in rings: Tarjan's strongly connected components, and Dijkstra's
 * widest ways in them. Nothing calls itself here, as files may be as deep as they are long. */
#include "from_pstats_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A function that is looked at, and the next of its edges. */
struct visit {
    uint32_t function, edge;
};

struct search {
    struct from_pstats *stats;
    VEC(uint32_t) numbers; /* by function: when it was met, from 1 on; 0: not yet */
    VEC(uint32_t) lowest;  /* by function: the first one that it leads to and that has no ring */
    VEC(struct visit) path;
    VEC(uint32_t) waiting; /* functions without a ring so far */
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

/* The function leads to none that came before it: those that came since and wait are its ring. */
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

/* One edge further, or back. */
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

/* Of two ways to a function the wider one is better: that whose narrowest call took longest. */
static bool is_wider(const struct from_pstats_way *a, const struct from_pstats_way *b)
{
    return a->width_ns > b->width_ns || (a->width_ns == b->width_ns && a->steps < b->steps);
}

/* A heap, the widest first. */
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
        functions[members[i]].above = members[i]; /* not met yet */
    stats->ways.count = 0;
    int error = push(stats, &begin);
    while (!error && stats->ways.count) {
        const struct from_pstats_way way = pop(stats);
        if (functions[way.function].above != way.function)
            continue;
        functions[way.function].above = way.above;
        members[found++] = way.function; /* what stood there is met again: all lead to all */
        error = push_callees(stats, &way);
    }
    return error;
}
