/* SPDX-License-Identifier: MIT */
/* The tracks of tasks and what is recorded on them: see task.h. */
#include "task_parts.h"

#include "annotation.h"
#include "arguments.h"
#include "inherited.h"
#include "task.h"
#include "tracing_tasks.h"

#include <annot/observers.h>

#include <string.h>

/* Names of tracks that tell the task, beside the coroutine: each takes a place in the table of
 * names, which has an end. */
enum { TASK_NAMES_MAX = 16384, TASK_NAME_BYTES = 1024 };

static uint32_t task_names_made;

/* The line that the tasks of this process stand below, of all its interpreters; 0: none yet. */
static uint64_t tasks_parent_id;

/* Free-threaded, a range may be left on another thread than the one that steps the task. */
static inline uint32_t count_add(uint32_t *count, int number)
{
#if PYANNOT_FREE_THREADED
    return __atomic_add_fetch(count, (uint32_t)number, __ATOMIC_RELAXED);
#else
    return *count += (uint32_t)number;
#endif
}

/* The same whoever stores it. */
static struct annot_event asyncio_event(annot_category *category, enum annot_asyncio_role role)
{
    static annot_domain domain;
    if (__atomic_load_n(category, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&domain, annot_domain_create("python"), __ATOMIC_RELAXED);
        __atomic_store_n(category,
                         annot_category_observed(domain, "asyncio", ANNOT_OBSERVER_ASYNCIO, role),
                         __ATOMIC_RELAXED);
    }
    return (struct annot_event){.domain = __atomic_load_n(&domain, __ATOMIC_RELAXED),
                                .category = __atomic_load_n(category, __ATOMIC_RELAXED)};
}

struct annot_event task_event(void)
{
    static annot_category category;
    return asyncio_event(&category, ANNOT_ASYNCIO_TASK);
}

struct annot_event blocked_event(void)
{
    static annot_category category;
    return asyncio_event(&category, ANNOT_ASYNCIO_BLOCKED);
}

struct annot_event awaited_event(void)
{
    static annot_category category;
    return asyncio_event(&category, ANNOT_ASYNCIO_AWAITED);
}

