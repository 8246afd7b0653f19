/* SPDX-License-Identifier: MIT */
/* Names of the process and of threads, as functions of the module. Threads: any. */
#ifndef PYANNOT_NAMING_H
#define PYANNOT_NAMING_H

#include "compat.h"

/* What the program says: set_process_name(name), set_thread_name(name). */
PyObject *naming_set_process(PyObject *module, PyObject *name);
PyObject *naming_set_thread(PyObject *module, PyObject *name);

/* The same where the program has said nothing, in this process or on this thread. */
PyObject *naming_offer_process(PyObject *module, PyObject *name);
PyObject *naming_offer_thread(PyObject *module, PyObject *name);

/* tell_thread_name(number, name): of a thread that may never emit anything itself. */
PyObject *naming_tell_thread(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
