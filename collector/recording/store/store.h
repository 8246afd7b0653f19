/* SPDX-License-Identifier: MIT */
/* The recording: a file of self-delimiting, checksummed, zstd-compressed chunks.
 * docs/recording-format.md describes every byte.
 *
 * In a cut or damaged file, all whole chunks are read, and the damage is listed. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_STORE_H
#define ANNOT_STORE_H

#include "event.h"
#include "sample.h"
#include "trace.h"

#include <stdbool.h>

/* A change that an older reader would misread raises the major number; one that it skips by length
 * the minor number. */
enum { STORE_VERSION_MAJOR = 1, STORE_VERSION_MINOR = 0 };

/* ---- Writing ----------------------------------------------------------------------------------
 */

struct store_writer;
struct store_reader;

/* ---- Reading ----------------------------------------------------------------------------------
 */

/* A part of a file that could not be read, or volumes that are missing. */
struct store_damage {
    const char *path;               /* of the file, the first missing one; owned by the reader */
    uint64_t offset, length;        /* 0 for missing volumes */
    uint32_t volume, missing_count; /* number of missing volumes, from `volume` on; 0: a part of one
                                     * is damaged */
    bool renamed;                   /* the names of the volumes are unknown: path is that of an
                                     * existing one */
    const char *reason;             /* constant text */
};

/* Processes that several recordings of a manifest have at the same time. Their contents count once
 * for each recording. */
struct store_twice {
    uint32_t count;       /* number of processes */
    uint32_t process;     /* one of them, by its ordinal, */
    uint32_t part, other; /* and two recordings that have it */
    bool one_session;     /* of one collector: copies, or overlapping snapshots */
};

#endif
