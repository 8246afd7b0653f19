/* SPDX-License-Identifier: MIT */
/* Entering an annotation, and the __enter__ that costs least on this interpreter.
 * Threads: any, as for annotations. */
#ifndef PYANNOT_ENTER_H
#define PYANNOT_ENTER_H

#include "annotation_emit.h"
#include "entered.h"
#include "task_exit.h"

/* From 3.14 on, `with` calls an ordinary method without binding it. */
#define PYANNOT_BIND_ENTER (PY_VERSION_HEX < 0x030E0000)

static inline void annotation_enter(struct annotation *annotation)
{
    if (task_is_watched() && task_enter(annotation))
        return;
    bool on = annot_enabled();
    entered_push(on);
    if (on)
        emit_push(annotation);
}

/* Gives the class, `annotate` or that of holders, an __enter__ that binds cheaply. 0, or -1 with an
 * exception. */
int enter_install(PyObject *module, PyTypeObject *type, bool is_holder);

/* Frees the memory kept for the next statement. */
void enter_spare_free(struct state *state);

#endif
