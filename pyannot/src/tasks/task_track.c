/* SPDX-License-Identifier: MIT */
/* The tracks of tasks, and their ranges: see task.h. */

#include "task_track.h"

#include "annotation.h"
#include "arguments.h"
#include "entered.h"
#include "greenlets.h"
#include "inherited.h"
#include "scope.h"
#include "task.h"
#include "task_shown.h"
#include "tracing_tasks.h"

#include <annot/observers.h>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif
#include <string.h>

/* Limit for names of tracks that include the task, beside the coroutine: each takes a place in the
 * table of names, which is limited. */
enum { TASK_NAMES_MAX = 16384, TASK_NAME_BYTES = 1024 };

static uint32_t task_names_made;

/* Parent tracks of the tasks and the greenlets of this process, for all its interpreters; 0: not
 * made yet. */
static uint64_t parent_ids[2];

/* Free-threaded, a range may be left on another thread than the one that steps the task. */
static inline uint32_t count_add(uint32_t *count, int number)
{
#if PYANNOT_FREE_THREADED
    return __atomic_add_fetch(count, (uint32_t)number, __ATOMIC_RELAXED);
#else
    return *count += (uint32_t)number;
#endif
}

/* All threads store the same. */
static struct annot_event event_of(annot_category *category, const char *text,
                                   enum annot_asyncio_role role)
{
    static annot_domain domain;
    if (__atomic_load_n(category, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&domain, annot_domain_create("python"), __ATOMIC_RELAXED);
        __atomic_store_n(category,
                         annot_category_observed(domain, text, ANNOT_OBSERVER_ASYNCIO, role),
                         __ATOMIC_RELAXED);
    }
    return (struct annot_event){.domain = __atomic_load_n(&domain, __ATOMIC_RELAXED),
                                .category = __atomic_load_n(category, __ATOMIC_RELAXED)};
}

struct annot_event task_event(void)
{
    static annot_category category;
    return event_of(&category, "asyncio", ANNOT_ASYNCIO_TASK);
}

static struct annot_event life_event(const struct task_track *track)
{
    static annot_category category;
    return track->is_greenlet ? event_of(&category, "greenlets", ANNOT_ASYNCIO_TASK) : task_event();
}

struct annot_event blocked_event(void)
{
    static annot_category category;
    return event_of(&category, "asyncio", ANNOT_ASYNCIO_BLOCKED);
}

struct annot_event awaited_event(void)
{
    static annot_category category;
    return event_of(&category, "asyncio", ANNOT_ASYNCIO_AWAITED);
}

