/* SPDX-License-Identifier: MIT */
/* The wire format: everything a program and a collector share through memory.
 *
 * Fixed-width integers, explicit numbers, little endian; every size and offset is asserted below.
 * Each field has one writer ("W:"); those of different writers lie on different cache lines. A
 * reader bounds all offsets, counts and lengths. CLOCK_MONOTONIC and start times are the machine's.
 *
 * Versioning: a change that an older reader would misread raises ANNOT_WIRE_MAJOR and is refused;
 * an addition raises ANNOT_WIRE_MINOR and is skipped. docs/wire-format.md is the same in prose. */
#ifndef ANNOT_WIRE_H
#define ANNOT_WIRE_H

#include "annot_wire_calls.h"
#include "annot_wire_queues.h"

#include <stddef.h>
#include <stdint.h>

#define ANNOT_WIRE_MAJOR 1
#define ANNOT_WIRE_MINOR 0

/* Drafts of major version 1 had the magic numbers "ANNWAKE1", "ANNSSES1" and "ANNNSEG1", and other
 * layouts: their files are refused as those of another major version. */
#define ANNOT_WAKE_MAGIC    UINT64_C(0x32454b41574e4e41) /* "ANNWAKE2" */
#define ANNOT_SESSION_MAGIC UINT64_C(0x32534553534e4e41) /* "ANNSSES2" */
#define ANNOT_SEGMENT_MAGIC UINT64_C(0x324745534e4e4e41) /* "ANNNSEG2" */
/* True for a file of the same kind, of any version: the last character may differ. */
#define ANNOT_MAGIC_IS_LIKE(magic, own) ((uint64_t)(magic) << 8 == (uint64_t)(own) << 8)

/* Names in the directory. PID is decimal, NS (pid-namespace inode) and HASH are hexadecimal. */
#define ANNOT_WAKE_NAME      "wake"
#define ANNOT_SESSION_PREFIX "session-" /* session-ID          */
#define ANNOT_SEGMENT_SUFFIX ".segment" /* PID-NS-HASH.segment */
#define ANNOT_TARGET_PREFIX  "target-"  /* target-PID-NS: a program that shall join a session */
#define ANNOT_REFUSED_PREFIX "annot-refused-" /* memory file annot-refused-REASON-ERRNO */
#define ANNOT_ENV_DIR        "ANNOT_DIR"
#define ANNOT_ENV_SESSION    "ANNOT_SESSION" /* 16 hexadecimal digits */
#define ANNOT_ENV_PLACE      "ANNOT_PLACE"   /* DEVICE-INODE of its directory, hexadecimal */
#define ANNOT_ENV_POLICY     "ANNOT_POLICY"  /* "drop", "overwrite", "wait": of this process */

enum {
    ANNOT_PAGE_SIZE = 4096,
    ANNOT_EXTENT_SIZE = 256 * 1024, /* bytes reserved at once, at the first claim */
    ANNOT_BLOCK_SIZE = 8192,        /* block with its header                             */
    ANNOT_GRANULE = 16,             /* record length unit and alignment                  */
    ANNOT_STRING_UNIT = 16,         /* a string id is its offset in the table / 16       */
    ANNOT_STRING_MAX = 1024,        /* bytes of one name or string payload, no NUL       */
    ANNOT_LEVELS = 8,               /* 0 is always the default, 7 the most detailed      */
    ANNOT_LIVE_DEPTH = 32,          /* innermost open ranges shown live; a power of two  */
    ANNOT_OPEN_DEPTH = 32,          /* innermost open ranges a block header holds        */
    ANNOT_REFUSAL_SLOTS = 127,
    ANNOT_FILTER_MAX = 240,  /* bytes of a session's filter                      */
    ANNOT_CAPTURE_MAX = 251, /* bytes of the range that a session records inside of */
    ANNOT_NOTE_MAX = 984,    /* bytes of a last word                             */
};

/* Hard limits that a collector enforces before it maps or follows anything. */
#define ANNOT_SEGMENT_MAX_BYTES (UINT64_C(1) << 30)
#define ANNOT_BLOCK_COUNT_MAX   (1u << 16)
#define ANNOT_THREAD_COUNT_MAX  (1u << 14)

