/* SPDX-License-Identifier: MIT */
/* What the files of the collector share with each other only. Thread-safety: none. */
#ifndef ANNOT_COLLECTOR_PARTS_H
#define ANNOT_COLLECTOR_PARTS_H

#include "collector.h"
#include "intake.h"
#include "intake_filter.h"
#include "names.h"
#include "session_file.h"
#include "store.h"
#include "target.h"
#include "trace.h"
#include "vec.h"

#include <sched.h>

/* ---- This machine: collector_host.c ----
 *
 * Thread-safety: as the trace. */

/* Name and kernel of this machine, for the session and as host 0, with its boot and its wall clock.
 * 0 or -ENOMEM. */
int host_describe(struct trace *trace);

/* Where the command was begun, to which paths are shown relative (NULL: here), and how many
 * processors it may use. */
void host_describe_place(struct trace *trace, const struct collector_options *options);

/* The same for a running program: `known`, of those before it, gains what its threads may use. */
void host_add_processors(struct trace *trace, cpu_set_t *known, int32_t pid);

/* One more instant at which the wall clock was read: between two of them its drift is known. */
int host_anchor(struct trace *trace);

/* What ran on each processor since the machine started; end: what did since `load` was read, on
 * `processors`, or if there are none on those that this thread may use, becomes facts. 0 or
 * -ENOMEM. */
struct host_load {
    bool known;
    uint64_t used_ms[CPU_SETSIZE], stolen_ms[CPU_SETSIZE];
};

void host_load(struct host_load *ret_load);
int host_load_end(struct trace *trace, const struct host_load *load, const cpu_set_t *processors);

/* ---- Processes to attach to: collector_targets.c ----
 *
 * Running programs that a session has told to join it. fini accepts a zeroed object.
 * Thread-safety: as the collector. */

struct target_file {
    char name[TARGET_NAME_SIZE];
};

struct targets {
    VEC(struct target_file) files;
    bool gate_held; /* shut for good by targets_shut_gate */
};

/* collector_annotate of a session in that directory. */
int targets_add(struct targets *targets, struct directory *directory, const struct target *target,
                uint64_t session_id, char *ret_other);

/* The recording says where the annotations of a program are. -EBUSY, or what went wrong. */
int targets_note_other(struct trace *trace, const struct target *target, const char *other);

/* The session is over: nobody is told any more, and with a new generation that leaves the gate open
 * programs notice at their next event. */
void targets_release(struct targets *targets, struct directory *directory, uint64_t session_id);

/* Waits a little until they have left, and shuts the gate unless others record. */
void targets_shut_gate(struct targets *targets, struct directory *directory,
                       const struct intake *intake);

void targets_fini(struct targets *targets);

/* ---- Filter: collector_filter.c ----
 *
 * The filter of a collector's session: at its begin, and while it runs.
 * Thread-safety: one thread per object. */

/* collector_filter_take: rules that somebody has changed, or that the session began with, for the
 * programs and for the recording. 0 or -ENOMEM. Cost, without a change: a system call. */
struct collector_filter {
    const struct directory *directory;
    const struct session_file *session;
    struct session_filter_watch watch;
    uint32_t told; /* sequence */
    char capture[ANNOT_CAPTURE_MAX + 1];
    bool is_new; /* the recording does not say it yet */
};

/* Rules and capture range, into a session that is being made. 0 or -E2BIG. */
int collector_filter_init(struct collector_filter *filter, struct annot_session *session,
                          const struct collector_options *options);

int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace);

/* After a step of the intake: whoever changed the rules waits for this. */
void collector_filter_told(struct collector_filter *filter);

/* Where a process meets collectors; the default directory for one that does not, or for 0. 0 or
 * -errno. Closing leaves nothing behind. */
int collector_place_open(int32_t pid, struct directory *ret_directory);
void collector_place_close(struct directory *directory);

/* ---- Queues: collector_queues.c ---- */

/* Before the session ends: those who watch queues in its programs tell what is left, in half a
 * second at most. Steps of the collector go on meanwhile. */
