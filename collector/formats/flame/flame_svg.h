/* SPDX-License-Identifier: MIT */
/* Draws a tree of calls as one self-contained SVG file.
 *
 * It is a static picture of FLAME_WIDTH pixels; `annot flame` also has an interactive page. All
 * texts are escaped, the output depends only on its input, and its size is bounded: boxes narrower
 * than `min_width` are left out, as are rows without a box that is much wider; a line of the
 * picture gives their number. If more than FLAME_FRAMES_MAX boxes would remain, the limit is
 * raised. Colours and the sums in the legend are those of the page. Thread-safety: none. */
#ifndef ANNOT_FLAME_SVG_H
#define ANNOT_FLAME_SVG_H

#include "sample_weight.h"

#include <stdbool.h>
#include <stdint.h>

struct call_tree;
struct gpu_stacks_totals;
struct out_stream;
struct trace;

enum { FLAME_WIDTH = 1200, FLAME_FRAMES_MAX = 30000 };

/* Default width limit of a box, in pixels. */
#define FLAME_WIDTH_MIN 0.6

/* In a comparison, the times of a node on both sides, per run. */
struct flame_change {
    uint64_t a_ns, b_ns;
    int level; /* -3 to 3: B has less or more; 0: not significant */
};

enum { FLAME_LEVEL_MAX = 3 };

struct flame_options {
    const char *title;     /* NULL: the recording's title */
    const char *subtitle;  /* the selection; NULL: everything */
    const char *measure;   /* the weight: "CPU time" */
    enum sample_unit unit; /* of the weight */
    const char *piece;     /* the counted thing: "sample", "wait" */
    const char *rate;      /* "99 Hz"; NULL or "": omitted */
    double min_width;      /* pixels; 0 = FLAME_WIDTH_MIN */
    bool root_at_bottom;
    const struct gpu_stacks_totals *work; /* GPU work launched by these stacks; NULL for samples */
    const struct flame_change *changes;   /* by node, sets the colours; NULL without a comparison */
};

/* Statistics of the drawing. */
struct flame_counts {
    uint32_t drawn;
    uint32_t folded;    /* functions left out */
    uint64_t unseen_ns; /* their time */
    double min_width;   /* the limit used */
    uint64_t cut;       /* samples without their inner frames: call_tree_cut_count() */
    uint64_t cpu_ns;    /* for CPU time only: all of it, */
    uint64_t hidden_ns; /* and waits of main threads, which are not drawn */
};

/* Draws `tree`, which must be finished. 0 or -errno (-ENOMEM, or the stream's error). */
int flame_svg_write(const struct trace *trace, const struct call_tree *tree,
                    const struct flame_options *options, struct out_stream *out,
                    struct flame_counts *ret_counts);

#endif
