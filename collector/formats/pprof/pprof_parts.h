/* SPDX-License-Identifier: MIT */
/* What the files of the pprof exporter share with each other only. */
#ifndef ANNOT_PPROF_PARTS_H
#define ANNOT_PPROF_PARTS_H

#include "hash_map.h"
#include "sample.h"
#include "trace.h"
#include "vec.h"

/* ---- Sums: pprof_sums.c ----
 *
 * Samples of one stack, thread, range path and cause of waiting, added up by type of value. Memory:
 * PPROF_ROWS_MAX rows, 80 bytes and 8 for each type. Thread-safety: none. */

enum pprof_value {
    PPROF_SAMPLES = 0,
    PPROF_CPU,
    PPROF_WALL,
    PPROF_OFF_CPU,
    PPROF_OTHERS, /* from here on values of other sets */
    PPROF_VALUES_MAX = 32,
};

enum { PPROF_ROWS_MAX = 1 << 17 };

struct pprof_type {
    uint16_t set;
    uint8_t index; /* of the value in its set */
};

struct pprof_row {
    uint32_t stack, path, thread;
    uint32_t reason; /* enum wait_reason + 1; 0: it did not wait */
};

struct pprof_sums {
    const struct sample_sets *sets;
    struct pprof_type types[PPROF_VALUES_MAX]; /* from PPROF_OTHERS on */
    uint32_t value_count;
    struct wide_map by_key; /* row */
    VEC(struct pprof_row) rows;
    VEC(int64_t) values; /* value_count for each row */
};

/* With the values of all sets that add up. */
void pprof_sums_init(struct pprof_sums *sums, const struct trace *trace);
void pprof_sums_fini(struct pprof_sums *sums);

/* 0 or -ENOMEM. Beyond PPROF_ROWS_MAX rows, the caller writes and clears them. */
int pprof_sums_add(struct pprof_sums *sums, const struct sample *sample);
void pprof_sums_clear(struct pprof_sums *sums);

#endif
