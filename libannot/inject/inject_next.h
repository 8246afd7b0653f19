/* SPDX-License-Identifier: MIT */
/* The tool that was set before annot: it keeps working, called by this library.
 *
 * `annot record` sets the loaders' variable, and saves its previous value in another one. Threads:
 * any; a concurrent second call does not wait and gets the same library. */
#ifndef ANNOT_INJECT_NEXT_H
#define ANNOT_INJECT_NEXT_H

#define INJECT_NVTX_NEXT "ANNOT_NVTX_NEXT"
#define INJECT_ITT_NEXT  "ANNOT_ITT_NEXT"

/* Returns a function of the library at the path in the variable. NULL: none was set, it cannot be
 * loaded, it is this library itself, or has no such function; if a needed one is missing, a note of
 * the process reports it. The library stays loaded. */
void *inject_next_function(const char *variable, const char *function, int is_needed);

#endif
