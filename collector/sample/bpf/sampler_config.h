/* SPDX-License-Identifier: MIT */
/* What the loader tells the BPF program before it is loaded, and layouts of foreign memory that
 * both must agree on. Thread-safety: plain data. */
#ifndef ANNOT_SAMPLER_CONFIG_H
#define ANNOT_SAMPLER_CONFIG_H

#include "sampler_abi.h"

/* Section .rodata.config: constants to the verifier. */
struct sampler_config {
    uint64_t threshold_ns;     /* shorter stretches off CPU are only counted */
    uint64_t rate_max;         /* stretches a second */
    uint64_t ring_bytes;       /* size of the ring */
    int64_t uid;               /* -1 = of all users */
    uint32_t pid_namespace;    /* inode of the collector's; 0 = it is the root namespace */
    uint32_t switch_has_state; /* tracepoint sched_switch tells the state that led to it */
    uint32_t exit_has_group;   /* tracepoint sched_process_exit tells whether it is the last */
    uint32_t user_is_unsafe;   /* see kernel_flaw_freezes() */
    uint32_t check_sleepers;   /* enum sampler_sleepers */
};

/* libannot's struct annot_thread and annot_open: the loader asserts that they still lie so. */
enum {
    LIVE_PID_OFFSET = 8, /* pid, tid, depth: 12 bytes */
    LIVE_RANGES_OFFSET = 128,
    LIVE_RANGE_SIZE = 16, /* name, instance, time */
    LIVE_RANGES = 32,
};

/* Of a function and its kernel module, as the kernel writes them. */
enum { KERNEL_NAME_MAX = 512 };

#endif
