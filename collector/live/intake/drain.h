/* SPDX-License-Identifier: MIT */
/* Empties one segment repeatedly: finds blocks, keeps each thread's in order, decodes them, passes
 * the events on, and gives blocks back once they are safe in the file.
 *
 * Exactly once: every batch names the block and the byte range it covers. A block that was read
 * whole waits for the ticket of the chunk with its last record; drain_free gives it back when that
 * chunk is in the file.
 * An invalid segment is `broken`: the data read so far is kept, the rest counts as one loss.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_DRAIN_H
#define ANNOT_INTAKE_DRAIN_H

#include "clock_map.h"
#include "decode.h"
#include "drain_sums.h"
#include "hash_map.h"
#include "lives.h"
#include "vec.h"

/* Takes a batch of one thread. 0 or -errno, which ends the visit. */
typedef int drain_sink_fn(void *context, const struct event_batch *batch);

/* Takes sums that threads have counted. 0 or -errno, which ends the visit. */
typedef int drain_samples_fn(void *context, const struct sample *samples, size_t count);

/* Returns true if the sink has room for another block. */
typedef bool drain_room_fn(void *context);

/* Read position of a block. Valid for this serial and sequence only. */
struct drain_progress {
    uint32_t serial, sequence;
    uint32_t consumed;
    bool seen, done; /* done: waits for drain_free */
};

/* The number of entries of drain.done, after those of earlier tickets, that this ticket writes. */
struct drain_sealed {
    uint64_t ticket;
    size_t count;
};

/* A ticket after all others: it also covers blocks without a ticket. */
#define DRAIN_ALL UINT64_MAX

/* State of a thread's stream in this visit. */
enum drain_stream {
    STREAM_OPEN,    /* the next block may be read */
    STREAM_WAITING, /* the next block exists and is being filled; later ones wait */
    STREAM_MISSING, /* a later block exists, the next one does not */
};

/* Kinds of events that a continued recording tracks separately for each thread. */
enum drain_kind {
    DRAIN_PLAIN, /* events of the program's own stream */
    DRAIN_SPANS,
    DRAIN_KINDS,
};

/* Calls of a thread that may still turn out too short: drain_short.c. */
struct drain_waiting {
    VEC(struct event) events; /* starts of calls, starting with one, and events on tracks */
    VEC(struct arg) args;     /* of the events, and of some dropped ones */
};

struct drain_thread {
    struct decode_thread decode;
    uint32_t serial;
    uint32_t record; /* index of its thread record */
    bool entered;    /* decode.ordinal is valid */
    uint64_t visit;  /* the visit that `stream` refers to */
    enum drain_stream stream;
    uint32_t next;                          /* sequence of the block to read next */
    bool next_unknown;                      /* after a recovery: `next` or the first one after it */
    struct batch_source last;               /* passed on last */
    struct batch_source known[DRAIN_KINDS]; /* end_offset 0: empty */
    uint64_t lost[LOSS_COUNT];              /* from its thread record */
    uint64_t trailing[LOSS_COUNT];          /* the part of decode.lost that no block reported */
    bool in_record;                         /* the last scan found a record with its serial */
    bool left; /* the thread freed its record, and moved losses that no block reported to the
                  process */
    uint64_t left_visit;           /* first visit that began after it had left; 0: it has not */
    uint64_t published;            /* record_count + losses when the trace was last updated */
    uint32_t name_id;              /* as published to the trace */
    struct drain_waiting *waiting; /* NULL: it never had such calls */
};

/* Totals of threads that are done, added to those of their process. */
struct drain_past {
    uint64_t event_count, lost[LOSS_COUNT];
    int64_t last_ns;
};

struct drain {
    struct segment *segment;
    struct decoder decoder;
    struct trace *trace;
    struct lives *lives;  /* source of the trace's threads; NULL: one is added for each */
    uint32_t process;     /* ordinal in the trace */
    uint32_t serial_base; /* distinguishes threads of further segments of one process */
    VEC(struct drain_progress) progress; /* by block */
    VEC(struct drain_thread) threads;
    struct map64 thread_index; /* by serial + 1 */
    struct map64 origins; /* of threads without events: 1 + ordinal; unknown ones: visit << 32 */
    uint32_t threads_max;
    struct drain_past past; /* of threads that left and are completely read */
    segment_blocks blocks;  /* scratch */
    segment_blocks fresh;   /* scratch, within a visit */
    VEC(uint32_t) done;     /* blocks that wait for drain_free, oldest first */
    VEC(struct drain_sealed) sealed;
    size_t sealed_count; /* of `done`, covered by `sealed` */
    uint64_t corrupt;    /* losses without a known thread */
    uint64_t visit;
    uint64_t whole_visit; /* the last one that scanned all blocks */
    bool missing;         /* in this visit: some thread's stream is STREAM_MISSING */
    bool cut;             /* the visit left data unread, for want of room */
    bool broken;
    bool complete; /* a flight recorder that is completely read */
    drain_sink_fn *sink;
    drain_samples_fn *samples; /* NULL: sums are not read */
    void *samples_context;
    drain_room_fn *room; /* called before each block; NULL: always room */
    void *sink_context;
    struct segment_block_copy copy;
    struct decoded decoded;  /* room for DECODE_EVENTS_MAX events */
    VEC(struct event) spans; /* of `decoded`, in a separate batch */
    VEC(struct event) kept;  /* scratch: `decoded` without dropped events */
    uint64_t short_count;    /* dropped calls */
    VEC(struct drain_sums) sums;
    struct map64 sums_by_block;     /* 1 + index of a block: its index in `sums` */
    VEC(struct sample) sum_samples; /* of one block; neither vector moves meanwhile */
    VEC(int64_t) sum_values;
    uint16_t sum_sets[DRAIN_SUM_KINDS]; /* 0: not known yet */
    int64_t summed_ns;                  /* time of the last look */
    const struct counted_sums *counted; /* NULL: no recording is continued */
};

