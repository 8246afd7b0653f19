/* SPDX-License-Identifier: MIT */
/* Values at a stack: what a thread was doing at an instant on a CPU, in a stretch off it, what it
 * allocated there. Its set (model/sample_set.h) says which.
 *
 * Stacks, frames and range paths are ordinals of model/stacks.h, threads those of the trace. Times
 * are CLOCK_MONOTONIC nanoseconds. Samples of one thread come in order of time_ns, but for those
 * with an end, which come then. Thread-safety: plain data. */
#ifndef ANNOT_MODEL_SAMPLE_H
#define ANNOT_MODEL_SAMPLE_H

#include "sample_set.h"
#include "stack_end.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Every output that tells them takes them from here, so that they agree. */
struct off_share sample_off_share(const struct sample_sets *sets, const struct sample *sample);

/* Makes it one off the CPU from time_ns to end_ns that was woken at `wake_ns`: 0 = not at all, or
 * it was preempted, which `reason` says. `values` are its own from then on. */
void sample_set_wait(struct sample *sample, int64_t wake_ns, int64_t values[2]);

/* The part of it in [from, to): false if there is none. What an interval counted is not divided:
 * all of it, or nothing. `values`: room for new ones. */
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
