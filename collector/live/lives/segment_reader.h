/* SPDX-License-Identifier: MIT */
/* The collector's side of one segment: maps it, trusts nothing in it, and does every access to it.
 *
 * The geometry is checked once and copied; later reads of block headers, strings and counters go
 * into private memory before use. The process may write, shrink or delete the file at any time. A
 * call that meets missing memory returns -EFAULT, one that meets invalid data -EBADMSG; after both
 * the segment should be given up. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_SEGMENT_H
#define ANNOT_INTAKE_SEGMENT_H

#include "annot_filter.h"
#include "annot_wire.h"
#include "guard.h"
#include "vec.h"

#include <stdbool.h>
#include <sys/types.h>

enum { SEGMENT_NAME_SIZE = 64 };

struct segment {
    struct guard_range range; /* the mapping */
    struct annot_segment_info info;
    char name[SEGMENT_NAME_SIZE]; /* in the directory */
    dev_t device;
    ino_t inode;
};

/* The parts of PID-NS-HASH.segment. */
struct segment_name {
    int32_t pid;
    uint64_t pid_ns, identity;
};

/* True if it is the name of a segment. */
bool segment_name_parse(const char *name, struct segment_name *ret_parsed);

/* Maps the file `name` of the directory. -EAGAIN: not complete yet; -EPROTONOSUPPORT: another
 * major version; -EBADMSG: invalid; -EPERM: not owned by the directory's owner; else -errno. The
 * caller closes it after success only. */
int segment_open(int directory_fd, const char *name, struct segment *ret_segment);

/* As segment_open, over memory of the caller; for tests and fuzzers. */
int segment_attach(struct segment *segment, void *address, size_t size);
void segment_close(struct segment *segment);

/* A block that is not free. */
struct segment_block {
    uint32_t index, state; /* enum annot_block_state */
    uint32_t serial, sequence, committed;
    uint32_t tag; /* of its claim */
};

typedef VEC(struct segment_block) segment_blocks;

/* Sets of states. */
enum segment_states {
    SEGMENT_RELEASED = 1u << ANNOT_BLOCK_RELEASED,
    SEGMENT_RECORDS = SEGMENT_RELEASED | 1u << ANNOT_BLOCK_CLAIMED,
    SEGMENT_SUMS = 1u << ANNOT_BLOCK_SUMS | 1u << ANNOT_BLOCK_SUMS_DONE,
};

/* Appends all blocks in these states. -ENOMEM. */
int segment_scan(const struct segment *segment, enum segment_states states, segment_blocks *blocks);

/* Header, and the committed records from `begin` on, at the same offsets. */
struct segment_block_copy {
    struct annot_block header;
    uint8_t records[ANNOT_BLOCK_DATA_SIZE];
};

/* The end of the records, or -EFAULT, -EBADMSG. */
int segment_copy_block(const struct segment *segment, uint32_t index, uint32_t begin,
                       struct segment_block_copy *ret_copy);

/* The header alone. 0 or -EFAULT. */
int segment_read_header(const struct segment *segment, uint32_t index,
                        struct annot_block *ret_header);

/* True if the block is still of the scanned claim: 1, 0, or -EFAULT. */
int segment_block_is_same(const struct segment *segment, const struct segment_block *seen);

/* RELEASED or SUMS_DONE -> FREE, and onto the free list; the last one is reused first. */
int segment_free_blocks(const struct segment *segment, const uint32_t *indexes, size_t count);

/* Without the live stack. 1; 0: free or just being taken; -EFAULT. */
int segment_read_thread(const struct segment *segment, uint32_t index,
                        struct annot_thread *ret_thread);
/* With the live stack, which changes while its thread runs: read it twice. */
int segment_read_live(const struct segment *segment, uint32_t index,
                      struct annot_thread *ret_thread);
int segment_read_shared(const struct segment *segment, struct annot_shared *ret_shared);

int segment_read_queues(const struct segment *segment, uint64_t ret_counts[ANNOT_QUEUE_COUNTS]);

/* The last note of the process: 1; 0: no note; -EFAULT. */
int segment_read_note(const struct segment *segment, struct annot_note *ret_note);

/* Stores the time of this visit; see annot_control.heartbeat. */
int segment_heartbeat(const struct segment *segment, uint64_t time);

/* Stores annot_control.late_ticks, in the clock of the program. */
int segment_set_late(const struct segment *segment, uint64_t ticks);

/* Stores annot_control.wishes: of enum annot_wish. */
int segment_set_wishes(const struct segment *segment, uint32_t wishes);

/* Stores annot_control's masks, and whether they filter anything. Bits without a number in `masks`
 * are kept; NULL: everything is wanted. */
int segment_set_masks(const struct segment *segment, const struct annot_filter_masks *masks);

/* annot_shared.string_used, unchecked. */
int segment_strings_used(const struct segment *segment, uint32_t *ret_used);

/* Sets or clears ANNOT_STRING_MASKED of a string that was published. */
int segment_mask_string(const struct segment *segment, uint32_t id, bool is_masked);

/* A published string. 1; 0: not published; -EBADMSG: invalid. `bytes` has room for
 * ANNOT_STRING_MAX. */
int segment_read_string(const struct segment *segment, uint32_t id, struct annot_string *ret_string,
                        char *bytes);

#endif
