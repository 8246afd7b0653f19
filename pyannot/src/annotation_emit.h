/* SPDX-License-Identifier: MIT */
/* Emitting what an annotation says, and the end of its range. Threads: any, attached to the
 * interpreter. */
#ifndef PYANNOT_ANNOTATION_EMIT_H
#define PYANNOT_ANNOTATION_EMIT_H

#include "annotation.h"
#include "compat.h" /* Python.h comes before the system's headers */

#include <annot/annot.h>

/* ---- Begin ----------------------------------------------------------------------------------- */

/* From annotation to event: by name id where that is all it says, else in the long form.
 * Call these only while annot_enabled(). Threads: any. */

static inline void emit_push(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_push_name(id);
    else
        annot_emit_push_event(&annotation->event);
}

static inline void emit_mark(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_mark_name(id);
    else
        annot_emit_mark_event(&annotation->event);
}

static inline void emit_track_begin(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_begin_event(track, &annotation->event);
}

static inline void emit_track_mark(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_mark_event(track, &annotation->event);
}

static inline annot_range emit_start(struct annotation *annotation)
{
    annotation_name_id(annotation);
    return annot_emit_start_event(&annotation->event);
}

/* ---- End ------------------------------------------------------------------------------------- */

/* Ranges that an exception leaves: the key-value "exception" of their end is its type, as a
 * traceback spells it ("KeyError", "json.decoder.JSONDecodeError").
 * Threads: any, attached to the interpreter. An exception that is set stays as it is. */

/* The type among the arguments of __exit__(type, value, traceback), in front of which there may be
 * the object itself (contextlib.ExitStack); NULL: no exception. Borrowed. */
static inline PyObject *exception_of_exit(PyObject *const *args, Py_ssize_t count)
{
    PyObject *type = count == 3 ? args[0] : count == 4 ? args[1] : Py_None;
    return type == Py_None || !PyExceptionClass_Check(type) ? NULL : type;
}

void exception_pop_slow(PyObject *type);
void exception_end_slow(annot_range range, PyObject *type);
void exception_track_end_slow(const struct annot_track *track, PyObject *type);

/* As annot_pop, annot_end and annot_track_end; `type` may be NULL. */
static inline void exception_pop(PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_pop();
    else if (annot_enabled())
        exception_pop_slow(type);
}

static inline void exception_end(annot_range range, PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_end(range);
    else if (range != 0 && annot_enabled())
        exception_end_slow(range, type);
}

static inline void exception_track_end(const struct annot_track *track, PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_track_end(track);
    else if (annot_enabled())
        exception_track_end_slow(track, type);
}

#endif
