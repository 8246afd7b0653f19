/* SPDX-License-Identifier: MIT */
/* The place of the calling thread's Python stack.
 *
 * Each thread keeps its last stack: frames that did not move on since then keep their places, so an
 * allocation costs a few loads a frame. Frames are read by the interpreter's layout, as the sampler
 * reads them from outside; nothing of the interpreter is called but the query for the thread's
 * state. Threads: any; an object belongs to one. */
#ifndef ANNOT_HEAP_FRAMES_H
#define ANNOT_HEAP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

enum { HEAP_FRAMES_MAX = 1024, HEAP_STEPS = 2048 };

struct heap_frame {
    uint64_t frame, instruction;
};

/* The place of an instruction below a caller's. */
struct heap_step {
    uint64_t instruction;
    uint32_t parent, place;
};

struct heap_frames {
    uint32_t count;
    uint32_t root; /* the place below which the frames are */
    uint32_t code_epoch;
    struct heap_frame kept[HEAP_FRAMES_MAX]; /* the outermost first */
    uint32_t places[HEAP_FRAMES_MAX];
    struct heap_frame now[HEAP_FRAMES_MAX]; /* scratch: the innermost first */
    struct heap_step steps[HEAP_STEPS];     /* by hash: those met last */
};

/* Learns the layout of the interpreter in this process. Until then there are no Python frames. */
void heap_frames_begin(void);

/* `root` itself without Python frames. */
uint32_t heap_frames_place(struct heap_frames *frames, uint32_t root);

/* Call when a code object was freed: another one may be there soon. */
void heap_frames_forget_code(void);

#endif
