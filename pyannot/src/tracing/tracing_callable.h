/* SPDX-License-Identifier: MIT */
/* Names of callables that are not written in Python. Threads: any that is traced. */
#ifndef PYANNOT_TRACING_CALLABLE_H
#define PYANNOT_TRACING_CALLABLE_H

#include "compat.h"

#include <annot/annot.h>

/* Returns the name of a callable that is not written in Python; 0 on failure. */
annot_name trace_callable_name(PyObject *callable);

#endif
