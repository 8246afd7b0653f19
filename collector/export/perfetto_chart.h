/* SPDX-License-Identifier: MIT */
/* The flame chart of each thread (flame_chart.h) as slices on a track "stacks" below it.
 *
 * All on one sequence, on which a function's name is told once. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_CHART_H
#define ANNOT_PERFETTO_CHART_H

#include "flame_chart.h"
#include "perfetto_tracks.h"

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

#endif
