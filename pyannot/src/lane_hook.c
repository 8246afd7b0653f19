/* SPDX-License-Identifier: MIT */
/* pool_hook: a callable in the place of another one. It hands on its arguments and the result as
 * they are, exceptions too. While nobody records it costs one more call and one test. */
#include "lane.h"

#include "exception.h"

#include <string.h>

enum { ARGUMENTS_ON_STACK = 8 };

struct hook;

/* What the caller gave. */
struct hook_call {
    PyObject *const *args;
    size_t flags; /* with the count, as for vectorcall */
    PyObject *names;
};

typedef PyObject *hook_run(struct hook *hook, const struct hook_call *call);

struct hook {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct lane *lane;
    PyObject *function;
    PyObject *owner; /* weak reference, or NULL */
    hook_run *run;
};

static PyObject *owner_get(PyObject *reference)
{
    PyObject *owner = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    if (PyWeakref_GetRef(reference, &owner) < 0)
        return NULL;
#else
    owner = PyWeakref_GetObject(reference);
    owner = owner == Py_None ? NULL : Py_NewRef(owner);
#endif
    if (owner == NULL)
        PyErr_SetString(PyExc_ReferenceError, "the pipe or queue of this pool is gone");
    return owner;
}

/* As PyObject_Vectorcall; whoever calls the hook checks the result as well. */
static inline PyObject *call_direct(PyObject *function, PyObject *const *args, size_t flags,
                                    PyObject *names)
{
    vectorcallfunc direct = PyVectorcall_Function(function);
    return direct ? direct(function, args, flags, names)
                  : PyObject_Vectorcall(function, args, flags, names);
}

/* Calls what stood here before. */
static PyObject *forward(const struct hook *hook, const struct hook_call *call)
{
    PyObject *on_stack[ARGUMENTS_ON_STACK], **args = on_stack;
    if (hook->owner == NULL)
        return call_direct(hook->function, call->args, call->flags, call->names);
    Py_ssize_t count = PyVectorcall_NARGS(call->flags);
    size_t all = (size_t)count + (call->names ? (size_t)PyTuple_GET_SIZE(call->names) : 0);
    PyObject *owner = owner_get(hook->owner);
    if (owner == NULL)
        return NULL;
    if (all + 1 > ARGUMENTS_ON_STACK)
        args = PyMem_Malloc((all + 1) * sizeof(*args));
    if (args == NULL) {
        Py_DECREF(owner);
        return PyErr_NoMemory();
    }
    args[0] = owner;
    if (all > 0)
        memcpy(args + 1, call->args, all * sizeof(*args));
    PyObject *result = call_direct(hook->function, args, (size_t)count + 1, call->names);
    if (args != on_stack)
        PyMem_Free(args);
    Py_DECREF(owner);
    return result;
}

static void end_range(bool *open)
{
    if (*open)
        annot_pop();
    *open = false;
}

/* ---- Both sides -------------------------------------------------------------------------------
 */

/* The bytes in the buffer of a connection: a BytesIO, written up to its end. */
static long long bytes_in(const struct lane *lane, PyObject *buffer)
{
    PyObject *size = Py_TYPE(buffer) == lane->buffer_type
                         ? PyObject_Vectorcall(lane->buffer_tell, &buffer, 1, NULL)
                         : PyObject_CallMethod(buffer, "tell", NULL);
    long long bytes = size ? PyLong_AsLongLong(size) : -1;
    Py_XDECREF(size);
    if (bytes >= 0)
        return bytes;
    PyErr_Clear();
    return 0;
}

/* A buffer came in: it will be unpickled now. Who asked for it ends that. */
static PyObject *run_receive(struct hook *hook, const struct hook_call *call)
{
    PyObject *buffer = forward(hook, call);
    if (buffer == NULL || !annot_enabled())
        return buffer;
    long long bytes = bytes_in(hook->lane, buffer);
    bool *open = hook->lane->jobs ? &hook->lane->in_result : &hook->lane->in_unpickle;
    end_range(open);
    lane_push(LANE_UNPICKLE, LANE_BYTES, bytes);
    *open = true;
    return buffer;
}

/* ---- A worker ---------------------------------------------------------------------------------
 */

static void task_begin(struct lane *lane, const struct lane_task *task)
{
    struct lane_function found = lane_function_find(lane, task);
    lane_push_function(found.function, found.chunk);
    Py_DECREF(found.function);
    lane->in_run = true;
    if (lane->is_local)
        annot_flow_end(lane_flow(lane, task->number));
    else
        annot_flow_step(lane_flow(lane, task->number));
}

static PyObject *run_task(struct hook *hook, const struct hook_call *call)
{
    struct lane *lane = hook->lane;
    struct lane_task task;
    end_range(&lane->in_run); /* of a task without an answer */
    end_range(&lane->in_initializer);
    PyObject *object = forward(hook, call);
    end_range(&lane->in_unpickle);
    if (object != NULL && annot_enabled() && lane_task_read(object, &task) && task.function)
        task_begin(lane, &task);
    return object;
}

/* The function has returned, or raised what the answer tells. */
static void end_run(struct lane *lane, PyObject *answer)
{
    PyObject *error = lane_answer_error(answer);
    exception_pop(error ? (PyObject *)Py_TYPE(error) : NULL);
    Py_XDECREF(error);
    lane->in_run = false;
}

