/* SPDX-License-Identifier: MIT */
/* Completes the recordings of collectors that died. Thread-safety: none needed, one process at a
 * time. */
#ifndef ANNOT_COLLECTOR_RECOVER_H
#define ANNOT_COLLECTOR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/* The result for one session with a collector that died or could not write. */
struct collector_recovered {
    bool living;          /* unchanged, as its collector lives; only `recording` is set */
    char recording[4096]; /* "" if there was no data to keep */
    uint64_t event_count; /* appended */
    uint64_t lost_count;  /* of the whole recording */
    uint32_t process_count;
    uint32_t left_count; /* processes that may have gone on unrecorded; a lower bound */
    bool resumed;        /* an existing recording was completed */
    int error;           /* 0 or -errno: then the session is unchanged */
};

/* Completes the recordings of dead collectors in the directory (NULL: the default ones, each that
 * exists). For missing recordings, and segments without a session, makes new ones in the current
 * directory if `make`; else leaves them, with error -ENOENT. Calls back per session, also for those
 * that live and are left alone. Returns the number of dead ones, or -errno. */
int collector_recover(const char *directory, bool make,
                      void (*done)(void *context, const struct collector_recovered *what),
                      void *context);

#endif
