/* SPDX-License-Identifier: MIT */
/* Which lines of a viewer show the tracks of a recording, so that 100,000 of them stay usable.
 *
 * Tracks of one name below the same parent share a line. Names that differ in numbers only
 * ("request 17") have lines of their own as long as there are TRACK_NAMES_MAX of them, else they
 * share one ("request #"). Beyond TRACK_LINES_MAX lines the rest is together under "other tracks".
 * A line has as many shelves as ranges overlap; what is nested inside of a range of a track lies on
 * that range's shelf. What is below a track is below its line. Thread-safety: none. */
#ifndef ANNOT_TRACK_LINES_H
#define ANNOT_TRACK_LINES_H

#include "map64.h"
#include "shelf.h"
#include "trace.h"
#include "vec.h"

enum {
    TRACK_NAMES_MAX = 32,
    TRACK_LINES_MAX = 1024,
    TRACK_LEVELS_MAX = 16, /* lines below lines; what is deeper is beside the deepest */
};

struct track_line {
    uint32_t parent;  /* line + 1; 0 = the process */
    uint32_t process; /* ordinal; UINT32_MAX = unknown */
    uint32_t name;    /* string, or 0: `text` */
    char *text;       /* owned; NULL: a text of ours, see track_line_label */
    uint32_t level;
    uint32_t track_count; /* that share it */
    struct shelves shelves;
    uint64_t *ids; /* of the shelves that were described */
    uint32_t id_count;
};

/* Makes a shelf known to the viewer; its number, never 0, goes to *ret_id. 0 or -errno. */
typedef int track_shelf_fn(void *context, uint32_t line, int64_t time_ns, uint64_t *ret_id);

struct track_lines {
    const struct trace *trace;
    track_shelf_fn *describe;
    void *context;
    VEC(struct track_line) lines;
    uint32_t *line_of; /* of track */
    uint32_t track_count;
    struct map64 open; /* track + 1 -> shelf, while a range is open on it */
};

/* `describe` is called at the first use of each shelf. 0 or -ENOMEM; then fini all the same. */
int track_lines_init(struct track_lines *lines, const struct trace *trace);
void track_lines_fini(struct track_lines *lines);

/* The line of a track, also of one that the trace does not define. */
uint32_t track_lines_find(const struct track_lines *lines, uint64_t track);

/* What a line is called. Valid as long as the lines. */
struct trace_string track_line_label(const struct track_lines *lines, uint32_t line);

/* The shelf for a range that begins on a track, inside of `depth` others of it, and for its end. */
int track_lines_open(struct track_lines *lines, const struct event *begin, uint32_t depth,
                     uint64_t *ret_id);
int track_lines_close(struct track_lines *lines, uint64_t track, uint32_t depth, int64_t end_ns,
                      uint64_t *ret_id);
int track_lines_mark(struct track_lines *lines, const struct event *mark, uint32_t depth,
                     uint64_t *ret_id);

/* The number of a line's first shelf, below which other lines are. */
int track_line_id(struct track_lines *lines, uint32_t line, int64_t time_ns, uint64_t *ret_id);

enum { TRACK_FAMILY_SIZE = 256 };

/* What names of tracks have in common. Programs call their tracks "request 4711" or by a UUID; a
 * line for each makes a viewer useless (100,000 lines: minutes to open). "request 4711" gives
 * "request #": each number becomes "#", and each word of four or more hexadecimal digits with a
 * decimal one among them. Cut at size - 1 bytes, at a character. Returns the length. */
size_t track_family(const char *name, size_t length, char *buffer, size_t size);

#endif
