/* SPDX-License-Identifier: MIT */
/* One side of a pool of workers: the data that the hooks on its queues and pipes share.
 *
 * A pool is observed at the places where its tasks pass: the parent hands them over and takes the
 * results, a worker takes a task and gives a result. At each such place a hook calls the original
 * function, with the same arguments, and emits events around it. Both sides identify a task by the
 * same number (job and chunk, or work id) in the same scope (the pool's pipe), so the arrows add no
 * data to the messages.
 *
 * Threads: a worker's side belongs to the worker's thread. A parent's is shared by the threads that
 * submit, the one that hands over, and the one that takes results: each writes its own fields. */
#ifndef PYANNOT_POOL_SIDE_H
#define PYANNOT_POOL_SIDE_H

#include "compat.h"
#include "task_track.h"

#include <annot/observers.h>
#include <stdbool.h>
#include <stdint.h>

enum { POOL_SCOPE_SIZE = 64, POOL_WORD_SIZE = 32 };

/* Texts that users see. */
enum pool_name {
    POOL_UNPICKLE = 0,
    POOL_SEND,
    POOL_SUBMIT,
    POOL_INITIALIZER,
    POOL_BYTES,
    POOL_CHUNK,
    POOL_TASKS,
    POOL_SINCE,
    POOL_POOL,
    POOL_METHOD,
    POOL_NAME,
    POOL_KIND,
    POOL_SIZE,
    POOL_STARTED,
    POOL_WORKER,
    POOL_NAME_COUNT,
};

struct pool_side {
    PyObject_HEAD PyTypeObject *hook_type;
    PyObject *stars;    /* tuple: functions called with ((function, items),) */
    PyObject *chunkers; /* tuple: functions called with (function, items) */
    PyObject *pending;  /* dict with an item for each task without a result; NULL: counted here */
    PyTypeObject *buffer_type; /* io.BytesIO */
    PyObject *buffer_tell;     /* io.BytesIO.tell */
    annot_flow scope;          /* base for the flows of its tasks */
    char job_scope[POOL_SCOPE_SIZE + 4];
    bool is_local; /* workers are threads: no pickling */
    /* The recording that has the pool's facts, or those of the worker. Relaxed: a repetition does
     * no harm. */
    uint64_t facts_recording;

    /* For a worker: its ranges, and whether "unpickle" is open. */
    struct context_range initializer, run;
    bool in_unpickle;

    /* For a parent. */
    bool in_result;        /* of the thread that takes results: "unpickle" is open */
    PyObject *jobs;        /* dict: job -> time of its submission; until its first task goes */
    uint64_t job;          /* 1 + the job that is being handed over */
    int64_t job_ns;        /* when that was submitted; 0: its tasks are made one by one */
    int64_t task_count;    /* submitted, without a result yet; atomic */
    int64_t worker_count;  /* 0: running_count is the number of busy ones; atomic */
    int64_t running_count; /* for threads: tasks begun and not done; atomic */
    annot_name queued_name, busy_name;
    int64_t size; /* number of workers; 0: not known yet; atomic */
    char label[POOL_WORD_SIZE], kind[POOL_WORD_SIZE], started[POOL_WORD_SIZE]; /* "": unknown */
    pid_t process;                        /* owner of the counters */
    int64_t emitted_queued, emitted_busy; /* the counters' latest values */
    uint64_t emitted_recording;           /* the recording that has them; relaxed */
};

/* A function to run: the user's function below the library's wrappers. */
struct pool_function {
    PyObject *function; /* new reference */
    Py_ssize_t chunk;   /* tasks at once; 0: it is not a chunk */
};

/* The id of a name, interned at its first use. */
annot_name pool_name(enum pool_name name);

/* An event of domain "python", category "pool". */
struct annot_event pool_side_event(annot_name name, enum annot_pool_role role);

/* Key-values; `text` is only borrowed. */
struct annot_value pool_number_value(enum pool_name key, int64_t number);
struct annot_value pool_text_value(enum pool_name key, const char *text);

/* Opens a range with a number. */
void pool_side_push(enum pool_name name, enum annot_pool_role role, enum pool_name key,
                    int64_t number);

/* Opens the range of a task's function, or of an initializer (chunk 0); if the worker is a
 * greenlet, on its track only. */
void pool_side_begin_function(struct pool_side *side, struct context_range *range,
                              const struct pool_function *function, enum annot_pool_role role);

/* True if the workers of this pool are greenlets in place of threads. Then only their functions'
 * ranges and the pool's counters are emitted: readers follow tasks from thread to thread. Writes a
 * note for the process, once. */
bool pool_side_has_greenlets(const struct pool_side *side);

/* Adds to the tasks without a result, and emits both counters if they have changed: the busy
 * workers exactly, the queue to 1/64. */
void pool_side_count(struct pool_side *side, int64_t change);

/* Returns the time since the present job was submitted; 0 if unknown. */
int64_t pool_side_job_age_ns(const struct pool_side *side);

/* Marks the facts of the pool, or this thread as a worker of it: once in each recording. */
void pool_side_emit_facts(struct pool_side *side);
void pool_side_emit_worker(struct pool_side *side);

/* ---- Hooks (pool_side_hooks.c) --------------------------------------------------------------- */

struct pool_hook_options {
    struct pool_side *side;
    PyObject *function; /* the original */
    PyObject *owner;    /* its first argument, held weakly; or NULL */
};

/* New reference, or NULL with an exception. Kinds:
 *   "receive"  Connection._recv_bytes: bytes have come in
 *   "task"     a worker's queue.get
 *   "answer"   a worker's queue.put
 *   "assign"   a parent hands a task over
 *   "result"   a parent takes a result
 *   "submit"   a parent's queue of work ids takes one
 * With sides of thread pools: "task", "answer", "assign", "result". */
PyObject *pool_hook_create(PyTypeObject *type, const char *kind,
                           const struct pool_hook_options *options);

/* New references, or NULL with an exception. */
PyTypeObject *pool_hook_type_create(PyObject *module);

/* ---- The class ------------------------------------------------------------------------------- */

/* Methods for pools of threads (pool_side_threads.c). */
PyObject *pool_side_offer(PyObject *self, PyObject *ignored);
PyObject *pool_side_take(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_side_done(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_side_run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* The class pool_side. New reference; NULL with an exception. */
PyTypeObject *pool_side_type_create(PyObject *module);

#endif
