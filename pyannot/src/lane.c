/* SPDX-License-Identifier: MIT */
/* pool_lane: what a pool emits beside its hooks, and the making of these. */
#include "lane.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exception.h"

enum { COUNT_STEP = 64 };

annot_name lane_name(enum lane_name name)
{
    static const char *const texts[LANE_NAME_COUNT] = {
        [LANE_UNPICKLE] = "unpickle", [LANE_SEND] = "send",
        [LANE_SUBMIT] = "submit",     [LANE_INITIALIZER] = "initializer",
        [LANE_BYTES] = "bytes",       [LANE_CHUNK] = "chunk",
        [LANE_TASKS] = "tasks",       [LANE_SINCE] = "submitted_ns_ago",
    };
    static annot_name ids[LANE_NAME_COUNT];
    return annot_site_name(&ids[name], texts[name]);
}

struct annot_event lane_event(annot_name name)
{
    /* One number for both: the domain, and the category above it. Relaxed: it is the same whichever
     * thread stores it. */
    static uint32_t numbers;
    uint32_t known = __atomic_load_n(&numbers, __ATOMIC_RELAXED);
    if (known == 0) {
        annot_domain domain = annot_domain_create("python");
        known = (uint32_t)annot_category_create(domain, "pool") << 16 | domain;
        __atomic_store_n(&numbers, known, __ATOMIC_RELAXED);
    }
    return (struct annot_event){
        .name = name, .domain = (annot_domain)known, .category = (annot_category)(known >> 16)};
}

static struct annot_value number_value(enum lane_name key, int64_t number)
{
    struct annot_value value = annot_value_int64(NULL, number);
    value.key_name = lane_name(key);
    return value;
}

void lane_push(enum lane_name name, enum lane_name key, int64_t number)
{
    struct annot_value value = number_value(key, number);
    struct annot_event event = lane_event(lane_name(name));
    event.values = &value;
    event.value_count = 1;
    annot_push_event(&event);
}

void lane_push_function(PyObject *function, Py_ssize_t chunk)
{
    struct annot_value value = number_value(LANE_CHUNK, chunk);
    struct annot_event event = lane_event(0);
    PyObject *name = lane_function_name(function);
    event.text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (event.text == NULL) {
        PyErr_Clear();
        event.text = "?";
    }
    event.values = chunk > 0 ? &value : NULL;
    event.value_count = chunk > 0;
    annot_push_event(&event);
    Py_XDECREF(name);
}

static void count_tell(annot_name name, int64_t value)
{
    struct annot_event event = lane_event(name);
    event.payload_kind = ANNOT_PAYLOAD_INT64;
    event.payload.int64 = value;
    annot_counter_event(&event);
}

/* What is cancelled has no result: where there is a list of what is under way, that is asked. A
 * task whose result is here is taken off it later. */
static int64_t count_change(struct lane *lane, int64_t change)
{
    if (lane->pending == NULL) /* relaxed: a number by itself, changed by all threads of a pool */
        return __atomic_add_fetch(&lane->task_count, change, __ATOMIC_RELAXED);
    int64_t count = (int64_t)PyDict_Size(lane->pending) + (change < 0 ? change : 0);
    count = count > 0 ? count : 0;
    __atomic_store_n(&lane->task_count, count, __ATOMIC_RELAXED);
    return count;
}

/* Of thousands that wait one more or less is not seen, and to tell each would be a seventh of all
 * events. Threads that come at the same time may tell what is told already. */
static bool is_told(struct lane *lane, int64_t queued, int64_t busy)
{
    int64_t change = queued - __atomic_load_n(&lane->told_queued, __ATOMIC_RELAXED);
    bool near = change == 0 || (change < 0 ? -change : change) < queued / COUNT_STEP;
    return near && __atomic_load_n(&lane->told_busy, __ATOMIC_RELAXED) == busy &&
           __atomic_load_n(&lane->told_recording, __ATOMIC_RELAXED) == annot_recording();
}