/* Defaults of a segment. 2048 blocks: two for each of 1,000 threads in 16 MiB. */
#define ANNOT_BLOCK_COUNT_DEFAULT  2048u
#define ANNOT_THREAD_COUNT_DEFAULT 4096u
#define ANNOT_STRINGS_SIZE_DEFAULT (4u << 20)
/* Under the limits of a program, sizes are halved, down to these. */
#define ANNOT_BLOCK_COUNT_LEAST  32u
#define ANNOT_THREAD_COUNT_LEAST 64u
#define ANNOT_STRINGS_SIZE_LEAST (64u << 10)

/* ---- Losses -------------------------------------------------------------------------------- */

/* Why a record was not written. A lost record is one call that would have written one. */
enum annot_loss {
    ANNOT_LOSS_POOL_FULL = 0,    /* no free block, collector alive: records came too fast        */
    ANNOT_LOSS_NO_MEMORY = 1,    /* the shared-memory file system is full                        */
    ANNOT_LOSS_THREAD_LIMIT = 2, /* more threads at once than thread records                     */
    ANNOT_LOSS_INTERRUPTED = 3,  /* a handler met a commit of its thread, or waited to join */
    ANNOT_LOSS_COLLECTOR_LATE = 4, /* no free block, and the collector had not run for a while */
    ANNOT_LOSS_OVERWRITTEN = 5, /* flight recorder: replaced by newer records                   */
    ANNOT_LOSS_CORRUPT = 6,     /* W: collector only: implausible bytes */
    ANNOT_LOSS_TOO_LARGE = 7,   /* record longer than a block can hold                          */
    ANNOT_LOSS_COUNT = 8,       /* those of a thread; the others are counted by process: */
    ANNOT_LOSS_SHARED = 8,      /* of a task that uses the thread-local storage of another one */
    ANNOT_LOSS_ALL = 9,
};

/* Not losses: calls that by contract have no effect, counted for `info`. */
enum annot_misuse {
    ANNOT_MISUSE_POP_EMPTY = 0,   /* pop without a push                                           */
    ANNOT_MISUSE_END_FOREIGN = 1, /* end of a range id that this process did not start            */
    ANNOT_MISUSE_NAME_CUT = 2,    /* name or string longer than ANNOT_STRING_MAX                  */
    ANNOT_MISUSE_NAME_INLINE = 3, /* string table full: names travel inside the records           */
    ANNOT_MISUSE_PAYLOAD_CUT = 4, /* more key-values, or a larger struct, than a record can hold */
    ANNOT_MISUSE_SCHEMA = 5, /* a struct that does not fit its schema; counted by the collector */
    ANNOT_MISUSE_NAME_LEFT = 6, /* string table full: a name without an id */
    ANNOT_MISUSE_COUNT = 7,
};

/* Why a process does not take part (slots of refused processes, annot_status()). */
enum annot_refusal {
    ANNOT_REFUSAL_NONE = 0,
    ANNOT_REFUSAL_SECURE_EXEC = 1,  /* AT_SECURE: set-uid or file capabilities      */
    ANNOT_REFUSAL_NO_DIRECTORY = 2, /* no directory could be opened or made         */
    ANNOT_REFUSAL_DIR_OWNER = 3,    /* directory belongs to another uid             */
    ANNOT_REFUSAL_DIR_MODE = 4,     /* directory is not 0700                        */
    ANNOT_REFUSAL_FILE_SIZE = 5,    /* RLIMIT_FSIZE smaller than a segment */
    ANNOT_REFUSAL_NO_SPACE = 6,     /* shared-memory file system full or read-only  */
    ANNOT_REFUSAL_MAP = 7,          /* mmap failed                                  */
    ANNOT_REFUSAL_VERSION = 8,      /* session has another major version */
    ANNOT_REFUSAL_OTHER_UID = 9,    /* a child that changed its uid                 */
    ANNOT_REFUSAL_SYSTEM = 10,      /* any other error, see errno */
};

/* ---- Wake page: file "wake", one page, never a hole ---------------------------------------- */

enum annot_wake_flags {
    ANNOT_WAKE_MADE_DIRECTORY = 1u << 0, /* the maker of this page had made its directory for it:
                                            the collector that removes the one removes both */
};

/* Mapped read-only by every program with libannot loaded. Changed only by collectors, each under
 * flock(LOCK_EX) of the file. A program holds flock(LOCK_SH) from open to mmap, so that a
 * collector that wants to unlink an unused page either sees the mapping or the lock. */
struct annot_wake {
    uint64_t generation;      /* 0: no recording. Else changes with each session that begins or
                                 ends. First, so that the gate of a program is one load. */
    uint64_t last_generation; /* the last number issued; never reused */
    uint64_t magic;
    uint32_t major, minor;
    uint32_t flags; /* enum annot_wake_flags */
    uint8_t reserved[4060];
};

