/* SPDX-License-Identifier: MIT */
/* Allocations of Python's objects, which reach malloc only as arenas of many objects. */
#ifndef ANNOT_HEAP_PYTHON_H
#define ANNOT_HEAP_PYTHON_H

/* Watches the allocators of the interpreter's domains "mem" and "obj". Called once, when it is
 * initialized and has run nothing yet: settings of PYTHONMALLOC have then been applied. With the
 * GIL. */
__attribute__((visibility("default"))) void annot_heap_python_v1(void);

#endif
