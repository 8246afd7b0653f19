/* SPDX-License-Identifier: MIT */
/* Colours of a flame graph: what a frame is shows in its hue. Thread-safety: constant tables. */
#ifndef ANNOT_FLAME_STYLE_H
#define ANNOT_FLAME_STYLE_H

#include "call_tree.h"
#include "out_stream.h"

enum flame_kind {
    FLAME_PYTHON,
    FLAME_NATIVE,
    FLAME_KERNEL,
    FLAME_JIT,
    FLAME_COLLECTOR,
    FLAME_NOTE, /* says what is missing; "(other)" */
    FLAME_RANGE,
    FLAME_PROCESS,
    FLAME_THREAD,
    FLAME_WAIT,
    FLAME_RUNNABLE,
    FLAME_ALL,
    FLAME_KIND_COUNT,
};

enum { FLAME_SHADES = 3 };

enum flame_kind flame_kind_of(const struct call_tree *tree, uint32_t item);

/* The letter of its classes, and what the legend calls it. */
char flame_kind_letter(enum flame_kind kind);
const char *flame_kind_name(enum flame_kind kind);

/* The style sheet of all colours, for light and for dark pages. */
void flame_style_write(struct out_stream *out);

#endif
