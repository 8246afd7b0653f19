/* SPDX-License-Identifier: MIT */
/* The recording: a file of self-delimiting, checksummed, zstd-compressed chunks.
 *
 * docs/recording-format.md describes every byte. A file that was cut, or damaged in places, reads
 * as far as its chunks are whole; what is not is named. Thread-safety: one thread per object. */
#ifndef ANNOT_STORE_H
#define ANNOT_STORE_H

#include "event.h"
#include "sample.h"
#include "trace.h"

#include <stdbool.h>

/* A change that an older reader would misread raises the major number; one that it skips by
 * length the minor number. */
enum { STORE_VERSION_MAJOR = 1, STORE_VERSION_MINOR = 0 };

/* ---- Writing ----------------------------------------------------------------------------------
 */

struct store_writer;
struct store_reader;

/* ---- Reading ----------------------------------------------------------------------------------
 */

/* A part of a file that could not be read, or volumes that are missing. */
struct store_damage {
    const char *path;               /* of the file, the first one that is missing; the reader's */
    uint64_t offset, length;        /* 0 of what is missing */
    uint32_t volume, missing_count; /* so many volumes are, from that number on; 0: a part of one */
    bool renamed;                   /* the path is not theirs, but that of one that is there */
    const char *reason;             /* constant text */
};

/* Processes that several recordings of a manifest have at the same time. What these have of them
 * counts once for each. */
struct store_twice {
    uint32_t count;       /* processes; 0: there are none */
    uint32_t process;     /* one of them, by its ordinal, */
    uint32_t part, other; /* and two recordings that have it */
    bool one_session;     /* of one collector: copies, or snapshots that overlap */
};

#endif
