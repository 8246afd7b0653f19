/* SPDX-License-Identifier: MIT */
/* CPU profiles of V8, in files of their own (.cpuprofile) and in Chrome traces: a tree of nodes,
 * and samples, each of which is of a node until the next one. What belongs together comes in arrays
 * of their own, in any order: so all waits in a sorter. Thread-safety: none. */
#ifndef ANNOT_V8_PROFILE_H
#define ANNOT_V8_PROFILE_H

#include "hash_map.h"
#include "vec.h"

struct import_sink;
struct json_token;
struct json_reader;

/* What a sample is told by, each in an array of its own. */
enum v8_value { V8_NODE, V8_DELTA, V8_LINE, V8_VALUES };

enum { V8_PROFILES_MAX = 4096 };

/* How often a line of a node was met. */
struct v8_tick {
    int32_t line;
    uint32_t count;
};

struct v8_node {
    uint64_t id, parent;     /* as the file calls them; 0: none */
    uint32_t function, file; /* strings */
    int32_t line;
    uint32_t tick_at, tick_end; /* in the list of all of them */
    uint32_t stack;             /* if `made` */
    bool made;
};

struct v8_edge {
    uint64_t parent, child;
};

/* What was read and belongs to a profile that may not be known yet. */
struct v8_chunk {
    VEC(struct v8_node) nodes;
    VEC(struct v8_edge) edges;
    VEC(struct v8_tick) ticks;
    VEC(int64_t) values[V8_VALUES];
    bool has_begin, has_end;
    int64_t begin_ns, end_ns;
};

struct v8_profile {
    uint32_t thread;
    bool has_begin, has_end;
    int64_t begin_ns, end_ns;
    uint64_t counts[V8_VALUES];
    int64_t first_ns, last_ns; /* of its samples; INT64_MAX: none */
};

struct v8_profiles {
    struct import_sink *sink;
    struct sorter *records; /* values by profile and place; NULL: none yet */
    struct sorter *samples; /* by profile and time */
    VEC(struct v8_profile) items;
    VEC(struct v8_node) nodes;
    VEC(struct v8_tick) ticks;
    struct wide_map node_index; /* by profile and id: 1 + index */
    struct wide_map parents;    /* by profile and id: the parent's id, where children are listed */
    uint64_t overlapping;       /* samples of a thread that another profile has at the same time */
};

void v8_profiles_fini(struct v8_profiles *profiles);
void v8_chunk_fini(struct v8_chunk *chunk);
void v8_chunk_clear(struct v8_chunk *chunk);

/* The index of a new profile; beyond the limit -EMSGSIZE; -ENOMEM. */
int64_t v8_profile_add(struct v8_profiles *profiles, uint32_t thread);

/* Moves what the chunk has to the profile. 0 or -errno. */
int v8_profile_take(struct v8_profiles *profiles, uint32_t profile, struct v8_chunk *chunk);

/* Sends all samples to the sink. 0 or -errno. */
int v8_profiles_tell(struct v8_profiles *profiles);

/* ---- Reading --------------------------------------------------------------------------------- */

struct v8_reader {
    struct json_reader *json;
    struct import_sink *sink;
    struct v8_profiles *profiles;
    int64_t profile; /* where a full chunk goes; -1: what does not fit is counted */
    struct v8_chunk *chunk;
};

/* A member of a profile: "nodes", "samples", "timeDeltas", "lines", "startTime", "endTime". 1; 0:
 * it is another one, and not taken; -errno. */
int v8_read_member(struct v8_reader *reader, const char *key, const struct json_token *value);

#endif
