/* SPDX-License-Identifier: MIT */
/* What a timeline shows of a stack. Thread-safety: none. */
#ifndef ANNOT_CHOSEN_FRAMES_H
#define ANNOT_CHOSEN_FRAMES_H

#include "trace.h"

enum frame_choice {
    FRAMES_BRIEF = 0,  /* of a stack with Python functions these, and above the innermost one the
                          native function that ran last; of a worker what lies above its own begin;
                          not the import system, which Python's tracebacks leave out too */
    FRAMES_PYTHON = 1, /* call_python_frames */
    FRAMES_ALL = 2,
};

struct chosen_frames {
    const struct trace *trace;
    enum frame_choice choice;
    uint8_t *labels; /* what each is; 0: not looked at */
    uint32_t label_count;
};

/* `trace` is complete and outlives it. 0 or -ENOMEM. */
int chosen_frames_init(struct chosen_frames *chosen, const struct trace *trace,
                       enum frame_choice choice);
void chosen_frames_fini(struct chosen_frames *chosen);

/* Those of a stack, from the root; at most `size`. Returns how many. */
uint32_t chosen_frames_get(struct chosen_frames *chosen, uint32_t stack, uint32_t *frames,
                           uint32_t size);

#endif
