/* SPDX-License-Identifier: MIT */
/* Ranges that lie on no thread: "b" and "e" with an id. Overlapping ranges have one each; those of
 * the recording's tracks have that of their lane (track_lines.h), inside of which they nest.
 *
 * The format has no names for such lines: the Perfetto UI takes that of the first event of an id.
 * So each lane begins with an instant that is called like its line. The category is what ids are
 * scoped by, so it is the line's as well. Thread-safety: none. */
#ifndef ANNOT_CHROME_LINES_H
#define ANNOT_CHROME_LINES_H

#include "chrome_writer.h"
#include "track_lines.h"

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

#endif
