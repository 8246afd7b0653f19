/* SPDX-License-Identifier: MIT */
/* Empties one segment, again and again: finds blocks, keeps each thread's in order, decodes them,
 * hands the events on, and gives blocks back once they are safe in the file.
 *
 * Exactly once: every batch says which bytes of which block it holds. A block that was read whole
 * waits for the ticket of the chunk that its last record is in; drain_free gives it back when that
 * is in the file.
 * A segment that cannot be believed is `broken`: what was read stays, the rest counts as one loss.
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

/* Takes what threads have counted. 0 or -errno, likewise. */
typedef int drain_samples_fn(void *context, const struct sample *samples, size_t count);

/* Whether the sink has room for another block. */
typedef bool drain_room_fn(void *context);

/* How far a block was read. Valid for this serial and sequence only. */
struct drain_progress {
    uint32_t serial, sequence;
    uint32_t consumed;
    bool seen, done; /* done: waits for drain_free */
};

/* So many of drain.done, behind those of earlier tickets, are in the file with this one. */
struct drain_sealed {
    uint64_t ticket;
    size_t count;
};

/* A ticket behind all others: also what has none yet is in the file. */
#define DRAIN_ALL UINT64_MAX

/* What this visit knows of a thread's stream. */
enum drain_stream {
    STREAM_OPEN,    /* the next block may be read                                */
    STREAM_WAITING, /* the next block is there and being filled; later ones wait */
    STREAM_MISSING, /* a later block is there, the next one is not               */
};

/* Of each: what a recording has of a thread already, when it is continued. */
enum drain_kind {
    DRAIN_PLAIN, /* events of the program's own stream */
    DRAIN_SPANS,
    DRAIN_KINDS,
};

/* Calls of a thread that may still turn out too short to be wanted: drain_short.c. */
struct drain_waiting {
    VEC(struct event) events; /* begins of calls, the first is one, and what happened on tracks */
    VEC(struct arg) args;     /* of them, and of some that were left out */
};

struct drain_thread {
    struct decode_thread decode;
    uint32_t serial;
    uint32_t record; /* index of its thread record */
    bool entered;    /* decode.ordinal is valid */
    uint64_t visit;  /* the visit that `stream` speaks of */
    enum drain_stream stream;
    uint32_t next;            /* sequence of the block to read next */
    bool next_unknown;        /* after a recovery: `next` or the first one behind it */
    struct batch_source last; /* handed on last */
    struct batch_source known[DRAIN_KINDS]; /* end_offset 0: nothing */
    uint64_t lost[LOSS_COUNT];              /* from its thread record */
    uint64_t trailing[LOSS_COUNT];          /* of decode.lost: what no block told */
    bool in_record; /* a record with its serial was there at the last look */
    bool left;      /* the thread gave its record back, and what no block told to the process */
    uint64_t left_visit; /* visits from this one on began after it had left; 0: it has not */
    uint64_t published;  /* record_count + losses when the trace was told */
    uint32_t name_id;    /* as told to the trace */
    struct drain_waiting *waiting; /* NULL: it never had such calls */
};

/* What threads that need no more attention add to the totals of their process. */
struct drain_past {
    uint64_t event_count, lost[LOSS_COUNT];
    int64_t last_ns;
};

struct drain {
    struct segment *segment;
    struct decoder decoder;
    struct trace *trace;
    struct lives *lives;  /* threads of the trace come from it; NULL: each has its own */
    uint32_t process;     /* ordinal in the trace */
    uint32_t serial_base; /* tells threads of further segments of one process apart */
    VEC(struct drain_progress) progress; /* by block */
    VEC(struct drain_thread) threads;
    struct map64 thread_index; /* by serial + 1 */
    struct map64 origins; /* of threads that told nothing: 1 + ordinal; or not known: visit << 32 */
    uint32_t threads_max;
    struct drain_past past; /* of threads that left and of which all is read */
    segment_blocks blocks;  /* scratch */
    segment_blocks fresh;   /* the same, within a visit */
    VEC(uint32_t) done;     /* blocks that wait for drain_free, oldest first */
    VEC(struct drain_sealed) sealed;
    size_t sealed_count; /* of `done`, by all of `sealed` */
    uint64_t corrupt;    /* losses that no thread can be blamed for */
    uint64_t visit;
    uint64_t whole_visit; /* the last one that looked at all blocks */
    bool missing;         /* in this visit: some thread's stream is STREAM_MISSING */
    bool cut;             /* the visit left something unread, for want of room */
    bool broken;
    bool complete; /* a flight recorder, of which all that was left is read */
    drain_sink_fn *sink;
    drain_samples_fn *samples; /* NULL: they are left out */
    void *samples_context;
    drain_room_fn *room; /* asked before each block; NULL: there is always */
    void *sink_context;
    struct segment_block_copy copy;
    struct decoded decoded;  /* room for DECODE_EVENTS_MAX events */
    VEC(struct event) spans; /* of these, in a batch of their own */
    VEC(struct event) kept;  /* scratch: of these, without what is left out */
    uint64_t short_count;    /* calls that were left out */
    VEC(struct drain_sums) sums;
    struct map64 sums_by_block;     /* 1 + index of a block: its place there */
    VEC(struct sample) sum_samples; /* of a block; neither moves then */
    VEC(int64_t) sum_values;
    uint16_t sum_sets[DRAIN_SUM_KINDS]; /* 0: not known yet */
    int64_t summed_ns;                  /* the last look */
    const struct counted_sums *counted; /* NULL: nothing is continued */
};

