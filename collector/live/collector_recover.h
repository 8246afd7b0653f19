/* SPDX-License-Identifier: MIT */
/* Completes the recordings of collectors that died. Thread-safety: none needed, one process at a
 * time. */
#ifndef ANNOT_COLLECTOR_RECOVER_H
#define ANNOT_COLLECTOR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/* What was done about one session whose collector died or could not write. */
struct collector_recovered {
    bool living;          /* nothing: its collector lives; only `recording` is told */
    char recording[4096]; /* "" if there was nothing to keep */
    uint64_t event_count; /* appended */
    uint64_t lost_count;  /* of the whole recording */
    uint32_t process_count;
    uint32_t left_count; /* processes that may have gone on unrecorded; at least so many */
    bool resumed;        /* an existing recording was completed, not a new one made */
    int error;           /* 0 or -errno: then the session was left as it is */
};

/* Completes the recordings of dead collectors in the directory (NULL: the default ones, each that
 * is there). For recordings that are gone, and segments that belong to no session, new ones are
 * made in the present directory if `make`; else they stay, told with error -ENOENT. Calls back per
 * session, also those that live and are left alone. Returns how many were dead, or -errno. */
int collector_recover(const char *directory, bool make,
                      void (*done)(void *context, const struct collector_recovered *what),
                      void *context);

#endif
