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

/* Retry later: the rows of a needed file are being read. */
enum { SAMPLER_LATER = 1 };

/* Takes one record, after applying mappings up to its time. 0, -ENOMEM, -errno of the sink;
 * SAMPLER_LATER: pass it and all later ones again, in a moment. */
int sampler_take_record(void *context, const struct sampler_head *record);

/* Applies the perf rings' notes up to a time. 0 or -ENOMEM. */
int sampler_apply_notes(struct bpf_sampler *sampler, uint64_t until_ns);

/* The process of a record, added if unknown. NULL: out of memory. */
struct sampled *sampler_process_of(struct bpf_sampler *sampler, const struct sampler_head *head);

/* The thread's ordinal in the trace, for the image that ran at that time; -ENOMEM. */
int64_t sampler_thread_of(struct bpf_sampler *sampler, const struct sampler_head *head,
                          int64_t image_ns);

/* An exec, with or without its record. 0 or -ENOMEM. */
struct image_report {
    struct lives_task task;
    uint64_t time_ns;
    const char *comm, *command;
    uint64_t number; /* the kernel's; 0 = unknown */
};

int sampler_begin_image(struct bpf_sampler *sampler, struct sampled *process,
                        const struct image_report *image);

/* Skips and counts a record with sizes that exceed it. Returns 0. */
int sampler_pass_damaged(struct bpf_sampler *sampler);

#endif
