/* SPDX-License-Identifier: MIT */
/* The collector: one recording session from its first moment to the finished file.
 *
 *     collector_create -> { poll collector_fd for collector_timeout_ms; collector_step }* ->
 *     collector_finish -> collector_destroy
 *
 * Composes directory, intake and store, and is the only one to do so. Prints nothing, never exits.
 * Programs never wait for it: killed at any time, they go on, and collector_recover completes what
 * it left. Thread-safety: one thread per object. */
#ifndef ANNOT_COLLECTOR_H
#define ANNOT_COLLECTOR_H

#include "sampler.h"
#include "target.h"

#include <stdbool.h>
#include <stdint.h>

struct collector;

/* What a program does whose buffer is full; numbers of the wire. */
enum collector_policy {
    COLLECTOR_DROP = 0,      /* its newest records are lost until there is room */
    COLLECTOR_OVERWRITE = 1, /* a flight recorder: its oldest are; see collector_snapshot */
    COLLECTOR_WAIT = 2,      /* it waits, a tenth of a second at most; then as DROP */
};

/* What takes events and samples in the place of a file. They refer to collector_trace(), and are
 * valid during the call. A nonzero result ends the step and sticks, as an error of a file would. */
struct collector_sink {
    int (*events)(void *context, const struct event_batch *batch);
    int (*samples)(void *context, const struct sample *samples, size_t count);
    void *context;
};

/* {0} is the default of all but `output`. */
/* Options as the user gave them ("--trace-select nosuch"), or NULL: the recording says which of
 * them had no effect. The texts outlive the collector. */
struct collector_asked {
    const char *calls, *lines; /* functions of Python traced, and their lines */
    const char *python;        /* what pyannot observes */
    const char *capture;
    const char *gpu;
    const char *ranges; /* functions of Python, MODULE:FUNCTION,...: without the option's name */
};

struct collector_options {
    struct collector_asked asked;
    const char *directory;             /* NULL: $ANNOT_DIR or the default place */
    const struct target *target;       /* instead: the directory of this running program; or NULL */
    const char *output;                /* the recording; must not exist, unless `overwrite` */
    const struct collector_sink *sink; /* instead of it: nothing is written; or NULL */
    const char *command;               /* what is recorded, for humans */
    const char *place;                 /* the working directory to show paths from; NULL: our own */
    const char *version;               /* of annot */
    const char *note;                  /* a sentence for who reads the recording; NULL: none */
    uint64_t volume_bytes;             /* of a file of the recording; 0: there is one */
    uint64_t pool_bytes;               /* buffer of each process; 0 = 16 MiB */
    const char *filter;  /* which events, see annot_filter.h; NULL = all; at most 240 bytes */
    const char *capture; /* record inside of this range alone: struct annot_session; NULL = all */
    int64_t off_cpu_threshold_ns; /* shorter waits are only counted */
    const char *launch_library;   /* the library that tells launches, if known; or NULL */
    double range_budget;          /* percent of a processor for ranges; 0 = no limit */
    enum collector_policy policy;
    uint32_t sample_hz;          /* 0 = no samples of what runs */
    uint32_t sample_first_hz;    /* for the first second of CPU time; 0 = sample_hz */
    uint32_t off_cpu_rate_max;   /* a second; 0 = the default */
    enum sampling_rung rung_max; /* 0 = the best that works */
    uint32_t gpu_hz; /* counters of the machine's GPUs, if it has NVIDIA's library; 0 = none */
    bool attach;     /* nobody joins but by collector_annotate */
    bool overwrite;  /* the recording may exist */
    bool paused;     /* programs begin to record at collector_open_gate only */
    bool off_cpu;    /* samples also of what waits */
    bool launches;   /* stacks of those who launch work of GPUs, if it samples */
    bool ranges;     /* collector_add_range will be called */
    bool no_source;  /* texts of source files stay out of the recording */
};

/* 0 or -errno. Where it failed is told in error->what. */
struct collector_error {
    char what[256]; /* "cannot write FILE: No space left on device" */
    char hint[256];
};

int collector_create(const struct collector_options *options, struct collector **ret_collector,
                     struct collector_error *ret_error);
void collector_destroy(struct collector *collector);

/* Removes the recording again: the command could not be started. Devices are left alone. */
void collector_remove_output(const struct collector *collector);

/* The value for ANNOT_SESSION of the command. */
const char *collector_session_text(const struct collector *collector);

/* The value for ANNOT_PLACE of the command. */
const char *collector_place_text(const struct collector *collector);

/* Programs begin to record. Done by collector_create unless it was paused. 0 or -errno. */
int collector_open_gate(struct collector *collector);

/* Switches the annotations of a running program on, and of its descendants: when the gate opens.
 * Of a paused collector that attaches. One without libannot takes part if it loads it later. 0;
 * -EBUSY: another session has them, its recording in ret_other (PATH_MAX); -EXDEV: the program uses
 * another directory; -errno. */
int collector_annotate(struct collector *collector, const struct target *target, char *ret_other);

/* A sentence for who reads the recording, beside that of the options. 0 or -ENOMEM. */
int collector_note(struct collector *collector, const char *text);

/* Samples a process and its descendants: struct sampler's sampler_track. A paused collector begins
 * with it when its gate opens. 0, -ESRCH, -EPERM. */
int collector_track(struct collector *collector, int pid, unsigned flags);

/* Makes ranges of functions: struct sampler's sampler_add_range, of a collector with `ranges`. */
int collector_add_range(struct collector *collector, const struct sampler_range_wish *wish,
                        struct sampler_range_told *ret_told);

/* Readable when there is something to do at once; else call collector_step after the timeout,
 * which adapts: 1 ms while data flow, 16 ms when nothing happens. Both may be others after each
 * step; -1: nothing is waited for. */
int collector_fd(const struct collector *collector);
int collector_timeout_ms(const struct collector *collector);

/* Drains all there is, as long as the disk takes it; what it does not take stays in shared memory.
 * 0, or -errno of the file: the recording then holds what was whole, and programs go on into their
 * buffers. The error sticks. */
int collector_step(struct collector *collector);

/* Without a file: stretches off the CPU that go on are handed to the sink as far as they have come,
 * with SAMPLE_UNFINISHED, each time anew. 0 or -errno. */
int collector_tell_waiting(struct collector *collector);

/* A child of the caller ended. */
void collector_note_exit(struct collector *collector, int pid, int wait_status);

/* The command itself: its status goes into the recording. */
/* The block of the program that asked for the recording: CLOCK_MONOTONIC, from begin to end. 0 or
 * -errno. */
int collector_note_block(struct collector *collector, int64_t begin_ns, int64_t end_ns);
void collector_note_command(struct collector *collector, int wait_status);

struct collector_counts {
    uint32_t process_count, live_count, thread_count;
    uint64_t event_count, lost_count, file_bytes, shared_bytes;
    uint64_t sample_count;  /* instants on a CPU */
    uint64_t stretch_count; /* off it */
};

void collector_count(const struct collector *collector, struct collector_counts *ret_counts);

/* Closes the gate, drains for the last time and completes the file, which others may read when it
 * returns. Then comes collector_finish. 0 or -errno, as that. */
int collector_complete(struct collector *collector);

/* As collector_complete, if that was not called; then leaves the directory as it was.
 * Programs that were attached to have a tenth of a second to notice and to unmap what they had.
 * 0 or the first -errno, for instance of a full disk: then session and segments stay, and
 * collector_recover completes the recording. The trace stays readable until collector_destroy. */
int collector_finish(struct collector *collector);
const struct trace *collector_trace(const struct collector *collector);

#endif