/* A process that cannot take part reports that after the wake page, in pages of the same file that
 * it mapped for writing when it started: at that moment it may have neither descriptor nor right to
 * write files. Never a hole. */
#define ANNOT_REFUSALS_OFFSET 4096

/* The number of events that one image of a process lost in one generation, and the first reason. W:
 * its owner, which takes a free one by a swap of `owner`, changes only `lost` and `over` from then
 * on, and never frees it. Collectors free it, under flock(LOCK_EX), when no session file is left
 * that it may be for: `owner` last. A reader copies it between two equal loads of `generation` that
 * are not 0. */
struct annot_refusal_slot {
    uint64_t owner;      /* pid << 32 | low half of pid_ns; 0: free */
    uint64_t generation; /* of the wake page, when the process was refused; stored last (release) */
    uint64_t session_id; /* the session that it would join, 0: unknown */
    uint64_t pid_ns;
    uint64_t time_ns; /* CLOCK_MONOTONIC, when the process took the slot */
    uint64_t lost;    /* events, atomic; not counted in any segment */
    uint64_t detail;  /* RLIMIT_FSIZE in bytes, uid, ...: by refusal */
    int32_t pid, ppid;
    uint16_t refusal; /* enum annot_refusal */
    uint16_t error;   /* errno, or 0 */
    uint32_t over;    /* 1: the process takes part now */
    uint8_t comm[16];
    uint64_t reserved[5];
};

struct annot_refusals {
    uint64_t unnamed; /* events of processes without a slot, or too late for theirs; atomic */
    uint8_t reserved[120];
    struct annot_refusal_slot slots[ANNOT_REFUSAL_SLOTS];
};

/* ---- Session file: "session-ID", two pages, never a hole ----------------------------------- */

enum annot_session_flags {
    ANNOT_SESSION_DESCENDANTS = 1u << 0, /* processes below collector_pid join on their own */
    ANNOT_SESSION_ENDED = 1u << 1,       /* no process joins from here on; it keeps its segments */
};

/* Written by its collector before the generation changes; the collector holds flock(LOCK_EX) of the
 * file as long as it lives: a session with a free lock is over. The file is removed last, after the
 * segments. */
struct annot_session {
    uint64_t magic;
    uint32_t major, minor;
    uint64_t id;
    uint64_t parent_id;    /* the session that this collector itself runs in, or 0 */
    int32_t collector_pid; /* in namespace collector_pid_ns */
    uint32_t flags;        /* enum annot_session_flags */
    uint64_t collector_pid_ns;
    uint64_t category_mask[ANNOT_LEVELS]; /* initial value for new segments */
    uint32_t block_count;                 /* size of new segments; 0 = default */
    uint32_t thread_count;
    uint32_t strings_size;
    uint32_t policy;     /* enum annot_policy */
    uint64_t late_ticks; /* see annot_control.late_ticks */
    /* CLOCK_MONOTONIC, 0 = never: from then on programs of the session may have emitted events that
     * are in no segment of it. W: a process that finds the session without a collector and changes
     * the generation, and its collector; the first value stays. */
    int64_t unwatched_ns;
    /* Slots of refused processes may be for it if their generation is at least begin_generation
     * (0: it did not begin) and below end_generation (0: it is running). W: its collector; the end:
     * the process that changes the generation then. */
    uint64_t begin_generation, end_generation;
    uint64_t unnamed_before; /* annot_refusals.unnamed when it began */
    uint64_t reserved0[5];
    uint8_t recording_path[3888];           /* absolute, NUL-terminated; "" = none */
    uint8_t capture[ANNOT_CAPTURE_MAX + 1]; /* see "Capture ranges"; "" = none */
    uint8_t reserved1[2016];
    struct annot_range_request range_request; /* annot_wire_calls.h */
    /* The filter, see docs/wire-format.md, "Filters". W: the holder of flock(LOCK_EX) of the wake
     * page. `filter_sequence` is odd during a change; a process reads it when it joins and at each
     * new domain or category, the collector at each step. */
    uint32_t filter_sequence, filter_size;
    uint8_t filter[ANNOT_FILTER_MAX];
    uint32_t filter_applied; /* W: collector: the filter_sequence that all segments have */
    uint32_t wishes;         /* of enum annot_wish; with filter_sequence */
};

