/* SPDX-License-Identifier: MIT */
/* Takes the records of the BPF program's ring in order: lives of processes, stacks, samples,
 * switches. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_RECORDS_H
#define ANNOT_SAMPLER_RECORDS_H

#include "lives.h"
#include "processes.h"
#include "sampler_abi.h"

#include <stdint.h>

struct bpf_sampler;

/* Not now: the rows of a file that is needed are being read. */
enum { SAMPLER_LATER = 1 };

/* Takes one record; mappings up to its time are applied first. 0, -ENOMEM, -errno of the sink;
 * SAMPLER_LATER: it and all behind it are to be told again, in a moment. */
int sampler_take_record(void *context, const struct sampler_head *record);

/* Applies what the perf rings told up to a time. 0 or -ENOMEM. */
int sampler_apply_notes(struct bpf_sampler *sampler, uint64_t until_ns);

/* The process of a record, made known if it was not. NULL: out of memory. */
struct sampled *sampler_process_of(struct bpf_sampler *sampler, const struct sampler_head *head);

/* Its thread's ordinal in the trace, by the image that ran at that time; -ENOMEM. */
int64_t sampler_thread_of(struct bpf_sampler *sampler, const struct sampler_head *head,
                          int64_t image_ns);

/* An exec: with its record, or without. 0 or -ENOMEM. */
struct told_image {
    struct lives_task task;
    uint64_t time_ns;
    const char *comm, *command;
    uint64_t number; /* the kernel's; 0 = unknown */
};

int sampler_begin_image(struct bpf_sampler *sampler, struct sampled *process,
                        const struct told_image *image);

/* A record that says more than it holds: passed over and counted. 0. */
int sampler_pass_damaged(struct bpf_sampler *sampler);

#endif
