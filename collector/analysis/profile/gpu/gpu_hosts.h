/* SPDX-License-Identifier: MIT */
/* Threads while GPUs were starved. Thread-safety: as gpu_stats.h. */
#ifndef ANNOT_GPU_HOSTS_H
#define ANNOT_GPU_HOSTS_H

#include "gpu_stats.h"
#include "gpu_stays.h"
#include "vec.h"

/* The thread of a process with the first launch. */
struct gpu_host {
    bool known;
    uint32_t thread;
    int64_t first_ns;
};

struct gpu_hosts {
    VEC(struct gpu_host) of_process;
    struct gpu_stays stays; /* `row`: a stack; `process`: a thread and its state there */
    VEC(struct gpu_host_place) places;
};

void gpu_hosts_fini(struct gpu_hosts *hosts);
/* gpu_hosts_launched takes the event of launched work. 0 or -ENOMEM. */
int gpu_hosts_launched(struct gpu_stats *work, const struct event *event);
int gpu_hosts_take(struct gpu_stats *work, const struct sample *sample);
int gpu_hosts_finish(struct gpu_stats *work, const struct own_time *own);

#endif
