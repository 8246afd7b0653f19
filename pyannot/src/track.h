/* SPDX-License-Identifier: MIT */
/* The classes `track` and `track_range`. Threads: any; constant after creation. */
#ifndef PYANNOT_TRACK_H
#define PYANNOT_TRACK_H

#include <annot/annot.h>

#include "annotation.h"

struct track {
    PyObject_HEAD PyObject *name; /* str */
    PyObject *parent;             /* a track, or NULL: the process */
    PyObject *domain;             /* str, of its events; or NULL */
    struct annot_track track;
};

/* track(name, parent=None, *, id=None). New reference, or NULL with an exception. */
PyObject *track_create(PyTypeObject *type, PyObject *domain, PyObject *args, PyObject *keywords);

/* What track.annotate() gives: a range of the track for `with` and for decorators. Takes over
 * `annotation`. New reference, or NULL with an exception. */
PyObject *track_range_create(struct state *state, struct track *track,
                             struct annotation *annotation);

#endif
