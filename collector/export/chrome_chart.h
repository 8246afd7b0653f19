/* SPDX-License-Identifier: MIT */
/* The flame chart of each thread (flame_chart.h) as begins and ends on a thread of its own beside
 * it, "NAME: stacks": on the thread itself they would mix with its ranges. Thread-safety: none. */
#ifndef ANNOT_CHROME_CHART_H
#define ANNOT_CHROME_CHART_H

#include "chrome_writer.h"
#include "flame_chart.h"

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
