/* SPDX-License-Identifier: MIT */
/* The sections of `annot info`, each printed to standard output if there is something to say.
 *
 * Main thread only. */
#ifndef ANNOT_INFO_PARTS_H
#define ANNOT_INFO_PARTS_H

#include "pass.h"
#include "store.h"
#include "vec.h"

struct info_options {
    const struct trace *trace;
    const char *path;
    uint64_t limit; /* entries per list; UINT64_MAX: all, minor ones too */
    unsigned width; /* 0 = unlimited */
    bool color;
};

/* What happened on a track. */
struct info_track {
    uint64_t range_count, mark_count;
    int64_t first_ns, last_ns;
};

struct info_counts {
    uint64_t by_kind[EVENT_KINDS], key_values;
    uint64_t lost[LOSS_COUNT]; /* by cause, from the gaps */
    struct info_track *tracks; /* by ordinal */
    int64_t *whole_ns; /* by ordinal of the process: nothing was overwritten since; 0: at all */
};

struct info_thread_samples {
    uint64_t cpu;
    int64_t last_ns; /* when it was last seen; 0 = never */
};

struct info_sample_counts {
    uint64_t cpu, off_cpu, in_range;
    uint64_t native[STACK_END_COUNT], python[STACK_END_COUNT]; /* by how the walk ended */
    struct sample_checks checks;
    VEC(struct info_thread_samples) of_thread; /* by ordinal; those may be missing that have none */
};

/* As they are stored. 0 or -ENOMEM. Free of_thread afterwards. */
int info_count_samples(const struct trace *trace, const struct sample_batch *batch,
                       struct info_sample_counts *counts);

void info_print_facts(const struct info_options *options, const struct store_reader *reader,
                      const struct info_counts *counts);
void info_print_records(const struct info_options *options, const struct info_counts *counts);
void info_print_damage(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts);
void info_print_refusals(const struct info_options *options);
void info_print_sampling(const struct info_options *options,
                         const struct info_sample_counts *counts);

/* 0 or -ENOMEM. */
int info_print_tracks(const struct info_options *options, const struct info_counts *counts);
void info_print_units(const struct info_options *options);
void info_print_notes(const struct info_options *options);

/* By cause: in total, per process, per thread; and calls that by contract did nothing. */
void info_print_losses(const struct info_options *options, const struct info_counts *counts,
                       const struct info_sample_counts *samples);

/* Which processes are listed: where there are many, not those that did next to nothing, as a shell
 * script starts by the dozen. Threads of processes that are not listed, and single threads without
 * records, are not listed either. */
struct info_shown {
    uint32_t *order; /* ordinals of the listed ones, in order of the tree */
    uint32_t count;
    bool *listed;                             /* by ordinal */
    uint32_t *thread_count;                   /* by ordinal */
    uint64_t *cpu_samples;                    /* by ordinal */
    bool sampled, recorded;                   /* there are samples; somebody used annotations */
    const struct info_sample_counts *samples; /* outlives this */
    uint32_t minor_count;                     /* not listed */
    uint32_t samples_max;                     /* each of these has at most so many */
};

/* 0 or -ENOMEM; `fini` accepts what is half built. */
int info_shown_init(struct info_shown *shown, const struct info_options *options,
                    const struct info_sample_counts *samples);
void info_shown_fini(struct info_shown *shown);

/* 0 or -ENOMEM. */
int info_print_processes(const struct info_options *options, const struct info_shown *shown);
int info_print_threads(const struct info_options *options, const struct info_shown *shown);

#endif
