/* SPDX-License-Identifier: MIT */
/* pool_side: the events of a pool besides those of its hooks, and the creation of hooks. */
#include "pool_side.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "annotation.h"
#include "greenlets.h"
#include "pool_task.h"
#include "state.h"

enum { COUNT_STEP = 64 };

annot_name pool_name(enum pool_name name)
{
    static const char *const texts[POOL_NAME_COUNT] = {
        [POOL_UNPICKLE] = "unpickle",
        [POOL_SEND] = "send",
        [POOL_SUBMIT] = "submit",
        [POOL_INITIALIZER] = "initializer",
        [POOL_BYTES] = ANNOT_POOL_KEY_BYTES,
        [POOL_CHUNK] = ANNOT_POOL_KEY_CHUNK,
        [POOL_TASKS] = "tasks",
        [POOL_SINCE] = ANNOT_POOL_KEY_SINCE,
        [POOL_POOL] = ANNOT_POOL_KEY_POOL,
        [POOL_METHOD] = ANNOT_POOL_KEY_METHOD,
        [POOL_NAME] = ANNOT_POOL_KEY_NAME,
        [POOL_KIND] = ANNOT_POOL_KEY_KIND,
        [POOL_SIZE] = ANNOT_POOL_KEY_SIZE,
        [POOL_STARTED] = ANNOT_POOL_KEY_STARTED,
        [POOL_WORKER] = "worker",
    };
    static annot_name ids[POOL_NAME_COUNT];
    return annot_site_name(&ids[name], texts[name]);
}

struct annot_event pool_side_event(annot_name name, enum annot_pool_role role)
{
    /* One number for both: the domain, and the category above it. Relaxed: all threads store the
     * same. */
    static uint32_t numbers[ANNOT_POOL_CALL + 1];
    uint32_t known = __atomic_load_n(&numbers[role], __ATOMIC_RELAXED);
    if (known == 0) {
        annot_domain domain = annot_domain_create("python");
        annot_category category =
            annot_category_observed(domain, "pool", ANNOT_OBSERVER_POOL, (uint16_t)role);
        known = (uint32_t)category << 16 | domain;
        __atomic_store_n(&numbers[role], known, __ATOMIC_RELAXED);
    }
    return (struct annot_event){
        .name = name, .domain = (annot_domain)known, .category = (annot_category)(known >> 16)};
}

struct annot_value pool_number_value(enum pool_name key, int64_t number)
{
    struct annot_value value = annot_value_int64(NULL, number);
    value.key_name = pool_name(key);
    return value;
}

struct annot_value pool_text_value(enum pool_name key, const char *text)
{
    struct annot_value value = annot_value_string(NULL, text);
    value.key_name = pool_name(key);
    return value;
}

void pool_side_push(enum pool_name name, enum annot_pool_role role, enum pool_name key,
                    int64_t number)
{
    struct annot_value value = pool_number_value(key, number);
    struct annot_event event = pool_side_event(pool_name(name), role);
    event.values = &value;
    event.value_count = 1;
    annot_push_event(&event);
}

bool pool_side_has_greenlets(const struct pool_side *side)
{
    static bool is_noted; /* relaxed: a second note says the same */
    if (!side->is_local || !threads_are_greenlets())
        return false;
    if (__atomic_exchange_n(&is_noted, true, __ATOMIC_RELAXED))
        return true;
    annot_process_note(
        greenlets_have_tracks()
            ? "pools of threads: the workers are greenlets (threading is patched); their tasks are "
              "on the tracks of the greenlets, and not in the tables of pools"
            : "pools of threads: the workers are greenlets (threading is patched); their tasks are "
              "recorded only with --python=greenlets");
    return true;
}

static void begin(struct pool_side *side, struct context_range *range,
                  const struct annot_event *event)
{
    struct state *state = side->is_local ? state_of_type(Py_TYPE(side)) : NULL;
    if (pool_side_has_greenlets(side))
        context_range_begin_on_track(state, range, event);
    else /* a worker process has its tasks on its thread */
        context_range_begin(state, range, event);
}

