/* SPDX-License-Identifier: MIT */
/* Test points: named steps after which something has become visible to the other side.
 *
 * Compiled out unless ANNOT_TESTPOINTS is defined. Tests set the hook to stop, crash or switch at
 * a step; so "killed at any instruction of the protocol" is a loop over names, not luck. */
#ifndef ANNOT_TESTPOINT_H
#define ANNOT_TESTPOINT_H

/* Faults that tests plant, to prove that they would be found. */
enum planted_bug {
    BUG_NONE = 0,
    BUG_HEAD_WITHOUT_TAG = 1,  /* a block popped and pushed again goes unnoticed       */
    BUG_HEAD_WITHOUT_SWAP = 2, /* two threads pop the same block                       */
    BUG_PUBLISHED_EARLY = 3,   /* a block is claimed before its header is filled       */
    BUG_COMMITTED_KEPT = 4,    /* a new block begins with the old one's records        */
    BUG_RELEASED_EARLY = 5,    /* a block is released with a record still to be written */
    BUG_TAKEN_BLINDLY = 6,     /* a newer block is overwritten in place of the oldest  */
    BUG_LAST_UNCOUNTED = 7,    /* records of a thread that left are not counted */
    BUG_COUNT = 8,
};

#ifdef ANNOT_TESTPOINTS
extern void (*annot_testpoint_hook)(const char *name);
extern enum planted_bug annot_planted_bug;
#define TESTPOINT(name)                                                                            \
    do {                                                                                           \
        if (annot_testpoint_hook)                                                                  \
            annot_testpoint_hook(name);                                                            \
    } while (0)
#define PLANTED(bug) (annot_planted_bug == (bug))
#else
#define TESTPOINT(name) ((void)0)
#define PLANTED(bug)    0
#endif

#endif
