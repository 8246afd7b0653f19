/* SPDX-License-Identifier: MIT */
/* Definitions: strings, session, processes, threads, refusals, tracks, units, and what samples need
 * (sampling, facts, frames, stacks, range paths) as entries of a DEFINITIONS chunk.
 *
 * An entry is type, length, body; a body is a row of integers to which later versions append.
 * Thread-safety: none. */
#ifndef ANNOT_STORE_DEFINITIONS_H
#define ANNOT_STORE_DEFINITIONS_H

#include "stacks.h"
#include "trace.h"
#include "vec.h"

/* What of a trace is written already. `{0}`: nothing. */
struct definitions_state {
    uint32_t string_count, refusal_count, filter_count;
    uint32_t frame_count, stack_count, path_count;
    uint32_t session_revision, sampling_revision;
    bool session_written;
    VEC(uint32_t) process_revisions;
    VEC(uint32_t) thread_revisions;
    VEC(uint32_t) fact_revisions;
    VEC(uint32_t) track_revisions;
    VEC(uint32_t) unit_revisions;
};

void definitions_state_free(struct definitions_state *state);

struct definitions_buffer {
    VEC(uint8_t) bytes;
    uint64_t count; /* entries */
};

/* Appends what is new or changed since `state`, until about `limit` bytes: 1 if there is more, 0
 * if that was all, -ENOMEM. */
int definitions_collect(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer);

/* Holes that damaged chunks left may be filled by this many empty entries in one trace. */
struct definitions_holes {
    uint32_t strings, processes, threads, stacks;
};

/* Applies a payload to a trace. 0, -ENOMEM; -EBADMSG: malformed from some entry on, what stands
 * before it was applied. */
int definitions_apply(struct trace *trace, struct definitions_holes *holes, const uint8_t *payload,
                      size_t size);

/* ---- Inside definitions_*.c only ---- */

int definitions_put(struct definitions_buffer *buffer, unsigned type, const void *body,
                    size_t size);
int definitions_collect_stacks(const struct stacks *stacks, struct definitions_state *state,
                               size_t limit, struct definitions_buffer *buffer);

int definitions_collect_tracks(const struct trace *trace, struct definitions_state *state,
                               size_t limit, struct definitions_buffer *buffer);

struct varint_reader;
int definitions_apply_tracks(struct trace *trace, struct varint_reader *body);
int definitions_apply_unit(struct trace *trace, struct varint_reader *body);

/* Frames, stacks or paths, by type. */
int definitions_apply_stacks(struct trace *trace, struct definitions_holes *holes, unsigned type,
                             struct varint_reader *body);

#endif