void pool_side_begin_function(struct pool_side *side, struct context_range *range,
                              const struct pool_function *function, enum annot_pool_role role)
{
    Py_ssize_t chunk = function->chunk;
    struct annot_value value = pool_number_value(POOL_CHUNK, chunk);
    struct annot_event event = pool_side_event(0, role);
    PyObject *name = pool_function_name(function->function);
    event.text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (event.text == NULL) {
        PyErr_Clear();
        event.text = "?";
    }
    event.values = chunk > 0 ? &value : NULL;
    event.value_count = chunk > 0;
    begin(side, range, &event);
    Py_XDECREF(name);
}

static void count_emit(annot_name name, int64_t value)
{
    struct annot_event event = pool_side_event(name, ANNOT_POOL_COUNT);
    event.payload_kind = ANNOT_PAYLOAD_INT64;
    event.payload.int64 = value;
    annot_counter_event(&event);
}

/* Cancelled tasks have no result: if the pool has a dict of pending tasks, its size counts. A task
 * with a result is removed from it later. */
static int64_t count_change(struct pool_side *side, int64_t change)
{
    if (side->pending == NULL) /* relaxed: a single number, changed by all threads of a pool */
        return __atomic_add_fetch(&side->task_count, change, __ATOMIC_RELAXED);
    int64_t count = (int64_t)PyDict_Size(side->pending) + (change < 0 ? change : 0);
    count = count > 0 ? count : 0;
    __atomic_store_n(&side->task_count, count, __ATOMIC_RELAXED);
    return count;
}

/* True if the counters are close enough. Among thousands that wait, one more or less is not seen,
 * and to emit each change would be a seventh of all events. Concurrent threads may emit the same
 * values. */
static bool is_emitted(struct pool_side *side, int64_t queued, int64_t busy)
{
    int64_t change = queued - __atomic_load_n(&side->emitted_queued, __ATOMIC_RELAXED);
    bool near = change == 0 || (change < 0 ? -change : change) < queued / COUNT_STEP;
    return near && __atomic_load_n(&side->emitted_busy, __ATOMIC_RELAXED) == busy &&
           __atomic_load_n(&side->emitted_recording, __ATOMIC_RELAXED) == annot_recording();
}

