/* SPDX-License-Identifier: MIT */
/* Samples the activity of threads, in the best way that this machine allows (the ladder), and
 * records the way and its reason.
 *
 *     sampler_create -> sampler_track -> { poll sampler_fd; sampler_step }* -> sampler_finish
 *
 * Descendants of tracked processes are followed. Samples are passed on with names and stacks
 * resolved. Prints nothing. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_H
#define ANNOT_SAMPLER_H

#include "event.h"
#include "lives.h"
#include "sample.h"

struct sampler;

/* Minimum of descriptors for sampling: the rings, the maps, each file that programs run. */
enum { SAMPLER_FILES_LEAST = 256 };

/* {0} is the default where possible. */
struct sampler_options {
    struct trace *trace;   /* these two outlive the sampler */
    struct lives *lives;   /* with names of ranges, and the places of threads' ranges */
    uint32_t frequency_hz; /* 0 = no CPU samples */
    uint32_t first_hz;     /* until enough was sampled (struct pace); 0 = frequency_hz */
    bool off_cpu;
    int64_t off_cpu_threshold_ns; /* shorter stretches are only counted */
    uint32_t off_cpu_rate_max;    /* stretches per second; 0 = 500,000 */
    enum sampling_rung rung_max;  /* 0 = the best; for tests and experts */
    const char *cache_directory;  /* NULL = the user's cache */
    /* Converts the time of a launch from its program's clock, as in its spans. NULL: do not sample
     * launches. */
    int64_t (*launch_ns)(void *context, uint64_t time);
    void *launch_context;
    const char *launch_library; /* watched from the start; NULL: libraries are found in processes */
    const char *heap_library;   /* libannot-heap.so: its sampled blocks are recorded; NULL: none */
    bool memory;                /* counters of memory over time are recorded */
    /* Live bytes as the program counts them; false: it does not. NULL: those of samples. */
    bool (*live_bytes)(void *context, int32_t pid, int64_t *ret_bytes);
    /* Receives ranges of probed functions, as EVENT_SPANs on their threads' own lanes, and counters
     * of memory, in no order (event_batch.late). 0 or -errno. NULL: neither is wanted. */
    int (*take_ranges)(void *context, const struct event_batch *batch);
    double range_budget; /* limit for probes in percent of a processor; 0 = no limit */
    /* Receives samples; 0 or -errno, which ends a step. */
    int (*sink)(void *context, const struct sample *samples, size_t count);
    void *context;
};

/* Never fails for want of rights: then the rung is SAMPLING_NONE and all calls do nothing. 0 or
 * -ENOMEM. The rung, its reason and hint are in the trace (trace_sampling). */
int sampler_create(const struct sampler_options *options, struct sampler **ret_sampler);
void sampler_destroy(struct sampler *sampler);

/* Samples a process and all its later descendants (and present ones, if `attach`). wait_exec: from
 * its next exec on. 0, -ESRCH, -EPERM (another user's process, without root). */
enum sampler_track_flags { SAMPLER_TRACK_WAIT_EXEC = 1u << 0, SAMPLER_TRACK_ATTACH = 1u << 1 };

int sampler_track(struct sampler *sampler, int32_t pid, unsigned flags);

/* Makes ranges of native functions in unmodified programs: the kernel puts probes at their starts
 * and exits. With eBPF only, and with `take_ranges`. Files that are missing now are probed when a
 * tracked process maps them. */
struct sampler_range_request {
    const char *text;    /* "FILE:FUNCTION", both may be glob patterns; static probes (USDT):
                            "FILE:PROVIDER:PROBE", marks, or "FILE:PROVIDER:PROBE..PROBE" */
    const char *program; /* the file to be run; NULL: it runs already */
};

struct sampler_range_result {
    uint32_t functions, places; /* with probes now; 0: the file was not found yet */
    bool is_static;             /* they are static probes */
    uint32_t refused;           /* functions with unreadable code */
    uint32_t chosen;            /* others of that name are chosen at run time, and not probed */
    uint64_t call_ns;           /* measured cost of a call; 0: unknown */
    char reason[256], hint[256];
};

/* 0; -EOPNOTSUPP: no eBPF; -EINVAL, -ENOENT, -errno: with a reason. */
int sampler_add_range(struct sampler *sampler, const struct sampler_range_request *wish,
                      struct sampler_range_result *ret_result);

/* Readable when a step is due before the timeout; -1 = never. Milliseconds; -1 = not needed. */
int sampler_fd(const struct sampler *sampler);
int sampler_timeout_ms(const struct sampler *sampler);

/* Takes available records: 0 or -errno of the sink or -ENOMEM. */
int sampler_step(struct sampler *sampler);

/* Reports stretches off the CPU that have lasted for a quarter of a second, as SAMPLE_UNFINISHED up
 * to now; they are reported again when they end. Only with eBPF. Cost: each stack is read once. 0
 * or -errno, as sampler_step. */
int sampler_emit_waiting(struct sampler *sampler);

/* Stops, takes the rest, reports unfinished off-CPU stretches, writes counters into the trace. */
int sampler_finish(struct sampler *sampler);

#endif
