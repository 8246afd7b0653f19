/* SPDX-License-Identifier: MIT */
/* One picture of `annot top`, as lines. Main thread only. */
#ifndef ANNOT_TOP_DRAW_H
#define ANNOT_TOP_DRAW_H

#include "top.h"
#include "vec.h"

#include <stdbool.h>

struct top_state;

/* A line each, as wide as the screen at most, with colours if wanted. */
struct top_frame {
    unsigned width, height;
    bool color;
    VEC(char *) lines;
};

/* 0 or -ENOMEM. */
int top_frame_draw(struct top_frame *frame, const struct top_session *session,
                   struct top_state *state, struct top_data *data);
void top_frame_clear(struct top_frame *frame);

#endif