void pool_side_count(struct pool_side *side, int64_t change)
{
    int64_t count = count_change(side, change);
    if (!annot_enabled())
        return;
    int64_t workers = __atomic_load_n(&side->worker_count, __ATOMIC_RELAXED);
    int64_t busy = count < workers ? count : workers;
    if (workers == 0)
        busy = __atomic_load_n(&side->running_count, __ATOMIC_RELAXED);
    if (is_emitted(side, count - busy, busy))
        return;
    __atomic_store_n(&side->emitted_queued, count - busy, __ATOMIC_RELAXED);
    __atomic_store_n(&side->emitted_busy, busy, __ATOMIC_RELAXED);
    __atomic_store_n(&side->emitted_recording, annot_recording(), __ATOMIC_RELAXED);
    count_emit(side->queued_name, count - busy);
    count_emit(side->busy_name, busy);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t pool_side_job_age_ns(const struct pool_side *side)
{
    return side->job_ns ? now_ns() - side->job_ns : 0;
}

/* ---- Facts about the pool -------------------------------------------------------------------- */

/* Its class, its size, how its workers are started, and its workers. A recording that begins later
 * gets them as well, when the pool is used next. */

/* True for the first time in this recording. */
static bool is_new(struct pool_side *side)
{
    if (!annot_enabled())
        return false;
    uint64_t recording = annot_recording();
    return __atomic_exchange_n(&side->facts_recording, recording, __ATOMIC_RELAXED) != recording;
}

/* The number of the pool, as a key-value. */
static struct annot_value id_value(const struct pool_side *side)
{
    struct annot_value value = annot_value_uint64(NULL, side->scope);
    value.key_name = pool_name(POOL_POOL);
    return value;
}

void pool_side_emit_facts(struct pool_side *side)
{
    int64_t size = __atomic_load_n(&side->size, __ATOMIC_RELAXED);
    if (side->kind[0] == '\0' || size == 0 || !is_new(side) || pool_side_has_greenlets(side))
        return;
    const struct annot_value values[] = {
        id_value(side),
        pool_text_value(POOL_NAME, side->label),
        pool_text_value(POOL_KIND, side->kind),
        pool_number_value(POOL_SIZE, size),
        pool_text_value(POOL_STARTED, side->started),
    };
    struct annot_event event = pool_side_event(pool_name(POOL_POOL), ANNOT_POOL_MADE);
    event.values = values;
    event.value_count = sizeof(values) / sizeof(*values);
    annot_mark_event(&event);
}

void pool_side_emit_worker(struct pool_side *side)
{
    if (!is_new(side) || pool_side_has_greenlets(side))
        return;
    const struct annot_value value = id_value(side);
    struct annot_event event = pool_side_event(pool_name(POOL_WORKER), ANNOT_POOL_WORKER);
    event.values = &value;
    event.value_count = 1;
    annot_mark_event(&event);
}

/* ---- Methods --------------------------------------------------------------------------------- */

/* Emits the range of a job, from which an arrow leads to its first task. */
static void emit_job(struct pool_side *side, const char *method, const int64_t *numbers)
{
    const struct annot_value values[] = {
        id_value(side),
        pool_text_value(POOL_METHOD, method),
        pool_number_value(POOL_CHUNK, numbers[2]),
        pool_number_value(POOL_TASKS, numbers[1]),
    };
    struct annot_event event = pool_side_event(pool_name(POOL_SUBMIT), ANNOT_POOL_SUBMIT);
    event.values = values;
    event.value_count = numbers[1] > 0 ? 4 : 3;
    annot_push_event(&event);
    annot_flow_begin(annot_flow_id(side->job_scope, (uint64_t)numbers[0]), "job");
    annot_pop();
}

/* submitted(job, tasks, chunk, workers, method): a job was made, and will be handed over soon.
 * tasks 0: unknown, they come one by one. */
static PyObject *side_submitted(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct pool_side *side = (struct pool_side *)self;
    int64_t numbers[4];
    const char *method = count == 5 ? PyUnicode_AsUTF8(args[4]) : NULL;
    if (method == NULL) {
        PyErr_SetString(PyExc_TypeError, "submitted() takes 4 numbers and a name");
        return NULL;
    }
    for (int i = 0; i < 4; i++) {
        numbers[i] = PyLong_AsLongLong(args[i]);
        if (PyErr_Occurred())
            return NULL;
    }
    int64_t tasks = numbers[1];
    __atomic_store_n(&side->size, numbers[3], __ATOMIC_RELAXED);
    __atomic_store_n(&side->worker_count, numbers[3], __ATOMIC_RELAXED);
    PyObject *time = PyLong_FromLongLong(tasks > 0 ? now_ns() : 0);
    if (time == NULL || PyDict_SetItem(side->jobs, args[0], time) < 0)
        PyErr_Clear();
    Py_XDECREF(time);
    if (annot_enabled() && !pool_side_has_greenlets(side)) {
        pool_side_emit_facts(side);
        emit_job(side, method, numbers);
    }
    if (tasks > 0)
        pool_side_count(side, tasks);
    Py_RETURN_NONE;
}

/* made(label, kind, workers, start_method): of a parent. workers 0: not known yet. */
static PyObject *side_made(PyObject *self, PyObject *args)
{
    struct pool_side *side = (struct pool_side *)self;
    const char *label, *kind, *started;
    long long size;
    if (!PyArg_ParseTuple(args, "ssLs:made", &label, &kind, &size, &started))
        return NULL;
    snprintf(side->label, sizeof(side->label), "%s", label);
    snprintf(side->kind, sizeof(side->kind), "%s", kind);
    snprintf(side->started, sizeof(side->started), "%s", started);
    __atomic_store_n(&side->size, size, __ATOMIC_RELAXED);
    pool_side_emit_facts(side);
    Py_RETURN_NONE;
}

/* joined(): the calling thread is one of the workers. */
static PyObject *side_joined(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    pool_side_emit_worker((struct pool_side *)self);
    Py_RETURN_NONE;
}

static const char call_name[] = "pyannot.pool_call";

static void call_free(PyObject *call)
{
    struct context_range *range = PyCapsule_GetPointer(call, call_name);
    Py_XDECREF(range->track);
    PyMem_Free(range);
}

/* Returns a capsule; None: the call has no range. */
static PyObject *call_begin(struct pool_side *side, const struct annot_event *event)
{
    if (!annot_enabled() || pool_side_has_greenlets(side))
        Py_RETURN_NONE;
    struct context_range *range = PyMem_Calloc(1, sizeof(*range));
    PyObject *call = range ? PyCapsule_New(range, call_name, call_free) : NULL;
    if (call != NULL)
        context_range_begin(state_of_type(Py_TYPE(side)), range, event);
    else
        PyMem_Free(range);
    return call != NULL || PyErr_Occurred() ? call : PyErr_NoMemory();
}

/* call(method, chunk): opens the range of a call that submits several tasks; returns the argument
 * of called(). chunk 0: each is one item. */
static PyObject *side_call(PyObject *self, PyObject *args)
{
    struct pool_side *side = (struct pool_side *)self;
    const char *method;
    long long chunk;
    if (!PyArg_ParseTuple(args, "sL:call", &method, &chunk))
        return NULL;
    pool_side_emit_facts(side);
    const struct annot_value values[] = {
        id_value(side),
        pool_text_value(POOL_METHOD, method),
        pool_number_value(POOL_CHUNK, chunk),
    };
    struct annot_event event = pool_side_event(0, ANNOT_POOL_CALL);
    event.text = method;
    event.values = values;
    event.value_count = sizeof(values) / sizeof(*values);
    return call_begin(side, &event);
}

/* called(call): closes the range. */
static PyObject *side_called(PyObject *self, PyObject *call)
{
    (void)self;
    struct context_range *range = PyCapsule_GetPointer(call, call_name);
    if (range == NULL)
        return NULL;
    context_range_end(range, NULL);
    Py_RETURN_NONE;
}

/* initializing(function): the worker's initializer is called next; the first wait for a task ends
 * its range. */
static PyObject *side_initializing(PyObject *self, PyObject *function)
{
    struct pool_side *side = (struct pool_side *)self;
    if (annot_enabled() && function != Py_None) {
        const struct pool_function initializer = {.function = function};
        context_range_end(&side->initializer, NULL);
        pool_side_begin_function(side, &side->initializer, &initializer, ANNOT_POOL_INITIALIZER);
    }
    Py_RETURN_NONE;
}

/* pending(dict): the pool's own dict of tasks without a result. */
static PyObject *side_pending(PyObject *self, PyObject *pending)
{
    struct pool_side *side = (struct pool_side *)self;
    if (PyDict_CheckExact(pending) && side->pending == NULL)
        side->pending = Py_NewRef(pending);
    Py_RETURN_NONE;
}

/* hook(kind, function, owner=None): replaces a function, or a method of `owner`, which it does not
 * keep alive. */
static PyObject *pool_hook(PyObject *self, PyObject *args)
{
    struct pool_hook_options options = {.side = (struct pool_side *)self};
    const char *kind;
    if (!PyArg_ParseTuple(args, "sO|O:hook", &kind, &options.function, &options.owner))
        return NULL;
    if (options.owner == Py_None)
        options.owner = NULL;
    return pool_hook_create(options.side->hook_type, kind, &options);
}

/* ---- The type -------------------------------------------------------------------------------- */

static int texts_set(struct pool_side *side, const char *scope, const char *label)
{
    char name[128];
    side->scope = annot_flow_id(scope, 0);
    snprintf(side->job_scope, sizeof(side->job_scope), "%.*s job", POOL_SCOPE_SIZE - 1, scope);
    if (label[0] == '\0')
        return 0;
    snprintf(name, sizeof(name), "%s: queued tasks", label);
    side->queued_name = annot_name_intern(name);
    snprintf(name, sizeof(name), "%s: busy workers", label);
    side->busy_name = annot_name_intern(name);
    side->jobs = PyDict_New();
    return side->jobs ? 0 : -1;
}

/* Finds the type that connections receive into. */
static int buffer_find(struct pool_side *side)
{
    PyObject *module = PyImport_ImportModule("io");
    PyObject *type = module ? PyObject_GetAttrString(module, "BytesIO") : NULL;
    Py_XDECREF(module);
    side->buffer_type = (PyTypeObject *)type;
    side->buffer_tell = type ? PyObject_GetAttrString(type, "tell") : NULL;
    return side->buffer_tell ? 0 : -1;
}

/* pool_side(scope, label, stars, chunkers, local=False, workers=0): a worker's has no label. */
static PyObject *side_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *scope, *label;
    PyObject *stars, *chunkers;
    int is_local = 0;
    long long workers = 0;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "pool_side() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "ssO!O!|pL:pool_side", &scope, &label, &PyTuple_Type, &stars,
                          &PyTuple_Type, &chunkers, &is_local, &workers))
        return NULL;
    struct pool_side *side = (struct pool_side *)type->tp_alloc(type, 0);
    if (side == NULL)
        return NULL;
    side->hook_type = (PyTypeObject *)PyObject_GetAttrString((PyObject *)type, "hook_type");
    side->stars = Py_NewRef(stars);
    side->chunkers = Py_NewRef(chunkers);
    side->is_local = is_local;
    side->worker_count = workers;
    side->process = getpid();
    if (side->hook_type == NULL || buffer_find(side) < 0 || texts_set(side, scope, label) < 0) {
        Py_DECREF(side);
        return NULL;
    }
    return (PyObject *)side;
}

