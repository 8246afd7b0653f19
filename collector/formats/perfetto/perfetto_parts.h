/* SPDX-License-Identifier: MIT */
/* What the files of the Perfetto exporter share with each other only. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_PARTS_H
#define ANNOT_PERFETTO_PARTS_H

#include "chosen_frames.h"
#include "counter_groups.h"
#include "export.h"
#include "export_facts.h"
#include "export_ids.h"
#include "flame_chart.h"
#include "flow_arrows.h"
#include "hash_map.h"
#include "out_stream.h"
#include "sample.h"
#include "shelves.h"
#include "thread_states.h"
#include "trace.h"
#include "varint.h"
#include "vec.h"

/* ---- Sequences: perfetto_sequence.c ----
 *
 * Packet sequences: events of one thread with a clock of deltas, names by number.
 *
 * A reader takes each sequence by itself, so every thread gets one: its packets need no track, its
 * times are differences (two bytes instead of eight), and each name is spelled out once. Events
 * that are not in time order (overlapping ranges, gaps) share the sequence of absolute times.
 * A name's number is its string ordinal. Which names a sequence knows is a bit set; when all sets
 * together reach PERFETTO_INTERN_BYTES, further names are spelled out in each event.
 * Thread-safety: none. */

enum {
    PERFETTO_SEQUENCE_SESSION = 1, /* absolute times */
    PERFETTO_SEQUENCE_THREADS = 2, /* + thread */
    PERFETTO_TAIL_SIZE = 32,
    PERFETTO_INTERN_BYTES = 64 << 20,
};

struct name_set {
    uint64_t *words;
    uint32_t word_count;
};

struct perfetto_sequence {
    uint32_t id;         /* 0: not begun */
    uint64_t track_uuid; /* of its events that name none; 0 = none */
    int64_t last_ns;     /* of the clock of deltas; INT64_MAX if absolute */
    bool absolute;       /* times are CLOCK_MONOTONIC */
    uint8_t head_size;   /* what follows the time in each packet, up to the event's message */
    uint8_t head[PERFETTO_TAIL_SIZE];
    uint8_t end_size; /* what follows the time in a packet that ends a range: whole */
    uint8_t end[PERFETTO_TAIL_SIZE];
    struct name_set names, categories, keys, messages, files;
};

struct perfetto_output {
    const struct trace *trace;
    struct out_stream *out;
    struct proto_writer packet;
    struct export_keys keys;
    int64_t begin_ns;
    int64_t origin_ns;   /* what the times of the file count from; 0 if all are positive */
    size_t intern_bytes; /* of all name sets */
    int error;           /* 0 or -ENOMEM: a packet is missing */
};

/* One event on a track; attributes and payload are those of `event`. */
struct perfetto_event {
    int64_t time_ns;
    uint8_t type;                           /* enum perfetto_event_type */
    uint64_t track_uuid;                    /* 0: the sequence's own */
    const struct event *event;              /* NULL: an end, or an event of `text` */
    const struct args *values;              /* of `event`, or of an end; NULL = none */
    const char *text;                       /* name that is no string of the recording */
    const struct flow_place *flow;          /* NULL: no point of one */
    const struct perfetto_launch *launches; /* that leave it: so many */
    uint32_t launch_count;
    const struct fact *arguments; /* what the recording does not hold as such, up to one without
                                     a name; NULL = none */
};

/* The first packet of a sequence: its clock, its track (0 = none). */
void perfetto_sequence_begin(struct perfetto_output *px, struct perfetto_sequence *sequence,
                             uint32_t id, uint64_t track_uuid);
void perfetto_sequence_fini(struct perfetto_sequence *sequence);

/* Any event. */
void perfetto_put(struct perfetto_output *px, struct perfetto_sequence *sequence,
                  const struct perfetto_event *event);

/* The same for the usual: a name, perhaps a category, on the sequence's own track. */
void perfetto_put_named(struct perfetto_output *px, struct perfetto_sequence *sequence,
                        uint8_t type, const struct event *event);
void perfetto_put_end(struct perfetto_output *px, struct perfetto_sequence *sequence,
                      int64_t time_ns);

/* Whether a sequence has a number for a name (its string ordinal), perhaps from now on: then the
 * name goes into the interned data of the same packet. */
struct perfetto_name_use {
    bool by_number, is_new;
};

bool perfetto_knows(const struct name_set *set, uint32_t name);
struct perfetto_name_use perfetto_use_name(struct perfetto_output *px, struct name_set *set,
                                           uint32_t name, bool may_learn);