void collector_await_queues(struct collector *collector, struct intake *intake);

/* ---- Names of functions: collector_functions.c ----
 *
 * Names of functions that programs tell by file and offset: each file is opened once.
 *
 * Foreign bytes: bounded; a file that is not the one that the program ran names nothing.
 * Thread-safety: as the collector. */

struct function_file;

/* `{0}` is empty. */
struct function_names {
    VEC(struct function_file *) files;
};

void function_names_fini(struct function_names *names);

/* A names_function_fn; context is a struct function_names. */
size_t function_names_find(void *context, const struct names_function *function, char *text);

/* ---- Counters of GPUs: collector_nvml.c, collector_gpus.c ---- */

enum { NVML_DEVICES_MAX = 128, NVML_TEXT_SIZE = 96 }; /* of eight GPUs with seven instances each */

enum nvml_counter {
    NVML_UTILISATION,
    NVML_MEMORY_UTILISATION,
    NVML_MEMORY_USED, /* MiB */
    NVML_POWER,       /* W */
    NVML_CLOCK_SM,    /* MHz */
    NVML_CLOCK_MEMORY,
    NVML_TEMPERATURE,
    NVML_COUNTERS
};

/* A GPU, or an instance of one. Texts that the library does not give are empty. */
struct nvml_about {
    char name[NVML_TEXT_SIZE];  /* as the library numbers it: "GPU 3", "GPU 3 MIG 0" */
    char model[NVML_TEXT_SIZE]; /* "NVIDIA H100 80GB HBM3" */
    char uuid[NVML_TEXT_SIZE], card[NVML_TEXT_SIZE], place[NVML_TEXT_SIZE]; /* trace_devices.h */
};

struct nvml_reading {
    int64_t time_ns;
    uint32_t device, counter; /* nvml_device(); enum nvml_counter */
    double value;
};

/* Reads so often a second, in a thread of its own. NULL and 0: this machine has no such library;
 * else -errno. destroy accepts NULL. */
struct nvml;
int nvml_start(uint32_t frequency_hz, struct nvml **ret_nvml);
void nvml_destroy(struct nvml *nvml);
/* No more readings. */
void nvml_end(struct nvml *nvml);
/* The oldest ones, which are forgotten; returns how many. */
size_t nvml_take(struct nvml *nvml, struct nvml_reading *readings, size_t max);
/* Of a device that there was a reading of. Lives as long as `nvml`. */
const struct nvml_about *nvml_device(const struct nvml *nvml, uint32_t device);

/* What they become: counters of a thread of the recording for each device. {0} is none. */
struct gpus {
    struct nvml *nvml;
    bool entered; /* there are entries for them: */
    uint32_t process, domain, scope;

    struct {
        uint32_t thread;               /* 1 + ordinal; 0: there was no reading of it yet */
        uint32_t names[NVML_COUNTERS]; /* 0: not met yet */
    } devices[NVML_DEVICES_MAX];
};

/* Hands on what was read. 0 or -errno. */
struct sampling;
int gpus_step(struct sampling *sampling);

/* ---- Sampling: collector_sampling.c ----
 *
 * The sampler inside a session: where its samples go.
 * Thread-safety: as the collector. */

struct sampling {
    struct sampler *sampler;           /* NULL: no samples wanted */
    struct store_writer *writer;       /* NULL: */
    const struct collector_sink *sink; /* takes them */
    struct clock_map *clock;           /* of the programs */
    struct trace *trace;
    uint64_t sample_count, stretch_count;
    VEC(int32_t) waiting; /* pids, until the gate opens */
    cpu_set_t processors; /* of those that it attached to */
    uint32_t gpu_hz;      /* of its counters; 0: none */
    struct gpus gpus;
    uint32_t range_sequence; /* of what was asked for last, in the session's file */
};

/* The registry and the trace outlive it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sampling_init(struct sampling *sampling, const struct collector_options *options,
                  struct trace *trace, struct lives *lives);
void sampling_fini(struct sampling *sampling);

/* Now, or when the gate opens: then with what has become of the process until then. 0, -ESRCH,
 * -EPERM, -ENOMEM; a process that is gone when the gate opens is no error. */