/* The only thread: nobody looks at the same time. */
void task_forked(void)
{
    __atomic_store_n(&tasks_parent_id, 0, __ATOMIC_RELAXED);
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* "fetch (Task-7)", while there is room for so many names; else "fetch". */
static const char *label(char *buffer, const char *coroutine, const char *task)
{
    if (__atomic_load_n(&task_names_made, __ATOMIC_RELAXED) >= TASK_NAMES_MAX)
        return coroutine;
    __atomic_add_fetch(&task_names_made, 1, __ATOMIC_RELAXED);
    snprintf(buffer, TASK_NAME_BYTES, "%.900s (%.100s)", coroutine, task);
    return buffer;
}

/* Interpreters may ask at once, each under a lock of its own: what the first one made holds.
 * Relaxed: the number is all there is. */
static struct annot_track parent_of_tasks(void)
{
    static const char text[] = "asyncio tasks";
    static annot_name name;
    struct annot_track parent = {.id = __atomic_load_n(&tasks_parent_id, __ATOMIC_RELAXED),
                                 .name = annot_site_name(&name, text)};
    if (parent.id != 0)
        return parent;
    struct annot_track made = annot_track_create(text, NULL);
    if (__atomic_compare_exchange_n(&tasks_parent_id, &parent.id, made.id, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        return made;
    return parent;
}

static void track_open(struct task_track *track)
{
    char buffer[TASK_NAME_BYTES];
    uint32_t process = __atomic_load_n(&task_process, __ATOMIC_RELAXED);
    const struct annot_track parent = parent_of_tasks();
    const char *coroutine = PyUnicode_AsUTF8(track->text);
    const char *task = PyUnicode_AsUTF8(track->task_name);
    track->track = annot_track_create(label(buffer, coroutine, task), &parent);
    track->name = annot_name_intern(coroutine);
    track->process = process;
    track->open = 0;
    track->pushed = 0;
    track->life = TASK_LIFE_NONE;
    track->suspension = (struct task_suspension){0};
    task_shown_clear(track);
    trace_task_forget(track);
}

/* A str with a UTF-8 form, whatever the object says of itself. */
static PyObject *text_from(PyObject *object, const char *otherwise)
{
    PyObject *owner = NULL;
    const char *text = object && PyUnicode_Check(object) ? text_of(object, &owner) : NULL;
    PyObject *result = PyUnicode_FromString(text ? text : otherwise);
    Py_XDECREF(owner);
    return result;
}

static PyObject *call_method(PyObject *object, const char *name)
{
    return object ? PyObject_CallMethod(object, name, NULL) : NULL;
}

static PyObject *coroutine_name(PyObject *task)
{
    PyObject *coroutine = call_method(task, "get_coro");
    PyObject *name = coroutine ? PyObject_GetAttrString(coroutine, "__qualname__") : NULL;
    const char *type = coroutine ? Py_TYPE(coroutine)->tp_name : "task";
    PyErr_Clear();
    PyObject *text = text_from(name, type);
    Py_XDECREF(name);
    Py_XDECREF(coroutine);
    return text;
}

static PyObject *name_of_task(PyObject *task)
{
    PyObject *name = call_method(task, "get_name");
    PyErr_Clear();
    PyObject *text = text_from(name, "?");
    Py_XDECREF(name);
    return text;
}

/* `before`: what was in its place, or NULL. */
static struct task_track *track_create(struct state *state, PyObject *task, PyObject *before)
{
    struct task_track *track = PyObject_New(struct task_track, state->tasks.track_type);
    if (track == NULL)
        return NULL;
    memset((char *)track + sizeof(PyObject), 0, sizeof(*track) - sizeof(PyObject));
    track->origin = before && inherited_of(before) ? Py_NewRef(before) : NULL;
    track->text = coroutine_name(task);
    track->task_name = name_of_task(task);
    if (track->text == NULL || track->task_name == NULL ||
        PyObject_GenericSetAttr(task, state->tasks.key, (PyObject *)track) < 0) {
        Py_DECREF(track);
        return NULL;
    }
    track_open(track);
    return track;
}

struct task_track *task_track_of(struct state *state, PyObject *task)
{
    PyObject *found = NULL;
    if (attribute_find(task, state->tasks.key, &found) < 0)
        PyErr_Clear();
    bool is_track = found != NULL && Py_IS_TYPE(found, state->tasks.track_type);
    struct task_track *track = is_track ? (struct task_track *)found : NULL;
    if (track == NULL) {
        track = track_create(state, task, found);
        Py_XDECREF(found);
    } else if (track->process != __atomic_load_n(&task_process, __ATOMIC_RELAXED)) {
        track_open(track); /* a forked child: the parent goes on with the other one */
    }
    PyErr_Clear();
    return track;
}

/* An object that may have no attributes goes without. */
void task_keep_origin(struct state *state, PyObject *task, PyObject *origin)
{
    PyObject *found = NULL;
    if (state->tasks.track_type == NULL)
        return;
    if (attribute_find(task, state->tasks.key, &found) == 0)
        PyObject_GenericSetAttr(task, state->tasks.key, origin);
    else if (found != NULL && Py_IS_TYPE(found, state->tasks.track_type)) /* of an eager task */
        Py_XSETREF(((struct task_track *)found)->origin, Py_NewRef(origin));
    PyErr_Clear();
    Py_XDECREF(found);
}

/* ---- The range of its life ------------------------------------------------------------------- */

/* Whether the process has come into another recording since the task's life was begun. The gate
 * changes whenever anybody's recording begins or ends, so it says only when to ask. */
static bool is_recorded_anew(struct task_track *track)
{
    uint64_t generation = annot_gate_v1.generation;
    uint64_t recording = track->generation != generation ? annot_recording() : 0;
    if (recording == track->recording)
        track->generation = generation;
    return recording != 0 && recording != track->recording;
}

void task_life_begin(struct task_track *track)
{
    if (track->life == TASK_LIFE_OPEN && track->open == 0 && track->pushed == 0 &&
        is_recorded_anew(track)) {
        annot_track_end(&track->track); /* nothing, in a new recording */
        task_shown_end(track);
        track->life = TASK_LIFE_NONE;
    }
    if (track->life != TASK_LIFE_NONE)
        return;
    uint64_t generation = annot_gate_v1.generation;
    const struct annot_value values[] = {
        annot_value_string("task", PyUnicode_AsUTF8(track->task_name)),
    };
    struct annot_event event = task_event();
    event.name = track->name;
    event.text = PyUnicode_AsUTF8(track->text);
    event.values = values;
    event.value_count = 1;
    annot_track_begin_event(&track->track, &event);
    task_shown_begin(track, &event);
    track->generation = generation;
    track->recording = annot_recording();
    track->life = TASK_LIFE_OPEN;
}

void task_life_end(struct task_track *track)
{
    track->done = true;
    if (track->process == __atomic_load_n(&task_process, __ATOMIC_RELAXED))
        trace_task_end(track);
    if (track->life != TASK_LIFE_OPEN || track->open != 0)
        return;
    track->life = TASK_LIFE_ENDED;
    if (track->process != __atomic_load_n(&task_process, __ATOMIC_RELAXED))
        return;
    for (; track->pushed > 0; track->pushed--) {
        annot_track_end(&track->track);
        task_shown_end(track);
    }
    annot_track_end(&track->track);
    task_shown_end(track);
}

/* A task that is thrown away before its end. */
static void track_dealloc(PyObject *self)
{
    struct task_track *track = (struct task_track *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (task_cache.track == track)
        task_cache = (struct task_cache){0};
    task_life_end(track);
    task_shown_clear(track);
    trace_task_forget(track);
    Py_XDECREF(track->origin);
    Py_XDECREF(track->text);
    Py_XDECREF(track->task_name);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

typedef void emit_on_track(const struct annot_track *track, const struct annot_event *event);

/* More key-values than a record holds; what is left out is counted there. The stack has room for
 * the usual ones. */
enum { VALUES_MAX = 4096 / 16 + 1, VALUES_FEW = 8 };

/* A track takes its payload among the key-values only. */
static void emit_with_payload(const struct task_track *track, struct annotation *annotation,
                              emit_on_track *emit)
{
    annotation_name_id(annotation);
    struct annot_event event = annotation->event;
    struct annot_value few[VALUES_FEW], *values = few;
    size_t count = event.value_count < VALUES_MAX ? event.value_count : VALUES_MAX - 1;
    if (count >= VALUES_FEW)
        values = PyMem_Malloc((count + 1) * sizeof(*values));
    if (!values) { /* as good as it can be told */
        values = few;
        count = VALUES_FEW - 1;
    }
    values[0] = annot_value_make("value", event.payload_kind);
    if (event.payload_kind == ANNOT_PAYLOAD_BOOL)
        values[0].value.boolean = event.payload.boolean;
    else
        values[0].value.uint64 = event.payload.uint64;
    if (count > 0)
        memcpy(values + 1, event.values, count * sizeof(*values));
    event.payload_kind = ANNOT_PAYLOAD_NONE;
    event.values = values;
    event.value_count = count + 1;
    emit(&track->track, &event);
    if (values != few)
        PyMem_Free(values);
}

void task_range_begin(struct task_track *track, struct annotation *annotation)
{
    if (annotation->event.payload_kind != ANNOT_PAYLOAD_NONE)
        emit_with_payload(track, annotation, annot_emit_track_begin_event);
    else
        emit_track_begin(&track->track, annotation);
    task_shown_begin(track, &annotation->event);
    count_add(&track->open, 1);
}

void task_range_end(struct task_track *track, PyObject *exception)
{
    if (track->process != __atomic_load_n(&task_process, __ATOMIC_RELAXED))
        return; /* opened before a fork: the parent's to close */
    exception_track_end(&track->track, exception);
    task_shown_end(track);
    if (track->open != 0 && count_add(&track->open, -1) == 0 && track->done)
        task_life_end(track);
}

bool task_push(struct state *state, struct annotation *annotation)
{
    struct task_track *track = task_running(state);
    if (track == NULL)
        return false;
    task_range_begin(track, annotation);
    count_add(&track->open, -1);
    count_add(&track->pushed, 1);
    return true;
}

bool task_pop(struct state *state)
{
    struct task_track *track = task_running(state);
    if (track == NULL || track->pushed == 0)
        return false;
    count_add(&track->pushed, -1);
    annot_track_end(&track->track);
    task_shown_end(track);
    return true;
}

bool task_mark(struct state *state, struct annotation *annotation)
{
    struct task_track *track = task_running(state);
    if (track == NULL)
        return false;
    if (annotation->event.payload_kind != ANNOT_PAYLOAD_NONE)
        emit_with_payload(track, annotation, annot_emit_track_mark_event);
    else
        emit_track_mark(&track->track, annotation);
    return true;
}

static PyType_Slot slots[] = {{Py_tp_dealloc, track_dealloc}, {0, NULL}};

static PyType_Spec spec = {
    .name = "pyannot._native.task_track",
    .basicsize = sizeof(struct task_track),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *task_track_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* ---- What samples know ----------------------------------------------------------------------- */

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

uint32_t task_open_names(struct task_track *track, struct task_open *names, uint32_t count)
{
    uint32_t told = 0;
    names_lock(track);
    for (uint32_t i = 0; i < track->name_count && i < track->name_room && told < count; i++)
        if (track->names[i].name != 0)
            names[told++] = track->names[i];
    names_unlock(track);
    return told;
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