/* A file target-PID-NS (PID decimal as in its namespace NS, hexadecimal inode) holds the session id
 * in the form of ANNOT_ENV_SESSION, a space, and the start time of the process in decimal (as in
 * annot_segment_info; 0 = unknown). A program looks up its own name at each new generation and
 * joins the session of the file. W: collector, before the generation changes. */

/* ---- Segment -------------------------------------------------------------------------------- */

enum annot_policy {
    ANNOT_POLICY_DROP_NEWEST = 0,
    ANNOT_POLICY_OVERWRITE_OLDEST = 1, /* flight recorder: see enum annot_block_state */
    ANNOT_POLICY_WAIT = 2,             /* for a free block, ANNOT_WAIT_MAX_NS at most; then drop */
};

enum annot_clock {
    ANNOT_CLOCK_MONOTONIC = 0, /* timestamps are CLOCK_MONOTONIC nanoseconds */
    ANNOT_CLOCK_TSC = 1,       /* x86 time stamp counter                      */
    ANNOT_CLOCK_CNTVCT = 2,    /* arm64 virtual counter                       */
};

enum annot_exit_state {
    ANNOT_EXIT_RUNNING = 0, /* or killed, or _exit, or exec: the collector detects it */
    ANNOT_EXIT_ORDERLY = 1, /* destructors of the process ran: exit() or return from main */
};

/* W: creator, before `magic` is stored (release). Constant afterwards. */
struct annot_segment_info {
    uint64_t magic; /* stored last; 0 while the segment is being made */
    uint32_t major, minor;
    uint64_t session_id;
    uint64_t generation; /* wake generation at which this segment was made */
    uint64_t total_size;
    uint32_t threads_offset, thread_count;
    uint32_t strings_offset, strings_size;
    uint32_t block_states_offset; /* uint32_t[block_count] */
    uint32_t block_nexts_offset;  /* uint32_t[block_count] */
    uint32_t blocks_offset, block_count;
    uint32_t clock;    /* enum annot_clock */
    uint32_t policy;   /* enum annot_policy */
    int32_t pid, ppid; /* in the process's own pid namespace */
    uint64_t pid_ns;   /* inode of that namespace */
    uint64_t identity; /* hash of AT_RANDOM bytes and start (or fork) time; part of the file name */
    uint64_t parent_identity; /* of the process this one was forked from; 0 after exec or unknown */
    uint64_t fork_time;       /* timestamp at the fork in the child, or 0 */
    uint64_t start_time_ticks;         /* field 22 of /proc/self/stat, or 0 */
    uint64_t at_random_address;        /* changes at exec; compared with /proc/PID/auxv */
    uint64_t created_time, created_ns; /* one instant: timestamp and CLOCK_MONOTONIC */
    int64_t tls_offset; /* &live word - thread pointer, same in every thread; 0 = unknown */
    uint32_t uid;
    uint32_t runtime_version; /* of the serving libannot copy: major<<16 | minor<<8 | patch */
    uint32_t cmdline_size;    /* bytes used of cmdline; arguments end with NUL as in /proc */
    uint32_t reserved0;
    uint64_t reserved[8];
    uint8_t comm[16];
    uint8_t cmdline[1792];
};

#define ANNOT_WAIT_MAX_NS 100000000

/* Domains and categories are numbered together, from 1. An event's filter number is its category,
 * else its domain. W: the process when it joins and when it adds a number; then the collector.
 * Atomic stores and bit operations. */
struct annot_control {
    uint64_t category_mask[ANNOT_LEVELS]; /* event passes if mask[level] >> (number & 63) & 1 */
    uint64_t heartbeat;                   /* timestamp of the collector's last visit */
    uint64_t late_ticks; /* a full pool counts as COLLECTOR_LATE if heartbeat is older; 0 = never */
    uint64_t is_filtered; /* 0: everything is wanted, also future numbers */
    uint64_t wishes;      /* of enum annot_wish */
    uint64_t reserved[4];
};

