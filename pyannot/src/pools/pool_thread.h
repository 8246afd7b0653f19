/* SPDX-License-Identifier: MIT */
/* Tasks of pools of threads. Threads: offer by those that submit, the others by workers. */
#ifndef ANNOT_POOL_THREAD_H
#define ANNOT_POOL_THREAD_H

#include "compat.h"

/* Methods of the class pool_side. */
PyObject *pool_thread_offer(PyObject *self, PyObject *ignored);
PyObject *pool_thread_take(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_thread_done(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *pool_thread_run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

#endif
