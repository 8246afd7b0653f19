/* SPDX-License-Identifier: MIT */
/* Parts of flame_svg.h: the boxes (flame_svg.c), what stands above them (flame_notes.c), and the
 * colours of the page, by whose code it is (flame_tones.c). Thread-safety: none. */
#ifndef ANNOT_FLAME_PARTS_H
#define ANNOT_FLAME_PARTS_H

#include "call_tree.h"
#include "flame_svg.h"
#include "missing.h"
#include "out_stream.h"
#include "vec.h"

enum flame_tone {
    TONE_OF_OWN, /* as enum code_colour */
    TONE_OF_LIBRARY,
    TONE_OF_INTERPRETER,
    TONE_OF_NATIVE,
    TONE_OF_KERNEL,
    TONE_OF_COLLECTOR,
    TONE_OF_NOTHING, /* no stack; and what is no function: processes, threads, notes */
    TONE_OF_RANGE,
    TONE_OF_WORK, /* of a queue */
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

/* The class of its boxes, and what the legend calls it. */
const char *flame_tone_class(enum flame_tone tone);
const char *flame_tone_text(enum flame_tone tone);

/* Rules of CSS for both themes: of the page, its texts, and the boxes; with `changes` those of
 * comparisons, of the classes "d0" to "d6". */
void flame_style_write(struct out_stream *out, bool changes);

/* ---- The picture ----------------------------------------------------------------------------- */

enum {
    MARGIN = 16,
    WIDE = FLAME_WIDTH - 2 * MARGIN, /* of the outermost box */
    ROW = 21,                        /* pixels from one level to the next */
    LINE = 22,                       /* from one line of text to the next */
    TITLE_COLUMNS = 105,
    NOTES_MAX = 64,
    NOTE_SIZE = MISSING_LABEL_SIZE + 32,
    SWATCH = 18, /* width of one with its gap */
    GAP = 22,    /* between two notes */
    PADDING = 6, /* of a label */
    LABEL_COLUMNS_LEAST = 3,
    ASIDE_LEAST = 240, /* so wide is a box that has a place and a share at its right end */
};

/* Widths of letters in boxes and above them: no viewer tells. */
#define FLAME_CODE_LETTER 7.4
#define FLAME_TEXT_LETTER 6.7

struct child {
    uint64_t total_ns;
    uint32_t node, rank; /* rank: by label */
};

/* A piece of the lines above the boxes. */
struct note {
    char text[NOTE_SIZE];
    enum flame_tone tone;
    bool loss;
    uint64_t weight; /* of a key of the legend */
    int x, line;
};

struct flame {
    const struct trace *trace;
    const struct call_tree *tree;
    const struct flame_options *options;
    struct out_stream *out;
    struct flame_counts counts;
    uint32_t *sizes; /* of node: how many nodes it and those below it are */
    uint64_t limit_ns;
    uint32_t rows;
    VEC(struct child) children; /* of all that are being drawn */
    uint64_t tone_ns[FLAME_TONES];
    bool tone_seen[FLAME_TONES];
    uint64_t reason_ns[WAIT_REASON_COUNT];
    struct note *notes; /* losses, then the legend */
    unsigned note_count;
    int line_count, top; /* lines of notes; where the first row is */
};

__attribute__((format(printf, 2, 3))) void flame_put(struct flame *f, const char *format, ...);
uint64_t flame_total_ns(const struct flame *f);
/* "12.3 ms", "2.0 MiB"; NUMBER_TEXT_SIZE bytes. */
const char *flame_weight_text(const struct flame *f, uint64_t weight, char *buffer);
/* How many letters wide it is, and as much of it as fits into so many. */
unsigned flame_text_columns(const char *text);
void flame_put_fitting(struct flame *f, const char *text, unsigned columns);
/* Control characters become spaces. */
void flame_one_line(char *text);

/* Losses and the legend, and so where the first row is. 0 or -ENOMEM. */
int flame_notes_measure(struct flame *f);
void flame_notes_put(struct flame *f);

#endif
