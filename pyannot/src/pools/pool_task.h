/* SPDX-License-Identifier: MIT */
/* Facts about a task of a pool: its number, its function. Threads: any. */
#ifndef ANNOT_POOL_TASK_H
#define ANNOT_POOL_TASK_H

#include "pool_side.h"

#include <stdbool.h>
#include <stdint.h>

struct pool_function;
struct pool_side;

/* A task or a result, as far as it could be read; borrowed references. */
struct pool_task {
    uint64_t number;
    PyObject *function, *args; /* NULL: a result */
};

/* Reads a tuple (job, index, ...) or an object with a `work_id`. False, without an exception, for
 * others. */
bool pool_task_read(PyObject *object, struct pool_task *ret_task);

/* The same for a work item of an executor of threads. `function` NULL: it looks different. */
void pool_task_of_item(PyObject *item, struct pool_task *ret_task);

/* Returns the exception in a worker's answer: new reference, or NULL without an exception. */
PyObject *pool_side_answer_error(PyObject *answer);

/* Finds the user's function. Never fails: unknown wrappers count as the function. */
struct pool_function pool_function_find(const struct pool_side *side, const struct pool_task *task);

/* Returns the name of a function, its class, or "?"; a new reference to a str, or NULL without an
 * exception. */
PyObject *pool_function_name(PyObject *function);

#endif
