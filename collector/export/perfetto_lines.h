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

/* As in slices.h. */
int perfetto_lines_opened(struct perfetto_lines *lines, const struct event *begin,
                          const struct slice_values *values, uint32_t depth);
int perfetto_lines_closed(struct perfetto_lines *lines, const struct slice *slice);
int perfetto_lines_mark(struct perfetto_lines *lines, const struct event *mark,
                        const struct slice_values *values, uint32_t depth);

#endif
