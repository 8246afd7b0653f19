/* SPDX-License-Identifier: MIT */
/* Time of samples by the user's own functions: each sample counts for the innermost own function of
 * its stack, which includes the libraries and the interpreter that it calls.
 *
 * If almost no code is the user's (an installed tool), installed packages count as own, else all
 * code does. Memory: 64 bytes for each stack that a thread was sampled in, 12 for each stack of the
 * recording. Thread-safety: none. */
#ifndef ANNOT_OWN_TIME_H
#define ANNOT_OWN_TIME_H

#include "code_owner.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

/* The code that counts as own. */
enum own_level { OWN_USER = 0, OWN_PACKAGES, OWN_PYTHON, OWN_ALL, OWN_LEVELS };

/* An own function, or the purpose of time outside of such functions. */
struct own_row {
    uint32_t label;   /* 0: outside of own functions; then: */
    uint8_t purpose;  /* enum code_purpose; with PURPOSE_NONE: */
    uint32_t program; /* the file of the program or library: string; 0: unknown */
    int32_t line;     /* with most of its time; 0: unknown */
    uint64_t cpu_ns, sample_count;
    uint64_t runnable_ns, blocked_ns, wait_count;
};

/* Waits of one cause at one place. */
struct own_wait {
    uint32_t label, program;
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason */
    uint8_t kind;   /* enum wait_kind */
    bool helper;    /* of helper threads: not part of any row */
    int32_t line;
    uint64_t count, blocked_ns, max_ns;
    uint64_t unfinished; /* part of count: still waiting at the end */
};

struct own_totals {
    uint64_t cpu_ns, sample_count, runnable_ns, blocked_ns; /* sums over the rows */
    uint64_t idle_ns;    /* waits of helpers, not part of the rows */
    uint32_t busy_count; /* threads with at least a twentieth of the busiest thread's CPU time */
    enum own_level level;
    struct own_row purposes[PURPOSE_COUNT]; /* outside of the user's own code, at any level */
};

/* The time of a thread at a stack. */
struct own_times {
    uint64_t cpu_ns, runnable_ns, blocked_ns, sample_count;
    uint64_t gil_ns; /* part of the CPU time holding the GIL */
};

struct own_moment {
    uint32_t stack, thread;
    unsigned reason; /* enum wait_reason; WAIT_REASON_COUNT for CPU time */
    bool idle;       /* a wait of a helper, not part of any row */
};

struct own_time;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct own_time *own_time_create(const struct trace *trace);
void own_time_destroy(struct own_time *own);

/* Add samples in any order, then call finish; samples that are neither CPU time nor waits are
 * ignored. After finish more may be added, and finish called again. 0 or -ENOMEM. */
int own_time_add(struct own_time *own, const struct sample *sample);
/* Adds all sums of another object of the same trace, for the wanted threads (NULL: all). */
typedef bool own_time_wants(void *context, uint32_t thread);
int own_time_add_all(struct own_time *own, const struct own_time *other, own_time_wants *wants,
                     void *context);
int own_time_finish(struct own_time *own);

/* After finish. The rows, the most CPU time first (`by_wall`: with waits), functions and programs
 * before the others; waits, the longest first, those of helpers last. Waits of helpers (a pool's
 * own threads, a queue's consumer, a shell that waits for its command) are not part of any row.
 * Rows have the waits of main threads, of busy threads, and of threads with own code that waits for
 * a lock repeatedly, is called by a pool, or waits for something outside while the main thread
 * waits for it. Owned by the object. */
const struct own_totals *own_time_totals(const struct own_time *own);
uint32_t own_time_rows(struct own_time *own, bool by_wall, const struct own_row **ret_rows);
uint32_t own_time_waits(const struct own_time *own, const struct own_wait **ret_waits);

/* After finish: returns the row of a stack, UINT32_MAX if it was not sampled, and the stack's line
 * in it. */
uint32_t own_time_row_of(const struct own_time *own, uint32_t stack, int32_t *ret_line);
const struct own_row *own_time_row(const struct own_time *own, uint32_t row);

/* After finish: returns the label of the innermost own function of any stack; 0: it has no own
 * function, or all code counts as own. */
uint32_t own_time_function(const struct own_time *own, uint32_t stack);

/* After finish, the contents of the rows: calls `take` for each thread and stack, with waits by
 * cause. Stops at the first nonzero result and returns it. */
typedef int own_time_take(void *context, const struct own_moment *moment,
                          const struct own_times *times);
int own_time_each(const struct own_time *own, own_time_take *take, void *context);
/* The same, including the waits of helpers. */
int own_time_every(const struct own_time *own, own_time_take *take, void *context);

/* Returns the number of sums: distinct stacks, threads and causes of waiting. */
size_t own_time_size(const struct own_time *own);

/* After finish: true for a wait of a helper, which is not part of any row. */
bool own_time_is_idle(const struct own_time *own, const struct own_moment *moment);

/* After finish: true if the thread has at least a twentieth of the busiest thread's CPU time. */
bool own_time_is_busy(const struct own_time *own, uint32_t thread);
/* True for helpers: their waits are not part of any row. */
bool own_time_is_helper(const struct own_time *own, uint32_t thread);

/* Facts about a label's function. own_time_is_own: true if the frame counts as own; `in_python`:
 * Python code is on its stack. */
struct own_label {
    uint8_t owner, purpose;
    uint8_t begins; /* enum code_begins */
    bool bootstrap;
};

bool own_time_is_own(const struct own_time *own, const struct frame *frame, bool in_python);
/* By stack: true for code that runs before the main module begins. */
const bool *own_time_starts(const struct own_time *own);
const struct own_label *own_time_label(const struct own_time *own, uint32_t label);
const struct trace *own_time_trace(const struct own_time *own);

#endif
