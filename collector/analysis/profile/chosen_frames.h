/* SPDX-License-Identifier: MIT */
/* What timelines and flame graphs show of a stack. Thread-safety: none. */
#ifndef ANNOT_CHOSEN_FRAMES_H
#define ANNOT_CHOSEN_FRAMES_H

#include "code_owner.h"
#include "trace.h"

enum frame_choice {
    FRAMES_BRIEF = 0,  /* of a stack with Python functions these, and above the innermost one the
                          native function that ran last; of a worker what lies above its own begin;
                          not the import system, which Python's tracebacks leave out too, nor
                          annot's own functions that call others */
    FRAMES_PYTHON = 1, /* call_python_frames */
    FRAMES_ALL = 2,
    FRAMES_OWNERS = 3,  /* as FRAMES_BRIEF, for areas: the leaf has the colour (code_colour_of) of
                           what ran and the name of what Python called, native functions of one's
                           own stay, a function that calls itself is there once, and what begins
                           programs and workers is not there */
    FRAMES_CALLERS = 4, /* of waits: those without that leaf, as how the kernel was entered says
                           nothing */
};

struct chosen_frames {
    const struct trace *trace;
    enum frame_choice choice;
    uint8_t *labels; /* what each is, and its colour; 0: not looked at */
    uint32_t label_count;
};

/* `trace` outlives it; labels that it gets later are looked at each time. 0 or -ENOMEM. */
int chosen_frames_init(struct chosen_frames *chosen, const struct trace *trace,
                       enum frame_choice choice);
void chosen_frames_fini(struct chosen_frames *chosen);

/* Those of a stack, from the root; at most `size`. Returns how many. */
uint32_t chosen_frames_get(struct chosen_frames *chosen, uint32_t stack, uint32_t *frames,
                           uint32_t size);

/* Remembered, unlike code_colour_of(). */
enum code_colour chosen_frames_colour(struct chosen_frames *chosen, uint32_t frame);

#endif
