/* SPDX-License-Identifier: MIT */
/* Nested ranges of a thread: their number, their key-values, and the objects that it waits for.
 * Threads: each uses its own. */
#ifndef ANNOT_ITT_THREAD_H
#define ANNOT_ITT_THREAD_H

#include "itt.h"
#include "itt_open.h"

#include <annot/annot.h>
#include <stdint.h>

enum { ITT_DEPTH_MAX = 4096, ITT_WAITS_MAX = 8 };

/* Only for threads that began tasks in a pause, added metadata, or wait. */
struct itt_thread {
    struct itt_thread *next;              /* in the list of idle ones */
    uint64_t generation;                  /* of the gate, at the last check */
    uint64_t recording;                   /* the other fields belong to it */
    uint64_t skipped[ITT_DEPTH_MAX / 64]; /* by depth: begun during a pause, and not recorded */
    uint32_t wait_count;
    const void *waits[ITT_WAITS_MAX]; /* objects that the thread waits for, innermost last */
    struct itt_values *values;        /* of open tasks, or NULL */
};

/* Open tasks of the thread that began in this recording. */
extern __thread uint32_t itt_depth __attribute__((tls_model("initial-exec")));

/* The gate's generation when it was counted: another recording begins with 0. */
extern __thread uint64_t itt_depth_generation __attribute__((tls_model("initial-exec")));
void itt_depth_begin(void);

static inline void itt_depth_check(void)
{
    if (ITT_RARELY(itt_depth_generation != annot_gate_v1.generation))
        itt_depth_begin();
}

extern __thread struct itt_thread *itt_self __attribute__((tls_model("initial-exec")));

/* itt_self, made if needed, for this recording; NULL: out of memory. */
struct itt_thread *itt_thread_own(void);

/* Returns a number unique among the living threads of the process. */
uint64_t itt_thread_number(void);

/* Begin and end a nested range of the calling thread, with the key-values added meanwhile. */
void itt_push(const struct annot_event *event);
void itt_pop(void);
void itt_pop_value(const struct annot_value *value);

#endif
