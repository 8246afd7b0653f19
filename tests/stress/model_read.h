/* SPDX-License-Identifier: MIT */
/* A recording and a log as lists of entries, one a thread, for the checkers. One thread; what they
 * allocate lives as long as the program. */
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

/* By the thread's number; NULL if memory is short. */
entries *model_read_log(const struct model_log *log);

/* Opens the recording at `path` and reads it whole. Returns 0; 1 if it is damaged or has a thread
 * that is none of the log's (what is said on stdout), 2 if it cannot be read. */
int model_read_recording(const char *path, const struct model_log *log, struct recorded *recorded);

#endif
