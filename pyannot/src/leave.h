/* SPDX-License-Identifier: MIT */
/* annotate.__exit__. Threads: any, as for annotations. */
#ifndef PYANNOT_LEAVE_H
#define PYANNOT_LEAVE_H

#include "compat.h"

/* Gives the class its __exit__. 0, or -1 with an exception. */
int leave_install(PyObject *module, PyTypeObject *annotate_type);

#endif