/* W: any thread of the process and, for free_head, the collector: atomic read-modify-write. */
struct annot_shared {
    uint64_t free_head; /* Treiber stack of free blocks: tag << 32 | (block + 1); 0 low = empty */
    uint64_t reserved0[7];
    uint32_t high_water;                 /* blocks [high_water, block_count) were never claimed */
    uint32_t string_used;                /* bytes of the string table reserved, a multiple of 16 */
    uint32_t thread_serial;              /* threads registered so far */
    uint32_t thread_high;                /* thread records [thread_high, count) were never used */
    uint32_t process_name;               /* string id, 0 = none; the last one set wins */
    uint32_t exit_state;                 /* enum annot_exit_state */
    uint64_t exit_time;                  /* timestamp, with exit_state */
    uint64_t lost[ANNOT_LOSS_ALL];       /* losses of threads without a thread record */
    uint64_t misuse[ANNOT_MISUSE_COUNT]; /* of the whole process */
    uint64_t backed_extents[32];         /* bit e: extent e of the block area is reserved */
    uint64_t reserved1[4];
};

/* The last word of a process, written by a crash handler in any state of its thread: the first
 * thread to change `state` from 0 to 1 writes it and then stores (release) 2. W: that thread. */
struct annot_note {
    uint32_t state;
    int32_t tid;
    uint64_t time;
    uint32_t length;
    uint32_t reserved0;
    uint8_t text[ANNOT_NOTE_MAX];
};

/* The first page. */
struct annot_segment {
    struct annot_segment_info info;
    struct annot_control control;
    struct annot_shared shared;
    struct annot_note note;
    uint8_t reserved0[16];
    uint64_t
        queues[ANNOT_QUEUE_COUNTS]; /* enum annot_queue_total; W: any thread, atomic additions */
    uint8_t reserved[320];
};

/* ---- Thread record: a thread's identity, its losses, its live range stack -------------------- */

enum annot_thread_state {
    ANNOT_THREAD_FREE = 0,
    ANNOT_THREAD_USED =
        1, /* claimed by compare-and-swap, freed by its owner, or by a thread that finds it dead */
};

/* One open range. `instance` 0: its begin was dropped, so the name is valid but has no record; or
 * the range is not the thread's own, which `time` marks. */
struct annot_open {
    uint32_t name;     /* string id; 0 = the table had no room for the name */
    uint32_t instance; /* 1, 2, ... per thread, over recorded begins; wraps, never 0 */
    uint64_t time;     /* timestamp of the begin; or, below ANNOT_OPEN_MARK_END, a mark */
};

/* Marks. Sentinels below every valid timestamp. Only in the live stack, never in a block's header.
 * Two bits of the kind and, of a range of the track that the thread currently runs (a task, a
 * fiber), above them the number of its domain. */
enum annot_open_mark {
    ANNOT_OPEN_TRACK_OUTERMOST = 1, /* of its track: another track may be around it */
    ANNOT_OPEN_TRACK_INNER = 2,     /* inside of the entry before, of the same track */
    ANNOT_OPEN_INHERITED = 3,       /* the parent's, open at the fork */
};

#define ANNOT_OPEN_MARK(kind, domain) ((uint64_t)(domain) << 2 | (kind))
#define ANNOT_OPEN_MARK_END           (UINT64_C(1) << 18)

/* W: the owning thread; `state` also by the thread that frees the record of a dead one.
 * live[(depth - 1) % ANNOT_LIVE_DEPTH] is the innermost open range. An entry is written before
 * depth is raised (release); depth is lowered before an entry is reused. The sampler finds this
 * record through the live word in TLS, and checks pid and tid: in a forked child the word still
 * points at the parent's record until the child's first event. */
struct annot_thread {
    uint32_t state;    /* enum annot_thread_state */
    uint32_t serial;   /* registration number in this process; names the thread in the stream */
    int32_t pid, tid;  /* in the process's own namespace */
    uint32_t depth;    /* of live[] */
    uint32_t name;     /* string id set by annot_name_thread, 0 = none */
    uint32_t block;    /* current block + 1, 0 = none */
    uint32_t sequence; /* blocks claimed so far */
    uint64_t lost[ANNOT_LOSS_COUNT]; /* cumulative since registration */
    uint8_t comm[16];                /* from PR_GET_NAME at registration */
    uint64_t records; /* OVERWRITE_OLDEST: in the blocks that the thread has released so far */
    uint64_t reserved;
    struct annot_open live[ANNOT_LIVE_DEPTH];
};

/* ---- String table: append-only, id = offset / 16, id 0 is never a string --------------------- */

