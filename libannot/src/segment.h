/* SPDX-License-Identifier: MIT */
/* A segment of this process: the mapped file and its private state.
 *
 * Threads: descriptors live in a static table and are counted: one reference for being the current
 * one, one per attached thread. The last reference unmaps. Pointers and sizes are constant from
 * creation on and never read back from shared memory.
 * Invariant: no page is touched before it was populated, so a full file system is an error code and
 * never a SIGBUS. */
#ifndef ANNOT_SEGMENT_H
#define ANNOT_SEGMENT_H

#include "session.h"

#include <annot_wire.h>
#include <stdint.h>

enum { SEGMENT_LIMIT = 256 }; /* segments that idle threads may keep alive, and the current one */

struct segment {
    uint32_t refs;         /* 0: unused; W: all, atomic */
    uint32_t fully_backed; /* old kernel: the whole file was reserved at creation */
    uint8_t *base;
    uint64_t size;
    struct annot_segment *header;
    struct annot_thread *threads;
    uint8_t *strings;
    uint32_t *block_states, *block_nexts;
    uint8_t *blocks;
    uint32_t thread_count, block_count, strings_size;
    uint32_t policy; /* enum annot_policy */
    uint64_t session_id;
    uint64_t made_generation;  /* generation in block headers */
    uint64_t valid_generation; /* the latest generation of this segment; W: all, atomic */
    uint64_t first_range;      /* ids up to this one are of ranges that began earlier */
    uint32_t strings_limit;    /* all string ids below are ready here; W: all, atomic */
    uint32_t strings_backed;   /* bytes of the string table populated; W: all, atomic */
    uint64_t no_memory_until;  /* timestamp: do not try to reserve before; W: all, atomic */
    uint64_t next_reclaim;     /* timestamp; W: all, atomic */
    uint32_t filter_next;      /* numbers below are included in the masks; W: all, atomic */
    uint32_t is_capture;       /* the session records inside of one range only: */
    uint32_t capture_name, capture_domain; /* its string ids; domain 0: any */
    uint32_t capture_open;                 /* number of open ranges of that name; W: all, atomic */
    uint32_t names_emitted;                /* thread_names.h; W: all, atomic */
    uint32_t sum_blocks;                   /* in use for sums; W: all, atomic */
    uint64_t hand;                         /* OVERWRITE_OLDEST: see overwrite.c; W: all, atomic */
    uint64_t failed_heartbeat;             /* WAIT: see stream.c; W: all, atomic */
};

/* Identity of the process and time of joining, for the header. */
struct identity {
    uint64_t hash, parent_hash;
    uint64_t fork_time;
    int64_t tls_offset;
    uint64_t generation; /* of the wake page */
};

/* Makes, fills and maps a new segment with one reference. Returns 0 or negative errno with
 * ret_refusal filled and no file left. */
int segment_create(int directory_fd, const struct session *session, const struct identity *identity,
                   struct segment **ret_segment, struct refusal *ret_refusal);

/* Undoes segment_create: unlinks the file and drops the reference. */
void segment_discard(int directory_fd, struct segment *segment, const struct identity *identity);

/* Adds a reference, unless the count is 0. Returns 1 or 0. */
int segment_get(struct segment *segment);
void segment_put(struct segment *segment);

/* In a forked child: forgets all references; mappings move to a list. `interrupted`, or NULL, is
 * the segment that an event was writing to at the fork: it stays for the thread, but as a shadow:
 * private zeros at the same addresses. */
void segment_forget_all(struct segment *interrupted);
/* Unmaps the list of segment_forget_all. */
void segment_unmap_inherited(void);

/* Reserves the pages of a range. Returns 0 or negative errno. Cost: a system call. */
int segment_populate(struct segment *segment, const void *at, uint64_t size);

static inline struct annot_block *segment_block(const struct segment *segment, uint32_t index)
{
    return (struct annot_block *)(segment->blocks + (uint64_t)index * ANNOT_BLOCK_SIZE);
}

#endif
