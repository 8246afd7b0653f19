/* SPDX-License-Identifier: MIT */
/* What the addresses of native frames are: functions, lines, and functions that were inlined there,
 * added to a recording that has ended.
 *
 * From a module's files: itself where it lay, and in the directory of debug files by build-id and
 * by name. Each that is the same build is asked until one knows. Main thread only. */
#ifndef ANNOT_NATIVE_NAMES_H
#define ANNOT_NATIVE_NAMES_H

#include "store.h"

/* What became of the frames without names. */
struct native_names {
    uint32_t unnamed;    /* before */
    uint32_t named;      /* of these */
    uint32_t unknown_id; /* of a module without a build-id */
    uint32_t missing;    /* no such file is here */
    uint32_t lined;      /* frames whose line is known now */
    uint32_t left;       /* own frames that were not looked for: the time was over */
};

/* Names what can be in the trace of a reader, and adds it to the recording; debug_dir NULL: where
 * debug files are installed. 0 or -errno as store_add_names. */
int native_names_add(const char *path, struct store_reader *reader, const char *debug_dir,
                     bool source, struct native_names *ret_result);

/* At the end of a recording: lines of the user's own native code, if there is any with debug
 * information, in a second at most. Others' files are not read for it. What fails, and a recording
 * of very many stacks, is left to `annot symbolize`. `trace`: of the collector. */
void native_names_complete(const char *path, const struct trace *trace, bool source);

#endif