/* Packets of other kinds: begin, fields, end. */
struct proto_writer *perfetto_packet_begin(struct perfetto_output *px);
/* A time of CLOCK_MONOTONIC as a field of the packet. */
void perfetto_put_time(struct perfetto_output *px, uint32_t field, int64_t time_ns);
void perfetto_packet_end(struct perfetto_output *px);

/* The same for one that begins a sequence: its defaults, a message of their own, are open too. */
struct proto_writer *perfetto_defaults_begin(struct perfetto_output *px, uint32_t sequence,
                                             uint32_t clock);

/* ---- Launches: perfetto_launches.c ----
 *
 * An arrow leads from where a thread launched something to what a queue made of it. The launch is
 * an instant on the thread, inside of whatever range or call was open: the reader draws arrows from
 * the end of a slice. One launch may lead to several spans, which come in any order: so launches
 * are kept until all have come, or PERFETTO_LAUNCHES_MAX of them: then what comes later of one
 * launch has another instant at the same place. */

enum { PERFETTO_LAUNCHES_MAX = 1 << 16 };

struct perfetto_launch {
    int64_t origin_ns;
    uint64_t arrow;
    uint32_t thread;
};

struct perfetto_launches {
    /* `count` arrows of one thread and time. */
    int (*place)(void *context, const struct perfetto_launch *launches, uint32_t count);
    void *context;
    VEC(struct perfetto_launch) items;
    uint64_t arrow_count;
};

/* The number of the arrow to a span goes to *ret_arrow; 0: its launch is not known. 0, -ENOMEM, or
 * what `place` returned. */
int perfetto_launches_add(struct perfetto_launches *launches, const struct event *span,
                          uint64_t *ret_arrow);
int perfetto_launches_finish(struct perfetto_launches *launches);
void perfetto_launches_fini(struct perfetto_launches *launches);

/* ---- Descriptions: perfetto_tracks.c ----
 *
 * Descriptions of what events lie on: the session, processes, threads and tracks below them.
 *
 * All go onto the session's sequence. Track numbers (uuid) count from 1: processes, threads, then
 * whatever turns up. Thread-safety: none. */

/* A set of shelves: overlapping ranges of one name in one process, or the gaps of one thread. */
struct perfetto_shelves {
    struct shelves shelves;
    uint64_t parent_uuid;
    uint32_t name; /* string; 0: `text` */
    const char *text;
    uint32_t rank;   /* among its siblings */
    uint64_t *uuids; /* of the shelves */
    uint32_t uuid_count;
};

struct perfetto_tracks {
    struct perfetto_output *px;
    struct perfetto_sequence *session;
    struct export_ids *ids;
    uint64_t next_uuid, session_uuid;
    uint32_t session_pid;        /* of a process that stands for the recording, and its thread */
    struct map64 shelves_by_key; /* index into shelves */
    VEC(struct perfetto_shelves) shelves;
};

uint64_t perfetto_process_uuid(uint32_t process);
uint64_t perfetto_thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread);

/* Ranks among the children of a process. */
enum { PERFETTO_RANK_TRACKS = 50000, PERFETTO_RANK_COUNTERS = 100000 };

/* A descriptor of a track: begin, fields, end. */
struct proto_writer *perfetto_track_begin(struct perfetto_tracks *tracks, uint64_t uuid);
void perfetto_track_end(struct perfetto_tracks *tracks);

/* Everything that is known before the first event. */
void perfetto_describe_all(struct perfetto_tracks *tracks);

/* A process "annot", below all others, and its thread "all processes", with one slice over the
 * whole recording that carries its facts; `cut_flows`: from how many points arrows may be missing.
 */
void perfetto_begin_session(struct perfetto_tracks *tracks);
void perfetto_end_session(struct perfetto_tracks *tracks, uint64_t cut_flows);

/* The shelf for a range from start to end: of its process and name, or of its thread's gaps. */
int perfetto_range_track(struct perfetto_tracks *tracks, const struct event *begin, int64_t end_ns,
                         uint64_t *ret_uuid);
int perfetto_lost_track(struct perfetto_tracks *tracks, const struct event *lost,
                        uint64_t *ret_uuid);

/* Tracks below a thread, in the order in which they should stand; older readers put them in that of
 * their names, and a thread's own track below them. "main: ranges": they do not show the thread. */
enum perfetto_child { PERFETTO_RANGES, PERFETTO_STATE, PERFETTO_STACKS };

/* A new one. Its number. */
uint64_t perfetto_thread_child(struct perfetto_tracks *tracks, uint32_t thread,
                               enum perfetto_child child);

void perfetto_tracks_fini(struct perfetto_tracks *tracks);

