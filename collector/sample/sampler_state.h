/* SPDX-License-Identifier: MIT */
/* What the rung of the BPF sampler consists of; shared by its files (sampler_bpf.c is the rung,
 * sampler_records.c takes records, sampler_stacks.c their stacks, sampler_publish.c tells the
 * kernel, sampler_upkeep.c and sampler_untold.c look after it, sampler_counts.c writes facts,
 * sampler_asleep.c knows who slept).
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_STATE_H
#define ANNOT_SAMPLER_STATE_H

#include "bpf_program.h"
#include "code_names.h"
#include "perf_ring.h"
#include "python_finder.h"
#include "sample_queue.h"
#include "stack_join.h"
#include "unwind_stack.h"

/* What was counted about stacks, by how they ended. */
struct sampler_counts {
    uint64_t samples, switches;
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

/* Those that slept when their process was begun with: sampler_asleep.c. */
struct asleep_thread {
    struct sampler_asleep told;
    uint32_t *frames; /* root first; of the trace */
    uint32_t count;
    uint8_t native_end, python_end;
};

struct asleep_threads {
    VEC(struct asleep_thread *) unread;
    struct map64 by_key; /* hash of tid and time -> struct asleep_thread *, whose stack is known */
};

void asleep_threads_fini(struct asleep_threads *asleep);

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
    struct sampler_counts counts;
    bool unpublished; /* processes changed since the last publication */
    uint64_t published_ns;
    uint64_t served;              /* lives_served() when it was looked at last */
    bool waits_interpreter, lazy; /* something must be looked at again soon */
    uint64_t facts_ns;            /* when they were written last */
    uint64_t upkeep_ns;           /* the same of the upkeep */
    size_t look_next;             /* whom sampler_look_untold() looks at next */
    uint64_t replaced_ns;         /* when a library last took the place of another one */
};

/* Takes one record; mappings up to its time are applied first. 0, -ENOMEM, -errno of the sink. */
int sampler_take_record(void *context, const struct sampler_head *record);
/* Applies what the perf rings told up to a time. 0 or -ENOMEM. */
int sampler_apply_notes(struct bpf_sampler *sampler, uint64_t until_ns);
/* The process of a record, made known if it was not. NULL: out of memory. */
struct sampled *sampler_process_of(struct bpf_sampler *sampler, const struct sampler_head *head);

/* An exec: with its record, or without. 0 or -ENOMEM. */
struct told_image {
    struct lives_task task;
    uint64_t time_ns;
    const char *comm, *command;
};

int sampler_begin_image(struct bpf_sampler *sampler, struct sampled *process,
                        const struct told_image *image);
/* It must have ended before that time. */
void sampler_end_untold(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns);
/* Looks for ends and execs that were not told. 0 or -ENOMEM. */
int sampler_look_untold(struct bpf_sampler *sampler);

/* A record that says more than it holds: passed over and counted. 0. */
int sampler_pass_damaged(struct bpf_sampler *sampler);

/* Parts of stacks. 0 or -ENOMEM. */
int sampler_take_part(struct bpf_sampler *sampler, const struct sampler_head *record);
int sampler_take_copy(struct bpf_sampler *sampler, const struct sampler_copy *copy);

/* A native stack to be walked here: registers, and who reads 8 bytes of its memory. */
struct native_source {
    struct unwind_registers registers;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
    uint32_t space; /* that was published when it was taken; 0 = none */
};

/* Walks it by the process's present mappings, into a part of that hash. 0 or -ENOMEM. */
int sampler_unwind(struct bpf_sampler *sampler, struct sampled *process, uint64_t hash,
                   const struct native_source *source);

/* What sample and switch have in common. */
struct sampler_stack {
    uint64_t kernel, native, python;
    uint32_t space, flags;
    uint8_t native_end, python_end;
};

/* The stack's ordinal, 0 = none; -ENOMEM. Ends may be corrected. */
int64_t sampler_find_stack(struct bpf_sampler *sampler, struct sampled *process,
                           struct sampler_stack *stack);

/* Spaces, interpreters and values of all processes that changed, into the kernel. 0 or -ENOMEM. */
int sampler_publish(struct bpf_sampler *sampler);
/* Once a second, before sampler_publish(): what else must be looked after. 0 or -ENOMEM. */
int sampler_upkeep(struct bpf_sampler *sampler);
/* Forgets what is not needed any more. */
void sampler_sweep(struct bpf_sampler *sampler);

/* Counters into the trace. 0 or -ENOMEM. */
int sampler_write_facts(struct bpf_sampler *sampler);

#endif
