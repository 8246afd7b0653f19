/* SPDX-License-Identifier: MIT */
/* Counters of memory over time, for recordings of memory. Of each process: the bytes
 * of its live blocks, its resident memory (RSS), and the part of it that maps files. Of a memory
 * control group with a limit: its use and its limit, as counters of one of its processes.
 *
 * RSS is recorded one round after its reading, when the blocks of that moment are known. Values are
 * recorded ten times a second at most, and only if they changed. Each round reads a
 * bounded number of processes, so that a thousand of them take longer, but not more time. At the
 * end of a process its counters become zero.
 *
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_MEMORY_H
#define ANNOT_SAMPLER_MEMORY_H

#include "memory_group.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_sampler;
struct sampled;

enum memory_counter {
    MEMORY_HEAP_LIVE = 0,
    MEMORY_RSS = 1,
    MEMORY_RSS_FILES = 2,
    MEMORY_GROUP_USE = 3,
    MEMORY_GROUP_LIMIT = 4,
    MEMORY_COUNTERS = 5,
};

/* State of a process's counters. */
struct memory_shown {
    uint32_t thread; /* 1 + ordinal of the one that the counters are recorded on; 0: none yet */
    uint32_t group;  /* 1 + index; 0: not read */
    int64_t values[MEMORY_COUNTERS]; /* recorded last */
    uint32_t known;                  /* bits of the counters with a value */
    int64_t rss, files;              /* as read; rss 0: nothing waits to be recorded */
    int64_t live;                    /* at the same time, if is_counted: by the program itself */
    bool is_counted;
    uint64_t read_ns;
    uint64_t heap_ns; /* time of the last recorded value of live bytes */
};

struct memory_watched_group {
    char *text; /* of /proc/PID/cgroup, owned */
    struct memory_group group;
    uint64_t kills_before, kills; /* by the kernel for lack of memory */
    int32_t pid;                  /* of the process that has its counters; 0: none */
};

struct memory_watch {
    VEC(struct memory_watched_group) groups;
    uint64_t round_ns; /* time of the last round */
    size_t next;       /* index of the next process to be read */
    uint64_t kills_before;
    uint32_t scope; /* 0: the counters are not defined yet */
    uint32_t names[MEMORY_COUNTERS];
};

/* Call when the sampler begins. */
void sampler_begin_memory(struct bpf_sampler *sampler);
void sampler_end_memory(struct bpf_sampler *sampler);

/* Records changes. finish: after the last step. 0 or -errno. */
int sampler_step_memory(struct bpf_sampler *sampler);
int sampler_finish_memory(struct bpf_sampler *sampler);

/* Call at an exec, or at the end of a process, at that time. 0 or -errno. */
int sampler_end_image_memory(struct bpf_sampler *sampler, struct sampled *process,
                             uint64_t time_ns);

/* Writes the number of killed processes into the trace. 0 or -errno. */
int sampler_write_memory(const struct bpf_sampler *sampler);

#endif
