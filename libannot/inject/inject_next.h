/* SPDX-License-Identifier: MIT */
/* The tool that was set before annot was: it goes on working, behind us.
 *
 * `annot record` sets the variable that loaders look at, and keeps what stood there in one of its
 * own. Threads: any; whoever comes second waits for nobody and gets the same library. */
#ifndef ANNOT_INJECT_NEXT_H
#define ANNOT_INJECT_NEXT_H

#define INJECT_NVTX_NEXT "ANNOT_NVTX_NEXT"
#define INJECT_ITT_NEXT  "ANNOT_ITT_NEXT"

/* A function of the library whose path is in the variable. NULL: none was set, it cannot be loaded,
 * it is this library itself, or has no such function; of a needed one a note of the process says
 * so. The library stays loaded. */
void *inject_next_function(const char *variable, const char *function, int is_needed);

#endif