/* The child has one thread: there are no concurrent readers. */
void task_forked(void)
{
    __atomic_store_n(&parent_ids[false], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&parent_ids[true], 0, __ATOMIC_RELAXED);
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* Returns "fetch (Task-7)", while there is room for more names; else "fetch". */
static const char *label(char *buffer, const char *coroutine, const char *task)
{
    if (__atomic_load_n(&task_names_made, __ATOMIC_RELAXED) >= TASK_NAMES_MAX)
        return coroutine;
    __atomic_add_fetch(&task_names_made, 1, __ATOMIC_RELAXED);
    snprintf(buffer, TASK_NAME_BYTES, "%.900s (%.100s)", coroutine, task);
    return buffer;
}

/* Interpreters may call this at once, each under its own lock: the first one's track is kept.
 * Relaxed: the number is the only data. */
static struct annot_track parent_of(bool is_greenlet)
{
    static const char *const texts[] = {"asyncio tasks", "greenlets"};
    static annot_name names[2];
    uint64_t *id = &parent_ids[is_greenlet];
    struct annot_track parent = {.id = __atomic_load_n(id, __ATOMIC_RELAXED),
                                 .name = annot_site_name(&names[is_greenlet], texts[is_greenlet])};
    if (parent.id != 0)
        return parent;
    struct annot_track made = annot_track_create(texts[is_greenlet], NULL);
    if (__atomic_compare_exchange_n(id, &parent.id, made.id, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        return made;
    return parent;
}

static void track_open(struct task_track *track)
{
    char buffer[TASK_NAME_BYTES];
    uint32_t process = __atomic_load_n(&task_process, __ATOMIC_RELAXED);
    const struct annot_track parent = parent_of(track->is_greenlet);
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

/* Returns a str with a UTF-8 form, whatever the object is. */
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

/* Finds the function of a greenlet with its type's tp_traverse: a greenlet that has begun shows it
 * nowhere else, and before greenlet 3.3 not even there. gevent's have an attribute for it. */
static int take_function(PyObject *object, void *ret_function)
{
    if (!PyFunction_Check(object) && !PyMethod_Check(object) && !PyCFunction_Check(object))
        return 0;
    *(PyObject **)ret_function = object;
    return 1;
}

/* Returns the name of the function that it is in. NULL without an exception: it has not begun. */
static PyObject *outermost_name(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get()), *back = frame;
    while (back != NULL && (back = PyFrame_GetBack(frame)) != NULL)
        Py_SETREF(frame, back);
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *name = code ? Py_NewRef(code->co_qualname) : NULL;
#else
    PyObject *name = code ? Py_NewRef(code->co_name) : NULL;
#endif
    Py_XDECREF(code);
    Py_XDECREF(frame);
    return name;
}

/* Returns the name of the running greenlet; NULL: not known yet. Runs no code of the program. */
static PyObject *greenlet_name(PyObject *greenlet)
{
    PyObject *key = PyUnicode_FromString("_run"), *function = NULL;
    PyObject *run = key ? PyObject_GenericGetAttr(greenlet, key) : NULL;
    PyErr_Clear();
    if (run == NULL || !take_function(run, &function))
        Py_TYPE(greenlet)->tp_traverse(greenlet, take_function, &function);
    PyObject *name = function ? PyObject_GetAttrString(function, "__qualname__") : outermost_name();
    PyErr_Clear();
    PyObject *text = name || run ? text_from(name, run ? Py_TYPE(run)->tp_name : "?") : NULL;
    Py_XDECREF(name);
    Py_XDECREF(run);
    Py_XDECREF(key);
    return text;
}

static PyObject *number_of_greenlet(void)
{
    static uint32_t number;
    return PyUnicode_FromFormat("greenlet %u", __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED));
}

/* `before`: the previous object in its place, or NULL. */
static struct task_track *track_create(struct state *state, PyObject *task, PyObject *before,
                                       bool is_greenlet)
{
    struct task_track *track = PyObject_New(struct task_track, state->tasks.track_type);
    if (track == NULL)
        return NULL;
    memset((char *)track + sizeof(PyObject), 0, sizeof(*track) - sizeof(PyObject));
    track->origin = before && inherited_of(before) ? Py_NewRef(before) : NULL;
    track->is_greenlet = is_greenlet;
    track->text = is_greenlet ? greenlet_name(task) : coroutine_name(task);
    if (track->text != NULL)
        track->task_name = is_greenlet ? number_of_greenlet() : name_of_task(task);
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
        track = track_create(state, task, found, false);
        Py_XDECREF(found);
    } else if (track->process != __atomic_load_n(&task_process, __ATOMIC_RELAXED)) {
        track_open(track); /* a forked child: the other track is the parent's */
    }
    PyErr_Clear();
    return track;
}

/* Looks in the greenlet's dictionary. */
struct task_track *task_track_kept(struct state *state, PyObject *greenlet)
{
    PyObject **dict = _PyObject_GetDictPtr(greenlet);
    PyObject *found = dict && *dict ? PyDict_GetItemWithError(*dict, state->tasks.key) : NULL;
    PyErr_Clear();
    bool is_track = found != NULL && Py_IS_TYPE(found, state->tasks.track_type);
    struct task_track *track = is_track ? (struct task_track *)found : NULL;
    bool is_ours = track && track->process == __atomic_load_n(&task_process, __ATOMIC_RELAXED);
    return is_ours ? track : NULL;
}

struct task_track *task_track_of_greenlet(struct state *state, PyObject *greenlet)
{
    struct task_track *track = task_track_kept(state, greenlet);
    if (track != NULL)
        return (struct task_track *)Py_NewRef((PyObject *)track);
    track = track_create(state, greenlet, NULL, true);
    PyErr_Clear();
    return track;
}

/* Has no effect on an object without attributes. */
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

/* True if the process has joined another recording since the task's life was begun. The gate
 * changes whenever any recording begins or ends, so it shows only when to check. */
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
        annot_track_end(&track->track); /* no effect in a new recording */
        task_shown_end(track);
        track->life = TASK_LIFE_NONE;
    }
    if (track->life != TASK_LIFE_NONE)
        return;
    uint64_t generation = annot_gate_v1.generation;
    const struct annot_value values[] = {
        annot_value_string("task", PyUnicode_AsUTF8(track->task_name)),
    };
    struct annot_event event = life_event(track);
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

/* Ends the range of a task that is freed before its end. */
static void track_dealloc(PyObject *self)
{
    struct task_track *track = (struct task_track *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (task_cache.track == track)
        task_cache = (struct task_cache){0};
    for (struct task_step *step = task_step; step != NULL; step = step->outer)
        if (step->track == track)
            step->track = NULL;
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

/* More key-values than a record holds, which counts those left out. The stack has room for the
 * usual ones. */
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
    if (!values) { /* without memory, keeps the first ones */
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
        return; /* opened before a fork: the parent closes it */
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

/* ---- Ranges around code of the program ------------------------------------------------------- */

/* Samples show ranges by the id of their name. */
static void task_event_begin(struct task_track *track, const struct annot_event *event)
{
    struct annot_event named = *event;
    if (named.name == 0)
        named.name = annot_name_intern(named.text);
    annot_track_begin_event(&track->track, &named);
    task_shown_begin(track, &named);
    count_add(&track->open, 1);
}

static void context_begin(struct context_range *range, const struct annot_event *event)
{
    range->is_open = true;
    range->forks = entered_forks;
    if (range->track != NULL)
        task_event_begin(range->track, event);
    else
        annot_push_event(event);
}

/* New reference; NULL: the thread's stack. */
static struct task_track *context_track(struct state *state)
{
    PyObject *kind, *value, *traceback;
    if (!greenlet_is_tracked(state))
        return NULL;
    PyErr_Fetch(&kind, &value, &traceback);
    struct task_track *track = task_running(state);
    PyErr_Restore(kind, value, traceback);
    return (struct task_track *)Py_XNewRef((PyObject *)track);
}

void context_range_begin(struct state *state, struct context_range *range,
                         const struct annot_event *event)
{
    range->track = context_track(state);
    context_begin(range, event);
}

void context_range_begin_on_track(struct state *state, struct context_range *range,
                                  const struct annot_event *event)
{
    range->track = context_track(state);
    if (range->track != NULL)
        context_begin(range, event);
}

void context_range_end(struct context_range *range, PyObject *exception)
{
    struct task_track *track = range->track;
    if (!range->is_open)
        return;
    range->is_open = false;
    range->track = NULL;
    if (track == NULL)
        exception_pop(exception);
    else if (range->forks == entered_forks)
        task_range_end(track, exception);
    Py_XDECREF(track);
}

/* ---- The type -------------------------------------------------------------------------------- */

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
