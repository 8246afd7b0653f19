/* SPDX-License-Identifier: MIT */
/* CPU profiles of V8, from .cpuprofile files and from Chrome traces: a tree of nodes, and samples,
 * each of which holds for its node until the next sample. The values of a sample come in separate
 * arrays in any order, so they are joined in a sorter. Thread-safety: none. */
#ifndef ANNOT_V8_PROFILE_H
#define ANNOT_V8_PROFILE_H

#include "hash_map.h"
#include "vec.h"

struct import_sink;
struct json_token;
struct json_reader;

/* The values of a sample, each in its own array. */
enum v8_value { V8_NODE, V8_DELTA, V8_LINE, V8_VALUES };

enum { V8_PROFILES_MAX = 4096 };

/* How many samples a line of a node had. */
struct v8_tick {
    int32_t line;
    uint32_t count;
};

struct v8_node {
    uint64_t id, parent;     /* ids in the file; parent 0: root */
    uint32_t function, file; /* strings */
    int32_t line;
    uint32_t tick_at, tick_end; /* range in v8_profiles.ticks */
    uint32_t stack;             /* valid if `made` */
    bool made;
};

struct v8_edge {
    uint64_t parent, child;
};

/* Values read before their profile may be known. */
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
    int64_t first_ns, last_ns; /* of its samples; INT64_MAX without samples */
};

struct v8_profiles {
    struct import_sink *sink;
    struct sorter *records; /* values by profile and index; created at first use */
    struct sorter *samples; /* by profile and time */
    VEC(struct v8_profile) items;
    VEC(struct v8_node) nodes;
    VEC(struct v8_tick) ticks;
    struct wide_map node_index; /* by profile and id: 1 + index */
    struct wide_map parents; /* by profile and id: the id of the parent, from lists of children */
    uint64_t
        overlapping; /* samples dropped because another profile of the thread covers their time */
};

void v8_profiles_fini(struct v8_profiles *profiles);
void v8_chunk_fini(struct v8_chunk *chunk);
void v8_chunk_clear(struct v8_chunk *chunk);

/* Returns the index of a new profile, -EMSGSIZE beyond V8_PROFILES_MAX, or -ENOMEM. */
int64_t v8_profile_add(struct v8_profiles *profiles, uint32_t thread);

/* Moves the content of the chunk to the profile. 0 or -errno. */
int v8_profile_take(struct v8_profiles *profiles, uint32_t profile, struct v8_chunk *chunk);

/* Sends all samples to the sink. 0 or -errno. */
int v8_profiles_emit(struct v8_profiles *profiles);

/* ---- Reading --------------------------------------------------------------------------------- */

struct v8_reader {
    struct json_reader *json;
    struct import_sink *sink;
    struct v8_profiles *profiles;
    int64_t profile; /* takes full chunks; -1: values beyond the chunk are dropped and counted */
    struct v8_chunk *chunk;
};

/* Reads a member of a profile: "nodes", "samples", "timeDeltas", "lines", "startTime", "endTime".
 * Returns 1, 0 for any other key, with the value unread, or -errno. */
int v8_read_member(struct v8_reader *reader, const char *key, const struct json_token *value);

#endif
