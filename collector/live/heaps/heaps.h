/* SPDX-License-Identifier: MIT */
/* Programs that count each of their allocations (annot_heap.h): finds their files in the session's
 * directory, and turns the sums into samples of a set that is exact.
 *
 * About once a second, and at the end of a process, the changes since the last look become samples:
 * of all threads and stacks, each with the allocated and the freed bytes and blocks. If there was a
 * peak in between, the changes are divided at its time, so the samples have the exact peak of each
 * process, by stack. All of it is foreign: bounded, and an invalid place is left out.
 *
 * Thread-safety: one thread per object. */
#ifndef ANNOT_HEAPS_H
#define ANNOT_HEAPS_H

#include "intake_directory.h"
#include "lives.h"
#include "sample.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heaps;

struct heaps_options {
    const struct directory *directory; /* these three outlive it */
    struct trace *trace;
    struct lives *lives; /* NULL: of a recovery, which looks up processes in the trace */
    uint64_t session_id;
    int (*samples)(void *context, const struct sample *samples, size_t count);
    void *context;
};

/* NULL: out of memory. destroy accepts NULL. */
struct heaps *heaps_create(const struct heaps_options *options);
void heaps_destroy(struct heaps *heaps);

/* For a recovery, in the order of the recording, before the first step: samples that it has. 0 or
 * -ENOMEM. */
int heaps_note(struct heaps *heaps, const struct sample *sample);

/* Takes what is due; cheap if nothing is. `ticket` is that of the next part of the recording. 0, or
 * -errno of the sink, -ENOMEM. */
int heaps_step(struct heaps *heaps, int64_t now_ns, uint64_t ticket);

/* The live bytes of a running process now, without those that each thread keeps to itself (up to
 * 64 KiB). False: it is not counted. */
bool heaps_live(const struct heaps *heaps, int32_t pid, int64_t *ret_bytes);

/* The last look at all processes; waits for names. 0 or -errno. */
int heaps_finish(struct heaps *heaps, int64_t now_ns);

/* Removes the files of ended processes whose samples are written; UINT64_MAX: all files. */
void heaps_free(struct heaps *heaps, uint64_t written);

#endif
