/* SPDX-License-Identifier: MIT */
/* Values at a stack: what a thread was doing at an instant on a CPU, in a stretch off it, what it
 * allocated there. Its set says which.
 *
 * Stacks, frames and range paths are ordinals of model/stacks.h, threads those of the trace. Times
 * are CLOCK_MONOTONIC nanoseconds. Samples of one thread come in order of time_ns, but for those
 * with an end, which come then. Thread-safety: plain data. */
#ifndef ANNOT_MODEL_SAMPLE_H
#define ANNOT_MODEL_SAMPLE_H

#include "stack_end.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Sets -------------------------------------------------------------------------------------
 */

/* What samples measure: value types, and the sets of them that samples bring.
 *
 * A sample belongs to a set, which says how many values it has, of which types, and what its times
 * mean. Readers go by types and flags, never by a set's number: CPU time is whatever has the type
 * VALUE_TYPE_CPU. Numbers below VALUE_TYPE_OWN and SAMPLE_SET_OWN are the format's, the same in
 * every recording; those from there on are defined by each recording, with names. What is not
 * defined has no type, no flag and no name. */

/* Numbers are those of the recording format: explicit and append-only. */
enum value_type_number {
    VALUE_TYPE_NONE = 0,
    VALUE_TYPE_CPU = 1, /* the first five are nanoseconds */
    VALUE_TYPE_RUNNABLE = 2,
    VALUE_TYPE_BLOCKED = 3,
    VALUE_TYPE_WALL = 4,
    VALUE_TYPE_GPU = 5,
    VALUE_TYPE_SAMPLES = 6,
    VALUE_TYPE_CALLS = 7,
    VALUE_TYPE_ALLOC_BYTES = 8,
    VALUE_TYPE_ALLOC_OBJECTS = 9,
    VALUE_TYPE_FREE_BYTES = 10,
    VALUE_TYPE_FREE_OBJECTS = 11,
    VALUE_TYPE_CYCLES = 12,
    VALUE_TYPE_INSTRUCTIONS = 13,
    VALUE_TYPE_CACHE_MISSES = 14,
    VALUE_TYPE_BRANCH_MISSES = 15,
    VALUE_TYPE_FLOPS = 16,
    VALUE_TYPE_DRAM_BYTES = 17,
    VALUE_TYPE_ENERGY = 18,      /* microjoules */
    VALUE_TYPE_CALLEES = 19,     /* calls of functions that are traced themselves, */
    VALUE_TYPE_CALLEE_TIME = 20, /* and nanoseconds in them */
    VALUE_TYPE_FIXED = 21,
    VALUE_TYPE_OWN = 64,
};

/* Whether values of a type add up. Numbers of the recording format. */
enum value_sum {
    VALUE_SUM_UNKNOWN = 0, /* nothing is known of it */
    VALUE_SUM_ADDS = 1,
    VALUE_SUM_LEVEL = 2, /* a temperature: there is no sum */
};

struct value_type {
    uint32_t name, unit; /* strings; of fixed ones 0: value_type_name() */
    uint8_t sum;         /* enum value_sum */
};

enum sample_set_flags {
    SAMPLE_SET_EXACT = 1u << 0,    /* each counts for itself: nothing was left out between them */
    SAMPLE_SET_STRETCH = 1u << 1,  /* from time_ns to end_ns; the values are its parts, in order */
    SAMPLE_SET_HEAP = 1u << 2,     /* `id` is the address of a block */
    SAMPLE_SET_INTERVAL = 1u << 3, /* what was counted from time_ns to end_ns: no instant */
    SAMPLE_SET_LAUNCH = 1u << 4,   /* at time_ns its thread launched work of a queue, whose spans
                                      have that origin_ns; one value: launches it stands for */
    SAMPLE_SET_LINES = 1u << 5,    /* counts how often lines ran, where others count calls */
    SAMPLE_SET_FLAGS_KNOWN = (1u << 6) - 1,
};

enum sample_set_number {
    SAMPLE_SET_NONE = 0,
    SAMPLE_SET_CPU = 1,         /* {cpu} */
    SAMPLE_SET_OFF_CPU = 2,     /* STRETCH {blocked, runnable} */
    SAMPLE_SET_SHORT_WAITS = 3, /* INTERVAL {blocked, runnable}: sums of stretches that are too
                                   short to be recorded one by one */
    SAMPLE_SET_FIXED = 4,
    SAMPLE_SET_OWN = 16,
    SAMPLE_SET_MAX = 4096,
};