static PyObject *run_answer(struct hook *hook, const struct hook_call *call)
{
    struct lane *lane = hook->lane;
    bool was_running = lane->in_run;
    if (was_running && PyVectorcall_NARGS(call->flags) > 0)
        end_run(lane, call->args[0]);
    end_range(&lane->in_run);
    if (!was_running || lane->is_local || !annot_enabled())
        return forward(hook, call);
    struct annot_event event = lane_event(lane_name(LANE_SEND));
    annot_push_event(&event);
    PyObject *result = forward(hook, call);
    exception_pop(result ? NULL : PyErr_Occurred());
    return result;
}

/* ---- A parent ---------------------------------------------------------------------------------
 */

/* When the job was submitted: asked once for each. Whether this is its first task. */
static bool job_begin(struct lane *lane, uint64_t number, PyObject *job)
{
    uint64_t mark = (number >> 32) + 1;
    if (lane->job == mark)
        return false;
    PyObject *time = PyDict_GetItemWithError(lane->jobs, job);
    lane->job = mark;
    lane->job_ns = time ? PyLong_AsLongLong(time) : 0;
    if (time != NULL)
        PyDict_DelItem(lane->jobs, job);
    PyErr_Clear();
    return true;
}

static void assign_begin(struct lane *lane, uint64_t number, bool is_first)
{
    struct annot_event event = lane_event(lane_name(LANE_SEND));
    if (lane->job_ns == 0)
        annot_push_event(&event);
    else
        lane_push(LANE_SEND, LANE_SINCE, lane_job_age_ns(lane));
    if (is_first)
        annot_flow_end(annot_flow_id(lane->job_scope, number >> 32));
    annot_flow_begin(lane_flow(lane, number), "task");
}

static PyObject *run_assign(struct hook *hook, const struct hook_call *call)
{
    struct lane *lane = hook->lane;
    struct lane_task task;
    if (lane->jobs == NULL || PyVectorcall_NARGS(call->flags) != 1 ||
        !PyTuple_CheckExact(call->args[0]) || !lane_task_read(call->args[0], &task) ||
        !task.function)
        return forward(hook, call);
    bool is_first = job_begin(lane, task.number, PyTuple_GET_ITEM(call->args[0], 0));
    if (lane->job_ns == 0)
        lane_count(lane, 1);
    bool on = annot_enabled();
    if (on)
        assign_begin(lane, task.number, is_first);
    PyObject *result = forward(hook, call);
    if (on)
        exception_pop(result ? NULL : PyErr_Occurred());
    if (result == NULL) /* it cannot be pickled: there will be no result */
        lane_count(lane, -1);
    return result;
}

static PyObject *run_result(struct hook *hook, const struct hook_call *call)
{
    struct lane *lane = hook->lane;
    struct lane_task task;
    PyObject *object = forward(hook, call);
    if (object != NULL && lane_task_read(object, &task)) {
        if (lane->in_result)
            annot_flow_end(lane_flow(lane, task.number));
        end_range(&lane->in_result);
        lane_count(lane, -1);
    }
    end_range(&lane->in_result);
    return object;
}

static PyObject *run_submit(struct hook *hook, const struct hook_call *call)
{
    struct lane *lane = hook->lane;
    unsigned long long number = 0;
    bool on =
        annot_enabled() && PyVectorcall_NARGS(call->flags) > 0 && PyLong_CheckExact(call->args[0]);
    if (on) {
        struct annot_event event = lane_event(lane_name(LANE_SUBMIT));
        number = PyLong_AsUnsignedLongLong(call->args[0]);
        PyErr_Clear();
        annot_push_event(&event);
        annot_flow_begin(lane_flow(lane, number), "task");
    }
    PyObject *result = forward(hook, call);
    if (on)
        annot_pop();
    lane_count(lane, 1);
    return result;
}

/* ---- The type ---------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    hook_run *run;
} kinds[] = {
    {"receive", run_receive}, {"task", run_task},     {"answer", run_answer},
    {"assign", run_assign},   {"result", run_result}, {"submit", run_submit},
};

static PyObject *hook_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    struct hook *hook = (struct hook *)self;
    struct hook_call call = {args, flags, names};
    return hook->run(hook, &call);
}

PyObject *lane_hook_create(PyTypeObject *type, const char *kind,
                           const struct lane_hook_options *options)
{
    hook_run *run = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i].name) == 0)
            run = kinds[i].run;
    if (run == NULL)
        return PyErr_Format(PyExc_ValueError, "there is no hook %s", kind);
    PyObject *owner = options->owner ? PyWeakref_NewRef(options->owner, NULL) : NULL;
    struct hook *hook = NULL;
    if (owner != NULL || options->owner == NULL)
        hook = (struct hook *)type->tp_alloc(type, 0);
    if (hook == NULL) {
        Py_XDECREF(owner);
        return NULL;
    }
    hook->vectorcall = hook_vectorcall;
    hook->lane = (struct lane *)Py_NewRef(options->lane);
    hook->function = Py_NewRef(options->function);
    hook->owner = owner;
    hook->run = run;
    return (PyObject *)hook;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct hook *hook = (struct hook *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(hook->lane);
    Py_VISIT(hook->function);
    Py_VISIT(hook->owner);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    struct hook *hook = (struct hook *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(hook->lane);
    Py_XDECREF(hook->function);
    Py_XDECREF(hook->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"lane", T_OBJECT_EX, offsetof(struct hook, lane), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(struct hook, function), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct hook, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_traverse, hook_traverse},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.pool_hook",
    .basicsize = sizeof(struct hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

PyTypeObject *lane_hook_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
