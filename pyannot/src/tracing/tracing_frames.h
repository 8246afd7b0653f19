/* SPDX-License-Identifier: MIT */
/* Calls that had begun before they were traced, on CPython 3.9 to 3.11: whether they last, as their
 * frames show. Threads: the calling one, with the interpreter's lock. */
#ifndef PYANNOT_TRACING_FRAMES_H
#define PYANNOT_TRACING_FRAMES_H

#include "tracing_thread.h"

#if PY_VERSION_HEX < 0x030C0000

/* A number of the frame's address: no other frame of the same code has it while this one is there.
 */
uint32_t trace_place_of_frame(const PyFrameObject *frame);
/* Whether an entry of unknown depth is around the event at this depth, which the calling thread is
 * in the middle of: a call that begins or ends, or at an odd depth something that is no frame. */
bool trace_entry_is_around(const struct trace_entry *entry, uint32_t depth);
/* Whether it is the innermost frame's. */
bool trace_entry_is_innermost(const struct trace_entry *entry);

#else

static inline bool trace_entry_is_around(const struct trace_entry *entry, uint32_t depth)
{
    return entry->depth < depth;
}

static inline bool trace_entry_is_innermost(const struct trace_entry *entry)
{
    (void)entry;
    return false;
}

#endif

#endif