/* What readers of CPU time and waits take a set for; from its flags and types. */
enum sample_role {
    SAMPLE_ROLE_OTHER = 0,
    SAMPLE_ROLE_CPU = 1,         /* at an instant, with CPU time */
    SAMPLE_ROLE_OFF_CPU = 2,     /* stretches of blocked or runnable time */
    SAMPLE_ROLE_SHORT_WAITS = 3, /* sums of such time in an interval, in none of the stretches */
    SAMPLE_ROLE_LAUNCH = 4,      /* where work of queues came from */
    SAMPLE_ROLE_CALLS = 5,       /* EXACT INTERVAL: calls of the leaf that began in an interval, and
                                    the wall time in the leaf itself: nothing that was sampled */
    SAMPLE_ROLE_LINES = 6,       /* the same of lines that ran, with all that these called; or
                                    what of that is traced itself: callees and their time */
};

enum { SAMPLE_VALUES_MAX = 8, VALUE_TYPE_MAX = 4096 };

struct sample_set {
    uint32_t name;   /* string; of fixed ones 0: sample_set_name() */
    uint32_t period; /* of the first value: one sample stands for so much; 0: not constant */
    uint8_t flags;   /* enum sample_set_flags, and unknown ones */
    uint8_t count;   /* of types: at most SAMPLE_VALUES_MAX */
    uint8_t role;    /* enum sample_role: derived */
    uint16_t types[SAMPLE_VALUES_MAX];
};

/* Of one trace: trace_sets(). Read by the functions below. */
struct sample_sets {
    struct sample_set *sets; /* by number; fixed ones are in sample_sets_fixed */
    uint32_t count, capacity;
    struct value_types *types;
};

extern const struct sample_set sample_sets_fixed[SAMPLE_SET_FIXED];

struct sample_sets *sample_sets_create(void);
void sample_sets_destroy(struct sample_sets *sets);

/* Never NULL: what is not defined is all zero. `sets` NULL: fixed ones only. Valid until the next
 * one is added. */
static inline const struct sample_set *sample_set_get(const struct sample_sets *sets,
                                                      unsigned number)
{
    if (number < SAMPLE_SET_FIXED)
        return &sample_sets_fixed[number];
    return sets && number < sets->count ? &sets->sets[number] : &sample_sets_fixed[0];
}
const struct value_type *value_type_get(const struct sample_sets *sets, unsigned number);

/* One more than the highest number. */
unsigned sample_sets_count(const struct sample_sets *sets);
unsigned value_types_count(const struct sample_sets *sets);

/* The number of a new one. -ENOMEM; -ENOSPC: too many. */
int64_t sample_sets_add(struct sample_sets *sets, const struct sample_set *set);
int64_t value_types_add(struct sample_sets *sets, const struct value_type *type);

/* For readers, whose numbers are given. What the format defines stays as it is. -ENOMEM; -EBADMSG:
 * no such number can be, or there is another definition of it. */
int sample_sets_define(struct sample_sets *sets, unsigned number, const struct sample_set *set);
int value_types_define(struct sample_sets *sets, unsigned number, const struct value_type *type);

/* Of fixed ones; NULL: the string of the definition. Constant text. */
const char *sample_set_fixed_name(unsigned number);
const char *value_type_fixed_name(unsigned number);
const char *value_type_fixed_unit(unsigned number);

/* Where in the set's values those of a type are; -1: it has none. */
static inline int sample_set_index(const struct sample_set *set, unsigned type)
{
    for (int i = 0; i < set->count; i++)
        if (set->types[i] == type)
            return i;
    return -1;
}

/* ---- Samples ----------------------------------------------------------------------------------
 */

/* What an off-CPU thread waited for, before it became runnable. */
enum wait_reason {
    WAIT_UNKNOWN = 0,
    WAIT_PREEMPTED = 1, /* nothing: another thread had the CPU */
    WAIT_DISK = 2,
    WAIT_PAGE_FAULT = 3,
    WAIT_PIPE = 4,
    WAIT_SOCKET = 5,
    WAIT_LOCK = 6, /* futex, or the kernel's lock of the address space */
    WAIT_GIL = 7,
    WAIT_SLEEP = 8,
    WAIT_POLL = 9, /* poll, select, epoll: idle */
    WAIT_CHILD = 10,
    WAIT_TERMINAL = 11,
    WAIT_SIGNAL = 12,
    WAIT_OTHER_FILE = 13,
    WAIT_REASON_COUNT = 14,
};

/* "lock", "the GIL", "disk", ...: constant text. */
const char *wait_reason_name(enum wait_reason reason);

