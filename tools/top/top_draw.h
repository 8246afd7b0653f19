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

/* The lines above a table of `annot top`. */

/* Totals of all programs: three lines, and a fourth for warnings. */
enum { TOP_HEAD_LINES = 4, TOP_HEAD_SIZE = 1024 };

void top_head_make(const struct top_session *session, const struct top_data *data,
                   char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE]);

/* The same totals as a table of one row. Valid as long as the data. */
void top_head_table(const struct top_data *data, struct table *ret_table);

#endif
