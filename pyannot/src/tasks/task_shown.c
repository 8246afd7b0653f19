/* SPDX-License-Identifier: MIT */
/* Ranges of tasks and greenlets that samples show: see task_shown.h. */
#include "task_shown.h"

#include "greenlets.h"
#include "task.h"

enum { ROOM_FIRST = 4 };

_Thread_local struct task_step *task_step;
static _Thread_local struct task_step *steps; /* list of all */

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

/* A range without memory is counted, so that its end does not remove another one. */
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

uint32_t task_open_names(struct task_track *track, struct task_open *names, uint32_t count)
{
    uint32_t written = 0;
    names_lock(track);
    for (uint32_t i = 0; i < track->name_count && i < track->name_room && written < count; i++)
        if (track->names[i].name != 0)
            names[written++] = track->names[i];
    names_unlock(track);
    return written;
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

static void step_show(struct task_step *step)
{
    struct task_track *track = step->track;
    if (track == NULL)
        return;
    names_lock(track);
    for (uint32_t i = 0; i < track->name_count && i < track->name_room; i++)
        show(step, track->names[i]);
    names_unlock(track);
}

static void step_hide(struct task_step *step)
{
    if (step->shown > 0)
        annot_track_hide(0, step->shown);
    step->shown = 0;
}

struct task_step *task_step_begin(struct task_track *track)
{
    struct task_step *step = PyMem_RawMalloc(sizeof(*step));
    if (step == NULL)
        return NULL;
    PyObject *greenlet = greenlet_now();
    *step =
        (struct task_step){.track = track, .outer = task_step, .greenlet = greenlet, .next = steps};
    task_step = steps = step;
    step_show(step);
    return step;
}

void task_step_end(struct task_step *step)
{
    struct task_step **at = &steps;
    if (step == NULL)
        return;
    step_hide(step);
    task_step = step->outer;
    while (*at != NULL && *at != step)
        at = &(*at)->next;
    if (*at == step)
        *at = step->next;
    PyMem_RawFree(step);
}

bool task_has_steps(void)
{
    return steps != NULL;
}

void task_steps_are_on(PyObject *greenlet)
{
    for (struct task_step *step = steps; step != NULL; step = step->next)
        if (step->greenlet == NULL)
            step->greenlet = greenlet;
}

struct task_step *task_step_on(PyObject *greenlet)
{
    struct task_step *step = steps;
    while (step != NULL && step->greenlet != greenlet)
        step = step->next;
    return step;
}

void task_steps_forget(void)
{
    task_step = steps = NULL;
}

void task_steps_hide(void)
{
    for (struct task_step *step = task_step; step != NULL; step = step->outer)
        step_hide(step);
}

/* Outermost first. */
static void steps_show(struct task_step *step)
{
    if (step == NULL)
        return;
    steps_show(step->outer);
    step_show(step);
}

void task_steps_show(struct task_step *step)
{
    task_step = step;
    steps_show(step);
}

/* Name 0: the filter holds it back, or the table of names is full. Partner of the relaxed load: the
 * thread that first finds the id of an annotation's name (annotation.h); all store the same. */
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