enum annot_string_kind {
    ANNOT_STRING_NAME = 1,
    ANNOT_STRING_DOMAIN = 2,       /* number = domain id */
    ANNOT_STRING_CATEGORY = 3,     /* number = category id, parent = domain id */
    ANNOT_STRING_SCHEMA = 4,       /* number = schema id; the text is described below */
    ANNOT_STRING_COUNTER_UNIT = 5, /* of a counter: "COUNTER\x1fUNIT", number = domain id */
    ANNOT_STRING_FUNCTION = 6, /* "FILE\x1fOFFSET\x1fINODE": the function at that hexadecimal offset
                                  of an ELF file; the collector finds its name. INODE, decimal, may
                                  be omitted */
    ANNOT_STRING_CODE = 7,     /* annot_wire_calls.h */
    ANNOT_STRING_OBSERVED = 8, /* source of a domain's or category's events */
    ANNOT_STRING_LABEL = 9,    /* these three of SPANs */
    ANNOT_STRING_QUEUE = 10,
    ANNOT_STRING_CLOCK = 11,
};

enum annot_string_flags {
    ANNOT_STRING_CUT = 1u << 0,
    ANNOT_STRING_MASKED = 1u << 1, /* W: collector: calls of this function are not wanted.
                                        Atomic store; programs read it at each call */
};

/* Text of a SCHEMA: "NAME\x1fSIZE", then for each field
 * "\x1eNAME\x1fTYPE\x1fOFFSET\x1fCOUNT\x1fUNIT", numbers decimal, UNIT may be empty. */
enum annot_field_type {
    ANNOT_FIELD_TYPE_INT8 = 1,
    ANNOT_FIELD_TYPE_INT16 = 2,
    ANNOT_FIELD_TYPE_INT32 = 3,
    ANNOT_FIELD_TYPE_INT64 = 4,
    ANNOT_FIELD_TYPE_UINT8 = 5,
    ANNOT_FIELD_TYPE_UINT16 = 6,
    ANNOT_FIELD_TYPE_UINT32 = 7,
    ANNOT_FIELD_TYPE_UINT64 = 8,
    ANNOT_FIELD_TYPE_FLOAT = 9,
    ANNOT_FIELD_TYPE_DOUBLE = 10,
    ANNOT_FIELD_TYPE_BOOL = 11,
    ANNOT_FIELD_TYPE_CHARS = 12, /* COUNT bytes of text, ended by NUL if shorter */
    ANNOT_FIELD_TYPE_POINTER = 13,
};

/* Reserve by fetch-add of string_used, fill, then store `ready` (release) = 1. The next multiple
 * of 16 after the bytes is the next string. Bytes are UTF-8, without NUL. */
struct annot_string {
    uint32_t ready;
    uint16_t length;
    uint8_t kind;  /* enum annot_string_kind */
    uint8_t flags; /* enum annot_string_flags */
    uint16_t number;
    uint16_t parent;
    uint32_t hash; /* FNV-1a 32 of the bytes; a hint, not trusted */
    /* uint8_t bytes[length] */
};

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* FREE -> CLAIMED: the thread that popped it (header filled first; release).
 * CLAIMED -> RELEASED: its thread (release), or a claimer of the same process that finds the thread
 *   dead. A collector leaves blocks of living processes alone; those of dead ones it just reads.
 * RELEASED -> FREE: the collector only, after the records are in the file; then the push.
 * RELEASED -> FREE: under overwrite, a thread that found no free block (compare-and-swap), which
 *   refills it; a LAST block is TAKEN in between, until its thread's totals are counted. No
 *   collector frees blocks there. A reader compares state and tag before and after its copy.
 * FREE -> SUMS -> SUMS_DONE: its thread. SUMS_DONE -> FREE: as RELEASED -> FREE. */
enum annot_block_state {
    ANNOT_BLOCK_FREE = 0,
    ANNOT_BLOCK_CLAIMED = 1,
    ANNOT_BLOCK_RELEASED = 2,
    ANNOT_BLOCK_TAKEN = 3,     /* content as when RELEASED; will be overwritten */
    ANNOT_BLOCK_SUMS = 4,      /* sums of a thread in place of records: annot_wire_calls.h */
    ANNOT_BLOCK_SUMS_DONE = 5, /* sums that no longer change */
};

/* Bits above the state in block_states[]. */
enum annot_block_bits {
    ANNOT_BLOCK_STATE_MASK = 0xff,
    ANNOT_BLOCK_BACKED = 0x100, /* memory reserved for this block alone, beside backed_extents */
    ANNOT_BLOCK_LAST = 0x200,   /* OVERWRITE_OLDEST: the last block of a thread that has left */
    ANNOT_BLOCK_TAG = 0x400,    /* this and the bits above: raised by each claim */
};

