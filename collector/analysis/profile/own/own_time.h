/* SPDX-License-Identifier: MIT */
/* Where the time of samples went, by the user's own functions: each sample counts for the innermost
 * own function of its stack, with what libraries and the interpreter do for that.
 *
 * Where next to nothing is own (a tool that somebody else wrote), installed packages count as own,
 * else all code does. Memory: 64 bytes for each stack that a thread was sampled in, 12 for each
 * stack of the recording. Thread-safety: none. */
#ifndef ANNOT_OWN_TIME_H
#define ANNOT_OWN_TIME_H

#include "code_owner.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

/* Which code counts as own. */
enum own_level { OWN_USER = 0, OWN_PACKAGES, OWN_PYTHON, OWN_ALL, OWN_LEVELS };

/* A function of one's own, or what the time outside of those was for. */
struct own_row {
    uint32_t label;   /* 0: none; then: */
    uint8_t purpose;  /* enum code_purpose; of none: */
    uint32_t program; /* the file of what ran there: string; 0: not known */
    int32_t line;     /* where most of its time went; 0: not known */
    uint64_t cpu_ns, sample_count;
    uint64_t ready_ns, waiting_ns, wait_count;
};

/* Waits of one cause in one place. */
struct own_wait {
    uint32_t label, program;
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason */
    uint8_t kind;   /* enum wait_kind */
    bool helper;    /* of threads that are there for others only: in no row */
    int32_t line;
    uint64_t count, waiting_ns, max_ns;
    uint64_t unfinished; /* of count: still waiting at the end */
};

struct own_totals {
    uint64_t cpu_ns, sample_count, ready_ns, waiting_ns; /* of the rows */
    uint64_t idle_ns;    /* waits of helpers, which the rows do not have */
    uint32_t busy_count; /* threads with a twentieth of the busiest one's CPU time */
    enum own_level level;
    struct own_row purposes[PURPOSE_COUNT]; /* outside of the user's own code, whatever the level */
};

/* What a thread did at a stack. */
struct own_times {
    uint64_t cpu_ns, ready_ns, waiting_ns, sample_count;
    uint64_t gil_ns; /* of the CPU time: holding the GIL */
};

struct own_moment {
    uint32_t stack, thread;
    unsigned reason; /* enum wait_reason; of CPU time WAIT_REASON_COUNT */
    bool idle;       /* it waits to help others, and is in no row */
};

struct own_time;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct own_time *own_time_create(const struct trace *trace);
void own_time_destroy(struct own_time *own);

/* Samples in any order, then finish; those that are neither CPU time nor waits are nothing. After
 * it more may be added, and finish called again. 0 or -ENOMEM. */
int own_time_add(struct own_time *own, const struct sample *sample);
/* All that was added to another one, of the same trace: of threads that are wanted (NULL: all). */
typedef bool own_time_wants(void *context, uint32_t thread);
int own_time_add_all(struct own_time *own, const struct own_time *other, own_time_wants *wants,
                     void *context);
int own_time_finish(struct own_time *own);

/* After finish. The rows, the most CPU time first (`by_wall`: with waits), those of functions and
 * programs before the others; waits, the longest
 * first, those of helpers last. What threads wait for that do next to nothing but help others (a
 * pool's own, a queue's consumer, a shell that waits for its command) is in no row: there waits
 * count of main threads, of those that are busy, and of those whose own code
 * waits for a lock again and again, is called by a pool, or
 * waits for something outside while its main thread waits for it. Owned by the object. */
const struct own_totals *own_time_totals(const struct own_time *own);
uint32_t own_time_rows(struct own_time *own, bool by_wall, const struct own_row **ret_rows);
uint32_t own_time_waits(const struct own_time *own, const struct own_wait **ret_waits);

/* After finish: which row a stack counts for, UINT32_MAX if none was sampled there; its line there.
 */
uint32_t own_time_row_of(const struct own_time *own, uint32_t stack, int32_t *ret_line);
const struct own_row *own_time_row(const struct own_time *own, uint32_t row);

/* After finish: the innermost own function of any stack, as its label; 0: it has none, or nothing
 * tells what one's own is. */
uint32_t own_time_function(const struct own_time *own, uint32_t stack);

/* After finish, what the rows are made of: all that a thread did at a stack, its waits by cause.
 * Ends at the first result that is not 0, and returns that. */
typedef int own_time_take(void *context, const struct own_moment *moment,
                          const struct own_times *times);
int own_time_each(const struct own_time *own, own_time_take *take, void *context);
/* The same, with the waits that are in no row. */
int own_time_every(const struct own_time *own, own_time_take *take, void *context);

/* How many different things were added: stacks and threads, apart by cause of waiting. */
size_t own_time_size(const struct own_time *own);

/* After finish: is it a wait of a thread that only helps others, which is in no row? */
bool own_time_is_idle(const struct own_time *own, const struct own_moment *moment);

/* After finish: does the thread have a twentieth of the busiest one's CPU time? */
bool own_time_is_busy(const struct own_time *own, uint32_t thread);
/* Is it there for others only, so that its waits are in no row? */
bool own_time_is_helper(const struct own_time *own, uint32_t thread);

/* Is a frame own, called by Python code or not? And what its function is. */
struct own_label {
    uint8_t owner, purpose;
    uint8_t begins; /* enum code_begins */
    bool bootstrap;
};

bool own_time_is_own(const struct own_time *own, const struct frame *frame, bool in_python);
/* By stack: whether it is of what runs before the main module begins. */
const bool *own_time_starts(const struct own_time *own);
const struct own_label *own_time_label(const struct own_time *own, uint32_t label);
const struct trace *own_time_trace(const struct own_time *own);

#endif
