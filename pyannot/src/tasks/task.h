/* SPDX-License-Identifier: MIT */
/* Tasks of asyncio: each has a track, and ranges that are opened while it runs go there.
 *
 * Which task runs: each step of a task runs in a context of contextvars, and a thread counts the
 * changes of its context. As long as that number is the same, so is the task; only at the first
 * range of a step is asyncio asked. The track is kept in the task's own dictionary.
 *
 * Threads: any. A task runs on one thread at a time; a range may be left on another one. */
#ifndef PYANNOT_TASK_H
#define PYANNOT_TASK_H

#include "annotation.h"
#include "state.h"

/* How far the range of the task's whole life has come. */
enum task_life { TASK_LIFE_NONE = 0, TASK_LIFE_OPEN, TASK_LIFE_ENDED };

struct task_open {
    annot_name name; /* 0: not shown */
    annot_domain domain;
};

/* Since when a task is suspended. Of the thread that steps it. */
struct task_suspension {
    uint64_t begin_ns;   /* 0: not known */
    uint64_t recording;  /* in which it began */
    uint64_t generation; /* of the gate, when that was asked */
    uint32_t unwatched;  /* task_unwatched at that time */
};

struct task_track {
    PyObject_HEAD struct annot_track track;
    uint64_t recording;  /* in which the range of its life was begun; 0: in none */
    uint64_t generation; /* of the gate, when that was last known to go on */
    struct task_suspension suspension;
    uint32_t process;        /* task_process of the process that the track belongs to */
    uint32_t open;           /* ranges of `with` on it */
    uint32_t pushed;         /* ranges of push() on it */
    uint8_t life;            /* enum task_life */
    bool done;               /* the task is over, ranges may still be open */
    bool is_greenlet;        /* what is said of tasks holds for it (greenlets.h) */
    annot_name name;         /* of the coroutine */
    struct task_open *names; /* of its open ranges, outermost first (task_parts.h) */
    uint32_t name_count, name_room;
#if PYANNOT_FREE_THREADED
    PyMutex mutex; /* of these */
#endif
    PyObject *text;   /* of the coroutine, owner of the UTF-8 */
    PyObject *origin; /* what was open where the task was made (inherited.h); NULL: nothing */
    PyObject *task_name;
    struct trace_task *calls; /* tracing_tasks.c; NULL: none were traced */
};

/* The thread's last answer: valid while all three numbers are the same. */
struct task_cache {
    const PyThreadState *thread;
    uint64_t thread_id;
    uint64_t context_version;
    struct task_track *track; /* borrowed from the task, which runs; NULL: none runs */
};

extern int task_watching;     /* interpreters that have asyncio */
extern uint32_t task_process; /* raised in each forked child */
extern int task_steps;        /* steps of tasks are ranges of their thread */
extern _Thread_local struct task_cache task_cache __attribute__((tls_model("initial-exec")));

/* Asks asyncio. NULL: no task runs, or it cannot have a track. */
struct task_track *task_find(struct state *state, PyThreadState *thread);

/* The track of the task that the calling thread runs, or NULL. Never raises. */
static inline struct task_track *task_running(struct state *state)
{
    /* Relaxed: who watches has imported asyncio before. */
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

/* Whether asyncio says that a task runs on this thread. Never raises. */
bool task_is_run(const struct state *state);

/* The track of a task, made if it has none. New reference; NULL without an exception. */
struct task_track *task_track_of(struct state *state, PyObject *task);

/* Of a greenlet. The second one: if it has one that is this process's; borrowed. */
struct task_track *task_track_of_greenlet(struct state *state, PyObject *greenlet);
struct task_track *task_track_kept(struct state *state, PyObject *greenlet);

/* Leaves with a new task what was open where it was made: for its track, also if that is not there
 * yet. Never raises. */
void task_keep_origin(struct state *state, PyObject *task, PyObject *origin);

/* The range of the task's life: begun if it is not, ended when nothing else is open. */
void task_life_begin(struct task_track *track);
void task_life_end(struct task_track *track);

/* A range on the track. Only while annot_enabled(). `exception`: its type, or NULL. */
void task_range_begin(struct task_track *track, struct annotation *annotation);
void task_range_end(struct task_track *track, PyObject *exception);

/* What is open on the track, outermost first, at most `count`; returns how many. */
uint32_t task_open_names(struct task_track *track, struct task_open *names, uint32_t count);

/* push(), pop() and mark(), if a task runs. False: the thread's own. */
bool task_push(struct state *state, struct annotation *annotation);
bool task_pop(struct state *state);
bool task_mark(struct state *state, struct annotation *annotation);

/* Events of domain "python", category "asyncio": of a task, of a turn that took long, of a wait. */
struct annot_event task_event(void);
struct annot_event blocked_event(void);
struct annot_event awaited_event(void);

/* In a forked child. */
void task_forked(void);
/* The interpreter has ended, with every object. */
void task_forget_all(void);

PyTypeObject *task_track_type_create(PyObject *module);

/* What the module needs from its start on; 0, or -1 with an exception. */
int task_install(PyObject *module);
void task_clear(struct state *state);
int task_traverse(struct state *state, visitproc visit, void *arg);

/* ---- Leaving --------------------------------------------------------------------------------- */

/* annotate.__exit__ and __aexit__ while tasks are watched. A range that was opened in a task may be
 * left elsewhere: by a generator that is closed late, by the end of the loop, by the collector of
 * garbage. So what leaves it must know where it was opened. A `with` statement looks __exit__ up
 * before it calls __enter__; what it finds here inside of a task is an object of its own for this
 * one statement, which holds the track.
 * Threads: any; spare memory is guarded by the GIL, free-threaded builds keep none. */

/* Makes the type; 0, or -1 with an exception. */
int task_exit_install(PyObject *module);
int task_exit_traverse(struct state *state, visitproc visit, void *arg);

/* Puts the descriptors in their place, and takes them away. */
int task_exit_place(struct state *state);
int task_exit_restore(struct state *state);

/* Ranges inside of tasks, or of greenlets, go to tracks of theirs; both may watch at once. 0, or -1
 * with an exception. */
int task_watch(PyObject *module);
int task_unwatch(struct state *state);
/* What both need. */
int tasks_types_make(PyObject *module);

void task_exit_spare_free(struct state *state);

/* Enters on the track of the task that runs. False: the thread's own. */
bool task_enter(struct annotation *annotation);

#endif
