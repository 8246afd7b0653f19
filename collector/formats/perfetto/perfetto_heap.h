/* SPDX-License-Identifier: MIT */
/* Memory of each process as the viewer's heap profiles: a dump at the instant at which all
 * processes together held most, and one at the end of the process. Each has the bytes and blocks
 * that each stack had allocated and freed until then; the viewer draws what is left of them as a
 * flame graph.
 *
 * The reader takes frames of one name, file and address for the same, also at different lines, and
 * stacks of the same frames for one. So sums are those of such a stack.
 *
 * Memory: heap_stats.h while the samples are read once before the export; then 80 bytes for each
 * stack of a process and 64 for each node of the tree of stacks. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_PERFETTO_HEAP_H
#define ANNOT_PERFETTO_HEAP_H

#include "chosen_frames.h"
#include "export.h"
#include "hash_map.h"
#include "sample.h"
#include "strtab.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct perfetto_tracks;

enum perfetto_dump { PERFETTO_AT_PEAK = 0, PERFETTO_AT_END, PERFETTO_DUMPS };

/* A stack as the reader sees it: its innermost frame and the stack of its callers. */
struct perfetto_heap_node {
    uint32_t parent, frame; /* a number of the recording's with that name */
};

/* Of one stack in one process; cumulative at each dump. */
struct perfetto_heap_sums {
    uint32_t process, node;

    struct {
        int64_t bytes, blocks, freed_bytes, freed_blocks;
    } at[PERFETTO_DUMPS];
};

struct perfetto_heap {
    struct perfetto_tracks *tracks;
    const char *prefixes; /* of file names: profile/call_label.h */
    uint32_t sequence;    /* number; 0: the recording has no samples of memory */
    uint32_t stack_count;
    int64_t peak_ns;
    struct chosen_frames frames;
    struct map64 index;                   /* process and node: index of the sums */
    struct map64 of_stack;                /* stack: node */
    struct wide_map by_frame;             /* parent, name, path and address: node */
    VEC(struct perfetto_heap_node) nodes; /* the first is the empty stack */
    struct strtab names;                  /* of labels */
    uint32_t *name_of;                    /* by label: name + 1; 0: not known yet */
    VEC(struct perfetto_heap_sums) sums;
    uint8_t *known; /* by number of a frame, label or path: bits of what was written */
};

/* Reads the samples once to find the peak. 0 or -errno; then call fini all the same. `number`: of
 * the sequence. */
int perfetto_heap_init(struct perfetto_heap *heap, struct perfetto_tracks *tracks,
                       const struct export_job *job, uint32_t number);
int perfetto_heap_put(struct perfetto_heap *heap, const struct sample *sample);
int perfetto_heap_finish(struct perfetto_heap *heap);
void perfetto_heap_fini(struct perfetto_heap *heap);

#endif