#define ANNOT_BLOCK_TAG_MASK (~(uint32_t)(ANNOT_BLOCK_TAG - 1))

/* W: the claiming thread. Constant after the claim, except `committed` and `thread_name`. */
struct annot_block {
    uint32_t committed;   /* bytes of records; stored (release) once per record */
    uint32_t thread_name; /* string id, follows annot_thread.name */
    uint32_t thread_index;
    uint32_t thread_serial;
    uint32_t sequence; /* 0, 1, ... per thread serial, without gaps */
    int32_t tid;
    uint64_t claim_time; /* one instant: timestamp and CLOCK_MONOTONIC */
    uint64_t claim_ns;
    uint64_t generation; /* wake generation; a new one closes all ranges of the thread */
    uint64_t gap_time;   /* timestamp of the first record lost since the last block, or 0 */
    uint64_t lost[ANNOT_LOSS_COUNT]; /* lost since this thread's previous block, by cause */
    uint32_t kept_depth; /* number of outermost ranges, open at the end of the previous block, that
                            are still open: the gap closed the others */
    uint32_t open_depth; /* ranges with a recorded begin that are open now (= kept_depth: a begin
                            inside the gap has no record and no end) */
    uint32_t open_count; /* entries of open[] in use: the innermost ones, outermost first */
    uint32_t first_instance; /* instance number of the next begin in this block */
    uint8_t comm[16];
    /* Under overwrite, totals of this thread's earlier blocks: their records, and the losses in
     * their headers, at most UINT32_MAX of each cause. Else 0. */
    uint64_t records_before;
    uint32_t lost_before[ANNOT_LOSS_COUNT];
    struct annot_open open[ANNOT_OPEN_DEPTH];
    /* records follow, from byte ANNOT_BLOCK_HEADER_SIZE */
};

#define ANNOT_BLOCK_HEADER_SIZE 704
#define ANNOT_BLOCK_DATA_SIZE   (ANNOT_BLOCK_SIZE - ANNOT_BLOCK_HEADER_SIZE)

/* ---- Records --------------------------------------------------------------------------------- */

enum annot_record_kind {
    ANNOT_REC_NONE = 0, /* never written */
    ANNOT_REC_PUSH = 1,
    ANNOT_REC_POP = 2,         /* name = depth after the pop of ranges with a recorded begin */
    ANNOT_REC_RANGE_START = 3, /* has ID */
    ANNOT_REC_RANGE_END = 4,   /* has ID */
    ANNOT_REC_MARK = 5,
    ANNOT_REC_COUNTER = 6, /* has ATTR with an int64 or double value */
    ANNOT_REC_TRACK_MARK = 7,
    ANNOT_REC_FLOW_BEGIN = 8,
    ANNOT_REC_FLOW_STEP = 9,
    ANNOT_REC_FLOW_END = 10,
    ANNOT_REC_TRACK_BEGIN = 11,
    ANNOT_REC_TRACK_END = 12,
    ANNOT_REC_PAYLOAD = 13,
    ANNOT_REC_COUNTER_GROUP = 14,
    ANNOT_REC_NAME_THREAD = 15, /* has ID, the number of another thread of the process */
    ANNOT_REC_SPAN = 16,        /* work of a queue */
    ANNOT_REC_CLOCK = 17,       /* an anchor of a clock */
};

/* Their parts: wire-format.md, section 8. All PAYLOADs of a record together: */
#define ANNOT_SPAN_MONOTONIC UINT32_MAX /* in place of a SPAN's clock: CLOCK_MONOTONIC, ns */
#define ANNOT_SPAN_OWN_LANE  UINT32_MAX /* of its queue: the lane of its thread */
#define ANNOT_PAYLOAD_BYTES  4096u
#define ANNOT_STRUCT_BYTES   3072u /* of one STRUCT; the rest is cut (VALUE_CUT) */

/* The parts that follow the base, in this order. */
enum annot_record_flags {
    ANNOT_FLAG_ATTR = 1u << 0,         /* struct annot_attr                                 */
    ANNOT_FLAG_ID = 1u << 1,           /* struct annot_id                                   */
    ANNOT_FLAG_NAME_INLINE = 1u << 2,  /* name = byte count; the bytes, padded to 16        */
    ANNOT_FLAG_NAME_CUT = 1u << 3,     /* the inline name was longer                        */
    ANNOT_FLAG_VALUE_STRING = 1u << 4, /* attr.value (PAYLOAD: time) = byte count; the bytes,
                                          padded to 16                                      */
    ANNOT_FLAG_VALUE_CUT = 1u << 5,    /* the string payload was longer                     */
};

