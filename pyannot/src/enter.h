/* SPDX-License-Identifier: MIT */
/* Entering an annotation, and the __enter__ and __exit__ that cost least on this interpreter.
 * Threads: any, as for annotations. */
#ifndef PYANNOT_ENTER_H
#define PYANNOT_ENTER_H

#include "annotation_emit.h"
#include "entered.h"
#include "task.h"

static inline void annotation_enter(struct annotation *annotation)
{
    if (task_is_watched() && task_enter(annotation))
        return;
    bool on = annot_enabled();
    entered_push(on);
    if (on)
        emit_push(annotation);
}

/* Gives the class, `annotate` or that of holders, an __enter__ that binds cheaply, where an
 * ordinary method does not. 0, or -1 with an exception. */
int enter_install(PyObject *module, PyTypeObject *type, bool is_holder);

/* Gives the class `annotate` its __exit__. 0, or -1 with an exception. */
int leave_install(PyObject *module, PyTypeObject *annotate_type);

#endif
