/* SPDX-License-Identifier: MIT */
/* Names for frames of a recording that have none, from files that are the same by their build-id as
 * those that ran. Thread-safety: none. */
#ifndef ANNOT_SYMBOLIZE_FILES_H
#define ANNOT_SYMBOLIZE_FILES_H

#include "trace.h"

/* What became of the frames without names. */
struct symbolized {
    uint32_t unnamed;    /* before */
    uint32_t named;      /* of these */
    uint32_t unknown_id; /* of a module without a build-id, or of several builds */
    uint32_t missing;    /* no such file is here */
};

/* Names what can be; debug_dir NULL: where debug files are installed. 0 or -ENOMEM. */
int symbolize_frames(struct trace *trace, const char *debug_dir, struct symbolized *ret_result);

#endif