enum annot_value_kind {
    ANNOT_VALUE_NONE = 0,
    ANNOT_VALUE_INT64 = 1,
    ANNOT_VALUE_UINT64 = 2,
    ANNOT_VALUE_DOUBLE = 3,
    ANNOT_VALUE_BOOL = 4,
    ANNOT_VALUE_STRING = 5, /* with ANNOT_FLAG_VALUE_STRING */
    ANNOT_VALUE_STRUCT = 6, /* PAYLOAD only, with ANNOT_FLAG_VALUE_STRING: bytes of a struct */
};

struct annot_record {
    uint64_t time;
    uint8_t kind;     /* enum annot_record_kind */
    uint8_t granules; /* whole length / 16, at least 1; used to skip unknown kinds */
    uint8_t flags;    /* enum annot_record_flags */
    uint8_t level;    /* bits 0-2 level, bits 3-5 enum annot_value_kind, bit 6 colour is set */
    uint32_t name;    /* string id, or see flags and kind */
};

#define ANNOT_RECORD_LEVEL(x)      ((x)&7u)
#define ANNOT_RECORD_VALUE_KIND(x) (((x) >> 3) & 7u)
#define ANNOT_RECORD_HAS_COLOR     0x40u
/* Of a begin: it continues a counted range. Its time counts, the begin does not. */
#define ANNOT_RECORD_CONTINUES 0x80u

struct annot_attr {
    uint64_t value;    /* bits of int64, uint64, double or bool; or a byte count */
    uint32_t color;    /* 0xAARRGGBB */
    uint16_t domain;   /* 0 = default */
    uint16_t category; /* 0 = none */
};

struct annot_id {
    uint64_t id;       /* 20 bits of process nonce << 44 | 44 bits of counter; never 0 */
    uint64_t reserved; /* of tracks: the parent */
};

/* ---- Assertions ------------------------------------------------------------------------------ */

#if defined(__cplusplus)
#define ANNOT_WIRE_ASSERT(x) static_assert(x, #x)
#else
#define ANNOT_WIRE_ASSERT(x) _Static_assert(x, #x)
#endif

ANNOT_WIRE_ASSERT(sizeof(struct annot_wake) == 4096);
ANNOT_WIRE_ASSERT(offsetof(struct annot_wake, generation) == 0);
ANNOT_WIRE_ASSERT(sizeof(struct annot_refusal_slot) == 128);
ANNOT_WIRE_ASSERT(sizeof(struct annot_refusals) == 16384);
ANNOT_WIRE_ASSERT(offsetof(struct annot_session, recording_path) == 208);
ANNOT_WIRE_ASSERT(offsetof(struct annot_session, capture) == 4096);
ANNOT_WIRE_ASSERT(sizeof(struct annot_session) == 8192);
ANNOT_WIRE_ASSERT(sizeof(struct annot_segment_info) == 2048);
ANNOT_WIRE_ASSERT(sizeof(struct annot_control) == 128);
ANNOT_WIRE_ASSERT(sizeof(struct annot_shared) == 512);
ANNOT_WIRE_ASSERT(sizeof(struct annot_note) == 1008);
ANNOT_WIRE_ASSERT(sizeof(struct annot_segment) == 4096);
ANNOT_WIRE_ASSERT(offsetof(struct annot_segment, queues) == 3712);
ANNOT_WIRE_ASSERT(sizeof(struct annot_open) == 16);
ANNOT_WIRE_ASSERT(sizeof(struct annot_thread) == 640);
ANNOT_WIRE_ASSERT(offsetof(struct annot_thread, live) == 128);
ANNOT_WIRE_ASSERT(sizeof(struct annot_string) == 16);
ANNOT_WIRE_ASSERT(sizeof(struct annot_block) == ANNOT_BLOCK_HEADER_SIZE);
ANNOT_WIRE_ASSERT(sizeof(struct annot_record) == 16);
ANNOT_WIRE_ASSERT((sizeof(struct annot_record) + ANNOT_STRUCT_BYTES) / ANNOT_GRANULE <= 255);
ANNOT_WIRE_ASSERT(sizeof(struct annot_attr) == 16);
ANNOT_WIRE_ASSERT(sizeof(struct annot_id) == 16);

#endif
