/* SPDX-License-Identifier: MIT */
/* The collector: one recording session from its start to the finished file.
 *
 *     collector_create -> { poll collector_fd for collector_timeout_ms; collector_step }* ->
 *     collector_finish -> collector_destroy
 *
 * The only part that composes directory, intake and store. Prints nothing, never exits. Programs
 * never wait for it: if it is killed, they go on, and collector_recover completes its recording.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COLLECTOR_H
#define ANNOT_COLLECTOR_H

#include "sampler.h"
#include "target.h"

#include <stdbool.h>
#include <stdint.h>

struct collector;

/* The behaviour of a program with a full buffer; numbers of the wire. */
enum collector_policy {
    COLLECTOR_DROP = 0,      /* drops its newest records until there is room */
    COLLECTOR_OVERWRITE = 1, /* a flight recorder: drops the oldest; see collector_snapshot */
    COLLECTOR_WAIT = 2,      /* waits, a tenth of a second at most; then as DROP */
};

/* Receives events and samples instead of a file. They refer to collector_trace(), and are valid
 * during the call. A nonzero result ends the step and is permanent, as an error of a file would
 * be. */
struct collector_sink {
    int (*events)(void *context, const struct event_batch *batch);
    int (*samples)(void *context, const struct sample *samples, size_t count);
    void *context;
};

/* Options as the user gave them ("--trace-select nosuch"), or NULL: the recording lists those
 * without effect. The texts outlive the collector. */
struct collector_requested {
    const char *calls, *lines; /* traced functions of Python, and their lines */
    const char *python;        /* parts that pyannot observes */
    const char *capture;
    const char *gpu;
    const char *ranges; /* functions of Python, MODULE:FUNCTION,...: without the option's name */
};

/* {0} is the default of all but `output`. */
struct collector_options {
    struct collector_requested requested;
    const char *directory;       /* NULL: $ANNOT_DIR or the default place */
    const struct target *target; /* use the directory of this running program instead; or NULL */
    const char *output;          /* the recording; must not exist, unless `overwrite` */
    const struct collector_sink *sink; /* used instead of `output`: no file is written; or NULL */
    const char *command;               /* the recorded command, for humans */
    const char *place;                 /* working directory for relative paths; NULL: our own */
    const char *version;               /* of annot */
    const char *note;                  /* a sentence for readers of the recording; NULL: none */
    uint64_t volume_bytes;             /* size of a file of the recording; 0: a single file */
    uint64_t pool_bytes;               /* buffer of each process; 0 = 16 MiB */
    const char *filter;  /* of events, see annot_filter.h; NULL = all; at most 240 bytes */
    const char *capture; /* record only inside this range: struct annot_session; NULL = all */
    int64_t off_cpu_threshold_ns; /* shorter waits are only counted */
    const char *launch_library;   /* the library that reports launches, if known; or NULL */
    const char *heap_library;     /* libannot-heap.so, whose samples are recorded; or NULL */
    double range_budget;          /* percent of a processor for ranges; 0 = no limit */
    enum collector_policy policy;
    uint32_t sample_hz;          /* of running threads; 0 = no such samples */
    uint32_t sample_first_hz;    /* for the first second of CPU time; 0 = sample_hz */
    uint32_t off_cpu_rate_max;   /* per second; 0 = the default */
    enum sampling_rung rung_max; /* 0 = the best that works */
    uint32_t gpu_hz; /* of counters of the machine's GPUs, with NVIDIA's library; 0 = off */
    bool attach;     /* processes join only by collector_annotate */
    bool overwrite;  /* the recording may exist */
    bool paused;     /* programs do not record before collector_open_gate */
    bool off_cpu;    /* also sample waiting threads */
    bool heap_exact; /* programs count their allocations: collector_directory */
    bool launches;   /* stacks of launches of GPU work, if it samples */
    bool ranges;     /* collector_add_range will be called */
    bool no_source;  /* leave texts of source files out of the recording */
};

