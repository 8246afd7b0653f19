/* SPDX-License-Identifier: MIT */
/* Ranges for every call of a function, reported by compiler-inserted code. Not part of annot.h:
 * libannot-functions calls it for programs that were compiled with -finstrument-functions; other
 * tracers may.
 *
 * Threads, signal handlers, forks: as annot.h. Calls need not come in pairs: functions left by
 * longjmp or by an exception end with the next call or return outside of them, and a return without
 * its call does nothing. A range that annot_push opened in a function ends with it. */
#ifndef ANNOT_FUNCTION_CALLS_H
#define ANNOT_FUNCTION_CALLS_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the name of the function at `offset` of an ELF file; the collector resolves it. `file` is
 * its path as in /proc/self/maps, `inode` the file's number there, 0 if unknown. Returns 0 if the
 * table of names is full. Cost: as annot_name_intern. */
ANNOT_API annot_name annot_function_name(const char *file, uint64_t offset, uint64_t inode);

/* One call, or one return. */
struct annot_call {
    const void *function;
    const void *site;  /* the address that the function returns to */
    const void *stack; /* stack pointer inside of the function; for a return reported after its
                          frame was removed, just above that address */
};

/* Records of calls have the level ANNOT_CALL_LEVEL; filters match them as domain "functions".
 * Cost of the two: 1.5 P; of an unwanted function, a third of that. */
#define ANNOT_CALL_LEVEL 4
ANNOT_EMIT void annot_emit_call(annot_name name, const struct annot_call *call);
/* `is_down`: the frame was already removed. */
ANNOT_EMIT void annot_emit_return(const struct annot_call *call, int is_down);

#ifdef __cplusplus
}
#endif

#endif
