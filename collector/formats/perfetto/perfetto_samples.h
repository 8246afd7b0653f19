/* SPDX-License-Identifier: MIT */
/* CPU samples of all processes, each below a frame of its process, on the single thread of the
 * session. The viewer counts rows, so a sample becomes as many rows as its CPU time has units. The
 * UI opens the flame graph of the thread that was sampled last: so it is that of all processes, and
 * no track repeats the flame charts.
 *
 * The samples have a separate sequence, on which each frame and stack is described once. The reader
 * joins frames of one name, so frames keep their addresses. Python functions are named with file
 * and line, as the reader shows no others, and their file stands for the module. Times are
 * differences in microseconds, so samples, which come lane by lane, are sorted by time again. */
#ifndef ANNOT_PERFETTO_SAMPLES_H
#define ANNOT_PERFETTO_SAMPLES_H

#include "chosen_frames.h"
#include "export.h"
#include "hash_map.h"
#include "sample.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct perfetto_tracks;

struct perfetto_weights {
    int64_t unit_ns;  /* CPU time of a row; 0: each sample is one row */
    int64_t *left_ns; /* by thread: weight carried over */
};

struct perfetto_stack {
    uint32_t process, stack;
    uint64_t number;
};

struct perfetto_samples {
    struct perfetto_tracks *tracks;
    const char *prefixes; /* of file names: profile/call_label.h */
    uint32_t sequence;    /* number */
    struct chosen_frames frames;
    struct perfetto_weights weights;
    bool begun;
    uint8_t *known; /* bits KNOWN_*, by number */
    uint32_t frame_count, label_count, stack_count, string_count;
    struct map64 stacks; /* process and stack: number */
    uint64_t stacks_written;
    int64_t last_us;
    struct value_pool values;
    VEC(struct sample) waiting;
    bool in_order; /* the waiting ones are sorted */
};

/* The first sample begins the output. `number`: of the sequence. 0 or -errno. */
int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          const struct export_job *job, uint32_t number);
int perfetto_samples_put(struct perfetto_samples *samples, const struct sample *sample);
int perfetto_samples_finish(struct perfetto_samples *samples);
void perfetto_samples_fini(struct perfetto_samples *samples);

#endif
