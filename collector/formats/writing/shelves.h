/* SPDX-License-Identifier: MIT */
/* Puts ranges that may overlap onto shelves on which they don't.
 *
 * Each range takes the lowest shelf that is free at its start. Ranges may come in any order; the
 * closer to the order of their ends, the fewer shelves. A tree of the shelves' ends finds the shelf
 * in O(log n). Thread-safety: none. `{0}` is empty. */
#ifndef ANNOT_SHELVES_H
#define ANNOT_SHELVES_H

#include "hash_map.h"
#include "pass.h"
#include "trace.h"
#include "vec.h"

#include <stdint.h>

struct shelf_gap {
    int64_t begin_ns, end_ns;
    uint32_t shelf;
};

struct shelves {
    int64_t *ends;     /* a binary tree from [1]: each node the earliest end below it */
    uint32_t capacity; /* leaves, a power of two; shelf i is ends[capacity + i] */
    /* Of shelves_fit: free gaps before the last range of a shelf, the most recent ones. */
    VEC(struct shelf_gap) gaps;
    uint32_t next_gap; /* the next to be replaced when there are too many */
    int64_t latest_ns; /* start */
};

/* The shelf, or -ENOMEM. A range with an unknown end keeps it with `end_ns` INT64_MAX until
 * shelves_set_end. */
int64_t shelves_take(struct shelves *shelves, int64_t start_ns, int64_t end_ns);
void shelves_set_end(struct shelves *shelves, uint32_t shelf, int64_t end_ns);

/* The same for ranges out of order: one may also fill a gap before the ranges of its shelf. Nearly
 * sorted ranges take about as few shelves as sorted ones. */
int64_t shelves_fit(struct shelves *shelves, int64_t start_ns, int64_t end_ns);
void shelves_fini(struct shelves *shelves);

/* ---- Groups of tracks ------------------------------------------------------------------------ */

/* The tracks of a recording as groups in a viewer, so that 100,000 of them stay usable.
 *
 * Tracks of one name below the same parent share a group. Names that differ only in numbers
 * ("request 17") have separate groups up to TRACK_NAMES_MAX of them, else they share one ("request
 * #"). Beyond TRACK_GROUPS_MAX groups the rest is together in "other tracks". A group has as many
 * shelves as its ranges overlap; ranges nested inside of a range of a track are on that range's
 * shelf. Children of a track are below its group. Thread-safety: none. */

enum {
    TRACK_NAMES_MAX = 32,
    TRACK_GROUPS_MAX = 1024,
    TRACK_LEVELS_MAX = 16, /* groups below groups; deeper ones are put beside the deepest */
};

struct track_group {
    uint32_t parent;  /* group + 1; 0 = the process */
    uint32_t process; /* ordinal; UINT32_MAX = unknown */
    uint32_t name;    /* string, or 0: `text` */
    char *text;       /* owned; NULL: a fixed text, see track_group_label */
    uint32_t level;
    uint32_t track_count; /* number of tracks that share it */
    struct shelves shelves;
    uint64_t *ids; /* of the described shelves */
    uint32_t id_count;
};

/* Describes a shelf to the viewer; its number, never 0, goes to *ret_id. 0 or -errno. */
typedef int track_shelf_fn(void *context, uint32_t group, int64_t time_ns, uint64_t *ret_id);

struct track_groups {
    const struct trace *trace;
    track_shelf_fn *describe;
    void *context;
    VEC(struct track_group) groups;
    uint32_t *group_of; /* by track */
    uint32_t track_count;
    struct map64 open; /* track + 1 -> shelf, while a range is open on it */
};

/* `describe` is called at the first use of each shelf. 0 or -ENOMEM; then fini all the same. */
int track_groups_init(struct track_groups *groups, const struct trace *trace);
void track_groups_fini(struct track_groups *groups);

/* The group of a track, also of one that the trace does not define. */
uint32_t track_groups_find(const struct track_groups *groups, uint64_t track);

/* The label of a group. Valid as long as the groups. */
struct trace_string track_group_label(const struct track_groups *groups, uint32_t group);

/* The shelf for a range that begins on a track, inside of `depth` others of it, and for its end. */
int track_groups_open(struct track_groups *groups, const struct event *begin, uint32_t depth,
                      uint64_t *ret_id);
int track_groups_close(struct track_groups *groups, uint64_t track, uint32_t depth, int64_t end_ns,
                       uint64_t *ret_id);
int track_groups_span(struct track_groups *groups, const struct item *span, uint64_t *ret_id);
int track_groups_mark(struct track_groups *groups, const struct event *mark, uint32_t depth,
                      uint64_t *ret_id);

/* The number of a group's first shelf, below which other groups are. */
int track_group_id(struct track_groups *groups, uint32_t group, int64_t time_ns, uint64_t *ret_id);

enum { TRACK_FAMILY_SIZE = 256 };

/* The common form of track names. Programs name their tracks "request 4711" or by a UUID; a group
 * for each makes a viewer unusable (100,000 groups: minutes to open). "request 4711" gives "request
 * #": each number becomes "#", and each word of four or more hexadecimal digits with a decimal one
 * among them. Cut at size - 1 bytes, at a character. Returns the length. */
size_t track_family(const char *name, size_t length, char *buffer, size_t size);

#endif
