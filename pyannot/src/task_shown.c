/* SPDX-License-Identifier: MIT */
/* See task_shown.h. */
#include "task_shown.h"

enum { ROOM_FIRST = 4 };

_Thread_local struct task_step *task_step;

/* Guarded by the GIL where there is one. Held for nanoseconds; forked children begin with a new one
 * (task_shown_clear). */
static void names_lock(struct task_track *track)
{
#if PYANNOT_FREE_THREADED
    PyMutex_Lock(&track->mutex);
#else
    (void)track;
#endif
}

static void names_unlock(struct task_track *track)
{
#if PYANNOT_FREE_THREADED
    PyMutex_Unlock(&track->mutex);
#else
    (void)track;
#endif
}

static bool names_grow(struct task_track *track)
{
    uint32_t room = track->name_room ? track->name_room * 2 : ROOM_FIRST;
    struct task_open *names = PyMem_RawRealloc(track->names, room * sizeof(*names));
    if (names == NULL)
        return false;
    track->names = names;
    track->name_room = room;
    return true;
}

/* What finds no memory is counted, so that its end takes away no other. */
static void names_push(struct task_track *track, struct task_open open)
{
    names_lock(track);
    if (track->name_count < track->name_room || names_grow(track))
        track->names[track->name_count] = open;
    track->name_count++;
    names_unlock(track);
}

static annot_name names_pop(struct task_track *track)
{
    annot_name name = 0;
    names_lock(track);
    if (track->name_count > 0 && --track->name_count < track->name_room)
        name = track->names[track->name_count].name;
    names_unlock(track);
    return name;
}

void task_shown_clear(struct task_track *track)
{
#if PYANNOT_FREE_THREADED
    track->mutex = (PyMutex){0};
#endif
    PyMem_RawFree(track->names);
    track->names = NULL;
    track->name_count = track->name_room = 0;
}

static void show(struct task_step *step, struct task_open open)
{
    if (open.name != 0)
        step->shown += (uint32_t)annot_track_show(open.name, open.domain, step->shown == 0);
}

void task_step_begin(struct task_step *step, struct task_track *track)
{
    *step = (struct task_step){.track = track, .outer = task_step};
    task_step = step;
    if (track == NULL)
        return;
    names_lock(track);
    for (uint32_t i = 0; i < track->name_count && i < track->name_room; i++)
        show(step, track->names[i]);
    names_unlock(track);
}

void task_step_end(struct task_step *step)
{
    if (step->shown > 0)
        annot_track_hide(0, step->shown);
    task_step = step->outer;
}

/* Name 0: the filter holds it back, or the table of names is full. Partner of the relaxed load:
 * whoever finds the id of an annotation's name first (annotation.h); all store the same. */
void task_shown_begin(struct task_track *track, const struct annot_event *event)
{
    struct task_open open = {__atomic_load_n(&event->name, __ATOMIC_RELAXED), event->domain};
    if (!annot_track_wants(event))
        open.name = 0;
    names_push(track, open);
    if (task_step != NULL && task_step->track == track)
        show(task_step, open);
}

void task_shown_end(struct task_track *track)
{
    uint32_t inside = 0;
    if (names_pop(track) == 0)
        return;
    for (struct task_step *step = task_step; step != NULL; step = step->outer) {
        if (step->track == track && step->shown > 0) {
            annot_track_hide(inside, 1);
            step->shown--;
            return;
        }
        inside += step->shown;
    }
}
