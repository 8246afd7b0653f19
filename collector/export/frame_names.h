/* SPDX-License-Identifier: MIT */
/* Which frames are the same function, and what each is called.
 *
 * A function is known by the first of its frames that was asked for. Thread-safety: none. */
#ifndef ANNOT_FRAME_NAMES_H
#define ANNOT_FRAME_NAMES_H

#include "map64.h"
#include "stacks.h"
#include "trace.h"

struct frame_names {
    const struct trace *trace;
    const char *prefixes;      /* of file names: profile/call_label.h */
    struct map64 first_frames; /* by hash of the function */
};

/* The frame that stands for the function of `frame`; itself when memory runs out. */
uint32_t frame_function(struct frame_names *names, uint32_t frame);

/* At most size - 1 bytes and NUL; returns the length. */
size_t frame_label(const struct frame_names *names, uint32_t frame, char *buffer, size_t size);

void frame_names_fini(struct frame_names *names);

#endif
