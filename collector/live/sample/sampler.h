/* SPDX-License-Identifier: MIT */
/* Samples what threads do: the best way that this machine allows (the ladder), told with its
 * reason.
 *
 *     sampler_create -> sampler_track -> { poll sampler_fd; sampler_step }* -> sampler_finish
 *
 * Descendants of tracked processes are followed. Samples come out with names and stacks resolved.
 * Prints nothing. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_H
#define ANNOT_SAMPLER_H

#include "event.h"
#include "lives.h"
#include "sample.h"

struct sampler;

/* Descriptors without which nothing is sampled: the rings, the maps, each file that programs run.
 */
enum { SAMPLER_FILES_LEAST = 256 };

/* {0} is the default where that makes sense. */
struct sampler_options {
    struct trace *trace;   /* these two outlive the sampler */
    struct lives *lives;   /* with names of ranges, and where threads have them */
    uint32_t frequency_hz; /* 0 = no CPU samples */
    uint32_t first_hz;     /* until enough was sampled (struct pace); 0 = frequency_hz */
    bool off_cpu;
    int64_t off_cpu_threshold_ns; /* shorter stretches are only counted */
    uint32_t off_cpu_rate_max;    /* stretches a second; 0 = 500,000 */
    enum sampling_rung rung_max;  /* 0 = the best; for tests and people who know */
    const char *cache_directory;  /* NULL = the user's cache */
    /* When a launch was, by the clock of its program: as its spans have it. NULL: no stacks of
     * launches are wanted. */
    int64_t (*launch_ns)(void *context, uint64_t time);
    void *launch_context;
    const char *launch_library; /* that is to be watched from the start; NULL: those that are met */
    /* Takes ranges of functions that were probed, as EVENT_SPANs on their threads' own lanes, in no
     * order (event_batch.late). 0 or -errno. NULL: no ranges are wanted. */
    int (*take_ranges)(void *context, const struct event_batch *batch);
    double range_budget; /* of a processor that probes may take, in percent; 0 = no limit */
    /* Takes samples; 0 or -errno, which ends a step. */
    int (*sink)(void *context, const struct sample *samples, size_t count);
    void *context;
};

/* Never fails for want of rights: then the rung is SAMPLING_NONE and all calls do nothing. 0 or
 * -ENOMEM. The rung, its reason and hint are in the trace (trace_sampling). */
int sampler_create(const struct sampler_options *options, struct sampler **ret_sampler);
void sampler_destroy(struct sampler *sampler);

/* Samples a process and all its descendants to come (and present ones, if `attach`). wait_exec:
 * from its next exec on. 0, -ESRCH, -EPERM (another user's process; not being root). */
enum sampler_track_flags { SAMPLER_TRACK_WAIT_EXEC = 1u << 0, SAMPLER_TRACK_ATTACH = 1u << 1 };

int sampler_track(struct sampler *sampler, int32_t pid, unsigned flags);

/* Makes ranges of native functions, in programs as they are: by probes that the kernel puts where
 * they begin and where they are left. With eBPF only, and with `take_ranges`. Files that are not
 * there yet are probed when a tracked process maps them. */
struct sampler_range_wish {
    const char *text;    /* "FILE:FUNCTION", both may be glob patterns; static probes (USDT):
                            "FILE:PROVIDER:PROBE", marks, or "FILE:PROVIDER:PROBE..PROBE" */
    const char *program; /* the file that is to be run; NULL: it runs already */
};

struct sampler_range_told {
    uint32_t functions, places; /* that have probes now; none: its file was not met yet */
    bool is_static;             /* they are static probes */
    uint32_t refused;           /* functions whose code cannot be read */
    uint32_t chosen;            /* others of that name are chosen at run time, and not probed */
    uint64_t call_ns;           /* what each call costs, as measured here; 0: could not be */
    char reason[256], hint[256];
};

/* 0; -EOPNOTSUPP: there is no eBPF; -EINVAL, -ENOENT, -errno: the reason is told. */
int sampler_add_range(struct sampler *sampler, const struct sampler_range_wish *wish,
                      struct sampler_range_told *ret_told);

/* Readable when a step is due before the timeout; -1 = never. Milliseconds; -1 = no need. */
int sampler_fd(const struct sampler *sampler);
int sampler_timeout_ms(const struct sampler *sampler);

/* Takes what has come: 0 or -errno of the sink or -ENOMEM. */
int sampler_step(struct sampler *sampler);

/* Tells the stretches off the CPU that have gone on for a quarter of a second, as SAMPLE_UNFINISHED
 * up to now; they are told again when they end. With eBPF only: else nothing is. Cost: each stack
 * is read once. 0 or -errno, as sampler_step. */
int sampler_tell_waiting(struct sampler *sampler);

/* Stops, takes the rest, tells still open off-CPU stretches, writes counters into the trace. */
int sampler_finish(struct sampler *sampler);

#endif
