/* SPDX-License-Identifier: MIT */
/* What `with` calls to enter an object, up to 3.13: see enter.c. It is part of the object, so that
 * looking it up makes nothing.
 * Threads: guarded by the GIL; free-threaded builds have ordinary methods. */
#ifndef PYANNOT_BOUND_ENTER_H
#define PYANNOT_BOUND_ENTER_H

#include "compat.h" /* Python.h comes before the system's headers */

#include <stdbool.h>

/* From 3.14 on, `with` calls an ordinary method without binding it. The benchmark sets it. */
#ifndef PYANNOT_BIND_ENTER
#define PYANNOT_BIND_ENTER (PY_VERSION_HEX < 0x030E0000 && !PYANNOT_FREE_THREADED)
#endif

#if PYANNOT_BIND_ENTER

/* In an annotation or a holder; also the descriptor in their class, which has no object. All zero
 * until it is first looked up; it holds its object and its type while there is a reference. */
struct enter {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *object; /* which it is part of */
    bool is_holder;
};

#else

struct enter {
};

#endif
#endif
