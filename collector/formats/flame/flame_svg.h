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

#include "call_tree.h"
#include "out_stream.h"
#include "pass.h"

enum { FLAME_WIDTH = 1200, FLAME_FRAMES_MAX = 30000 };

/* Of a frame, in pixels, where nothing else is asked for. */
#define FLAME_WIDTH_MIN 0.6

/* Of two sides of recordings, what a node took on each, per run. */
struct flame_change {
    uint64_t a_ns, b_ns;
    int level; /* -3 to 3: how much less or more of it B has; 0: too little to tell */
};

enum { FLAME_LEVEL_MAX = 3 };

struct gpu_stacks_totals;

struct flame_options {
    const char *title;     /* NULL: what the recording is called */
    const char *subtitle;  /* what was selected; NULL = everything */
    const char *measure;   /* what a weight is: "CPU time" */
    enum sample_unit unit; /* of it */
    const char *piece;     /* what is counted: "sample", "wait" */
    uint32_t frequency_hz; /* 0: nothing to tell */
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

/* ---- Two sides: flame_diff.c ----
 *
 * One tree of what both called, as wide as the mean of both, with the colours of what changed:
 * blue-green where B has less, red-brown where it has more. Functions are the same by name, file
 * and module, so that lines may move. Memory: that of the trees. */

struct flame_diff;

/* NULL: out of memory. destroy accepts NULL. */
struct flame_diff *flame_diff_create(size_t a_runs, size_t b_runs);
void flame_diff_destroy(struct flame_diff *diff);

/* Reads a recording of side 0 or 1. 0 or -errno. */
int flame_diff_add(struct flame_diff *diff, unsigned side, struct store_reader *reader);

/* After all were added. -ENODATA: neither side has samples. */
int flame_diff_write(struct flame_diff *diff, const char *title, struct out_stream *out);

#endif
