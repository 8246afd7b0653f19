/* SPDX-License-Identifier: MIT */
/* Part of annot_wire.h: calls of functions, one by one and counted. Numbers are append-only.
 *
 * A CODE, "QUALNAME\x1fFILE\x1fLINE\x1fKIND", is a function of a program in Python, or one that
 * such a program calls; a PUSH with its id is a call. "\x1fLEAST" may follow: calls shorter than
 * LEAST nanoseconds, without records inside of them, are dropped. Counts at a place in a CODE are a
 * sum.
 * docs/wire-format.md, sections 5 to 8. */
#ifndef ANNOT_WIRE_CALLS_H
#define ANNOT_WIRE_CALLS_H

#include <stdint.h>

/* Calls of functions have this level, and in filters these domains, with each function as a
 * category: one for FUNCTIONs, one for CODEs. */
#define ANNOT_CALL_LEVEL       4
#define ANNOT_FUNCTIONS_DOMAIN "functions"
#define ANNOT_PYTHON_DOMAIN    "python calls"

/* The KIND of a CODE. */
#define ANNOT_CODE_KIND_PYTHON "p"
#define ANNOT_CODE_KIND_C      "c"
#define ANNOT_CODE_KIND_TASK   "t" /* not a function: a step of a task, around its calls */

/* Maximum of LEAST. */
#define ANNOT_CODE_LEAST_NS_MAX UINT64_C(1000000000)

/* Maximum depth of nested sums. */
#define ANNOT_SUM_DEPTH_MAX 2048

enum annot_wire_sum_kind {
    ANNOT_WIRE_SUM_CALLS = 1,
    ANNOT_WIRE_SUM_LINES = 2,
    ANNOT_WIRE_SUM_CALLEES = 3, /* calls of functions on a line, and their time in it */
};

/* Counts of one place: a line of a CODE, or a CODE and the place that called it, recursively. A
 * block in state ANNOT_BLOCK_SUMS holds these in place of records, `committed` bytes of them.
 * Fields before `count` are constant after the commit; the others change as long as the thread
 * lives, by stores of whole words in no order. A place has one sum of each kind. W: the thread. */
struct annot_wire_sum {
    uint32_t what;  /* kind << ANNOT_SUM_KIND_SHIFT | string id of the CODE */
    uint32_t where; /* of CALLS: ANNOT_SUM_REFERENCE to the sum of the caller, which the thread
                       added before, or 0. Of LINES and CALLEES: the line */
    uint64_t count; /* how often something began there */
    uint64_t ticks; /* of the segment's clock, spent there, exclusive of places below it */
    uint64_t since; /* a timestamp: the time from then until now counts as well; 0: no */
};

#define ANNOT_SUM_KIND_SHIFT 28
#define ANNOT_SUM_CODE_MASK  ((UINT32_C(1) << ANNOT_SUM_KIND_SHIFT) - 1)
#define ANNOT_SUMS_OF_BLOCK  ((uint32_t)(ANNOT_BLOCK_DATA_SIZE / sizeof(struct annot_wire_sum)))

/* Index of a sum, from those of the block and of the sum in it. */
#define ANNOT_SUM_REFERENCE(block, index) (1 + (block)*ANNOT_SUMS_OF_BLOCK + (index))

/* A function or static probe that the session's collector shall make a range of. W: the holder of
 * flock(LOCK_EX) of the wake page, while `answered` is `sequence`: the text, then sequence + 1. The
 * collector: the answer, then `answered`. docs/wire-format.md, "Ranges". */
enum { ANNOT_RANGE_REQUEST_MAX = 1023 }; /* bytes of the text */

struct annot_range_request {
    uint32_t sequence, answered;
    uint8_t text[ANNOT_RANGE_REQUEST_MAX + 1]; /* NUL-terminated, as the next two */
    int32_t error;                             /* 0, or -errno */
    uint32_t functions, places, is_static, refused, chosen, call_ns;
    uint8_t reason[256], hint[256]; /* for people */
};

#endif
