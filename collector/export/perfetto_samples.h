/* SPDX-License-Identifier: MIT */
/* CPU samples as the UI shows them best: PerfSample packets, whose flame graph opens by itself.
 *
 * They have a sequence of their own, on which each frame and stack is told once; their numbers are
 * those of model/stacks.h. The reader joins frames of one name, so frames keep their addresses.
 * Python functions are named with file and line, as the reader shows no others, and their file
 * stands for the module. Each tells how much CPU time was sampled on its CPU until then, so they
 * are put in order of time again, in which lanes are not. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_SAMPLES_H
#define ANNOT_PERFETTO_SAMPLES_H

#include "frame_names.h"
#include "perfetto_tracks.h"
#include "sample.h"
#include "vec.h"

struct perfetto_samples {
    struct perfetto_tracks *tracks;
    struct frame_names *names;
    uint32_t sequence; /* number; 0 until begun */
    uint8_t *known;    /* bits PERFETTO_KNOWN_*, of everything that is numbered */
    uint32_t frame_count, stack_count, string_count;
    uint64_t *cpu_ns; /* sampled so far, of each CPU */
    uint32_t cpu_count;
    VEC(struct sample) waiting;
    bool in_order; /* those that wait are */
};

/* Nothing is written before the first sample. `number`: of the sequence. 0 or -errno. */
int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          struct frame_names *names, uint32_t number);
int perfetto_samples_put(struct perfetto_samples *samples, const struct sample *sample);
int perfetto_samples_finish(struct perfetto_samples *samples);
void perfetto_samples_fini(struct perfetto_samples *samples);

#endif