/* ---- Tracks of the recording: perfetto_tracks.c ----
 *
 * Ranges and marks of the recording's tracks: a Perfetto track for each shelf of shelves.h. All
 * lie on the session's sequence. The reader shows the shelves of a line, which have one name, as
 * one.
 * */

struct perfetto_groups {
    struct perfetto_tracks *tracks;
    struct track_groups groups;
    struct perfetto_launches launches; /* of what lies on queues; the caller sets `place` */
    const char *prefixes;              /* of file names: profile/call_label.h */
};

/* 0 or -ENOMEM; then fini all the same. */
int perfetto_groups_init(struct perfetto_groups *groups, struct perfetto_tracks *tracks);
void perfetto_groups_fini(struct perfetto_groups *groups);

/* Items of LANE_TRACK and LANE_QUEUE. */
int perfetto_groups_take(struct perfetto_groups *groups, const struct item *item);

/* ---- Arguments: perfetto_values.c ----
 *
 * Arguments of Perfetto track events: attributes, facts of ours, key-values of the recording.
 *
 * The reader replaces ".", "[" and "]" in a name by "_". So a key "http.status" becomes an entry
 * "status" of "http", keys "a[0]", "a[1]" become an array "a", which it shows under those very
 * names, and a unit gets round brackets: "size (bytes)". */

/* Numbers of argument names: some of ours, told in the first packet of every sequence, then keys
 * (plus string ordinal) as they come. */
enum perfetto_argument {
    PERFETTO_PAYLOAD = 1,
    PERFETTO_DOMAIN,
    PERFETTO_LEVEL,
    PERFETTO_COLOR,
    PERFETTO_FILE,
    PERFETTO_LINE,
    PERFETTO_FIRST_KEY = 16,
};

/* The same of categories: ours, then those of the recording (plus string ordinal). */
enum perfetto_category {
    PERFETTO_CALLS = 1,
    PERFETTO_LOG,
    PERFETTO_FIRST_CATEGORY,
};

/* Key names of one event that its sequence learns with it. */
struct perfetto_new_keys {
    uint32_t count;
    uint32_t keys[32]; /* strings; what finds no room is spelled out */
};

/* In the first packet of a sequence: its interned data are open. */
void perfetto_put_own_names(struct perfetto_output *px);

/* Inside an event. One of ours: begin, its value, end. */
void perfetto_begin_attribute(struct perfetto_output *px, enum perfetto_argument name);
void perfetto_put_attributes(struct perfetto_output *px, const struct event *event);
void perfetto_put_argument(struct perfetto_output *px, const struct fact *argument);
void perfetto_put_values(struct perfetto_output *px, struct perfetto_sequence *sequence,
                         const struct args *values, struct perfetto_new_keys *ret_new);

/* Inside the interned data of the same packet. */
void perfetto_put_new_keys(struct perfetto_output *px, const struct perfetto_new_keys *keys);

/* ---- Counters: perfetto_counters.c ----
 *
 * Tracks of counters: one for each process, domain and name, with its unit; the series of a group
 * below a track of the group's name. What the driver counts of a GPU stands below the track of that
 * GPU, in each program that has one; else below a process of its own. */

struct perfetto_counter {
    uint64_t uuid;
    uint32_t domain;
    uint32_t next; /* counter + 1 with the same process and name */
    uint32_t more; /* counter + 1 that is this one on another track */
};

struct perfetto_counters {
    struct perfetto_tracks *tracks;
    struct perfetto_groups *groups_of_tracks; /* set by the caller, as what follows */
    int (*put)(void *context, const struct event *event, uint64_t uuid);
    void *context;
    struct counter_groups groups;
    struct map64 by_key;          /* process and name: index + 1 of the first of a chain */
    struct wide_map group_by_key; /* process and name: uuid */
    struct strtab group_names;
    struct export_text label; /* of the one that is described */
    VEC(struct perfetto_counter) counters;
};

/* Each value goes to `put` with the number of its track, at once or with the next ones. 0 or
 * -ENOMEM; then fini all the same. */
int perfetto_counters_init(struct perfetto_counters *counters, struct perfetto_tracks *tracks);
int perfetto_counters_add(struct perfetto_counters *counters, const struct event *event);
int perfetto_counters_finish(struct perfetto_counters *counters);
void perfetto_counters_fini(struct perfetto_counters *counters);

/* ---- Samples: perfetto_samples.c ----
 *
 * CPU samples of all processes, each below a frame of its process, on the one thread of the
 * session. The UI opens the flame graph of the thread that was sampled last: so it is that of all
 * processes, and no track shows again what the flame charts show.
 *
 * They have a sequence of their own, on which each frame and stack is told once. The reader joins
 * frames of one name, so frames keep their addresses. Python functions are named with file and
 * line, as the reader shows no others, and their file stands for the module. Times are differences
 * in microseconds, so samples are put in order of time again, in which lanes are not. */

