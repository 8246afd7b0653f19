/* SPDX-License-Identifier: MIT */
/* The state of the BPF sampler's rung. sampler_bpf.c runs its steps: sampler_records.c takes
 * records, sampler_stacks.c their stacks, sampler_asleep.c and sampler_probes.c those of sleeping
 * threads and of probes, sampler_upkeep.c does the rest. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_BPF_H
#define ANNOT_SAMPLER_BPF_H

#include "bpf_program.h"
#include "frames.h"
#include "modules.h"
#include "perf_ring.h"
#include "probe.h"
#include "processes.h"
#include "python_finder.h"
#include "sample_queue.h"
#include "sampler.h"
#include "sampler_asleep.h"
#include "sampler_heap.h"
#include "sampler_memory.h"
#include "sampler_probes.h"
#include "sampler_rung.h"
#include "spaces.h"
#include "stack_join.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts of stacks, by the reason of their end. */
struct sampler_counts {
    uint64_t samples, switches, launches;
    uint64_t native_end[STACK_END_COUNT], python_end[STACK_END_COUNT];
    uint64_t stacks_missing;  /* a part of the sample was not received */
    uint64_t stacks_stale;    /* walked with mappings of an image before an exec */
    uint64_t stacks_replaced; /* walked with rows of a replaced library */
    uint64_t copies, code_unread;
    uint64_t damaged;    /* records with parts larger than the record */
    uint64_t notes_lost; /* mappings lost by the kernel; read from /proc instead */
    uint64_t adopted;    /* processes with an unreported fork */
    uint64_t ends_unreported, execs_unreported; /* found by inspection */
    uint64_t stuck_lists;   /* processes with mappings that could not be published */
    uint64_t maps_unread;   /* processes that ended before their mappings were read */
    uint64_t asleep_moved;  /* threads that woke up while their stack was read */
    uint64_t asleep_denied; /* number of failed searches for sleeping threads */
};

struct bpf_sampler {
    struct sampler_options options;
    struct sampler_bpf *program;
    struct perf_rings *rings;
    int epoll_fd;
    bool finished;
    uint64_t now_ns, step;
    struct modules modules;
    struct spaces spaces;
    struct processes processes;
    struct python_finder finder;
    struct address_frames names;
    struct code_names codes;
    struct stack_parts parts;
    struct stack_join join;
    struct sample_queue queue;
    struct asleep_threads asleep;
    struct launch_watch launches;
    struct heap_watch heap;
    struct memory_watch memory;
    struct probes probes;
    struct sampler_counts counts;
    struct pace pace;
    bool unpublished; /* processes changed since the last publication */
    uint64_t published_ns;
    uint64_t served;              /* lives_served() at the last look */
    bool waits_interpreter, lazy; /* another look is due soon */
    bool waits_rows;              /* the next record waits for rows */
    uint64_t facts_ns;            /* time of the last write */
    uint64_t upkeep_ns;           /* time of the last upkeep */
    size_t look_next;             /* index of the next process for sampler_look_unreported() */
    uint64_t replaced_ns;         /* last replacement of a library by another */
};

#endif
