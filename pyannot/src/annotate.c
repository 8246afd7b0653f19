/* SPDX-License-Identifier: MIT */
/* The classes of objects for `with`: annotate, and annotation_holder. */
#include "annotate.h"

#include "annotation.h"
#include "arguments.h"
#include "enter.h"
#include "function.h"
#include "scope.h"
#include "state.h"
#include "task_exit.h"
#include "task_watch.h"

/* ---- annotate -------------------------------------------------------------------------------- */

/* `with annotate("load"):` and `@annotate("load")`.
 *
 * `with annotate("load"):` finds the same object each time, without an allocation. Entering pushes,
 * leaving pops if that entering pushed (entered.h). Neither allocates an object for the statement
 * (enter.c). */

static PyObject *annotate_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                     PyObject *names)
{
    const struct scope scope = {state_of_type((PyTypeObject *)type), NULL};
    const struct call call = {args, PyVectorcall_NARGS(flags), names};
    if (__builtin_expect(scope.state != NULL && call_is_short(&call, 1), 1)) {
        struct annotation *kept = name_cache_find(&scope.state->names, args[0]);
        if (__builtin_expect(kept != NULL, 1))
            return (PyObject *)kept;
    }
    return scope_annotate(&scope, &call);
}

/* Only for annotate.__new__(annotate, ...); calls of the class take the vectorcall. */
static PyObject *annotate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyErr_Format(PyExc_TypeError, "call %.100s instead of its __new__", type->tp_name);
    return NULL;
}

static PyObject *annotate_repr(PyObject *self)
{
    PyObject *name = ((struct annotation *)self)->name;
    return name ? PyUnicode_FromFormat("annotate(%R)", name) : PyUnicode_FromString("annotate()");
}

/* For decorators: returns the annotation, with the name of a function if it has no name. */
static PyObject *annotate_named(PyObject *self, PyObject *name)
{
    struct annotation *annotation = (struct annotation *)self;
    if (annotation->text != NULL)
        return Py_NewRef(self);
    return (PyObject *)annotation_renamed(state_of_type(Py_TYPE(self)), annotation, name);
}

static PyObject *annotate_reduce(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return annotation_reduce((PyObject *)Py_TYPE(self), (struct annotation *)self);
}

static PyObject *annotate_aenter(PyObject *self, PyObject *ignored)
{
    struct state *state = state_of_type(Py_TYPE(self));
    struct annotation *annotation = (struct annotation *)self;
    (void)ignored;
    if (!state_is_alive(state) || !annotation_has_name(annotation))
        return NULL;
    if (!(task_is_watched() && task_enter(annotation)) && async_enter(state, annotation) < 0)
        return NULL;
    return ready_create(state, Py_NewRef(self));
}

static PyObject *annotate_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct state *state = state_of_type(Py_TYPE(self));
    annot_range range;
    if (!state_is_alive(state) || async_leave(state, (struct annotation *)self, &range) < 0)
        return NULL;
    exception_end(range, exception_of_exit(args, count));
    return ready_create(state, Py_NewRef(Py_None));
}

#if !PYANNOT_BIND_ENTER
static PyObject *annotate_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (!annotation_has_name((struct annotation *)self))
        return NULL;
    annotation_enter((struct annotation *)self);
    return Py_NewRef(self);
}
#endif

