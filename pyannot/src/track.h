/* SPDX-License-Identifier: MIT */
/* The classes `track` and `track_range`. Threads: any; constant after creation, but for the counts
 * of what is open.
 *
 * A track may be ended by whoever has it, in any process. But a child that was forked inside of a
 * range has its parent's objects, and code of its parent's that ends them: that range is not the
 * child's. So an object counts what was begun by it, in which process. */
#ifndef PYANNOT_TRACK_H
#define PYANNOT_TRACK_H

#include "annotation.h"

#include <annot/annot.h>

struct track {
    PyObject_HEAD PyObject *name; /* str */
    PyObject *parent;             /* a track, or NULL: the process */
    PyObject *domain;             /* str, of its events; or NULL */
    struct annot_track track;
    uint64_t open;  /* upper half: entered_forks; lower half: what that process has begun by this */
    bool inherited; /* a parent had begun something by it when it forked */
};

/* A range is begun, or ended, by this object. The latter: false if it can only be a parent's. */
void track_opened(struct track *track);
bool track_may_end(struct track *track);

/* track(name, parent=None, *, id=None). New reference, or NULL with an exception. */
PyObject *track_create(PyTypeObject *type, PyObject *domain, PyObject *args, PyObject *keywords);

/* What track.annotate() gives: a range of the track for `with` and for decorators. Takes over
 * `annotation`. New reference, or NULL with an exception. */
PyObject *track_range_create(struct state *state, struct track *track,
                             struct annotation *annotation);

#endif