void lane_count(struct lane *lane, int64_t change)
{
    int64_t count = count_change(lane, change);
    if (!annot_enabled())
        return;
    int64_t workers = __atomic_load_n(&lane->worker_count, __ATOMIC_RELAXED);
    int64_t busy = count < workers ? count : workers;
    if (workers == 0)
        busy = __atomic_load_n(&lane->running_count, __ATOMIC_RELAXED);
    if (is_told(lane, count - busy, busy))
        return;
    __atomic_store_n(&lane->told_queued, count - busy, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->told_busy, busy, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->told_recording, annot_recording(), __ATOMIC_RELAXED);
    count_tell(lane->queued_name, count - busy);
    count_tell(lane->busy_name, busy);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t lane_job_age_ns(const struct lane *lane)
{
    return lane->job_ns ? now_ns() - lane->job_ns : 0;
}

/* ---- Methods ----------------------------------------------------------------------------------
 */

/* submitted(job, tasks, chunk, workers): a job was made, and will be handed over soon. tasks 0:
 * nobody knows how many, they come one by one. */
static PyObject *lane_submitted(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct lane *lane = (struct lane *)self;
    int64_t numbers[4];
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "submitted() takes 4 arguments");
        return NULL;
    }
    for (int i = 0; i < 4; i++) {
        numbers[i] = PyLong_AsLongLong(args[i]);
        if (PyErr_Occurred())
            return NULL;
    }
    int64_t job = numbers[0], tasks = numbers[1];
    __atomic_store_n(&lane->worker_count, numbers[3], __ATOMIC_RELAXED);
    PyObject *time = PyLong_FromLongLong(tasks > 0 ? now_ns() : 0);
    if (time == NULL || PyDict_SetItem(lane->jobs, args[0], time) < 0)
        PyErr_Clear();
    Py_XDECREF(time);
    if (annot_enabled()) {
        struct annot_value values[2] = {number_value(LANE_TASKS, tasks),
                                        number_value(LANE_CHUNK, numbers[2])};
        struct annot_event event = lane_event(lane_name(LANE_SUBMIT));
        event.values = values;
        event.value_count = tasks > 0 ? 2 : 0;
        annot_push_event(&event);
        annot_flow_begin(annot_flow_id(lane->job_scope, (uint64_t)job), "job");
        annot_pop();
    }
    if (tasks > 0)
        lane_count(lane, tasks);
    Py_RETURN_NONE;
}

/* initializing(function): the worker's initializer is called next; the first wait for a task ends
 * its range. */
static PyObject *lane_initializing(PyObject *self, PyObject *function)
{
    struct lane *lane = (struct lane *)self;
    if (annot_enabled() && function != Py_None) {
        lane_push_function(function, 0);
        lane->in_initializer = true;
    }
    Py_RETURN_NONE;
}

/* pending(dict): the list of tasks that have no result yet, which the pool keeps. */
static PyObject *lane_pending(PyObject *self, PyObject *pending)
{
    struct lane *lane = (struct lane *)self;
    if (PyDict_CheckExact(pending) && lane->pending == NULL)
        lane->pending = Py_NewRef(pending);
    Py_RETURN_NONE;
}

/* A task that waits for a thread: a capsule of the lane, whose context is its flow. */
static const char offered_name[] = "pyannot.offered", taken_name[] = "pyannot.taken";

/* Of one that nobody took (it was cancelled, or the pool shut down): it waits no more. */
static void offered_free(PyObject *task)
{
    bool is_offered = PyCapsule_IsValid(task, offered_name);
    struct lane *lane = PyCapsule_GetPointer(task, is_offered ? offered_name : taken_name);
    if (is_offered)
        lane_count(lane, -1);
    Py_DECREF(lane);
}

/* offer(): a task for a thread of this process. */
static PyObject *lane_offer(PyObject *self, PyObject *ignored)
{
    struct lane *lane = (struct lane *)self;
    (void)ignored;
    annot_flow flow = 0;
    if (annot_enabled()) {
        struct annot_event event = lane_event(lane_name(LANE_SUBMIT));
        flow = annot_flow_new();
        annot_push_event(&event);
        annot_flow_begin(flow, "task");
        annot_pop();
    }
    lane_count(lane, 1);
    PyObject *task = PyCapsule_New(Py_NewRef(self), offered_name, offered_free);
    if (task == NULL)
        Py_DECREF(self);
    else
        PyCapsule_SetContext(task, (void *)(uintptr_t)flow);
    return task;
}

/* take(task, function): a thread begins with it. Whether a range was opened. */
static PyObject *lane_take(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct lane *lane = (struct lane *)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "take() takes 2 arguments");
        return NULL;
    }
    if (!PyCapsule_IsValid(args[0], offered_name)) {
        PyErr_SetString(PyExc_TypeError, "take() takes what offer() gave, once");
        return NULL;
    }
    annot_flow flow = (annot_flow)(uintptr_t)PyCapsule_GetContext(args[0]);
    PyCapsule_SetName(args[0], taken_name);
    __atomic_add_fetch(&lane->running_count, 1, __ATOMIC_RELAXED);
    lane_count(lane, 0);
    if (!annot_enabled())
        Py_RETURN_FALSE;
    PyObject *function = args[1];
    if (PyTuple_CheckExact(function) && PyTuple_GET_SIZE(function) > 0)
        function = PyTuple_GET_ITEM(function, 0); /* with its arguments */
    struct lane_task task = {.function = function};
    struct lane_function found = lane_function_find(lane, &task);
    lane_push_function(found.function, found.chunk);
    annot_flow_end(flow);
    Py_DECREF(found.function);
    Py_RETURN_TRUE;
}

/* done(opened, error): and is through with it. `error` is what it raised, or None. */
static PyObject *lane_done(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct lane *lane = (struct lane *)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "done() takes 2 arguments");
        return NULL;
    }
    if (args[0] == Py_True)
        exception_pop(args[1] == Py_None ? NULL : (PyObject *)Py_TYPE(args[1]));
    __atomic_add_fetch(&lane->running_count, -1, __ATOMIC_RELAXED);
    lane_count(lane, -1);
    Py_RETURN_NONE;
}

