/* SPDX-License-Identifier: MIT */
/* One side of a pool of workers: what the hooks on its queues and pipes share.
 *
 * A pool is seen at the places where its tasks go by: the parent hands them over and takes the
 * results, a worker takes a task and gives a result. At each such place a hook calls what stood
 * there before, with the same arguments, and emits around it. Both sides name a task by the same
 * number (job and chunk, or work id) in the same scope (the pool's pipe), so the arrows need
 * nothing in what is sent.
 *
 * Threads: a worker's side belongs to the worker's thread. A parent's is shared by those who
 * submit, the one that hands over, and the one that takes results: each writes fields of its own.
 */
#ifndef PYANNOT_POOL_SIDE_H
#define PYANNOT_POOL_SIDE_H

#include "compat.h"

#include <annot/observers.h>
#include <stdbool.h>
#include <stdint.h>

enum { POOL_SCOPE_SIZE = 64, POOL_WORD_SIZE = 32 };

/* What users see. */
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
    PyTypeObject *buffer_type; /* io.BytesIO, */
    PyObject *buffer_tell;     /* and its method */
    annot_flow scope;          /* what the flows of its tasks are counted from */
    char job_scope[POOL_SCOPE_SIZE + 4];
    bool is_local;       /* workers are threads: nothing is pickled */
    uint64_t told_facts; /* the recording that was told what it is, or whose worker this is;
                            relaxed: once more does no harm */

    /* Of a worker: which of its ranges are open. */
    bool in_initializer, in_unpickle, in_run;

    /* Of a parent. */
    bool in_result;        /* of the thread that takes results: "unpickle" is open */
    PyObject *jobs;        /* dict: job -> when it was submitted; until its first task goes */
    uint64_t job;          /* 1 + the one whose tasks go now */
    int64_t job_ns;        /* when that was submitted; 0: its tasks are made one by one */
    int64_t task_count;    /* handed in, without a result yet; atomic */
    int64_t worker_count;  /* 0: running_count tells how many are busy; atomic */
    int64_t running_count; /* of threads: tasks begun and not done; atomic */
    annot_name queued_name, busy_name;
    int64_t size; /* workers, when it was told; 0: not known yet; atomic */
    char label[POOL_WORD_SIZE], kind[POOL_WORD_SIZE], started[POOL_WORD_SIZE]; /* "": not told */
    pid_t process;                  /* whose counters they are */
    int64_t told_queued, told_busy; /* what the counters show, */
    uint64_t told_recording;        /* in this recording; relaxed */
};

/* A task or a result, as far as it could be read; borrowed references. */
struct pool_task {
    uint64_t number;
    PyObject *function, *args; /* NULL: a result */
};

/* What is run: the user's function below what the library put around it. */
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

/* Opens the range of a task's function, or of an initializer. `chunk` 0: none is told. */
void pool_side_push_function(PyObject *function, Py_ssize_t chunk, enum annot_pool_role role);

/* A mark that tells what pool this is, or that this thread is a worker of it: once in each
 * recording. pool_facts.c. */
void pool_facts_tell(struct pool_side *side);
void pool_facts_tell_worker(struct pool_side *side);

/* The pool's number, as a key-value. */
struct annot_value pool_facts_value(const struct pool_side *side);

/* Methods of the class. */
PyObject *pool_facts_made(PyObject *self, PyObject *args);
PyObject *pool_facts_joined(PyObject *self, PyObject *ignored);
PyObject *pool_facts_call(PyObject *self, PyObject *args);

/* Tasks of threads: methods of the class. pool_thread.c. */
PyObject *pool_thread_offer(PyObject *self, PyObject *ignored);
PyObject *pool_thread_take(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_thread_done(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_thread_run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* Adds to the tasks without a result, and tells both counters if they show too little of it: the
 * busy workers to the last one, the queue to 1/64. */
void pool_side_count(struct pool_side *side, int64_t change);

/* The flow of a task. Those of a pool are neighbours, which a recording writes in few bytes. */
static inline annot_flow pool_side_flow(const struct pool_side *side, uint64_t number)
{
    annot_flow flow = side->scope + number;
    return flow ? flow : 1;
}

/* Reads a tuple (job, index, ...) or an object with a `work_id`. False, without an exception, if it
 * is neither. pool_task.c. */
bool pool_task_read(PyObject *object, struct pool_task *ret_task);

/* The same of a work item of an executor of threads. `function` NULL: it looks different. */
void pool_task_of_item(PyObject *item, struct pool_task *ret_task);

/* The exception that a worker's answer carries: new reference, or NULL without an exception. */
PyObject *pool_side_answer_error(PyObject *answer);

/* Finds the user's function. Never fails: what cannot be unwrapped is taken as it is. */
struct pool_function pool_function_find(const struct pool_side *side, const struct pool_task *task);

/* The name of a function, its class, or "?"; a new reference that is a str, or NULL without an
 * exception. */
PyObject *pool_function_name(PyObject *function);

/* How long ago the present job was submitted; 0 if nobody knows. */
int64_t pool_side_job_age_ns(const struct pool_side *side);

/* The class pool_side. New reference; NULL with an exception. */
PyTypeObject *pool_side_type_create(PyObject *module);

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* The hooks of a side; see pool_side.h. */

struct pool_hook_options {
    struct pool_side *side;
    PyObject *function; /* what is called */
    PyObject *owner;    /* with this in front, held weakly; or NULL */
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

#endif
