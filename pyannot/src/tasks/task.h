/* SPDX-License-Identifier: MIT */
/* Tasks of asyncio: each has a track for the ranges that are opened while it runs.
 *
 * The running task: each step of a task runs in a context of contextvars, and a thread counts the
 * changes of its context. While that number is the same, so is the task; asyncio is queried only at
 * the first range of a step. The track is kept in the task's own dictionary.
 *
 * Threads: any. A task runs on one thread at a time; a range may be left on another one. */
#ifndef PYANNOT_TASK_H
#define PYANNOT_TASK_H

#include "annotation.h"
#include "state.h"

/* ---- For all interpreters of the process ----------------------------------------------------- */

/* Threads: any, atomic. */

extern int task_watching;       /* number of watchers (task_watch.h) */
extern uint32_t task_unwatched; /* raised when an interpreter stops watching: it misses steps */
extern uint32_t task_process;   /* raised in each forked child */
extern int task_steps;          /* steps of tasks are ranges of their thread */

/* ---- Tracks ---------------------------------------------------------------------------------- */

struct task_open {
    annot_name name; /* 0: not shown */
    annot_domain domain;
};

/* Since when a task is suspended. For the thread that steps it. */
struct task_suspension {
    uint64_t begin_ns;   /* 0: unknown */
    uint64_t recording;  /* in which it began */
    uint64_t generation; /* of the gate, when `recording` was read */
    uint32_t unwatched;  /* task_unwatched at that time */
};

struct task_track {
    PyObject_HEAD struct annot_track track;
    uint64_t recording;  /* of the range of its life; 0: not begun */
    uint64_t generation; /* of the gate, when `recording` was last checked */
    struct task_suspension suspension;
    uint32_t process;        /* task_process of the process that the track belongs to */
    uint32_t open;           /* ranges of `with` on it */
    uint32_t pushed;         /* ranges of push() on it */
    uint8_t life;            /* enum task_life */
    bool done;               /* the task has ended, ranges may still be open */
    bool is_greenlet;        /* belongs to a greenlet, which counts as a task here (greenlets.h) */
    annot_name name;         /* of the coroutine */
    struct task_open *names; /* of its open ranges, outermost first (task_shown.h) */
    uint32_t name_count, name_room;
#if PYANNOT_FREE_THREADED
    PyMutex mutex; /* guards these */
#endif
    PyObject *text;   /* of the coroutine, owner of the UTF-8 */
    PyObject *origin; /* ranges open where the task was made (inherited.h); or NULL */
    PyObject *task_name;
    struct trace_task *calls; /* tracing_tasks.c; NULL: no call was traced */
};

/* Result of the thread's last query: valid while all three numbers are the same. */
struct task_cache {
    const PyThreadState *thread;
    uint64_t thread_id;
    uint64_t context_version;
    struct task_track *track; /* borrowed from the running task; NULL: no task runs */
};

extern _Thread_local struct task_cache task_cache __attribute__((tls_model("initial-exec")));

/* Queries asyncio. NULL: no task runs, or it cannot have a track. */
struct task_track *task_find(struct state *state, PyThreadState *thread);

/* Returns the track of the task that the calling thread runs, or NULL. Never raises. */
static inline struct task_track *task_running(struct state *state)
{
    /* Relaxed: a watcher has imported asyncio before. */
    if (__builtin_expect(__atomic_load_n(&task_watching, __ATOMIC_RELAXED) == 0, 1))
        return NULL;
    PyThreadState *thread = PyThreadState_Get();
    const struct task_cache *cache = &task_cache;
    if (cache->thread == thread && cache->context_version == thread->context_ver &&
        cache->thread_id == thread->id)
        return cache->track;
    return task_find(state, thread);
}

static inline bool task_is_watched(void)
{
    return __builtin_expect(__atomic_load_n(&task_watching, __ATOMIC_RELAXED) != 0, 0);
}

/* True if asyncio reports a running task on this thread. Never raises. */
bool task_is_run(const struct state *state);

#endif