enum drain_depth {
    DRAIN_RELEASED, /* whole blocks only                                         */
    DRAIN_CLAIMED,  /* and what is committed in blocks that are being filled     */
    DRAIN_DEAD,     /* the process is gone: every block is as good as released   */
};

/* `segment` belongs to the caller and outlives it, as do clock and trace. NULL: out of memory. */
struct drain *drain_create(struct segment *segment, struct trace *trace, struct clock_map *clock,
                           uint32_t process);
void drain_destroy(struct drain *drain);

/* Reads what is there and what there is room for: `cut` says whether anything was left. Returns the
 * bytes of records read, or -errno of the sink or -ENOMEM. What is wrong with the segment is no
 * error: it ends up in `broken` and `corrupt`. */
int64_t drain_visit(struct drain *drain, enum drain_depth depth);

/* What was read so far is in the file when this ticket is written. 0 or -ENOMEM. */
int drain_seal(struct drain *drain, uint64_t ticket);

/* Gives back the blocks that were read whole and of which all is in the file. */
void drain_free(struct drain *drain, uint64_t written);

/* What a recording knows already of a thread: of each kind of events, those up to the end of a part
 * of a block. */
struct drain_resumed {
    struct decode_thread thread;
    struct batch_source last[DRAIN_KINDS];
    bool seen[DRAIN_KINDS]; /* else nothing of it is */
};

int drain_resume_thread(struct drain *drain, uint32_t serial, const struct drain_resumed *resumed);

/* The thread with this serial, added if it was not seen before. 0, -ENOMEM, or -EFAULT: more than
 * one segment may have. */
int drain_thread(struct drain *drain, uint32_t serial, struct drain_thread **ret_thread);

/* Who a thread is, as it says itself. */
struct drain_who {
    int32_t tid;
    int64_t seen_ns; /* it lived then */
    const uint8_t *comm;
};

/* The ordinal of a thread that may have told nothing yet, and lived at that time. 1; 0: nothing is
 * known of it; -errno. */
int drain_find_thread(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal);

/* Gives a thread its entry in the trace. 0 or -ENOMEM. */
int drain_enter_thread(struct drain *drain, struct drain_thread *thread,
                       const struct drain_who *who);

/* The same to the thread of a block, if it has none yet. 0, -ENOMEM, -EFAULT. */
int drain_enter_block(struct drain *drain, const struct annot_block *header,
                      struct drain_thread **ret_thread);

/* What counts for the thread and is not in the counters of its process already. */
uint64_t drain_thread_lost(const struct drain_thread *thread, enum loss cause);

/* Hands on what was decoded of a block: plain events, and a batch that is `late` of the spans. The
 * thread may have moved then. */
int drain_hand_on_block(struct drain *drain, struct drain_thread *thread,
                        const struct batch_source *source);

/* ---- Calls that are too short to be wanted --------------------------------------------------- */

/* Takes them out of what was decoded of the thread, and holds back those of which it is not known
 * yet. 0 or -ENOMEM. */
int drain_leave_out(struct drain *drain, struct drain_thread *thread);

/* Hands on what is held back, and lasts long enough if it lasts until then, as all is known that
 * happened before; INT64_MAX: whatever is held back. 0 or -errno of the sink. */
int drain_hand_on_waiting(struct drain *drain, struct drain_thread *thread, int64_t until_ns);
bool drain_is_waiting(const struct drain_thread *thread);
void drain_forget_waiting(struct drain_thread *thread);

/* Reads names and losses of the threads, and tells the trace what changed. 0 or -ENOMEM. */
int drain_publish(struct drain *drain);

/* The last visit is over: losses behind the last block become events, and all is published. */
int drain_finish(struct drain *drain);

#endif
