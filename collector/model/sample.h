/* SPDX-License-Identifier: MIT */
/* Values at a stack: the activity of a thread at an instant on a CPU, a stretch off the CPU, or an
 * allocation, by its set.
 *
 * Stacks, frames and range paths are ordinals of model/stacks.h, threads those of the trace. Times
 * are CLOCK_MONOTONIC nanoseconds. Samples of one thread are in order of time_ns, but those with an
 * end are in order of their end. Thread-safety: plain data. */
#ifndef ANNOT_MODEL_SAMPLE_H
#define ANNOT_MODEL_SAMPLE_H

#include "stack_end.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Sets -------------------------------------------------------------------------------------
 */

/* Value types, and the sets of values that samples have.
 *
 * A sample belongs to a set, which gives the number of its values, their types, and the meaning of
 * its times. Readers go by types and flags, never by a set's number: every value of type
 * VALUE_TYPE_CPU is CPU time. Numbers below VALUE_TYPE_OWN and SAMPLE_SET_OWN are the format's, the
 * same in every recording; higher ones are defined by each recording, with names. An undefined
 * number has no type, no flag and no name. */

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
    VALUE_TYPE_CALLEES = 19,     /* calls of functions that are traced too, */
    VALUE_TYPE_CALLEE_TIME = 20, /* and nanoseconds in them */
    VALUE_TYPE_LIFETIME = 21,    /* nanoseconds from a block's allocation to its free: a level */
    VALUE_TYPE_FIXED = 22,
    VALUE_TYPE_OWN = 64,
};

/* How values of a type add up. Numbers of the recording format. */
enum value_sum {
    VALUE_SUM_UNKNOWN = 0, /* not recorded */
    VALUE_SUM_ADDS = 1,
    VALUE_SUM_LEVEL = 2, /* such as a temperature: has no sum */
};

struct value_type {
    uint32_t name, unit; /* strings; 0 for fixed types: value_type_name() */
    uint8_t sum;         /* enum value_sum */
};

enum sample_set_flags {
    SAMPLE_SET_EXACT = 1u << 0,    /* each counts for itself: the samples are complete */
    SAMPLE_SET_STRETCH = 1u << 1,  /* from time_ns to end_ns; the values are its parts, in order */
    SAMPLE_SET_HEAP = 1u << 2,     /* `id` identifies a block of memory: its address, or a number */
    SAMPLE_SET_INTERVAL = 1u << 3, /* counted from time_ns to end_ns, not at an instant */
    SAMPLE_SET_LAUNCH = 1u << 4,   /* at time_ns its thread launched work of a queue; the spans of
                                    * that work have this origin_ns; one value: the launches that it
                                    * stands for */
    SAMPLE_SET_LINES = 1u << 5,    /* counts executions of lines, where others count calls */
    SAMPLE_SET_FLAGS_KNOWN = (1u << 6) - 1,
};

enum sample_set_number {
    SAMPLE_SET_NONE = 0,
    SAMPLE_SET_CPU = 1,         /* {cpu} */
    SAMPLE_SET_OFF_CPU = 2,     /* STRETCH {blocked, runnable} */
    SAMPLE_SET_SHORT_WAITS = 3, /* INTERVAL {blocked, runnable}: sums of stretches too short to be
                                 * recorded one by one */
    SAMPLE_SET_FIXED = 4,
    SAMPLE_SET_OWN = 16,
    SAMPLE_SET_MAX = 4096,
};

/* How readers of CPU time and waits treat a set; derived from its flags and types. */
enum sample_role {
    SAMPLE_ROLE_OTHER = 0,
    SAMPLE_ROLE_CPU = 1,         /* at an instant, with CPU time */
    SAMPLE_ROLE_OFF_CPU = 2,     /* stretches of blocked or runnable time */
    SAMPLE_ROLE_SHORT_WAITS = 3, /* sums of such time in an interval, outside of all stretches */
    SAMPLE_ROLE_LAUNCH = 4,      /* launches of queued work */
    SAMPLE_ROLE_CALLS = 5,       /* EXACT INTERVAL: calls of the leaf that began in an interval, and
                                  * the wall time in the leaf itself: counted, not sampled */
    SAMPLE_ROLE_LINES = 6,       /* the same for lines, callees included; or the part of that in
                                  * callees that are traced too: their calls and time */
};

enum { SAMPLE_VALUES_MAX = 8, VALUE_TYPE_MAX = 4096 };

