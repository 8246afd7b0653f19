/* SPDX-License-Identifier: MIT */
/* Ranges and marks of the recording's tracks: a Perfetto track for each lane of track_lines.h. All
 * lie on the session's sequence. The reader shows the lanes of a line, which have one name, as one.
 * Thread-safety: none. */
#ifndef ANNOT_PERFETTO_LINES_H
#define ANNOT_PERFETTO_LINES_H

#include "perfetto_tracks.h"
#include "track_facts.h"

struct perfetto_lines {
    struct perfetto_tracks *tracks;
    struct track_lines lines;
};

/* 0 or -ENOMEM; then fini all the same. */
int perfetto_lines_init(struct perfetto_lines *lines, struct perfetto_tracks *tracks);
void perfetto_lines_fini(struct perfetto_lines *lines);

/* Items of LANE_TRACK. */
int perfetto_lines_take(struct perfetto_lines *lines, const struct item *item);

#endif
