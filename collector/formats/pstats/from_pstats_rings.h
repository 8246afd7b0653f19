/* SPDX-License-Identifier: MIT */
/* Functions of a file of pstats, their calls, and the rings of functions that call each other.
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
    uint32_t name, file; /* strings; file 0: no code of Python */
    int32_t line;
    struct from_pstats_sums sums;
    struct from_pstats_sums root;    /* of the calls that no function made */
    struct from_pstats_sums outside; /* of those, and of calls by functions of other rings */
    uint32_t first, count;           /* edges to those that it calls */
    uint32_t ring;
    uint32_t above; /* function: one step back on the way here; NO_FUNCTION: it begins here */
};

struct from_pstats_edge {
    uint32_t caller, callee; /* functions */
    struct from_pstats_sums sums;
    bool timed; /* the file has its times */
};

/* Functions that call each other in a ring, each of them by way of the others; most are alone. On
 * any stack, those of one ring follow one another without others between them. */
struct from_pstats_ring {
    uint32_t first, count; /* of the members */
    uint32_t detours;      /* 1 + index; 0: none */
    double calls;          /* from outside */
    double below_ns;       /* of those, without their own time */
};

/* To a function of a ring. */
struct from_pstats_way {
    uint32_t function, above, steps;
    double width_ns; /* the shortest time of a pair of caller and callee */
};

enum { FROM_PSTATS_DETOURS = 48 };

/* What a ring does comes by way of all of these members up to one: parts of it, that fall. */
struct from_pstats_detours {
    uint32_t via[FROM_PSTATS_DETOURS];    /* functions */
    double part[FROM_PSTATS_DETOURS + 1]; /* the last is 0 */
    uint32_t count;
};

struct from_pstats {
    struct import_sink *sink;
    VEC(struct from_pstats_function) functions;
    VEC(struct from_pstats_edge) edges; /* by caller */
    struct wide_map index;              /* by name, file and line: the function */
    VEC(struct from_pstats_ring) rings;
    VEC(uint32_t) members; /* functions, by ring */
    VEC(struct from_pstats_detours) detours;
    VEC(struct from_pstats_way) ways; /* that are looked at */
    uint64_t unfit;                   /* functions whose total times do not come out */
    bool sampled;                     /* by pyinstrument: times without calls */
};

static inline bool from_pstats_inside(const struct from_pstats *stats,
                                      const struct from_pstats_edge *edge)
{
    return stats->functions.items[edge->caller].ring == stats->functions.items[edge->callee].ring;
}

enum { FROM_PSTATS_NO_FUNCTION = UINT32_MAX };

/* Finds the rings, once all edges are there. 0 or -ENOMEM. */
int from_pstats_rings(struct from_pstats *stats);

/* The widest ways from a function to all of its ring, as `above`: those that most likely led there.
 * A member comes behind the one above it then. 0 or -ENOMEM. */
int from_pstats_ways(struct from_pstats *stats, uint32_t function);

/* What comes from outside of each ring, and the detours in it that make the total times of its
 * members those of the file. 0 or -ENOMEM. */
int from_pstats_enter(struct from_pstats *stats);

#endif
