/* SPDX-License-Identifier: MIT */
/* The private control block of a thread: state of the fast path.
 *
 * Threads: each belongs to one thread and to the signal handlers that interrupt it; threads that
 * search for a free one swap `owner`. It stands on a page that a fork wipes, so a forked child
 * finds everything zero, which the check of `generation` detects at no extra cost. State that must
 * survive a fork stands in the thread's struct keep.
 *
 * Invariant: `generation` is the value of the gate (ready), or BUSY: the complement of the stack
 * address of the event that is being written. An event that finds BUSY is in a signal handler. */
#ifndef ANNOT_CONTROL_H
#define ANNOT_CONTROL_H

#include "segment.h"

#include <signal.h>

enum {
    LEVELS_KEPT = 16384, /* nesting levels with an individual state */
    SPILL_KEPT = 1024,   /* live entries that are restored when deeper ranges end */
    NAME_CACHE_SIZE = 256,
    CONTROL_SIZE = 512,
    WRITING_SIZE = 160,
    WATCHED_MAX = 32, /* nested watched ranges of a thread */
    SCRATCHES = 2,    /* one of the thread, one of a handler that interrupts it */
    SCRATCH_SIZE = ANNOT_STRING_MAX + 8, /* one byte more than a name, to detect cut names */
};

/* With the tid of a thread that reclaims resources of a dead owner. */
#define CONTROL_RECLAIMED (UINT32_C(1) << 31)

/* Where an open range appears: in the stream, in the live stack. */
enum level_state {
    LEVEL_RECORDED = 0,  /* both */
    LEVEL_DROPPED = 1,   /* live stack only */
    LEVEL_MASKED = 2,    /* neither */
    LEVEL_INHERITED = 3, /* live stack only: open in the parent at the fork */
    LEVEL_SHOWN = 4,     /* live stack only: of the track that the thread runs, not of the thread */
    LEVEL_CALL = 5,      /* stream only: a traced function (codes.h) */
};

/* The counts of struct control, to change them with one addition. */
typedef uint32_t control_counts __attribute__((vector_size(16)));

struct control {
    /* Hot: one cache line. */
    uint64_t generation;
    struct annot_block *block;
    const uint64_t *mask; /* category_mask of the segment */
    struct annot_thread *thread;

    union {
        struct {
            uint32_t depth;      /* levels of any state */
            uint32_t live_depth; /* of those, shown in the live stack */
            uint32_t recorded;   /* of those, with a recorded begin; excluding calls */
            uint32_t instance;   /* number of the next recorded begin */
        };

        control_counts counts;
    };

    uint32_t committed;   /* bytes of records in the block */
    uint32_t limit;       /* maximum of `committed`; 0: the next record takes the general path */
    uint32_t quick_limit; /* the same for the quick functions of fast.h; 0: disabled */
    uint32_t name_limit;  /* string ids below are ready in the segment */
    /* Warm. */
    uint8_t *levels; /* enum level_state of levels below LEVELS_KEPT; RECORDED above depth */
    uint32_t owner;  /* tid; 0 = free; W: all, atomic */
    int32_t pid;     /* of its process, 0: unknown; W: the owner, atomic */
    struct annot_open *codes; /* of levels that are calls, by level; NULL: not allocated */
    uint32_t code_count;      /* levels that are calls */
    uint32_t code_pending;    /* innermost recorded levels that have ended and will begin again */
    /* Cold. */
    struct segment *segment;
    struct keep *keep;
    uint64_t attached_generation;
    uint32_t block_index, serial;
    uint32_t block_state;     /* as published: the tag of this claim */
    uint32_t sharer;          /* tid of a task that shares this by mistake, or 0; W: it, owner */
    uint32_t deep_suppressed; /* first level of the suppressed ones, 0 = none; >= LEVELS_KEPT */
    uint32_t deep_counted;    /* of the suppressed ones, pushes that were counted as lost */
    uint32_t gap_pending;     /* a recorded range closed without a record: new block first */
    uint32_t last_cause;      /* enum annot_loss of the last loss */
    uint32_t shown;           /* levels that are SHOWN; all of them below LEVELS_KEPT */
    uint32_t hide_later;      /* number of these to hide when the depth allows it */
    uint64_t gap_time;        /* of the first loss since the block was claimed, or 0 */
    uint64_t reported[ANNOT_LOSS_COUNT]; /* part of thread->lost that block headers have reported */
    uint64_t records;                    /* OVERWRITE_OLDEST: in the blocks released so far */
    uint64_t range_next, range_end;      /* ids taken from the process's counter */
    uint64_t id_next;    /* of a batch of ids of flows and tracks; at a multiple, take a new one */
    uint64_t current;    /* of annot_current: identity of process and thread, mixed */
    struct calls *calls; /* of instrumented functions, or NULL: calls.h */
    uint64_t next_register; /* timestamp of the next attempt to get a record */
    /* Events of signal handlers that met BUSY; applied by the next event. */
    uint64_t nested_bits;  /* bit 0: the innermost nested push counts as lost */
    uint32_t nested_depth; /* nested pushes still open */
    uint32_t nested_pops;  /* nested pops of ranges that were open before */
    /* A fork happened in the middle of an event (from a signal handler) and this is the child: the
     * rest of the event is written to a shadow of the parent's segment. */
    uint32_t shadow;
};

