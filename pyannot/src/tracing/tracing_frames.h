/* SPDX-License-Identifier: MIT */
/* Calls that began before they were traced, on CPython 3.9 to 3.11: their frames show whether they
 * last. Threads: the calling one, with the interpreter's lock. */
#ifndef PYANNOT_TRACING_FRAMES_H
#define PYANNOT_TRACING_FRAMES_H

#include "tracing_thread.h"

#if PY_VERSION_HEX < 0x030C0000

/* Returns a number of the frame's address: no other frame of the same code has it while this one
 * exists. */
uint32_t trace_place_of_frame(const PyFrameObject *frame);
/* True if an entry of unknown depth encloses the calling thread's current event at this depth: the
 * start or end of a call, or at an odd depth that of something that is not a frame. */
bool trace_entry_is_around(const struct trace_entry *entry, uint32_t depth);
/* True if it belongs to the innermost frame. */
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
