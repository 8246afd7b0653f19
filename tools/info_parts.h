/* SPDX-License-Identifier: MIT */
/* The sections of `annot info`, each printed to standard output if there is something to say.
 *
 * Main thread only. */
#ifndef ANNOT_INFO_PARTS_H
#define ANNOT_INFO_PARTS_H

#include "store.h"

struct info_options {
    const struct trace *trace;
    const char *path;
    uint64_t limit; /* entries per list */
    unsigned width; /* 0 = unlimited */
    bool color;
};

struct info_counts {
    uint64_t by_kind[EVENT_KIND_COUNT]; /* 0: kinds that this version doesn't know */
    uint64_t lost[LOSS_COUNT];          /* by cause, from the gaps */
};

void info_print_facts(const struct info_options *options, const struct store_reader *reader,
                      const struct info_counts *counts);
void info_print_records(const struct info_options *options, const struct info_counts *counts);
void info_print_damage(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts);
void info_print_refusals(const struct info_options *options);

/* By cause: in total, per process, per thread; and calls that by contract did nothing. */
void info_print_losses(const struct info_options *options, const struct info_counts *counts);

/* 0 or -ENOMEM. */
int info_print_processes(const struct info_options *options);
int info_print_threads(const struct info_options *options);

#endif
