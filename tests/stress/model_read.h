/* SPDX-License-Identifier: MIT */
/* Reads a recording or a log into lists of entries, one per thread, for the checkers. One thread.
 * The memory is never freed. */
#ifndef ANNOT_MODEL_READ_H
#define ANNOT_MODEL_READ_H

#include "model_log.h"

#include "store.h"
#include "vec.h"

typedef VEC(struct model_entry) entries;

struct recorded {
    struct store_reader *reader;
    struct trace *trace;
    entries *threads; /* by the thread's number */
    uint32_t thread_limit;
    uint64_t lost, misuse_pops, misuse_ends;
};

/* Indexed by the thread's number. NULL if memory is short. */
entries *model_read_log(const struct model_log *log);

/* Opens the recording at `path` and reads all of it. Returns 0 on success, 1 if it is damaged or
 * has a thread that is not in the log (explained on stdout), 2 if it cannot be read. */
int model_read_recording(const char *path, const struct model_log *log, struct recorded *recorded);

#endif
