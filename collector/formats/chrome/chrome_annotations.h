/* SPDX-License-Identifier: MIT */
/* Ranges on streams, "gpu_user_annotation": a range of the launching thread, from the start of the
 * first to the end of the last work that was launched inside of it to a stream, one for each
 * stream. They begin together with kernels that are written before, and readers nest by the order
 * in the file: so they lie on separate threads, "stream 7: ranges". Thread-safety: one thread per
 * object. */
#ifndef ANNOT_CHROME_ANNOTATIONS_H
#define ANNOT_CHROME_ANNOTATIONS_H

#include "pass.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct chrome_gpu;
struct chrome_queue;

struct chrome_annotated {
    int64_t begin_ns, end_ns;
    uint32_t thread, name, depth;
};

/* A piece of work of a stream. */
struct chrome_work {
    int64_t origin_ns, begin_ns, end_ns;
    uint32_t thread, queue; /* index of chrome_gpu.queues */
};

struct chrome_annotations {
    VEC(struct chrome_annotated) ranges;
    VEC(struct chrome_work) launches;
    size_t judged;     /* of the ranges: those known to have launches */
    uint64_t left_out; /* launches */
};

/* A range of a thread that has ended; work of a queue. 0 or -ENOMEM. */
int chrome_annotations_range(struct chrome_gpu *gpu, const struct item *item);
int chrome_annotations_launch(struct chrome_gpu *gpu, const struct item *item,
                              const struct chrome_queue *queue);

/* Writes them. 0 or -ENOMEM. */
int chrome_annotations_finish(struct chrome_gpu *gpu);
void chrome_annotations_fini(struct chrome_annotations *all);

/* The constant place of all its events: ,"pid":0,"tid":7 */
enum { CHROME_GPU_PLACE = 48 };

#endif