static PyMethodDef methods[] = {
    {"__aenter__", annotate_aenter, METH_NOARGS,
     PyDoc_STR("__aenter__($self)\n--\n\nOpen a range of the process, which may overlap others.")},
    {"__aexit__", (PyCFunction)(void (*)(void))annotate_aexit, METH_FASTCALL,
     PyDoc_STR("__aexit__($self, *exception)\n--\n\nClose the range that __aenter__ opened.")},
    {"_named", annotate_named, METH_O, NULL},
    {"__reduce__", annotate_reduce, METH_NOARGS, NULL},
#if !PYANNOT_BIND_ENTER
    {"__enter__", annotate_enter, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nOpen the range on the calling thread.")},
#endif
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct annotation, name), READONLY, PyDoc_STR("The name given.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    annotate_doc,
    "annotate(name=None, *, domain=None, category=None, color=None, payload=None, level=0, "
    "**items)\n--\n\n"
    "A named range: `with annotate(\"load\"):` around a block, or `@annotate(\"load\")` on a\n"
    "function, method, generator or coroutine function; `@annotate` alone takes the function's\n"
    "qualified name. `async with` is for blocks that await.\n\n"
    "One object may be kept and used by any number of threads, nested and recursively.\n\n"
    "  name      str; shown in every output\n"
    "  domain    str, the library or layer it belongs to\n"
    "  category  str within the domain, for filters and colours\n"
    "  color     \"red\", \"#d62728\", 0xRRGGBB or 0xAARRGGBB\n"
    "  payload   one int, float, bool or str shown with it, or a dict of these\n"
    "  level     0 (always wanted) to 7 (most detailed)\n"
    "  items     further keywords are entries of the payload: annotate(\"load\", path=path)\n");

static PyType_Slot slots[] = {
    {Py_tp_new, annotate_new},         {Py_tp_dealloc, annotation_dealloc},
    {Py_tp_repr, annotate_repr},       {Py_tp_call, decorate_call},
    {Py_tp_methods, methods},          {Py_tp_members, members},
    {Py_tp_doc, (void *)annotate_doc}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.annotate",
    .basicsize = sizeof(struct annotation),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *annotate_type_create(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL)
        return NULL;
    ((PyTypeObject *)type)->tp_vectorcall = annotate_vectorcall;
    if (leave_install(module, (PyTypeObject *)type) < 0 ||
        enter_install(module, (PyTypeObject *)type, false) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

/* ---- annotation_holder ----------------------------------------------------------------------- */

/* Holders, and the quick calls of one class derived from them: called with the same constants, it
 * returns the object that it made before, found by the identities of the arguments as in
 * annotation.h. Free-threaded interpreters make a new one each time. */

static struct state *state_of_holder(PyTypeObject *type)
{
    while (type != NULL && type->tp_base != &PyBaseObject_Type)
        type = type->tp_base;
    return type ? state_of_type(type) : NULL;
}

/* Calls annotation_now(). New reference; NULL, without an exception, for no range. */
static struct annotation *annotation_now(struct state *state, PyObject *holder)
{
    PyObject *now = PyObject_CallMethod(holder, "annotation_now", NULL);
    if (now == NULL || Py_IS_TYPE(now, state->annotate_type))
        return (struct annotation *)now;
    if (now != Py_None)
        PyErr_Format(PyExc_TypeError, "annotation_now() must return annotate or None, not %.100s",
                     Py_TYPE(now)->tp_name);
    Py_DECREF(now);
    return NULL;
}

/* Enters a holder without an annotation. */
static int enter_now(PyObject *holder)
{
    struct state *state = state_of_holder(Py_TYPE(holder));
    if (!state_is_alive(state))
        return -1;
    struct annotation *annotation = annotation_now(state, holder);
    if (annotation == NULL && PyErr_Occurred())
        return -1;
    if (annotation == NULL) {
        entered_push(false);
        return 0;
    }
    annotation_enter(annotation);
    Py_DECREF(annotation);
    return 0;
}

int holder_enter(PyObject *holder)
{
    struct annotation *annotation = ((struct holder *)holder)->annotation;
    if (__builtin_expect(annotation == NULL, 0))
        return enter_now(holder);
    annotation_enter(annotation);
    return 0;
}

static PyObject *holder_hold(PyObject *self, PyObject *args)
{
    struct holder *holder = (struct holder *)self;
    struct state *state = state_of_holder(Py_TYPE(self));
    PyObject *annotation;
    int keep;
    if (!state_is_alive(state) ||
        !PyArg_ParseTuple(args, "O!p:hold", state->annotate_type, &annotation, &keep))
        return NULL;
    if (holder->annotation != NULL) {
        PyErr_SetString(PyExc_TypeError, "an annotation is held already");
        return NULL;
    }
    holder->annotation = (struct annotation *)Py_NewRef(annotation);
    holder->keep = keep;
    Py_RETURN_NONE;
}

static struct quick_call *quick_find(const struct quick_calls *quick, const struct call *call)
{
    uint64_t hash = (uint64_t)(uintptr_t)call->names;
    Py_ssize_t count = call_length(call);
    for (Py_ssize_t i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)call->args[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &quick->calls[hash >> (64 - NAME_CACHE_BITS)];
}

static bool quick_is(const struct quick_call *kept, const struct call *call)
{
    Py_ssize_t count = call_length(call);
    if (kept->names != call->names || kept->count != call->count || kept->length != count)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (kept->args[i] != call->args[i])
            return false;
    }
    return true;
}

/* True for constants, which are the same objects at each execution. Runs no code. */
static bool is_constant(PyObject *object)
{
    return object == Py_None || PyLong_CheckExact(object) ||
           (PyUnicode_CheckExact(object) && PyUnicode_GET_LENGTH(object) <= NAME_CACHE_TEXT_MAX);
}

static bool quick_fits(const struct quick_calls *quick, const struct call *call, PyObject *object)
{
    Py_ssize_t count = call_length(call);
    if (PYANNOT_FREE_THREADED || quick->calls == NULL || Py_TYPE(object) != quick->type ||
        !((struct holder *)object)->keep || count > QUICK_ARGUMENTS)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_constant(call->args[i]))
            return false;
    }
    return true;
}

static void quick_release(const struct quick_call *old)
{
    for (Py_ssize_t i = 0; i < old->length; i++)
        Py_DECREF(old->args[i]);
    Py_XDECREF(old->names);
    Py_XDECREF(old->object);
}

/* Fills the slot first: freeing the old object may run code that comes here. */
static void quick_keep(struct quick_call *slot, const struct call *call, PyObject *object)
{
    struct quick_call old = *slot;
    slot->object = Py_NewRef(object);
    slot->names = call->names;
    Py_XINCREF(slot->names);
    slot->count = call->count;
    slot->length = call_length(call);
    for (Py_ssize_t i = 0; i < slot->length; i++)
        slot->args[i] = Py_NewRef(call->args[i]);
    quick_release(&old);
}

/* Calls type.__call__, as without a vectorcall. */
static PyObject *call_long(PyObject *type, const struct call *call)
{
    PyObject *positional = PyTuple_New(call->count), *keywords = call->names ? PyDict_New() : NULL;
    PyObject *result = NULL;
    if (positional == NULL || (call->names != NULL && keywords == NULL))
        goto out;
    for (Py_ssize_t i = 0; i < call->count; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(call->args[i]));
    for (Py_ssize_t i = call->count; i < call_length(call); i++) {
        PyObject *name = PyTuple_GET_ITEM(call->names, i - call->count);
        if (PyDict_SetItem(keywords, name, call->args[i]) < 0)
            goto out;
    }
    result = PyType_Type.tp_call(type, positional, keywords);
out:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

static PyObject *quick_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    struct state *state = state_of_holder((PyTypeObject *)type);
    const struct call call = {args, PyVectorcall_NARGS(flags), names};
    if (__builtin_expect(state != NULL && state->quick.calls != NULL, 1)) {
        struct quick_call *kept = quick_find(&state->quick, &call);
        if (__builtin_expect(kept->object != NULL && quick_is(kept, &call), 1))
            return Py_NewRef(kept->object);
    }
    PyObject *object = call_long(type, &call);
    if (object != NULL && state != NULL && quick_fits(&state->quick, &call, object))
        quick_keep(quick_find(&state->quick, &call), &call, object);
    return object;
}

static PyObject *holder_quick_calls(PyObject *class, PyObject *ignored)
{
    PyTypeObject *type = (PyTypeObject *)class;
    struct state *state = state_of_holder(type);
    (void)ignored;
    if (!state_is_alive(state))
        return NULL;
    if (type->tp_base != state_type_made(state, TYPE_HOLDER) || state->quick.type != NULL) {
        PyErr_SetString(PyExc_TypeError, "quick_calls() is for one class, derived directly");
        return NULL;
    }
    state->quick.calls = PyMem_Calloc(NAME_CACHE_SIZE, sizeof(struct quick_call));
    if (state->quick.calls == NULL)
        return PyErr_NoMemory();
    state->quick.type = (PyTypeObject *)Py_NewRef(class);
    type->tp_vectorcall = quick_vectorcall;
    Py_RETURN_NONE;
}

int holder_traverse(struct state *state, visitproc visit, void *arg)
{
    Py_VISIT(state->quick.type);
    for (int i = 0; state->quick.calls != NULL && i < NAME_CACHE_SIZE; i++)
        Py_VISIT(state->quick.calls[i].object);
    return 0;
}

void holder_clear(struct state *state)
{
    struct quick_call *calls = state->quick.calls;
    state->quick.calls = NULL;
    Py_CLEAR(state->quick.type);
    for (int i = 0; calls != NULL && i < NAME_CACHE_SIZE; i++)
        quick_release(&calls[i]);
    PyMem_Free(calls);
}

/* Sets no fields: derived classes set theirs, hold() sets ours. */
static PyObject *holder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    return type->tp_alloc(type, 0);
}