int sampling_track(struct sampling *sampling, int32_t pid, unsigned flags, bool now);
int sampling_begin(struct sampling *sampling);
/* See collector_add_range(). */
int sampling_add_range(struct sampling *sampling, const struct sampler_range_wish *wish,
                       struct sampler_range_told *ret_told);

/* collector_ranges.c: functions that somebody asks for in the session's file. 0 or -ENOMEM. Cost,
 * without any: a system call. */
int ranges_take(struct sampling *sampling, const struct session_file *session);

/* 0 or -errno of the recording. */
int sampling_step(struct sampling *sampling, const struct session_file *session);
int sampling_finish(struct sampling *sampling);
int sampling_tell_waiting(struct sampling *sampling);
/* When a step is due, in `most_ms` at the latest. */
int sampling_timeout_ms(const struct sampling *sampling, int most_ms);

/* Once all is in the file: the memory of the sampler and of stacks is given back, for who reads the
 * recording next. The counts stay; without a file, stacks too. */
void sampling_close(struct sampling *sampling);

/* ---- Writing: collector_writing.c ----
 *
 * Between intake and store: when chunks are closed, and when blocks go back to their programs.
 *
 * Drained means written. What the store writes beside (store_writer_beside) has a ticket; blocks
 * whose records it has go back when that ticket is written. While eight chunks wait for the disk,
 * nothing is drained: what programs emit stays in shared memory, and they count what finds no room
 * there. Without a file, what was handed to the sink is done with at the next look. Thread-safety:
 * as the collector. */

/* The first two are the owner's. */
struct writing {
    struct store_writer *writer; /* NULL: there is no file */
    struct intake *intake;
    uint64_t freed;  /* the last ticket whose blocks went back */
    uint64_t sealed; /* without a file: the last ticket of all */
    int64_t first_pending_ns;
    struct store_progress progress; /* at the last look */
    bool has_room;                  /* then, too */
    bool patient;                   /* room is waited for: the session ends */
};

/* At the beginning of a step: blocks that are in the file go back. 0, or the file's first error. */
int writing_look(struct writing *writing);

/* A batch of the intake: spans of queues go to a stream that is declared when the first ones come.
 * 0 or -errno. */
int writing_add(struct store_writer *writer, struct trace *trace, const struct event_batch *batch);

/* What programs counted; the context is the store's writer. */
int writing_add_samples(void *writer, const struct sample *samples, size_t count);

/* The same where there is no file: spans by the threads that caused them. */
int sink_add(const struct collector_sink *sink, const struct event_batch *batch);

/* intake_options.room, with `writing`. */
bool writing_has_room(struct writing *writing);

/* Whether the programs' losses are not the disk's: nothing has waited for it for long. */
bool writing_keeps_up(const struct writing *writing, int64_t now_ns);

/* At the end of a step: closes the present chunks if much waits, or has for long, or after a look
 * into blocks that are being filled. 0 or -errno. */
int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial);

/* Removes a recording; what is no file, such as a device, stays. */
void writing_remove(const char *path);

/* ---- A recording that cannot be written: collector_writing.c ----
 *
 * A recording that cannot be written any more (a full disk): programs go on to record into shared
 * memory, of which they count what finds no room, and "annot recover" fetches it.
 *
 * What new processes may take of it that way is bounded: then nobody joins any more, and the
 * recording will say from when on. */

enum { HOLD_PAUSE_MS = 1000, HOLD_POOLS = 4 };

/* The first two are the owner's. */
struct hold {
    const struct directory *directory;
    const struct session_file *session;
    uint64_t bytes_max;
    bool shut;
};

/* The shared memory may grow by HOLD_POOLS times `pool_bytes` from here on. */
void hold_begin(struct hold *hold, int64_t pool_bytes);

/* From time to time. */
void hold_step(struct hold *hold);

#endif