enum drain_depth {
    DRAIN_RELEASED, /* whole blocks only */
    DRAIN_CLAIMED,  /* also committed data of blocks that are being filled */
    DRAIN_DEAD,     /* the process has ended: every block counts as released */
};

/* `segment` belongs to the caller and outlives it, as do clock and trace. NULL: out of memory. */
struct drain *drain_create(struct segment *segment, struct trace *trace, struct clock_map *clock,
                           uint32_t process);
void drain_destroy(struct drain *drain);

/* Reads available blocks while there is room; sets `cut` if it left any. Returns the bytes of
 * records read, or -errno of the sink or -ENOMEM. A corrupt segment is no error: it sets `broken`
 * and `corrupt`. */
int64_t drain_visit(struct drain *drain, enum drain_depth depth);

/* Assigns the ticket to all blocks read so far: they are in the file once it is written. 0 or
 * -ENOMEM. */
int drain_seal(struct drain *drain, uint64_t ticket);

/* Gives back the blocks that were read whole and are completely in the file. */
void drain_free(struct drain *drain, uint64_t written);

/* State of a thread in a continued recording: for each kind of events, the last part of a block
 * that it contains. */
struct drain_resumed {
    struct decode_thread thread;
    struct batch_source last[DRAIN_KINDS];
    bool seen[DRAIN_KINDS]; /* false: the recording has no events of the kind */
};

int drain_resume_thread(struct drain *drain, uint32_t serial, const struct drain_resumed *resumed);

/* Finds or adds the thread with this serial. 0, -ENOMEM, or -EFAULT: more threads than a segment
 * may have. */
int drain_thread(struct drain *drain, uint32_t serial, struct drain_thread **ret_thread);

/* Identity of a thread, from its own record. */
struct drain_who {
    int32_t tid;
    int64_t seen_ns; /* a time at which it lived */
    const uint8_t *comm;
};

/* Finds the ordinal of a thread that may have no events yet and lived at that time. 1; 0: unknown;
 * -errno. */
int drain_find_thread(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal);

/* Gives a thread its entry in the trace. 0 or -ENOMEM. */
int drain_enter_thread(struct drain *drain, struct drain_thread *thread,
                       const struct drain_who *who);

/* Enters the thread of a block, if it is not in the trace yet. 0, -ENOMEM, -EFAULT. */
int drain_enter_block(struct drain *drain, const struct annot_block *header,
                      struct drain_thread **ret_thread);

/* The thread's losses that are not yet in the counters of its process. */
uint64_t drain_thread_lost(const struct drain_thread *thread, enum loss cause);

/* Passes on the decoded events of a block: plain events, and the spans in a `late` batch. The
 * thread may move. */
int drain_hand_on_block(struct drain *drain, struct drain_thread *thread,
                        const struct batch_source *source);

/* ---- Calls that are too short to be wanted --------------------------------------------------- */

/* Removes short calls from the thread's decoded events, and holds back calls of unknown length. 0
 * or -ENOMEM. */
int drain_leave_out(struct drain *drain, struct drain_thread *thread);

/* Passes on the held-back events up to the last call that is long enough at until_ns, given that
 * everything before until_ns is read. INT64_MAX: passes on all. 0 or -errno of the sink. */
int drain_hand_on_waiting(struct drain *drain, struct drain_thread *thread, int64_t until_ns);
bool drain_is_waiting(const struct drain_thread *thread);
void drain_forget_waiting(struct drain_thread *thread);

/* Reads names and losses of the threads, and publishes changes to the trace. 0 or -ENOMEM. */
int drain_publish(struct drain *drain);

/* Call after the last visit: emits losses after the last block as events, and publishes
 * everything. */
int drain_finish(struct drain *drain);

#endif