_Static_assert(sizeof(struct control) <= CONTROL_SIZE, "control blocks are CONTROL_SIZE apart");
_Static_assert(offsetof(struct control, levels) == 64, "one cache line");

/* Scope of a range in the live stack, which has no field for it: for annot_open_ranges. */
struct open_scope {
    uint32_t instance; /* of the range that it was stored for; others have domain 0 */
    uint16_t domain, category;
};

/* A range that is watched: watched.h. */
struct watched {
    uint32_t around; /* the thread's own ranges that were open when it began */
    uint32_t bits;
};

/* State that a fork does not wipe. */
struct keep {
    uint32_t name;    /* string id of annot_name_thread */
    uint32_t forking; /* the fork handler filled in the rest */
    uint32_t endings; /* number of calls of the thread's end handler that found open ranges */
    uint32_t fork_depth, fork_live_depth;
    uint64_t trace[2];          /* W3C trace id of the thread's requests, 0: the process's own */
    uint32_t is_interrupted;    /* the fork happened in the middle of an event: */
    struct control interrupted; /* the control block at that moment */
    uint32_t cache[NAME_CACHE_SIZE];      /* string ids by a quick hash of the text; hints */
    uint32_t by_address[NAME_CACHE_SIZE]; /* the same, by address of the text */
    uint32_t watched_count;
    struct watched watched[WATCHED_MAX];
    uint8_t watched_ended[8];            /* of these, ends to report: by bit */
    uintptr_t scratch_frames[SCRATCHES]; /* stack addresses of the users, or 0 */
    struct annot_open fork_live[ANNOT_LIVE_DEPTH];
    struct open_scope scopes[ANNOT_LIVE_DEPTH]; /* of the outermost ranges of the live stack */
    _Alignas(8) uint8_t levels[LEVELS_KEPT];
    /* Touched only by threads that nest deeper than the live stack: entries that deeper ones
     * replaced there. */
    struct annot_open spill[SPILL_KEPT];
    const void *planned;                       /* the event with the record planned there: */
    _Alignas(8) uint8_t writing[WRITING_SIZE]; /* of write.c */
    _Alignas(8) char scratch[SCRATCHES][SCRATCH_SIZE]; /* scratch_take() */
    struct calls *calls;      /* separate memory, or NULL; kept for the next owner */
    struct annot_open *codes; /* likewise */
};

/* The calling thread's control block; until it has one, a dummy with a generation that never equals
 * the gate. */
extern __thread struct control *annot_control __attribute__((tls_model("initial-exec")));
/* Its mask, to save one load. Valid only while its quick_limit is not 0. */
extern __thread const uint64_t *annot_mask __attribute__((tls_model("initial-exec")));
/* The thread's live record, for samplers; its address follows from info.tls_offset. */
extern __thread struct annot_thread *annot_live __attribute__((tls_model("initial-exec")));
extern struct control control_dummy;

