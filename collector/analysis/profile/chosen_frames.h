/* SPDX-License-Identifier: MIT */
/* Selects the frames of a stack that timelines and flame graphs show. Thread-safety: none. */
#ifndef ANNOT_CHOSEN_FRAMES_H
#define ANNOT_CHOSEN_FRAMES_H

#include "code_owner.h"
#include "trace.h"

enum frame_choice {
    FRAMES_BRIEF = 0,  /* with Python functions these, and above the innermost one the native
                          function that ran last; of a worker the frames above its bootstrap;
                          not the import system, which Python's tracebacks leave out too, nor
                          annot's own functions that call others */
    FRAMES_PYTHON = 1, /* call_python_frames */
    FRAMES_ALL = 2,
    FRAMES_OWNERS = 3,  /* as FRAMES_BRIEF, for areas: the leaf has the colour (code_colour_of)
                           of the innermost code and the name of the function that Python called;
                           with own native functions, recursion shown once, without the frames
                           that start programs and workers */
    FRAMES_CALLERS = 4, /* waits: as FRAMES_OWNERS without that leaf, as the way into the kernel
                           is no information */
};

struct chosen_frames {
    const struct trace *trace;
    enum frame_choice choice;
    uint8_t *labels; /* class and colour of each; 0: not classified yet */
    uint32_t label_count;
};

/* `trace` outlives it; labels added later are classified at each call. 0 or -ENOMEM. */
int chosen_frames_init(struct chosen_frames *chosen, const struct trace *trace,
                       enum frame_choice choice);
void chosen_frames_fini(struct chosen_frames *chosen);

/* Writes at most `size` frames of a stack, root first. Returns their number. */
uint32_t chosen_frames_get(struct chosen_frames *chosen, uint32_t stack, uint32_t *frames,
                           uint32_t size);

/* Cached, unlike code_colour_of(). */
enum code_colour chosen_frames_colour(struct chosen_frames *chosen, uint32_t frame);

#endif
