/* SPDX-License-Identifier: MIT */
/* Of annot_wire.h: calls of functions, one by one and counted. Numbers are append-only.
 *
 * A CODE, "QUALNAME\x1fFILE\x1fLINE\x1fKIND", is a function of a program in Python, or one that
 * such a program calls; a PUSH with its id is a call. A STACK, "PARENT\x1fCODE\x1fLINE", is a place
 * in it and the STACK that called it, by ids in hexadecimal; what was counted there is a sum.
 * docs/wire-format.md, sections 5 to 8. */
#ifndef ANNOT_WIRE_CALLS_H
#define ANNOT_WIRE_CALLS_H

#include <stdint.h>

/* Calls of functions have this level, and to filters these domains, in which each is a category:
 * one of FUNCTIONs, one of CODEs. */
#define ANNOT_CALL_LEVEL       4
#define ANNOT_FUNCTIONS_DOMAIN "functions"
#define ANNOT_PYTHON_DOMAIN    "python calls"

/* The KIND of a CODE. */
#define ANNOT_CODE_KIND_PYTHON "p"
#define ANNOT_CODE_KIND_C      "c"

/* STACKs below one another, at most. */
#define ANNOT_STACK_DEPTH_MAX 2048

/* What is counted at a STACK. */
enum annot_wire_sum_kind {
    ANNOT_WIRE_SUM_CALLS = 1,
    ANNOT_WIRE_SUM_LINES = 2,
};

/* What was counted at a STACK: in place of records, a block in state ANNOT_BLOCK_SUMS has these,
 * `committed` bytes of them. `stack` and `kind` are constant from then on; the rest changes as long
 * as the thread lives, by stores of whole words in no order. One STACK has one of a kind in a
 * thread. W: the thread. */
struct annot_wire_sum {
    uint32_t stack;
    uint32_t kind;  /* enum annot_wire_sum_kind */
    uint64_t count; /* how often something began there */
    uint64_t ticks; /* of the segment's clock, spent there and not in a STACK below it */
    uint64_t since; /* a timestamp: from then on, too, until now; 0: no */
};

#endif
