/* SPDX-License-Identifier: MIT */
/* Names of what is called and not written in Python. Threads: any that is traced. */
#ifndef PYANNOT_TRACING_CALLABLE_H
#define PYANNOT_TRACING_CALLABLE_H

#include "compat.h"

#include <annot/annot.h>

/* The name of something that is called, and not written in Python; 0: none. */
annot_name trace_callable_name(PyObject *callable);

#endif
