/* SPDX-License-Identifier: MIT */
/* What the files of the Chrome exporter share with each other only. Thread-safety: none. */
#ifndef ANNOT_CHROME_PARTS_H
#define ANNOT_CHROME_PARTS_H

#include "chrome_writer.h"
#include "counter_groups.h"
#include "flame_chart.h"
#include "flow_arrows.h"
#include "track_lines.h"

#include <stdint.h>

/* ---- Ranges on no thread: chrome_lines.c ----
 *
 * Ranges that lie on no thread: "b" and "e" with an id. Overlapping ranges have one each; those of
 * the recording's tracks have that of their shelf (track_lines.h), inside of which they nest.
 *
 * The format has no names for such lines: the Perfetto UI takes that of the first event of an id.
 * So each shelf begins with an instant that is called like its line. The category is what ids are
 * scoped by, so it is the line's as well. */

struct chrome_lines {
    struct chrome_writer *writer;
    struct track_lines lines;
    uint64_t last_id;
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_lines_init(struct chrome_lines *lines, struct chrome_writer *writer);
void chrome_lines_fini(struct chrome_lines *lines);

/* Items of LANE_PROCESS and LANE_TRACK. */
int chrome_lines_take(struct chrome_lines *lines, const struct item *item);

/* ---- Flows: chrome_flows.c ----
 *
 * Points of flows as instants of their threads, and arrows ("s", "f") between these.
 *
 * Readers bind an arrow to what the thread's innermost slice is at that time. Without an instant,
 * the Perfetto UI takes a complete event that is over already. */

/* `context`: struct chrome_writer. For flow_arrows. */
int chrome_put_flow(void *context, const struct flow_place *place);

/* ---- Counters: chrome_counters.c ----
 *
 * Counters: an event of one argument, of a group one argument a series. The format knows no units:
 * that of a counter is the name of its argument, of a series it stands behind. JSON has no NaN and
 * no infinity: such values are left out and counted. */

struct chrome_counters {
    struct chrome_writer *writer;
    struct counter_groups groups;
    uint64_t left_out; /* values */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_counters_init(struct chrome_counters *counters, struct chrome_writer *writer);
int chrome_counters_add(struct chrome_counters *counters, const struct event *event);
int chrome_counters_finish(struct chrome_counters *counters);
void chrome_counters_fini(struct chrome_counters *counters);

/* ---- Flame chart: chrome_chart.c ----
 *
 * The flame chart of each thread (flame_chart.h) as begins and ends on a thread of its own beside
 * it, "NAME: stacks": on the thread itself they would mix with its ranges. */

struct chrome_chart {
    struct chrome_writer *writer;
    struct export_ids *ids;
    struct frame_names names;
    struct flame_chart chart;
    uint32_t *tids; /* of thread; 0: none yet */
};

/* The caller feeds and finishes `chart`. `prefixes`: profile/call_label.h. 0 or -ENOMEM; then call
 * fini all the same. */
int chrome_chart_init(struct chrome_chart *chart, struct chrome_writer *writer,
                      struct export_ids *ids, const char *prefixes);
void chrome_chart_fini(struct chrome_chart *chart);

#endif
