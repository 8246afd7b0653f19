/* SPDX-License-Identifier: MIT */
/* Places of a process's file as threads and stacks of the trace. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_HEAPS_STACKS_H
#define ANNOT_HEAPS_STACKS_H

#include "annot_heap.h"
#include "frames.h"
#include "heaps.h"
#include "modules.h"
#include "processes.h"
#include "spaces.h"
#include "vec.h"

#include <stdint.h>

struct heaps_file;

/* Names of native code, of all files. */
struct heaps_namer {
    struct modules modules;
    struct address_frames frames;
};

/* 0 or -ENOMEM. fini accepts a zeroed object. */
int heaps_namer_init(struct heaps_namer *namer, struct trace *trace);
void heaps_namer_fini(struct heaps_namer *namer);

/* A place, resolved. */
struct heaps_place {
    uint32_t thread; /* ordinal + 1; 0: not resolved */
    uint32_t stack;
};

struct heaps_stacks {
    VEC(struct heaps_place) places;      /* by number, from the first one of the file */
    VEC(struct mapping_list *) mappings; /* by module of the file, each in a list of its own */
    struct map64 labels;                 /* text -> label */
    struct sampled process;              /* for code made at run time */
};

void heaps_stacks_fini(struct heaps_stacks *stacks);

/* Resolves new places. 0 or -ENOMEM; an invalid place stays without a thread. */
int heaps_stacks_read(struct heaps_file *file, struct heaps_namer *namer,
                      const struct heaps_options *options);

/* The entry of the process in the trace. -ENOMEM. */
int64_t heaps_process(const struct heaps_file *file, const struct heaps_options *options);

#endif