enum sample_flags {
    SAMPLE_PATH_KNOWN = 1u << 0, /* `path` was read from the live range stack at that instant; else
                                    it follows from the events of the thread */
    SAMPLE_PATH_CUT = 1u << 1,   /* more ranges were open than `path` has: the outermost miss */
    SAMPLE_IN_KERNEL = 1u << 2,
    SAMPLE_GC = 1u << 3,
    SAMPLE_HOLDS_GIL = 1u << 4,
    SAMPLE_UNFINISHED = 1u << 5, /* OFF_CPU: still off at the end of the recording or thread */
};

struct sample {
    int64_t time_ns, end_ns; /* end: of sets with STRETCH or INTERVAL; else 0 */
    uint64_t id;             /* of sets with HEAP; else 0 */
    const int64_t *values;   /* value_count many; never negative; whoever keeps the sample keeps
                                them as well (struct value_pool) */
    uint32_t thread;         /* ordinal in the trace */
    uint32_t stack;          /* ordinal of its leaf, 0 = none */
    uint32_t path;           /* ordinal of the innermost open range, 0 = none */
    uint16_t set;            /* struct sample_set */
    uint16_t cpu;
    uint8_t reason;                 /* enum wait_reason */
    uint8_t flags;                  /* enum sample_flags */
    uint8_t native_end, python_end; /* enum stack_end (numbers of the recording format too) */
    uint8_t value_count;            /* as its set says, if that is known */
};

/* In an initializer: .set = SAMPLE_SET_CPU, SAMPLE_VALUES(10000). They last as long as the block.
 */
#define SAMPLE_VALUES(...)                                                                         \
    .values = (const int64_t[]){__VA_ARGS__},                                                      \
    .value_count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* When a sample is told: its instant, or its end. */
static inline int64_t sample_told_ns(const struct sample *sample)
{
    return sample->end_ns > sample->time_ns ? sample->end_ns : sample->time_ns;
}

static inline enum sample_role sample_role(const struct sample_sets *sets,
                                           const struct sample *sample)
{
    return (enum sample_role)sample_set_get(sets, sample->set)->role;
}

/* 0: its set has none of that type. */
static inline int64_t sample_value(const struct sample_sets *sets, const struct sample *sample,
                                   unsigned type)
{
    int index = sample_set_index(sample_set_get(sets, sample->set), type);
    return index >= 0 && index < sample->value_count ? sample->values[index] : 0;
}

/* CPU time at an instant; 0 of other sets. */
static inline uint64_t sample_cpu_ns(const struct sample_sets *sets, const struct sample *sample)
{
    return sample_role(sets, sample) == SAMPLE_ROLE_CPU
               ? (uint64_t)sample_value(sets, sample, VALUE_TYPE_CPU)
               : 0;
}

/* The parts of a stretch off the CPU, which make up all of it; zeros for other samples. */
struct off_share {
    uint64_t runnable_ns; /* it could have run, but others had the CPUs */
    uint64_t blocked_ns;  /* it waited for something */
};

/* Every output that tells them takes them from here, so that they agree. Also of short waits. */
struct off_share sample_off_share(const struct sample_sets *sets, const struct sample *sample);

/* Makes it one off the CPU from time_ns to end_ns that was woken at `wake_ns`: 0 = not at all, or
 * it was preempted, which `reason` says. `values` are its own from then on. */
void sample_set_wait(struct sample *sample, int64_t wake_ns, int64_t values[2]);

/* The part of it in [from, to): false if there is none. Short waits are spread evenly over their
 * interval; what another one counted is not divided: all of it, or nothing. `values`: room for new
 * ones. */
bool sample_cut(const struct sample_sets *sets, struct sample *sample, int64_t from_ns,
                int64_t to_ns, int64_t values[SAMPLE_VALUES_MAX]);

/* Copies of values, for samples that are kept. `{0}` is empty. Memory: 8 to 64 bytes a sample, kept
 * for others when one is dropped. */
struct value_pool {
    void *free[4]; /* rows of 1, 2, 4 and 8 values */
    void *slabs;
};

/* The sample's values become the pool's. 0 or -ENOMEM. */
int value_pool_keep(struct value_pool *pool, struct sample *sample);
/* A sample that was kept goes. */
void value_pool_drop(struct value_pool *pool, const struct sample *sample);
void value_pool_free(struct value_pool *pool);

/* How a walk ended, as constant text: "complete", "no unwind table", ... `end`: enum stack_end. */
const char *stack_end_name(unsigned end);

#endif
