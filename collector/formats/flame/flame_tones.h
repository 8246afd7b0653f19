/* SPDX-License-Identifier: MIT */
/* Colours of a flame graph: the style sheet, and the class of each box by the owner of its code or
 * the reason of its wait. Thread-safety: reads the trace only. */
#ifndef ANNOT_FLAME_TONES_H
#define ANNOT_FLAME_TONES_H

#include <stdbool.h>
#include <stdint.h>

struct call_tree;
struct out_stream;
struct trace;

enum flame_tone {
    TONE_OF_OWN, /* in the order of enum code_colour */
    TONE_OF_LIBRARY,
    TONE_OF_INTERPRETER,
    TONE_OF_NATIVE,
    TONE_OF_KERNEL,
    TONE_OF_COLLECTOR,
    TONE_OF_NOTHING, /* without a stack; also processes, threads and notes */
    TONE_OF_RANGE,
    TONE_OF_WORK, /* of a GPU queue */
    TONE_OF_READY,
    TONE_OF_LOCK,
    TONE_OF_GIL,
    TONE_OF_DISK,
    TONE_OF_SLEEP,
    TONE_OF_PIPE,
    TONE_OF_POLL,
    TONE_OF_FAULT,
    TONE_OF_CHILD,
    TONE_OF_OTHER,
    FLAME_TONES,
};

enum flame_tone flame_tone_of(const struct trace *trace, const struct call_tree *tree,
                              uint32_t item);
enum flame_tone flame_tone_of_reason(uint32_t reason);

/* The CSS class of the boxes, and the name in the legend. */
const char *flame_tone_class(enum flame_tone tone);
const char *flame_tone_text(enum flame_tone tone);

/* Writes the CSS rules of page, texts and boxes for both themes; with `changes` also the classes
 * "d0" to "d6" of comparisons. */
void flame_style_write(struct out_stream *out, bool changes);

#endif
