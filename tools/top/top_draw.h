/* SPDX-License-Identifier: MIT */
/* Draws one frame of `annot top` as lines of text. Main thread only. */
#ifndef ANNOT_TOP_DRAW_H
#define ANNOT_TOP_DRAW_H

#include "top.h"
#include "vec.h"

#include <stdbool.h>

struct top_state;

/* Lines of at most `width` columns, with colours if wanted. */
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