static int side_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct pool_side *side = (struct pool_side *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(side->hook_type);
    Py_VISIT(side->stars);
    Py_VISIT(side->chunkers);
    Py_VISIT(side->jobs);
    Py_VISIT(side->pending);
    Py_VISIT(side->buffer_type);
    Py_VISIT(side->buffer_tell);
    return 0;
}

/* For a pool that is freed with tasks in it, which no longer wait. */
static void counters_end(struct pool_side *side)
{
    if (side->task_count == 0 || !annot_enabled() || side->process != getpid())
        return;
    count_emit(side->queued_name, 0);
    count_emit(side->busy_name, 0);
}

static void side_dealloc(PyObject *self)
{
    struct pool_side *side = (struct pool_side *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    counters_end(side);
    Py_CLEAR(side->initializer.track);
    Py_CLEAR(side->run.track);
    Py_XDECREF(side->hook_type);
    Py_XDECREF(side->stars);
    Py_XDECREF(side->chunkers);
    Py_XDECREF(side->jobs);
    Py_XDECREF(side->pending);
    Py_XDECREF(side->buffer_type);
    Py_XDECREF(side->buffer_tell);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"submitted", (PyCFunction)(void (*)(void))side_submitted, METH_FASTCALL, NULL},
    {"made", side_made, METH_VARARGS, NULL},
    {"joined", side_joined, METH_NOARGS, NULL},
    {"call", side_call, METH_VARARGS, NULL},
    {"called", side_called, METH_O, NULL},
    {"initializing", side_initializing, METH_O, NULL},
    {"pending", side_pending, METH_O, NULL},
    {"offer", pool_side_offer, METH_NOARGS, NULL},
    {"take", (PyCFunction)(void (*)(void))pool_side_take, METH_FASTCALL, NULL},
    {"done", (PyCFunction)(void (*)(void))pool_side_done, METH_FASTCALL, NULL},
    {"run", (PyCFunction)(void (*)(void))pool_side_run, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"hook", pool_hook, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, side_new},
    {Py_tp_traverse, side_traverse},
    {Py_tp_dealloc, side_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.pool_side",
    .basicsize = sizeof(struct pool_side),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

PyTypeObject *pool_side_type_create(PyObject *module)
{
    PyObject *side = PyType_FromModuleAndSpec(module, &spec, NULL);
    PyObject *hook = side ? (PyObject *)pool_hook_type_create(module) : NULL;
    if (hook == NULL || PyObject_SetAttrString(side, "hook_type", hook) < 0)
        Py_CLEAR(side);
    Py_XDECREF(hook);
    return (PyTypeObject *)side;
}
