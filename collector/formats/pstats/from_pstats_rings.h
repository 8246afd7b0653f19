/* SPDX-License-Identifier: MIT */
/* Functions of a pstats file, their calls, and the rings of functions that call each other.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_FROM_PSTATS_RINGS_H
#define ANNOT_FROM_PSTATS_RINGS_H

#include "hash_map.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct import_sink;

/* Counts and times of a function, or of its calls by another one. */
struct from_pstats_sums {
    double calls, own_ns, total_ns;
};

struct from_pstats_function {
    uint32_t name, file; /* strings; file 0: not Python code */
    int32_t line;
    struct from_pstats_sums sums;
    struct from_pstats_sums root;    /* of calls without a caller */
    struct from_pstats_sums outside; /* of those, and of calls from other rings */
    uint32_t first, count;           /* edges to its callees */
    uint32_t ring;
    uint32_t above; /* previous function on the way; NO_FUNCTION: start of the way */
};

struct from_pstats_edge {
    uint32_t caller, callee; /* functions */
    struct from_pstats_sums sums;
    bool timed; /* the file has its time */
};

/* A strongly connected component of the call graph, usually a single function. On every stack the
 * members of a ring are contiguous. */
struct from_pstats_ring {
    uint32_t first, count; /* range of members */
    uint32_t detours;      /* 1 + index; 0 without detours */
    double calls;          /* from outside the ring */
    double below_ns;       /* total minus own time of those calls */
};

/* A way to a function of a ring. */
struct from_pstats_way {
    uint32_t function, above, steps;
    double width_ns; /* the shortest time of a call on the way */
};

enum { FROM_PSTATS_DETOURS = 48 };

/* Members through which a part of the ring's time passes. Parts decrease: part i passes members 0
 * to i. */
struct from_pstats_detours {
    uint32_t via[FROM_PSTATS_DETOURS];    /* functions */
    double part[FROM_PSTATS_DETOURS + 1]; /* the last is 0 */
    uint32_t count;
};

struct from_pstats {
    struct import_sink *sink;
    VEC(struct from_pstats_function) functions;
    VEC(struct from_pstats_edge) edges; /* sorted by caller */
    struct wide_map index;              /* name, file and line to function */
    VEC(struct from_pstats_ring) rings;
    VEC(uint32_t) members; /* functions, sorted by ring */
    VEC(struct from_pstats_detours) detours;
    VEC(struct from_pstats_way) ways; /* heap of the search */
    uint64_t unfit;                   /* functions with total times that cannot be met */
    bool sampled;                     /* by pyinstrument: times without calls */
};

static inline bool from_pstats_inside(const struct from_pstats *stats,
                                      const struct from_pstats_edge *edge)
{
    return stats->functions.items[edge->caller].ring == stats->functions.items[edge->callee].ring;
}

enum { FROM_PSTATS_NO_FUNCTION = UINT32_MAX };

/* Finds the rings. Call once all edges are added. 0 or -ENOMEM. */
int from_pstats_rings(struct from_pstats *stats);

/* Finds the widest way, and so the most likely one, from a function to each member of its ring.
 * Sets `above` and sorts the members so that each follows the one above it. 0 or -ENOMEM. */
int from_pstats_ways(struct from_pstats *stats, uint32_t function);

/* Computes the input of each ring, and detours that make the total times of its members match the
 * file. 0 or -ENOMEM. */
int from_pstats_enter(struct from_pstats *stats);

#endif
