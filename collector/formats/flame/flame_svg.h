/* SPDX-License-Identifier: MIT */
/* A tree of calls as one SVG file: a flame graph that needs nothing but a viewer.
 *
 * It is a picture of FLAME_WIDTH pixels without a script: `annot flame` has a page to touch. All
 * texts are escaped, the output depends on nothing but its input, and its size is bounded: boxes
 * narrower than `min_width` are left out, as are rows without a box that is some times wider; a
 * line of the picture tells how many. Where there would still be more than FLAME_FRAMES_MAX, the
 * limit is raised. Its colours and the sums in its legend are those of the page. Thread-safety:
 * none. */
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

/* Of a frame, in pixels, where nothing else is asked for. */
#define FLAME_WIDTH_MIN 0.6

/* Of two sides of recordings, what a node took on each, per run. */
struct flame_change {
    uint64_t a_ns, b_ns;
    int level; /* -3 to 3: how much less or more of it B has; 0: too little to tell */
};

enum { FLAME_LEVEL_MAX = 3 };

struct flame_options {
    const char *title;     /* NULL: what the recording is called */
    const char *subtitle;  /* what was selected; NULL = everything */
    const char *measure;   /* what a weight is: "CPU time" */
    enum sample_unit unit; /* of it */
    const char *piece;     /* what is counted: "sample", "wait" */
    const char *rate;      /* "99 Hz"; NULL or "": nothing to say */
    double min_width;      /* pixels; 0 = FLAME_WIDTH_MIN */
    bool root_at_bottom;
    const struct gpu_stacks_totals *work; /* launched by these stacks; NULL: it is of samples */
    const struct flame_change *changes;   /* by node: colours tell these. NULL: no comparison */
};

/* What was drawn. */
struct flame_counts {
    uint32_t drawn;
    uint32_t folded;    /* functions that were left out */
    uint64_t unseen_ns; /* their time */
    double min_width;   /* that was used */
    uint64_t cut;       /* samples without their inner frames: call_tree_cut_count() */
    uint64_t cpu_ns;    /* of CPU time only: all of it, */
    uint64_t hidden_ns; /* and waits of main threads, which are not in the picture */
};

/* `tree` is finished. 0 or -errno (-ENOMEM, or that of the stream). */
int flame_svg_write(const struct trace *trace, const struct call_tree *tree,
                    const struct flame_options *options, struct out_stream *out,
                    struct flame_counts *ret_counts);

#endif
