/* SPDX-License-Identifier: MIT */
/* Test points: named steps after which something has become visible to the other side.
 *
 * Compiled out unless ANNOT_TESTPOINTS is defined. Tests set the hook to stop, crash or switch at
 * a step; so "killed at any instruction of the protocol" is a loop over names, not luck. */
#ifndef ANNOT_TESTPOINT_H
#define ANNOT_TESTPOINT_H

#ifdef ANNOT_TESTPOINTS
extern void (*annot_testpoint_hook)(const char *name);
#define TESTPOINT(name)                                                                            \
    do {                                                                                           \
        if (annot_testpoint_hook)                                                                  \
            annot_testpoint_hook(name);                                                            \
    } while (0)
#else
#define TESTPOINT(name) ((void)0)
#endif

#endif
