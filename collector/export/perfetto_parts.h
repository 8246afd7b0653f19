/* SPDX-License-Identifier: MIT */
/* What the files of the Perfetto exporter share with each other only. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_PARTS_H
#define ANNOT_PERFETTO_PARTS_H

#include "counter_groups.h"
#include "flame_chart.h"
#include "flow_arrows.h"
#include "frame_names.h"
#include "item_facts.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"
#include "sample.h"
#include "vec.h"
#include "wide_map.h"

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
    PERFETTO_FIRST_KEY = 16,
};

/* Key names of one event that its sequence learns with it. */
struct perfetto_new_keys {
    uint32_t count;
    uint32_t keys[32]; /* strings; what finds no room is spelled out */
};

/* In the first packet of a sequence: its interned data are open. */
void perfetto_put_argument_names(struct perfetto_output *px);

/* Inside an event. */
void perfetto_put_attributes(struct perfetto_output *px, const struct event *event);
void perfetto_put_argument(struct perfetto_output *px, const struct fact *argument);
void perfetto_put_values(struct perfetto_output *px, struct perfetto_sequence *sequence,
                         const struct args *values, struct perfetto_new_keys *ret_new);

/* Inside the interned data of the same packet. */
void perfetto_put_new_keys(struct perfetto_output *px, const struct perfetto_new_keys *keys);

/* ---- Tracks: perfetto_lines.c ----
 *
 * Ranges and marks of the recording's tracks: a Perfetto track for each shelf of track_lines.h. All
 * lie on the session's sequence. The reader shows the shelves of a line, which have one name, as
 * one.
 * */

struct perfetto_lines {
    struct perfetto_tracks *tracks;
    struct track_lines lines;
};

/* 0 or -ENOMEM; then fini all the same. */
int perfetto_lines_init(struct perfetto_lines *lines, struct perfetto_tracks *tracks);
void perfetto_lines_fini(struct perfetto_lines *lines);

/* Items of LANE_TRACK. */
int perfetto_lines_take(struct perfetto_lines *lines, const struct item *item);

/* ---- Flows: perfetto_flows.c ----
 *
 * Points of flows as instants of their threads, with the numbers of the arrows that touch them.
 *
 * The reader draws an arrow from the end of one slice to the begin of another. Of a range that
 * waits for what it sent, the arrow would go back in time; an instant inside of the range has the
 * time of the point itself. */

/* `track_uuid`: where the ranges of the point's thread are. */
void perfetto_put_flow(struct perfetto_tracks *tracks, uint64_t track_uuid,
                       const struct flow_place *place);

/* ---- Counters: perfetto_counters.c ----
 *
 * Tracks of counters: one for each process, domain and name, with its unit; the series of a group
 * below a track of the group's name. */

struct perfetto_counter {
    uint64_t uuid;
    uint32_t domain;
    uint32_t next; /* counter + 1 with the same process and name */
};

struct perfetto_counters {
    struct perfetto_tracks *tracks;
    int (*put)(void *context, const struct event *event, uint64_t uuid);
    void *context;
    struct counter_groups groups;
    struct map64 by_key;          /* process and name: index + 1 of the first of a chain */
    struct wide_map group_by_key; /* process and name: uuid */
    struct strtab group_names;
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
 * CPU samples as the UI shows them best: PerfSample packets, whose flame graph opens by itself.
 *
 * They have a sequence of their own, on which each frame and stack is told once; their numbers are
 * those of model/stacks.h. The reader joins frames of one name, so frames keep their addresses.
 * Python functions are named with file and line, as the reader shows no others, and their file
 * stands for the module. Each tells how much CPU time was sampled on its CPU until then, so they
 * are put in order of time again, in which lanes are not. */

struct perfetto_samples {
    struct perfetto_tracks *tracks;
    struct frame_names *names;
    uint32_t sequence; /* number; 0 until begun */
    uint8_t *known;    /* bits PERFETTO_KNOWN_*, of everything that is numbered */
    uint32_t frame_count, stack_count, string_count;
    uint64_t *cpu_ns; /* sampled so far, of each CPU */
    uint32_t cpu_count;
    struct value_pool values;
    VEC(struct sample) waiting;
    bool in_order; /* those that wait are */
};

/* Nothing is written before the first sample. `number`: of the sequence. 0 or -errno. */
int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          struct frame_names *names, uint32_t number);
int perfetto_samples_put(struct perfetto_samples *samples, const struct sample *sample);
int perfetto_samples_finish(struct perfetto_samples *samples);
void perfetto_samples_fini(struct perfetto_samples *samples);

/* ---- Flame chart: perfetto_chart.c ----
 *
 * The flame chart of each thread (flame_chart.h) as slices on a track "stacks" below it.
 *
 * All on one sequence, on which a function's name is told once. */

struct perfetto_chart {
    struct perfetto_tracks *tracks;
    struct flame_chart chart;
    uint32_t sequence;
    bool begun;
    uint64_t *track_uuids; /* of thread; 0: none yet */
    bool *known;           /* of frame */
    uint32_t frame_count;
};

/* Nothing is written before the first sample. The caller feeds and finishes `chart`. 0 or -errno;
 * then call fini all the same. */
int perfetto_chart_init(struct perfetto_chart *chart, struct perfetto_tracks *tracks,
                        struct frame_names *names, uint32_t number);
void perfetto_chart_fini(struct perfetto_chart *chart);

/* ---- Thread states: perfetto_states.c ----
 *
 * Threads as in a system trace: when each ran and where, when it could have, what it waited for.
 *
 * From switches come the reader's thread states (running, runnable, sleeping, uninterruptible with
 * I/O wait) and its tracks of CPUs; the reason is both the "blocked function" of a state and a
 * slice on a track "off-CPU" below the thread. Where a stretch off the CPU was too short to be
 * recorded and another thread ran in it, the thread counts as runnable there.
 * */

enum { PERFETTO_RUNS_MAX = 4 << 20 }; /* 96 MiB; later ones are not checked for such stretches */

/* A stretch on a CPU. */
struct perfetto_run {
    int64_t begin_ns, end_ns;
    uint32_t thread;
    uint16_t cpu;
};

struct perfetto_states {
    struct perfetto_tracks *tracks;
    struct frame_names *names;
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
                         struct frame_names *names, uint32_t number);
/* All samples, in recording order; then finish. */
int perfetto_states_put(struct perfetto_states *states, const struct sample *sample);
int perfetto_states_finish(struct perfetto_states *states);
void perfetto_states_fini(struct perfetto_states *states);

#endif
