/* SPDX-License-Identifier: MIT */
/* Arguments, results and exceptions of calls, with trace_has_values. Threads: any traced one. */
#ifndef PYANNOT_TRACING_VALUES_H
#define PYANNOT_TRACING_VALUES_H

#include "tracing_thread.h"

/* With values: data for the thread's next trace_enter or trace_leave. Arguments as they lie in the
 * frame, NULL where the innermost frame has them; the result of a call; the exception that leaves
 * it (before 3.12: the thread's current one). All borrowed. */
void trace_see_slots(PyObject *const *slots);
void trace_see_result(PyObject *result);
void trace_see_exception(PyObject *exception);
void trace_see_error(void);
/* An exception is raised in the innermost frame, or reaches it out of a call: from 3.12 on. Before,
 * exceptions are reported where they leave a frame. */
void trace_raised(PyCodeObject *code, PyObject *exception);

/* As annot_code_enter and annot_code_leave, with the known arguments, result and exception. */
uint32_t trace_values_enter(const struct trace_code *kept, PyCodeObject *code, bool continues);
void trace_values_leave(struct trace_thread *thread, const struct trace_entry *entry);

#endif
