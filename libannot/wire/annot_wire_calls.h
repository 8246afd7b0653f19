/* SPDX-License-Identifier: MIT */
/* Of annot_wire.h: calls of functions, one by one and counted. Numbers are append-only.
 *
 * A CODE, "QUALNAME\x1fFILE\x1fLINE\x1fKIND", is a function of a program in Python, or one that
 * such a program calls; a PUSH with its id is a call. A STACK, "PARENT\x1fCODE\x1fLINE", is a place
 * in it and the STACK that called it, by ids in hexadecimal; what was counted there is an
 * AGGREGATE. docs/wire-format.md, sections 5 and 8. */
#ifndef ANNOT_WIRE_CALLS_H
#define ANNOT_WIRE_CALLS_H

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

/* What an AGGREGATE counts, in attr.category. */
enum annot_rec_aggregate {
    ANNOT_REC_AGGREGATE_CALLS = 1,
    ANNOT_REC_AGGREGATE_LINES = 2,
};

#endif
