/* SPDX-License-Identifier: MIT */
/* Adds the functions, lines and inlined functions of native addresses to a recording that has
 * ended.
 *
 * Sources are the module's file at its path, and debug files by build-id and by name. All files of
 * the same build are searched until one has the address. Main thread only. */
#ifndef ANNOT_NATIVE_NAMES_H
#define ANNOT_NATIVE_NAMES_H

#include "store.h"

/* Results for frames without names. */
struct native_names {
    uint32_t unnamed;    /* before the search */
    uint32_t named;      /* of the unnamed ones */
    uint32_t unknown_id; /* in a module without a build-id */
    uint32_t missing;    /* the file is missing on this machine */
    uint32_t lined;      /* frames with a line after the search */
    uint32_t left;       /* own frames that were skipped when the time was over */
};

/* Adds names to the trace of a reader, and to the recording; debug_dir NULL: the standard directory
 * of debug files. 0 or -errno as store_add_names. */
int native_names_add(const char *path, struct store_reader *reader, const char *debug_dir,
                     bool source, struct native_names *ret_result);

/* At the end of a recording: adds lines of the user's own native code, if it has debug information,
 * within one second. Other users' files are not read. After an error, or with more than
 * STACKS_READ_AGAIN_MAX stacks, the work is left to `annot symbolize`. `trace`: of the
 * collector. */
void native_names_complete(const char *path, const struct trace *trace, bool source);

#endif