struct perfetto_stack {
    uint32_t process, stack;
    uint64_t number;
};

struct perfetto_samples {
    struct perfetto_tracks *tracks;
    const char *prefixes; /* of file names: profile/call_label.h */
    uint32_t sequence;    /* number */
    struct chosen_frames frames;
    bool begun;
    uint8_t *known; /* bits KNOWN_*, of everything that is numbered */
    uint32_t frame_count, label_count, stack_count, string_count;
    struct map64 stacks; /* process and stack: number */
    uint64_t stacks_told;
    int64_t last_us;
    struct value_pool values;
    VEC(struct sample) waiting;
    bool in_order; /* those that wait are */
};

/* Nothing is written before the first sample. `number`: of the sequence. 0 or -errno. */
int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          const struct export_options *wanted, uint32_t number);
int perfetto_samples_put(struct perfetto_samples *samples, const struct sample *sample);
int perfetto_samples_finish(struct perfetto_samples *samples);
void perfetto_samples_fini(struct perfetto_samples *samples);

/* ---- Flame chart: perfetto_rows.c ----
 *
 * The flame chart of each thread (flame_chart.h) as slices on a track "stacks" below it.
 *
 * All on one sequence, on which a function's name is told once. */

struct perfetto_chart {
    struct perfetto_tracks *tracks;
    struct flame_chart chart;
    const char *prefixes; /* of file names: profile/call_label.h */
    uint32_t sequence;
    bool begun;
    uint64_t *track_uuids; /* of thread; 0: none yet */
    bool *known;           /* of label */
    uint32_t label_count;
};

/* Nothing is written before the first sample. The caller feeds and finishes `chart`. 0 or -errno;
 * then call fini all the same. */
int perfetto_chart_init(struct perfetto_chart *chart, struct perfetto_tracks *tracks,
                        const struct export_job *job, uint32_t number);
void perfetto_chart_fini(struct perfetto_chart *chart);

/* The innermost function of Python, else of native code, of a stack; 0 = none. */
uint32_t perfetto_innermost(const struct trace *trace, uint32_t stack);

/* ---- States: perfetto_rows.c ----
 *
 * What each thread was doing (thread_states.h) as slices on a track "run state" below it. */

struct perfetto_state_rows {
    struct perfetto_tracks *tracks;
    const char *prefixes; /* of file names: profile/call_label.h */
    struct thread_states states;
    uint64_t *track_uuids; /* of thread; 0: none yet */
};

/* The caller feeds and finishes `states`. 0 or -ENOMEM; then call fini all the same. */
int perfetto_state_rows_init(struct perfetto_state_rows *rows, struct perfetto_tracks *tracks,
                             const struct export_job *job);
void perfetto_state_rows_fini(struct perfetto_state_rows *rows);

/* ---- Scheduler: perfetto_states.c ----
 *
 * Threads as in a system trace: when each ran and where, when it could have, what it waited for.
 *
 * From switches come the reader's thread states (running, runnable, sleeping, uninterruptible with
 * I/O wait) and its tracks of CPUs; the reason is the "blocked function" of a state. The reader
 * stands tracks of its own above the program: of CPUs, of kernel events, of counts. So it is asked
 * for. Where a stretch off the CPU was too short to be recorded and another thread ran in it, the
 * thread counts as runnable there. */

enum { PERFETTO_RUNS_MAX = 4 << 20 }; /* 96 MiB; later ones are not checked for such stretches */

/* A stretch on a CPU. */
struct perfetto_run {
    int64_t begin_ns, end_ns;
    uint32_t thread;
    uint16_t cpu;
};

struct perfetto_states {
    struct perfetto_tracks *tracks;
    uint32_t sequence;
    bool begun;
    uint32_t symbols; /* bits: reasons whose names are told */
    struct state_thread *threads;
    uint32_t thread_count;
    VEC(struct perfetto_run) runs;
    int64_t to_ns; /* what comes afterwards is not known */
};

/* Nothing is written before the first switch. 0 or -errno. */
int perfetto_states_init(struct perfetto_states *states, struct perfetto_tracks *tracks,
                         uint32_t number);
/* All samples, in recording order; then finish. */
int perfetto_states_put(struct perfetto_states *states, const struct sample *sample);
int perfetto_states_finish(struct perfetto_states *states);
void perfetto_states_fini(struct perfetto_states *states);

#endif
