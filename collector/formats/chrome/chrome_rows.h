/* SPDX-License-Identifier: MIT */
/* Rows of the Chrome exporter beside the ranges of threads.
 *
 * Shelves: ranges on lanes other than threads, "b" and "e" with an id. Overlapping ranges have one
 * each; those of the recording's tracks have that of their shelf (shelves.h), inside of which they
 * nest. The format has no names for such lines: the Perfetto UI takes that of the first event of an
 * id. So each shelf begins with an instant that has the name of its line. The category is the scope
 * of ids, so it is the line's as well.
 *
 * Rows of samples: the flame chart of each thread (flame_chart.h) as begins and ends on a separate
 * thread beside it, "NAME: stacks": on the thread itself they would mix with its ranges. Its states
 * (thread_states.h) on another one, "NAME: run state", as complete events with the format's colours
 * for them. Thread-safety: one thread per object. */
#ifndef ANNOT_CHROME_ROWS_H
#define ANNOT_CHROME_ROWS_H

#include "export.h"
#include "export_ids.h"
#include "flame_chart.h"
#include "pass.h"
#include "sample.h"
#include "shelves.h"
#include "thread_states.h"

#include <stdbool.h>
#include <stdint.h>

struct chrome_writer;

struct chrome_shelves {
    struct chrome_writer *writer;
    struct track_groups groups;
    uint64_t last_id;
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_shelves_init(struct chrome_shelves *shelves, struct chrome_writer *writer);
void chrome_shelves_fini(struct chrome_shelves *shelves);

/* Items of LANE_PROCESS and LANE_TRACK. */
int chrome_shelves_take(struct chrome_shelves *shelves, const struct item *item);

enum chrome_row_kind { CHROME_ROW_STATE, CHROME_ROW_STACKS, CHROME_ROW_KINDS };

/* Rank of a row in its process: a thread, its rows, its losses. */
static inline uint64_t chrome_thread_rank(const struct export_ids *ids, uint32_t thread)
{
    return (CHROME_ROW_KINDS + 2ull) * ids->thread_rank[thread];
}

static inline uint64_t chrome_row_rank(const struct export_ids *ids, uint32_t thread,
                                       enum chrome_row_kind kind)
{
    return chrome_thread_rank(ids, thread) + 1 + kind;
}

struct chrome_row {
    char place[48]; /* ,"pid":1,"tid":1; empty: not yet described */
};

struct chrome_rows {
    struct chrome_writer *writer;
    struct export_ids *ids;
    const char *prefixes;      /* of file names: profile/call_label.h */
    struct sample_order order; /* before these */
    struct flame_chart chart;
    struct thread_states states;
    struct chrome_row *rows; /* CHROME_ROW_KINDS of each thread */
    bool has_chart, has_states;
};

/* 0 or -ENOMEM; then call fini all the same. All samples in recording order, then finish. */
int chrome_rows_init(struct chrome_rows *rows, struct chrome_writer *writer, struct export_ids *ids,
                     const struct export_job *job);
int chrome_rows_add(struct chrome_rows *rows, const struct sample *sample);
int chrome_rows_finish(struct chrome_rows *rows);
void chrome_rows_fini(struct chrome_rows *rows);

#endif
