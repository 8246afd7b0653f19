/* SPDX-License-Identifier: MIT */
/* What the files of the reader of pstats share. */
#ifndef ANNOT_IMPORT_FROM_PSTATS_PARTS_H
#define ANNOT_IMPORT_FROM_PSTATS_PARTS_H

#include "import_parts.h"

/* Counts and times of a function, or of its calls by another one. */
struct from_pstats_sums {
    double calls, own_ns, total_ns;
};

struct from_pstats_function {
    uint32_t name, file; /* strings; file 0: no code of Python */
    int32_t line;
    struct from_pstats_sums sums;
    uint32_t first, count; /* edges to those that it calls */
};

struct from_pstats_edge {
    uint32_t caller, callee; /* functions */
    struct from_pstats_sums sums;
};

struct from_pstats {
    struct import_sink *sink;
    VEC(struct from_pstats_function) functions;
    VEC(struct from_pstats_edge) edges; /* by caller */
    struct wide_map index;              /* by name, file and line: the function */
};

/* Samples of calls, by stacks that have the sums of all functions and edges. 0 or -errno. */
int from_pstats_tell(struct from_pstats *stats);

#endif
