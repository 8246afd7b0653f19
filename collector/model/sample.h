/* SPDX-License-Identifier: MIT */
/* What a thread was doing: one instant on a CPU, or one stretch off it.
 *
 * Stacks, frames and range paths are ordinals of model/stacks.h, threads those of the trace. Times
 * are CLOCK_MONOTONIC nanoseconds. Samples of one thread come in order of time_ns, but for
 * SAMPLE_OFF_CPU, which comes when it ended. Thread-safety: plain data. */
#ifndef ANNOT_MODEL_SAMPLE_H
#define ANNOT_MODEL_SAMPLE_H

#include "stack_end.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum sample_kind {
    SAMPLE_CPU = 1,     /* at time_ns it ran; stands for weight_ns of CPU time                   */
    SAMPLE_OFF_CPU = 2, /* from time_ns to end_ns it did not run: see sample_ready_ns()         */
};

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
    int64_t time_ns;
    uint32_t thread; /* ordinal in the trace */
    uint32_t stack;  /* ordinal of its leaf, 0 = none */
    uint32_t path;   /* ordinal of the innermost open range, 0 = none */
    uint16_t cpu;
    uint8_t kind;                   /* enum sample_kind */
    uint8_t reason;                 /* enum wait_reason */
    uint8_t flags;                  /* enum sample_flags */
    uint8_t native_end, python_end; /* enum stack_end (numbers of the recording format too) */
    uint8_t reserved;
    uint64_t weight_ns;      /* CPU: the time one sample stands for */
    int64_t wake_ns, end_ns; /* OFF_CPU; wake_ns 0 = not woken: sample_ready_ns() */
};

/* When a sample is told: its instant, or its end. */
static inline int64_t sample_told_ns(const struct sample *sample)
{
    return sample->kind == SAMPLE_OFF_CPU ? sample->end_ns : sample->time_ns;
}

/* OFF_CPU: since when it could have run; end_ns if it waited to the end or that is not known.
 * Within the stretch, whatever the recording says. */
int64_t sample_ready_ns(const struct sample *sample);

/* The parts of a stretch off the CPU, which make up all of it; zeros for other samples. */
struct off_share {
    uint64_t runnable_ns; /* it could have run, but others had the CPUs */
    uint64_t blocked_ns;  /* it waited for something */
};

/* Every output that tells them takes them from here, so that they agree. */
struct off_share sample_off_share(const struct sample *sample);

/* The part of it in [from, to): false if there is none. */
bool sample_cut(struct sample *sample, int64_t from_ns, int64_t to_ns);

/* How a walk ended, as constant text: "complete", "no unwind table", ... `end`: enum stack_end. */
const char *stack_end_name(unsigned end);

#endif
