/* SPDX-License-Identifier: MIT */
/* pool_hook: a callable in the place of another one. Passes on arguments, results and exceptions
 * unchanged. Without a recording it costs one more call and one test. */
#include "pool_side.h"
#include "pool_task.h"

#include "annotation.h"
#include "greenlets.h"

#include <string.h>

enum { ARGUMENTS_ON_STACK = 8 };

struct hook;

/* Arguments of a call. */
struct hook_call {
    PyObject *const *args;
    size_t flags; /* with the count, as for vectorcall */
    PyObject *names;
};

typedef PyObject *hook_run(struct hook *hook, const struct hook_call *call);

struct hook {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct pool_side *side;
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
        PyErr_SetString(PyExc_ReferenceError, "the pipe or queue of this pool no longer exists");
    return owner;
}

/* As PyObject_Vectorcall; the caller of the hook checks the result as well. */
static inline PyObject *call_direct(PyObject *function, PyObject *const *args, size_t flags,
                                    PyObject *names)
{
    vectorcallfunc direct = PyVectorcall_Function(function);
    return direct ? direct(function, args, flags, names)
                  : PyObject_Vectorcall(function, args, flags, names);
}

/* Calls the original. */
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

/* The flow of a task. Flows of a pool are neighbours, which a recording writes in few bytes. */
static annot_flow pool_side_flow(const struct pool_side *side, uint64_t number)
{
    annot_flow flow = side->scope + number;
    return flow ? flow : 1;
}

/* True if another greenlet than the main one runs, which may be switched away from while it hands a
 * task over. A range with a flow is the thread's, so there it ends before. */
static bool may_be_switched(const struct pool_side *side)
{
    return greenlet_is_tracked(state_of_type(Py_TYPE(side)));
}

static void end_range(bool *open)
{
    if (*open)
        annot_pop();
    *open = false;
}

/* ---- Both sides ------------------------------------------------------------------------------ */

/* Returns the number of bytes in the buffer of a connection: a BytesIO, written up to its end. */
static long long bytes_in(const struct pool_side *side, PyObject *buffer)
{
    PyObject *size = Py_TYPE(buffer) == side->buffer_type
                         ? PyObject_Vectorcall(side->buffer_tell, &buffer, 1, NULL)
                         : PyObject_CallMethod(buffer, "tell", NULL);
    long long bytes = size ? PyLong_AsLongLong(size) : -1;
    Py_XDECREF(size);
    if (bytes >= 0)
        return bytes;
    PyErr_Clear();
    return 0;
}

/* A buffer was received, and is unpickled now. The caller's hook ends that range. */
static PyObject *run_receive(struct hook *hook, const struct hook_call *call)
{
    PyObject *buffer = forward(hook, call);
    if (buffer == NULL || !annot_enabled())
        return buffer;
    long long bytes = bytes_in(hook->side, buffer);
    bool *open = hook->side->jobs ? &hook->side->in_result : &hook->side->in_unpickle;
    end_range(open);
    pool_side_push(POOL_UNPICKLE, hook->side->jobs ? ANNOT_POOL_FETCH : ANNOT_POOL_UNPICKLE,
                   POOL_BYTES, bytes);
    *open = true;
    return buffer;
}

/* ---- A worker -------------------------------------------------------------------------------- */

static void task_begin(struct pool_side *side, const struct pool_task *task)
{
    struct pool_function found = pool_function_find(side, task);
    pool_side_emit_worker(side);
    pool_side_begin_function(side, &side->run, &found, ANNOT_POOL_RUN);
    Py_DECREF(found.function);
    if (side->run.track != NULL || !side->run.is_open)
        return; /* a flow binds to the open range of the thread */
    if (side->is_local)
        annot_flow_end(pool_side_flow(side, task->number));
    else
        annot_flow_step(pool_side_flow(side, task->number));
}

static PyObject *run_task(struct hook *hook, const struct hook_call *call)
{
    struct pool_side *side = hook->side;
    struct pool_task task;
    context_range_end(&side->run, NULL); /* of a task without an answer */
    context_range_end(&side->initializer, NULL);
    PyObject *object = forward(hook, call);
    end_range(&side->in_unpickle);
    if (object != NULL && annot_enabled() && pool_task_read(object, &task) && task.function)
        task_begin(side, &task);
    return object;
}

/* The function has returned, or raised the exception in the answer. */
static void end_run(struct pool_side *side, PyObject *answer)
{
    PyObject *error = pool_side_answer_error(answer);
    context_range_end(&side->run, error ? (PyObject *)Py_TYPE(error) : NULL);
    Py_XDECREF(error);
}