static void holder_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct holder *)self)->annotation);
    type->tp_free(self);
    Py_DECREF(type);
}

bool holder_is(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    while (type != NULL && type->tp_dealloc != holder_dealloc)
        type = type->tp_base;
    return type != NULL;
}

#if !PYANNOT_BIND_ENTER
static PyObject *holder_enter_method(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (holder_enter(self) < 0)
        return NULL;
    return Py_NewRef(self);
}
#endif

static PyMethodDef holder_methods[] = {
    {"hold", holder_hold, METH_VARARGS,
     PyDoc_STR("hold($self, annotation, keep, /)\n--\n\nSet the annotation to enter, and whether\n"
               "quick calls may return the object again.")},
    {"quick_calls", holder_quick_calls, METH_NOARGS | METH_CLASS,
     PyDoc_STR("quick_calls($type, /)\n--\n\nReturn the same object for the same constants.")},
#if !PYANNOT_BIND_ENTER
    {"__enter__", holder_enter_method, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nOpen the range on the calling thread.")},
#endif
    {NULL, NULL, 0, NULL},
};

static PyType_Slot holder_slots[] = {
    {Py_tp_new, holder_new},
    {Py_tp_dealloc, holder_dealloc},
    {Py_tp_methods, holder_methods},
    {0, NULL},
};

static PyType_Spec holder_spec = {
    .name = "pyannot._native.annotation_holder",
    .basicsize = sizeof(struct holder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = holder_slots,
};

/* Leaving does not use the object, so holders have the __exit__ of annotations. */
static int exit_install(PyObject *module, PyObject *type)
{
    const struct state *state = PyModule_GetState(module);
    PyObject *leave = PyDict_GetItemString(state->annotate_type->tp_dict, "__exit__");
    return leave ? PyObject_SetAttrString(type, "__exit__", leave) : -1;
}

PyTypeObject *holder_type_create(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &holder_spec, NULL);
    if (type == NULL)
        return NULL;
    if (exit_install(module, type) < 0 || enter_install(module, (PyTypeObject *)type, true) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}
