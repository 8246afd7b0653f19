/* SPDX-License-Identifier: MIT */
/* The state of the BPF sampler's rung. sampler_bpf.c runs its steps: sampler_records.c takes
 * records, sampler_stacks.c their stacks, sampler_asleep.c and sampler_probes.c those of threads
 * that slept and of probes, sampler_upkeep.c looks after the rest. Thread-safety: one thread per
 * object. */
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
#include "sampler_probes.h"
#include "sampler_rung.h"
#include "spaces.h"
#include "stack_join.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was counted about stacks, by how they ended. */
struct sampler_counts {
    uint64_t samples, switches, launches;
    uint64_t native_end[STACK_END_COUNT], python_end[STACK_END_COUNT];
    uint64_t stacks_missing;  /* the part a sample names did not come */
    uint64_t stacks_stale;    /* walked by the mappings of an image before an exec */
    uint64_t stacks_replaced; /* walked by the rows of a library that was not there any more */
    uint64_t copies, code_unread;
    uint64_t damaged;    /* records whose parts do not fit into them */
    uint64_t notes_lost; /* mappings that the kernel could not tell; read from /proc instead */
    uint64_t adopted;    /* processes whose fork was not told */
    uint64_t ends_untold, execs_untold; /* noticed by looking */
    uint64_t stuck_lists;               /* processes whose mappings could not be published */
    uint64_t maps_unread;   /* processes that ended before their mappings could be read */
    uint64_t asleep_moved;  /* threads that woke up while their stack was read */
    uint64_t asleep_denied; /* times that sleeping threads could not be looked for */
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
    struct probes probes;
    struct sampler_counts counts;
    struct pace pace;
    bool unpublished; /* processes changed since the last publication */
    uint64_t published_ns;
    uint64_t served;              /* lives_served() when it was looked at last */
    bool waits_interpreter, lazy; /* something must be looked at again soon */
    bool waits_rows;              /* the record that is next waits */
    uint64_t facts_ns;            /* when they were written last */
    uint64_t upkeep_ns;           /* the same of the upkeep */
    size_t look_next;             /* whom sampler_look_untold() looks at next */
    uint64_t replaced_ns;         /* when a library last took the place of another one */
};

#endif