static PyObject *run_answer(struct hook *hook, const struct hook_call *call)
{
    struct pool_side *side = hook->side;
    bool was_running = side->run.is_open;
    if (was_running && PyVectorcall_NARGS(call->flags) > 0)
        end_run(side, call->args[0]);
    context_range_end(&side->run, NULL);
    if (!was_running || side->is_local || !annot_enabled())
        return forward(hook, call);
    struct annot_event event = pool_side_event(pool_name(POOL_SEND), ANNOT_POOL_SEND);
    annot_push_event(&event);
    PyObject *result = forward(hook, call);
    exception_pop(result ? NULL : PyErr_Occurred());
    return result;
}

/* ---- A parent -------------------------------------------------------------------------------- */

/* Looks up when the job was submitted, once for each. Returns true for its first task. */
static bool job_begin(struct pool_side *side, uint64_t number, PyObject *job)
{
    uint64_t mark = (number >> 32) + 1;
    if (side->job == mark)
        return false;
    PyObject *time = PyDict_GetItemWithError(side->jobs, job);
    side->job = mark;
    side->job_ns = time ? PyLong_AsLongLong(time) : 0;
    if (time != NULL)
        PyDict_DelItem(side->jobs, job);
    PyErr_Clear();
    return true;
}

static void assign_begin(struct pool_side *side, uint64_t number, bool is_first)
{
    struct annot_event event = pool_side_event(pool_name(POOL_SEND), ANNOT_POOL_SEND);
    if (side->job_ns == 0)
        annot_push_event(&event);
    else
        pool_side_push(POOL_SEND, ANNOT_POOL_SEND, POOL_SINCE, pool_side_job_age_ns(side));
    if (is_first)
        annot_flow_end(annot_flow_id(side->job_scope, number >> 32));
    annot_flow_begin(pool_side_flow(side, number), ANNOT_POOL_FLOW);
}

static PyObject *run_assign(struct hook *hook, const struct hook_call *call)
{
    struct pool_side *side = hook->side;
    struct pool_task task;
    if (side->jobs == NULL || PyVectorcall_NARGS(call->flags) != 1 ||
        !PyTuple_CheckExact(call->args[0]) || !pool_task_read(call->args[0], &task) ||
        !task.function)
        return forward(hook, call);
    bool is_first = job_begin(side, task.number, PyTuple_GET_ITEM(call->args[0], 0));
    if (side->job_ns == 0)
        pool_side_count(side, 1);
    bool on = annot_enabled() && !pool_side_has_greenlets(side);
    if (on)
        assign_begin(side, task.number, is_first);
    bool ends_early = on && may_be_switched(side);
    if (ends_early)
        annot_pop();
    PyObject *result = forward(hook, call);
    if (on && !ends_early)
        exception_pop(result ? NULL : PyErr_Occurred());
    if (result == NULL) /* it cannot be pickled: there will be no result */
        pool_side_count(side, -1);
    return result;
}

static PyObject *run_result(struct hook *hook, const struct hook_call *call)
{
    struct pool_side *side = hook->side;
    struct pool_task task;
    PyObject *object = forward(hook, call);
    if (object != NULL && pool_task_read(object, &task)) {
        if (side->in_result)
            annot_flow_end(pool_side_flow(side, task.number));
        end_range(&side->in_result);
        pool_side_count(side, -1);
    }
    end_range(&side->in_result);
    return object;
}

static PyObject *run_submit(struct hook *hook, const struct hook_call *call)
{
    struct pool_side *side = hook->side;
    unsigned long long number = 0;
    bool on =
        annot_enabled() && PyVectorcall_NARGS(call->flags) > 0 && PyLong_CheckExact(call->args[0]);
    if (on) {
        struct annot_event event = pool_side_event(pool_name(POOL_SUBMIT), ANNOT_POOL_SUBMIT);
        number = PyLong_AsUnsignedLongLong(call->args[0]);
        PyErr_Clear();
        pool_side_emit_facts(side);
        annot_push_event(&event);
        annot_flow_begin(pool_side_flow(side, number), ANNOT_POOL_FLOW);
    }
    bool ends_early = on && may_be_switched(side);
    if (ends_early)
        annot_pop();
    PyObject *result = forward(hook, call);
    if (on && !ends_early)
        annot_pop();
    pool_side_count(side, 1);
    return result;
}

/* ---- The type -------------------------------------------------------------------------------- */

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

PyObject *pool_hook_create(PyTypeObject *type, const char *kind,
                           const struct pool_hook_options *options)
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
    hook->side = (struct pool_side *)Py_NewRef(options->side);
    hook->function = Py_NewRef(options->function);
    hook->owner = owner;
    hook->run = run;
    return (PyObject *)hook;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct hook *hook = (struct hook *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(hook->side);
    Py_VISIT(hook->function);
    Py_VISIT(hook->owner);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    struct hook *hook = (struct hook *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(hook->side);
    Py_XDECREF(hook->function);
    Py_XDECREF(hook->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"side", T_OBJECT_EX, offsetof(struct hook, side), READONLY, NULL},
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

PyTypeObject *pool_hook_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