/* Replaces a block that was closed: a task that shares the storage may be about to write. */
extern union control_scrap {
    struct annot_block block;
    uint8_t bytes[ANNOT_BLOCK_SIZE];
} control_scrap;

/* The thread's own open ranges: neither shown nor calls of traced functions. */
static inline uint32_t control_own(const struct control *control)
{
    return control->depth - control->shown - control->code_count;
}

static inline int control_has_block(const struct control *control)
{
    return control->block && control->block != &control_scrap.block;
}

#define BUSY(stack_address)    (~(uint64_t)(uintptr_t)(stack_address))
#define IS_BUSY(generation)    ((int64_t)(generation) < 0)
#define BUSY_STACK(generation) ((uintptr_t) ~(generation))

static inline uintptr_t stack_pointer(void)
{
#if defined(__x86_64__)
    uintptr_t value;
    __asm__ volatile("movq %%rsp, %0" : "=r"(value));
    return value;
#elif defined(__aarch64__)
    uintptr_t value;
    __asm__ volatile("mov %0, sp" : "=r"(value));
    return value;
#else
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

/* BUSY(stack_pointer() - below), in one instruction less. */
static inline uint64_t busy_mark(uint32_t below)
{
#if defined(__x86_64__)
    uint64_t mark = (uint64_t)below - 1;
    __asm__ volatile("subq %%rsp, %0" : "+r"(mark) : : "cc");
    return mark;
#else
    return BUSY(stack_pointer() - below);
#endif
}

/* &annot_live - thread pointer. 0 = unknown on this machine. */
int64_t control_tls_offset(void);

/* Gives the calling thread a control block if it has none. Returns NULL without memory. */
struct control *control_take(void);
/* The same, with a call of `end` when the thread ends. */
struct control *control_take_with_end(void);
/* Sets `end`; once, in the constructor. It gets the control block. */
void control_watch_end(void (*end)(void *control));
/* Within `end`: requests another call, after other destructors of the thread. 1, or 0: refused. */
int control_end_again(struct control *control);

/* Events are marked near the entry of a public function. An event with a frame that is lower than
 * the mark by more than the frames of two public functions differ is a handler's; otherwise the
 * marked event was left by siglongjmp. */
#if defined(__SANITIZE_ADDRESS__)
enum { STALE_MARGIN = 640 }; /* frames with red zones; a handler's are lower by more */
#else
enum { STALE_MARGIN = 192 };
#endif
enum { STALE_LIMIT = 8 << 20 };

/* True if siglongjmp left the event that was marked with the stack address `marked`, seen from
 * `frame`. Inline: the general path of each event calls it. */
static inline int control_is_stale(uintptr_t marked, uintptr_t frame)
{
    stack_t stack;
    uintptr_t now = frame + STALE_MARGIN;
    if (now < marked || now - marked > STALE_LIMIT)
        return 0;
    return sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_ONSTACK);
}

/* True if the calling task is not the thread of its control block, but shares that thread's
 * storage, as clone with CLONE_VM and without CLONE_SETTLS makes it. Cost: a system call; so it is
 * checked when a block is claimed, and at each event after such a task was found. Until then both
 * write into one block, which may mix their records up, but has no other effect. */
int control_is_foreign(const struct control *control);
/* By such a task: from now on each event checks. By the owner: no longer if that task has ended. */
void control_share(struct control *control);
void control_unshare(struct control *control);

/* Before a fork: saves the child's initial range stack. */
void control_save_stack(struct control *control);
/* In the child: restores the state of the interrupted event, once its segment is a shadow. */
void control_restore(struct control *control);
/* Wipes it as a fork does, but it stays the thread's. */
void control_wipe(struct control *control);

/* Returns the control block of a thread that has left its segment. */
void control_give(struct control *control);

/* Returns the calling thread's buffer for a text under construction, too large for its stack:
 * SCRATCH_SIZE bytes. Signal handlers get a second one. NULL: handlers interrupted each other, or
 * out of memory. Keeps errno. Cost: loads; of a thread without a control block, system calls. */
char *scratch_take(void);
/* NULL is accepted. */
void scratch_give(char *text);

/* Calls `visit` for every control block in use. */
void control_each(void (*visit)(struct control *control, void *context), void *context);

#endif