/* hook(kind, function, owner=None): stands in for a function, or for a method of `owner`, which it
 * does not keep alive. */
static PyObject *lane_hook(PyObject *self, PyObject *args)
{
    struct lane_hook_options options = {.lane = (struct lane *)self};
    const char *kind;
    if (!PyArg_ParseTuple(args, "sO|O:hook", &kind, &options.function, &options.owner))
        return NULL;
    if (options.owner == Py_None)
        options.owner = NULL;
    return lane_hook_create(options.lane->hook_type, kind, &options);
}

/* ---- The type ---------------------------------------------------------------------------------
 */

static int texts_set(struct lane *lane, const char *scope, const char *label)
{
    char name[128];
    lane->scope = annot_flow_id(scope, 0);
    snprintf(lane->job_scope, sizeof(lane->job_scope), "%.*s job", LANE_SCOPE_SIZE - 1, scope);
    if (label[0] == '\0')
        return 0;
    snprintf(name, sizeof(name), "%s: queued tasks", label);
    lane->queued_name = annot_name_intern(name);
    snprintf(name, sizeof(name), "%s: busy workers", label);
    lane->busy_name = annot_name_intern(name);
    lane->jobs = PyDict_New();
    return lane->jobs ? 0 : -1;
}

/* What connections receive into. */
static int buffer_find(struct lane *lane)
{
    PyObject *module = PyImport_ImportModule("io");
    PyObject *type = module ? PyObject_GetAttrString(module, "BytesIO") : NULL;
    Py_XDECREF(module);
    lane->buffer_type = (PyTypeObject *)type;
    lane->buffer_tell = type ? PyObject_GetAttrString(type, "tell") : NULL;
    return lane->buffer_tell ? 0 : -1;
}

/* pool_lane(scope, label, stars, chunkers, local=False, workers=0): a worker's has no label. */
static PyObject *lane_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *scope, *label;
    PyObject *stars, *chunkers;
    int is_local = 0;
    long long workers = 0;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "pool_lane() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "ssO!O!|pL:pool_lane", &scope, &label, &PyTuple_Type, &stars,
                          &PyTuple_Type, &chunkers, &is_local, &workers))
        return NULL;
    struct lane *lane = (struct lane *)type->tp_alloc(type, 0);
    if (lane == NULL)
        return NULL;
    lane->hook_type = (PyTypeObject *)PyObject_GetAttrString((PyObject *)type, "hook_type");
    lane->stars = Py_NewRef(stars);
    lane->chunkers = Py_NewRef(chunkers);
    lane->is_local = is_local;
    lane->worker_count = workers;
    lane->process = getpid();
    if (lane->hook_type == NULL || buffer_find(lane) < 0 || texts_set(lane, scope, label) < 0) {
        Py_DECREF(lane);
        return NULL;
    }
    return (PyObject *)lane;
}

static int lane_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct lane *lane = (struct lane *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(lane->hook_type);
    Py_VISIT(lane->stars);
    Py_VISIT(lane->chunkers);
    Py_VISIT(lane->jobs);
    Py_VISIT(lane->pending);
    Py_VISIT(lane->buffer_type);
    Py_VISIT(lane->buffer_tell);
    return 0;
}

/* Of a pool that went with tasks in it: they wait no more. */
static void counters_end(struct lane *lane)
{
    if (lane->task_count == 0 || !annot_enabled() || lane->process != getpid())
        return;
    count_tell(lane->queued_name, 0);
    count_tell(lane->busy_name, 0);
}

static void lane_dealloc(PyObject *self)
{
    struct lane *lane = (struct lane *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    counters_end(lane);
    Py_XDECREF(lane->hook_type);
    Py_XDECREF(lane->stars);
    Py_XDECREF(lane->chunkers);
    Py_XDECREF(lane->jobs);
    Py_XDECREF(lane->pending);
    Py_XDECREF(lane->buffer_type);
    Py_XDECREF(lane->buffer_tell);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"submitted", (PyCFunction)(void (*)(void))lane_submitted, METH_FASTCALL, NULL},
    {"initializing", lane_initializing, METH_O, NULL},
    {"pending", lane_pending, METH_O, NULL},
    {"offer", lane_offer, METH_NOARGS, NULL},
    {"take", (PyCFunction)(void (*)(void))lane_take, METH_FASTCALL, NULL},
    {"done", (PyCFunction)(void (*)(void))lane_done, METH_FASTCALL, NULL},
    {"hook", lane_hook, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, lane_new},
    {Py_tp_traverse, lane_traverse},
    {Py_tp_dealloc, lane_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.pool_lane",
    .basicsize = sizeof(struct lane),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

PyTypeObject *lane_type_create(PyObject *module)
{
    PyObject *lane = PyType_FromModuleAndSpec(module, &spec, NULL);
    PyObject *hook = lane ? (PyObject *)lane_hook_type_create(module) : NULL;
    if (hook == NULL || PyObject_SetAttrString(lane, "hook_type", hook) < 0)
        Py_CLEAR(lane);
    Py_XDECREF(hook);
    return (PyTypeObject *)lane;
}
