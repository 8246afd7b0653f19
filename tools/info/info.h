/* SPDX-License-Identifier: MIT */
/* The sections of `annot info`, each printed to standard output unless it is empty.
 *
 * Main thread only. */
#ifndef ANNOT_INFO_H
#define ANNOT_INFO_H

#include "json_writer.h"
#include "pass.h"
#include "store.h"
#include "vec.h"

struct info_json;

struct info_options {
    const struct trace *trace;
    const char *path;
    uint64_t limit; /* entries per list; UINT64_MAX: all, including minor ones */
    unsigned width; /* 0 = unlimited */
    bool color;
};

/* Events on a track. */
struct info_track {
    uint64_t range_count, mark_count;
    int64_t first_ns, last_ns;
};

/* Openings or closings of windows in which GPUs were recorded, and their time. */
struct info_gpu_switch {
    uint64_t count, total_ns, longest_ns;
};

struct info_gpu_note {
    uint32_t text; /* string */
    uint64_t count;
};

struct info_gpu {
    struct info_gpu_switch opened, shut;
    uint32_t cupti; /* string: the version in the last window; 0: unknown */
    VEC(struct info_gpu_note) notes;
    uint64_t further_notes;
};

struct info_counts {
    struct info_gpu gpu;
    uint64_t by_kind[EVENT_KINDS], key_values;
    uint64_t lost[LOSS_COUNT]; /* by cause, from the gaps */
    struct info_track *tracks; /* by ordinal */
    int64_t *whole_ns; /* by ordinal of the process: time since which no record was overwritten; 0:
                          never */
};

struct info_thread_samples {
    uint64_t cpu;
    int64_t last_ns; /* time of the last sample; 0: without samples */
};

/* All samples of a set: the sums of values that add up, the largest of levels. */
struct info_set {
    uint64_t count;
    uint64_t values[SAMPLE_VALUES_MAX];
};

struct info_sample_counts {
    uint64_t cpu, off_cpu, in_range;
    uint64_t native[STACK_END_COUNT], python[STACK_END_COUNT]; /* by the end of the walk */
    struct sample_checks checks;
    VEC(struct info_set) sets; /* by number; sets without samples may be missing; owned */
    VEC(struct info_thread_samples)
    of_thread; /* by ordinal; threads without samples may be missing */
};

/* Number of records written by programs. */
uint64_t info_record_count(const struct info_counts *counts);

void info_print_facts(const struct info_options *options, const struct store_reader *reader,
                      const struct info_counts *counts);
void info_print_records(const struct info_options *options, const struct info_counts *counts);
void info_print_damage(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts);
void info_print_refusals(const struct info_options *options);
void info_print_sets(const struct info_options *options, const struct info_sample_counts *counts);
void info_print_sampling(const struct info_options *options,
                         const struct info_sample_counts *counts);

/* 0 or -ENOMEM. */
int info_gpu_take(struct info_gpu *gpu, const struct trace *trace, const struct item *item);
void info_print_gpu(const struct info_options *options, const struct info_counts *counts);
void info_print_units(const struct info_options *options);
void info_print_notes(const struct info_options *options);

/* Losses by cause: total, per process, per thread; also calls without effect by contract. */
void info_print_losses(const struct info_options *options, const struct info_counts *counts,
                       const struct info_sample_counts *samples);

/* Processes, threads, tracks. 0 or -ENOMEM. */
int info_print_lists(const struct info_options *options, const struct info_counts *counts,
                     const struct info_sample_counts *samples);

/* Adds a member, if GPUs were recorded. */
void info_put_gpu(const struct info_json *info, struct json_doc *doc);

struct out_stream;

struct info_json {
    const struct info_options *options;
    const struct store_reader *reader;
    const struct info_counts *counts;
    const struct info_sample_counts *samples;
};

/* Errors stick in the stream. */
void info_print_json(const struct info_json *info, struct out_stream *out);

#endif
