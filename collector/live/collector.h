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
struct collector_options {
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

/* Reads the source files that samples were in, 16 MiB at most, and keeps their texts in the trace;
 * what is left out is noted there. 0 or -ENOMEM. Thread-safety: as the trace. */
int sources_keep(struct trace *trace);

/* What a session's flight recorders hold now, as a recording of its own. */
struct collector_snapshot {
    const char *directory; /* as in struct collector_options, as are these three */
    const char *output;
    bool overwrite;
    const char *version;
    uint64_t session_id;    /* 0: that of `pid`, or else the only one there is */
    int32_t pid;            /* only this process, which overwrites its oldest records; 0: all */
    uint32_t process_count; /* out, as the rest */
    uint64_t event_count, lost_count;
};

/* Programs, their collector and its recording go on as if nothing had been; the collector may be
 * dead. 0 or -errno: -ESRCH: no such session, or no flight recorder in it; -ENOTUNIQ: which
 * session?; else of the file or the directory. Nothing is left of the file after a failure. */
int collector_snapshot(struct collector_snapshot *snapshot, struct collector_error *ret_error);

/* What was done about one session whose collector died or could not write. */
struct collector_recovered {
    bool living;          /* nothing: its collector lives; only `recording` is told */
    char recording[4096]; /* "" if there was nothing to keep */
    uint64_t event_count; /* appended */
    uint64_t lost_count;  /* of the whole recording */
    uint32_t process_count;
    uint32_t left_count; /* processes that may have gone on unrecorded; at least so many */
    bool resumed;        /* an existing recording was completed, not a new one made */
    int error;           /* 0 or -errno: then the session was left as it is */
};

/* Completes the recordings of dead collectors in the directory (NULL: the default ones, each that
 * is there). For recordings that are gone, and segments that belong to no session, new ones are
 * made in the present directory if `make`; else they stay, told with error -ENOENT. Calls back per
 * session, also those that live and are left alone. Returns how many were dead, or -errno. */
int collector_recover(const char *directory, bool make,
                      void (*done)(void *context, const struct collector_recovered *what),
                      void *context);

/* ---- Sessions from outside ------------------------------------------------------------------- */

/* Sessions that somebody else collects, seen and changed: `annot set`. Thread-safety: none needed;
 * other processes are kept out by the lock of the wake page. */

enum { COLLECTOR_FILTER_SIZE = 241, COLLECTOR_PATH_SIZE = 4096 };

struct collector_session {
    uint64_t id;
    int32_t collector_pid;               /* in its own namespace */
    char recording[COLLECTOR_PATH_SIZE]; /* "" = unknown */
    char filter[COLLECTOR_FILTER_SIZE];  /* rules of annot_filter.h; "" = everything is wanted */
    uint32_t wishes;                     /* of enum annot_wish: of those who watch queues */
    bool captures;                       /* the inside of a range alone: --capture-range */
};

/* Visits those that are running in the default directory, until the visitor returns nonzero, which
 * is returned. 0, or -errno; -EACCES: the directory cannot be used. */
typedef int collector_session_fn(void *context, const struct collector_session *session);
int collector_sessions(const char *directory, collector_session_fn *visit, void *context);

/* The running session that a process takes part in, or would at its next event, wherever it meets
 * collectors; or that it collects. 0; -ESRCH: none, or no such process; -errno. */
int collector_session_of(int32_t pid, struct collector_session *ret_session);

/* Wishes. None: as the programs were started. */
enum {
    COLLECTOR_QUEUES_OFF = 2, /* nobody watches queues, such as a GPU's */
    COLLECTOR_QUEUES_ON = 4,  /* whoever can does, at any time */
};

/* What can be changed while it records. */
struct collector_rules {
    char filter[COLLECTOR_FILTER_SIZE];
    uint32_t wishes;
};

/* Lets `edit` change the rules, whose filter must stay shorter than COLLECTOR_FILTER_SIZE, and
 * waits until the programs have been told. The session is in the directory of the process `pid`, in
 * the default one if that is 0. What `edit` returns if it is not 0 (nothing is changed then); 0;
 * -EINPROGRESS: the collector has not told them for seconds; -ENOENT: the session is over; -errno.
 */
typedef int collector_edit_fn(void *context, struct collector_rules *rules);
int collector_set_rules(int32_t pid, uint64_t id, collector_edit_fn *edit, void *context);

/* The same of a function that its collector is to make a range of: see sampler_add_range, whose
 * reason is told in any case but those of -E2BIG, -EBUSY (another one is being added),
 * -EPROTONOSUPPORT (its annot is older), -EINPROGRESS (no answer for long), -ENOENT without a
 * reason (the session is over), -errno. Waits for up to 20 s. */
int collector_ask_range(int32_t pid, uint64_t id, const char *text,
                        struct sampler_range_told *ret_told);

/* ---- What it takes --------------------------------------------------------------------------- */

/* What a program that is recorded takes of the machine at its defaults, in bytes: for those who
 * tell whether it is there. Thread-safety: yes. */

/* The size of its file in shared memory, which is sparse: RLIMIT_FSIZE must allow it. */
uint64_t host_needs_file_bytes(void);

/* The part that fills up in a busy program. */
uint64_t host_needs_memory_bytes(void);

#endif