/* 0 or -errno. error->what describes the failure. */
struct collector_error {
    char what[256]; /* "cannot write FILE: No space left on device" */
    char hint[256];
};

int collector_create(const struct collector_options *options, struct collector **ret_collector,
                     struct collector_error *ret_error);
void collector_destroy(struct collector *collector);

/* Removes the recording because the command could not be started. Devices are left alone. */
void collector_remove_output(const struct collector *collector);

/* The value for ANNOT_SESSION of the command. */
const char *collector_session_text(const struct collector *collector);

/* The value for ANNOT_PLACE of the command. */
const char *collector_place_text(const struct collector *collector);

/* The session's directory, where programs put the counts of their allocations. */
const char *collector_directory(const struct collector *collector);

/* Lets programs record. Done by collector_create unless it was paused. 0 or -errno. */
int collector_open_gate(struct collector *collector);

/* Assigns a running program and its descendants to the session when the gate opens.
 * For a paused collector that attaches. A program without libannot takes part if it loads it later.
 * 0; -EBUSY: another session has it, its recording in ret_other (PATH_MAX); -EXDEV: the program
 * uses another directory; -errno. */
int collector_annotate(struct collector *collector, const struct target *target, char *ret_other);

/* Adds a sentence for readers of the recording to that of the options. 0 or -ENOMEM. */
int collector_note(struct collector *collector, const char *text);

/* Samples a process and its descendants: struct sampler's sampler_track. A paused collector starts
 * when its gate opens. 0, -ESRCH, -EPERM. */
int collector_track(struct collector *collector, int pid, unsigned flags);

/* Makes ranges of functions: struct sampler's sampler_add_range, of a collector with `ranges`. */
int collector_add_range(struct collector *collector, const struct sampler_range_request *wish,
                        struct sampler_range_result *ret_result);

/* Readable when work is pending; else call collector_step after the timeout, which adapts: 1 ms
 * while data flow, 16 ms when idle. Both may change with each step; -1: no descriptor to wait
 * for. */
int collector_fd(const struct collector *collector);
int collector_timeout_ms(const struct collector *collector);

/* Drains available data while the disk keeps up; the rest stays in shared memory. 0, or -errno of
 * the file: the recording then holds the complete chunks, and programs go on into their buffers.
 * The error is permanent. */
int collector_step(struct collector *collector);

/* Without a file: passes unfinished stretches off the CPU to the sink with their length so far and
 * SAMPLE_UNFINISHED, again at each call. 0 or -errno. */
int collector_emit_waiting(struct collector *collector);

/* Call when a child of the caller ended. */
void collector_note_exit(struct collector *collector, int pid, int wait_status);

/* Records the block of the program that requested the recording: CLOCK_MONOTONIC, from start to
 * end. 0 or -errno. */
int collector_note_block(struct collector *collector, int64_t begin_ns, int64_t end_ns);

/* Records the status of the command itself. */
void collector_note_command(struct collector *collector, int wait_status);

struct collector_counts {
    uint32_t process_count, live_count, thread_count;
    uint64_t event_count, lost_count, file_bytes, shared_bytes;
    uint64_t sample_count;  /* instants on a CPU */
    uint64_t stretch_count; /* off it */
};

void collector_count(const struct collector *collector, struct collector_counts *ret_counts);

/* Closes the gate, drains for the last time and completes the file, which others may read when it
 * returns. Call collector_finish next. 0 or its -errno. */
int collector_complete(struct collector *collector);

/* As collector_complete, if that was not called; then restores the directory.
 * Attached programs have a tenth of a second to notice and to unmap their segments.
 * 0 or the first -errno, for instance of a full disk: then session and segments stay, and
 * collector_recover completes the recording. The trace stays readable until collector_destroy. */
int collector_finish(struct collector *collector);
const struct trace *collector_trace(const struct collector *collector);

#endif
