/* SPDX-License-Identifier: MIT */
/* The file of one process: its places, the sums of them by thread and stack, and what of these was
 * recorded. Thread-safety: one thread per object. */
#ifndef ANNOT_HEAPS_FILE_H
#define ANNOT_HEAPS_FILE_H

#include "annot_heap.h"
#include "hash_map.h"
#include "heaps.h"
#include "heaps_stacks.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HEAPS_NAME_SIZE = 64, HEAPS_VALUES = 4 };

/* In the order of a sample's values. */
struct heaps_sums {
    int64_t alloc_bytes, allocs, free_bytes, frees;
};

/* Sums that a continued recording has already. */
struct heaps_recorded {
    struct map64 by_stack; /* thread and stack -> index in `sums`, plus 1 */
    VEC(struct heaps_sums) sums;
    struct map64 by_process; /* ordinal -> index in `processes`, plus 1 */
    VEC(struct heaps_progress) processes;
};

struct heaps_progress {
    int64_t live, peak; /* bytes */
    int64_t last_ns;    /* end of the last samples */
};

struct heaps_row {
    uint32_t thread, stack;
    struct heaps_sums now, done;
    int64_t peak_bytes, peak_blocks;
};

struct heaps_file {
    char name[HEAPS_NAME_SIZE];
    int fd;
    dev_t device;
    ino_t inode;
    int32_t pid; /* in our namespace; 0: unknown */
    uint64_t start_ticks;
    int64_t process; /* ordinal; -1: not entered yet */
    int64_t ended_ns, looked_ns;
    bool finished;
    uint64_t ticket; /* part of the recording with its last samples */
    struct heaps_progress progress;
    struct annot_heap header;
    VEC(struct annot_heap_place) places;
    struct heaps_stacks stacks;
    VEC(uint32_t) row_of; /* by place: index + 1 */
    VEC(struct heaps_row) rows;
    struct map64 by_stack; /* thread and stack -> index in `rows`, plus 1 */
};

struct heaps_reading {
    const struct heaps_options *options;
    struct heaps_namer *namer;
    const struct heaps_recorded *recorded;
    uint16_t set;
    int64_t begin_ns;           /* of the samples */
    VEC(struct sample) samples; /* scratch */
    VEC(struct heaps_sums) values;
};

/* Reads the header. 0; -EAGAIN: not complete yet; -EBADMSG. */
int heaps_file_read(struct heaps_file *file);
void heaps_file_fini(struct heaps_file *file);

/* Records the changes until `now_ns`. A running process that changes too fast for one consistent
 * look is left for the next, unless `is_last`. 0 or -errno. */
int heaps_file_look(struct heaps_file *file, struct heaps_reading *reading, int64_t now_ns,
                    bool is_last);

static inline uint64_t heaps_key(uint32_t thread, uint32_t stack)
{
    return (uint64_t)(thread + UINT64_C(1)) << 32 | stack;
}

#endif
