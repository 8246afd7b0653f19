/* SPDX-License-Identifier: MIT */
/* Calls of functions, told by whoever traces an interpreter. Not part of annot.h: pyannot calls it;
 * other tracers may.
 *
 * A call is a range among those of the thread: it has the level ANNOT_CODE_LEVEL, and filters know
 * it as a category of the domain "python calls". Threads, signal handlers, forks: as annot.h. What
 * a parent had open when it forked is not open in the child. */
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
    ANNOT_CODE_TASK = 3,   /* no function: a step of a task, around the calls that it makes */
};

/* What annot_code_enter returns of a call that has no range: a filter held it back, or it was
 * lost. */
#define ANNOT_CODE_HELD UINT32_C(0xffffffff)
#define ANNOT_CODE_LOST UINT32_C(0xfffffffe)

/* The longest time that calls may have to last, and so wait at whoever reads: 1 s. */
#define ANNOT_CODE_LEAST_MAX UINT64_C(1000000000)

enum annot_sum_kind {
    ANNOT_SUM_CALLS = 1,
    ANNOT_SUM_LINES = 2,
    ANNOT_SUM_CALLEES = 3, /* of a line: calls that are traced, and its time in them */
};

/* What was counted at a place, where the collector reads it. Who has it changes it, by plain stores
 * of whole words: nothing is told later, and nothing is lost when the process is killed. */
struct annot_sum {
    uint64_t count; /* how often something began there */
    uint64_t ticks; /* spent there, by annot_queue_time(), and in no other sum of that kind */
    uint64_t since; /* from then on, too, until now; 0: no */
};

/* The sums of a thread. Of libannot. */
struct annot_sums {
    void *segment; /* NULL: there are none */
    uint64_t where;
    uint32_t serial, thread, block, used, blocks, reserved;
    int32_t pid, tid;
};

#ifndef ANNOT_DISABLE

/* The name of a function: `file` as the interpreter has it, the line its code begins at. The same
 * arguments give the same name. Of what is too long, the beginning of `file` is left out first,
 * then the end of `qualname`. 0 if the table of names is full for code:
 * a quarter of it is kept for names of the program. Cost: as annot_name_intern. */
ANNOT_API annot_name annot_code_name(const char *qualname, const char *file, uint32_t first_line,
                                     enum annot_code_kind kind);

/* The same of a function whose calls are only wanted where they last that long: whoever reads
 * leaves out those that do not and inside of which nothing else was told. `least_ns` is at most
 * ANNOT_CODE_LEAST_MAX; 0: all are wanted. */
ANNOT_API annot_name annot_code_name_least(const char *qualname, const char *file,
                                           uint32_t first_line, enum annot_code_kind kind,
                                           uint64_t least_ns);

/* A call begins; or goes on (`continues`), as a generator does: its time counts, it does not.
 * Returns a token for annot_code_leave: how many calls are open around it. Cost: 1 P with its
 * annot_code_leave, at any depth up to 16,384 ranges; deeper ones are lost. */
ANNOT_EMIT uint32_t annot_code_enter(annot_name code, int continues);

/* The call of that token ends, and so does each that began inside of it. Ranges that the program
 * opened inside and did not close go on: a context manager may open its range in one call and close
 * it in another. Likewise annot_pop closes the innermost range that is no call. Where that is so,
 * what goes on is closed and begun again, as what continues. */
ANNOT_EMIT void annot_code_leave(uint32_t token);

/* The same with key-values (annot/values.h): of its arguments, of what it returned. Cost: 1 P and
 * what the values cost. */
ANNOT_API uint32_t annot_code_enter_values(annot_name code, const struct annot_value *values,
                                           size_t count);
ANNOT_API void annot_code_leave_values(uint32_t token, const struct annot_value *values,
                                       size_t count);

/* Whether calls are wanted now, so that it is worth to find out which. Cost: loads. */
ANNOT_API int annot_code_wanted(void);

/* Sums of the calling thread, in the recording that it is in: 1; or 0: nobody records. They hold
 * that in memory until annot_sums_end. */
ANNOT_API int annot_sums_begin(struct annot_sums *sums);

/* Whether that is the recording that the calling thread is in now. Each time that
 * annot_gate_v1.generation has changed, and after a fork, sums are asked this before one is
 * changed, and ended if it is not so. Cost: loads. */
ANNOT_API int annot_sums_are_current(const struct annot_sums *sums);

/* Where something is counted: a line of a function (ANNOT_SUM_LINES, ANNOT_SUM_CALLEES), or a
 * function and the place that called it (ANNOT_SUM_CALLS). There `code` may be the name of a range:
 * what is called from that place was called while that was the innermost one. */
struct annot_place {
    annot_name code;
    uint32_t line;
    const struct annot_sum *caller; /* of the same sums; NULL: nobody */
};

/* A sum for a place, at which nothing has been counted yet: each place is added once, by the thread
 * that changes the sum. NULL, and counted as lost: there is no room (sums take half of the pool at
 * most); or its code is 0. Cost: a few loads and stores; once in 230 times, 1 us for a block of the
 * pool, which the thread keeps. */
ANNOT_API struct annot_sum *annot_sums_add(struct annot_sums *sums, enum annot_sum_kind kind,
                                           const struct annot_place *place);

/* Nothing of it is touched from here on; the collector reads it for the last time. In a forked
 * child, of the parent's, it only forgets. `{0}` is ended already. */
ANNOT_API void annot_sums_end(struct annot_sums *sums);
#endif

#ifdef __cplusplus
}
#endif

#endif