struct sample_set {
    uint32_t name;   /* string; 0 for fixed sets: sample_set_name() */
    uint32_t period; /* amount of the first value per sample; 0: not constant */
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

/* Never NULL: an undefined set is all zero. `sets` NULL: fixed sets only. Valid until the next one
 * is added. */
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

/* Adds one and returns its number. -ENOMEM; -ENOSPC: too many. */
int64_t sample_sets_add(struct sample_sets *sets, const struct sample_set *set);
int64_t value_types_add(struct sample_sets *sets, const struct value_type *type);

/* For readers, which get numbers from the file. Fixed definitions stay as they are. -ENOMEM;
 * -EBADMSG: the number is out of range or has another definition. */
int sample_sets_define(struct sample_sets *sets, unsigned number, const struct sample_set *set);
int value_types_define(struct sample_sets *sets, unsigned number, const struct value_type *type);

/* Of fixed ones; NULL: the string of the definition. Constant text. */
const char *sample_set_fixed_name(unsigned number);
const char *value_type_fixed_name(unsigned number);
const char *value_type_fixed_unit(unsigned number);

/* Index of the values of a type in the set; -1 if it has no such type. */
static inline int sample_set_index(const struct sample_set *set, unsigned type)
{
    for (int i = 0; i < set->count; i++)
        if (set->types[i] == type)
            return i;
    return -1;
}

/* ---- Samples ----------------------------------------------------------------------------------
 */

/* Why an off-CPU thread waited before it became runnable. */
enum wait_reason {
    WAIT_UNKNOWN = 0,
    WAIT_PREEMPTED = 1, /* another thread had the CPU */
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
    SAMPLE_PATH_CUT = 1u << 1,   /* more ranges were open than `path` has: it lacks the outermost */
    SAMPLE_IN_KERNEL = 1u << 2,
    SAMPLE_GC = 1u << 3,
    SAMPLE_HOLDS_GIL = 1u << 4,
    SAMPLE_UNFINISHED = 1u << 5, /* OFF_CPU: still off at the end of the recording or thread */
};

struct sample {
    int64_t time_ns, end_ns; /* end: of sets with STRETCH or INTERVAL; else 0 */
    uint64_t id;             /* of sets with HEAP; else 0 */
    const int64_t *values;   /* value_count many; never negative; kept by the keeper of the sample
                              * (struct value_pool) */
    uint32_t thread;         /* ordinal in the trace */
    uint32_t stack;          /* ordinal of its leaf, 0 = not taken */
    uint32_t path;           /* ordinal of the innermost open range, 0 = outside of ranges */
    uint16_t set;            /* struct sample_set */
    uint16_t cpu;
    uint8_t reason;                 /* enum wait_reason */
    uint8_t flags;                  /* enum sample_flags */
    uint8_t native_end, python_end; /* enum stack_end (numbers of the recording format too) */
    uint8_t value_count;            /* as in its set, if that is defined */
};

/* In an initializer: .set = SAMPLE_SET_CPU, SAMPLE_VALUES(10000). The values live as long as the
 * block. */
#define SAMPLE_VALUES(...)                                                                         \
    .values = (const int64_t[]){__VA_ARGS__},                                                      \
    .value_count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* Time at which readers order it: its instant, or its end. */
static inline int64_t sample_order_ns(const struct sample *sample)
{
    return sample->end_ns > sample->time_ns ? sample->end_ns : sample->time_ns;
}

static inline enum sample_role sample_role(const struct sample_sets *sets,
                                           const struct sample *sample)
{
    return (enum sample_role)sample_set_get(sets, sample->set)->role;
}

/* 0 if its set has no value of that type. */
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
    uint64_t blocked_ns;  /* it waited for an event */
};

/* All outputs of these times use this function, so that they agree. Also for short waits. */
struct off_share sample_off_share(const struct sample_sets *sets, const struct sample *sample);

/* Makes it a stretch off the CPU from time_ns to end_ns, woken at `wake_ns`: 0 = never woken, or
 * preempted according to `reason`. The sample keeps a pointer to `values`. */
void sample_set_wait(struct sample *sample, int64_t wake_ns, int64_t values[2]);

/* Cuts it to [from, to); false if that leaves no part. Short waits are spread evenly over their
 * interval; other counts are not divided: they stay whole or are dropped. `values`: room for new
 * ones. */
bool sample_cut(const struct sample_sets *sets, struct sample *sample, int64_t from_ns,
                int64_t to_ns, int64_t values[SAMPLE_VALUES_MAX]);

/* Copies of values, for samples that are kept. `{0}` is empty. Memory: 8 to 64 bytes a sample,
 * reused after a drop. */
struct value_pool {
    void *free[4]; /* rows of 1, 2, 4 and 8 values */
    void *slabs;
};

/* Copies the sample's values into the pool. 0 or -ENOMEM. */
int value_pool_keep(struct value_pool *pool, struct sample *sample);
/* Frees the values of a kept sample. */
void value_pool_drop(struct value_pool *pool, const struct sample *sample);
void value_pool_free(struct value_pool *pool);

/* How a walk ended, as constant text: "complete", "no unwind table", ... `end`: enum stack_end. */
const char *stack_end_name(unsigned end);

#endif
