/* SPDX-License-Identifier: MIT */
/* What the files of the exporter for the Firefox Profiler share with each other only. */
#ifndef ANNOT_FIREFOX_PARTS_H
#define ANNOT_FIREFOX_PARTS_H

#include "export_ids.h"
#include "profile_frames.h"
#include "sorter.h"
#include "spool.h"

/* Indices of the profile's categories. */
enum firefox_category {
    FIREFOX_OTHER = 0,
    FIREFOX_PYTHON,
    FIREFOX_NATIVE,
    FIREFOX_KERNEL,
    FIREFOX_WAITS,
    FIREFOX_RANGES,
};

/* Columns of a thread's tables, each a stream. */
enum firefox_column {
    MARKER_DATA = 0,
    MARKER_NAME,
    MARKER_BEGIN,
    MARKER_END,
    MARKER_PHASE,
    MARKER_CATEGORY,
    SAMPLE_STACK,
    SAMPLE_TIME,
    SAMPLE_WEIGHT, /* CPU time, in milliseconds */
    SAMPLE_CPU,    /* and in nanoseconds */
    FIREFOX_COLUMNS,
};

struct firefox_thread {
    uint32_t process, tid;
    bool is_main;
    char *name; /* owned */
    uint32_t streams[FIREFOX_COLUMNS];
    uint64_t markers, samples;
};

struct firefox_marker {
    uint32_t name; /* frame */
    uint32_t category;
    int64_t begin_ns, end_ns;
    bool instant;
    const struct event *event; /* NULL: a wait */
    const struct args *args;
    int64_t stack; /* -1: none */
};

/* A counter of a process. */
struct firefox_counter {
    uint32_t process, name, domain;
    uint32_t times, values; /* streams */
    uint64_t count;
    double sum; /* of what was written */
};

struct firefox {
    const struct export_job *job;
    const struct trace *trace;
    int64_t begin_ns;
    struct export_ids ids;
    struct profile_frames frames;
    struct spool spool;
    VEC(struct firefox_thread) threads;
    VEC(struct firefox_counter) counters;
    struct wide_map by_counter; /* index */
    struct sorter *values;      /* doubles by counter and time: threads tell one counter in turns */
    /* Stacks of the profile: a frame on another. */
    struct map64 by_node;                     /* prefix + 1 and frame: index + 1 */
    struct map64 by_stack;                    /* stack + 1: index + 1 */
    VEC(uint32_t) node_frames, node_prefixes; /* prefix + 1; 0: none */
    struct out_stream *text;                  /* memory */
};

/* ---- Gathering: firefox_tables.c ---- */

/* 0 or -ENOMEM; then fini all the same. */
int firefox_init(struct firefox *fx, const struct export_job *job);
void firefox_fini(struct firefox *fx);

/* Their numbers, or -ENOMEM. */
int64_t firefox_add_thread(struct firefox *fx, const struct firefox_thread *like, const char *name);
int64_t firefox_stack(struct firefox *fx, uint32_t stack);

/* Errors stick in the spool. */
void firefox_put_marker(struct firefox *fx, uint32_t thread, const struct firefox_marker *marker);
void firefox_put_sample(struct firefox *fx, uint32_t thread, const struct sample *sample,
                        uint32_t stack);
int firefox_put_value(struct firefox *fx, const struct event *event); /* 0 or -errno */
/* Once, after the last value. 0 or -errno. */
int firefox_finish_values(struct firefox *fx);

/* ---- The file: firefox_write.c ---- */

int firefox_write(struct firefox *fx); /* 0 or -errno */

#endif
