/* SPDX-License-Identifier: MIT */
/* Calls of functions, reported by a tracer of an interpreter. Not part of annot.h: pyannot calls
 * it; other tracers may.
 *
 * A call is a range among those of the thread: it has the level ANNOT_CODE_LEVEL, and filters match
 * it as a category of the domain "python calls". Threads, signal handlers, forks: as annot.h.
 * Ranges that a parent had open when it forked are not open in the child. */
#ifndef ANNOT_TRACER_H
#define ANNOT_TRACER_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNOT_CODE_LEVEL 4

enum annot_code_kind {
    ANNOT_CODE_PYTHON = 1, /* written in Python */
    ANNOT_CODE_C = 2,      /* called from Python: has no file and no line */
    ANNOT_CODE_TASK = 3,   /* not a function: a step of a task, around the calls that it makes */
};

/* Returned by annot_code_enter for a call without a range: a filter dropped it, or it was lost. */
#define ANNOT_CODE_HELD UINT32_C(0xffffffff)
#define ANNOT_CODE_LOST UINT32_C(0xfffffffe)

/* The largest minimum duration of calls, and so the longest that readers hold them back: 1 s. */
#define ANNOT_CODE_LEAST_MAX UINT64_C(1000000000)

enum annot_sum_kind {
    ANNOT_SUM_CALLS = 1,
    ANNOT_SUM_LINES = 2,
    ANNOT_SUM_CALLEES = 3, /* per line: its traced calls, and its time in them */
};

/* Counts of one place, in memory that the collector reads. The owner updates them with plain stores
 * of whole words: there is no later flush, and a kill of the process loses nothing. */
struct annot_sum {
    uint64_t count; /* how often something began there */
    uint64_t ticks; /* exclusive time there, by annot_queue_time(), among sums of that kind */
    uint64_t since; /* start of a time that also counts, until now; 0: none */
};

/* The sums of a thread. Private to libannot. */
struct annot_sums {
    void *segment; /* NULL: no sums */
    uint64_t where;
    uint32_t serial, thread, block, used, blocks, reserved;
    int32_t pid, tid;
};

#ifndef ANNOT_DISABLE

/* Returns the name of a function: `file` in the interpreter's spelling, and the first line of its
 * code. The same arguments give the same name. A name that is too long loses the beginning of
 * `file` first, then the end of `qualname`. Returns 0 if the part of the table of names for code is
 * full: a quarter of the table is kept for names of the program. Cost: as annot_name_intern. */
ANNOT_API annot_name annot_code_name(const char *qualname, const char *file, uint32_t first_line,
                                     enum annot_code_kind kind);

/* The same for a function whose calls are only wanted if they last at least `least_ns`: readers
 * drop shorter ones, unless another event happened inside. `least_ns` is at most
 * ANNOT_CODE_LEAST_MAX; 0: all are wanted. */
ANNOT_API annot_name annot_code_name_least(const char *qualname, const char *file,
                                           uint32_t first_line, enum annot_code_kind kind,
                                           uint64_t least_ns);

/* Begins a call; or resumes one (`continues`), as a generator does: its time is counted, the call
 * is not. Returns a token for annot_code_leave: the number of calls open around it. Cost: 1 P with
 * its annot_code_leave, at any depth up to 16,384 ranges; deeper ones are lost. */
ANNOT_EMIT uint32_t annot_code_enter(annot_name code, int continues);

/* Ends the call of that token and each call that began inside of it. Ranges that the program opened
 * inside and did not close stay open: a context manager may open its range in one call and close it
 * in another. Likewise annot_pop closes the innermost range that is not a call. In both cases the
 * ranges that stay open are closed and begun again as continuations. */
ANNOT_EMIT void annot_code_leave(uint32_t token);

/* The same with key-values (annot/values.h): of its arguments, of its result. Cost: 1 P plus the
 * cost of the values. */
ANNOT_API uint32_t annot_code_enter_values(annot_name code, const struct annot_value *values,
                                           size_t count);
ANNOT_API void annot_code_leave_values(uint32_t token, const struct annot_value *values,
                                       size_t count);

/* Returns nonzero if calls are wanted now, so that resolving them is worthwhile. Cost: loads. */
ANNOT_API int annot_code_wanted(void);

/* Opens sums of the calling thread in its current recording. Returns 1, or 0 without a recording.
 * They keep the recording's segment in memory until annot_sums_end. */
ANNOT_API int annot_sums_begin(struct annot_sums *sums);

/* True if the sums belong to the calling thread's current recording. Call it each time
 * annot_gate_v1.generation has changed, and after a fork, before a sum is changed; end the sums if
 * it returns 0. Cost: loads. */
ANNOT_API int annot_sums_are_current(const struct annot_sums *sums);

/* The place of a sum: a line of a function (ANNOT_SUM_LINES, ANNOT_SUM_CALLEES), or a function and
 * the place that called it (ANNOT_SUM_CALLS). There `code` may be the name of a range: functions
 * called from that place were called while it was the innermost range. */
struct annot_place {
    annot_name code;
    uint32_t line;
    const struct annot_sum *caller; /* in the same sums; NULL: no caller */
};

/* Adds a sum for a new place: each place is added once, by the thread that changes the sum. Returns
 * NULL, counted as lost, if there is no room (sums take half of the pool at most) or `code` is 0.
 * Cost: a few loads and stores; once in 230 times, 1 us for a block of the pool, which the thread
 * keeps. */
ANNOT_API struct annot_sum *annot_sums_add(struct annot_sums *sums, enum annot_sum_kind kind,
                                           const struct annot_place *place);

/* Ends the sums: the caller must not touch them afterwards; the collector reads them a last time.
 * In a forked child, sums of the parent are only forgotten. `{0}` counts as ended. */
ANNOT_API void annot_sums_end(struct annot_sums *sums);
#endif

#ifdef __cplusplus
}
#endif

#endif
