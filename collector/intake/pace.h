/* SPDX-License-Identifier: MIT */
/* How soon to look at the programs' pools again.
 *
 * Each look takes a processor from programs that may need all of them, so it is for a part of a
 * pool that has filled up, not for a block. Even after the longest pause a program that begins to
 * write at full speed is met before its pool of the default size is full. Thread-safety: pure. */
#ifndef ANNOT_PACE_H
#define ANNOT_PACE_H

#include <stdint.h>

enum { PACE_BUSY_MS = 1, PACE_IDLE_MS = 16 };

/* The timeout after one of `before_ms`, when so many bytes were found in all pools together, of
 * which each has `pool_bytes`. */
static inline int pace_timeout_ms(int before_ms, int64_t bytes, int64_t pool_bytes)
{
    if (bytes > pool_bytes / 64)
        return PACE_BUSY_MS;
    return bytes > pool_bytes / 256 || before_ms >= PACE_IDLE_MS ? before_ms : 2 * before_ms;
}

#endif
