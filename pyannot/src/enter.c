/* SPDX-License-Identifier: MIT */
/* annotate.__enter__, for interpreters up to 3.13: there a `with` statement binds __enter__ to its
 * object each time, and for an ordinary method that makes and frees an object that the garbage
 * collector tracks (20 ns). This one is its own descriptor; what it binds is not tracked, and its
 * memory is kept for the next statement.
 * Threads: the spare memory is guarded by the GIL; free-threaded builds keep none. */
#include "enter.h"

#include "holder.h"
#include "state.h"

struct enter {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *annotation; /* or a holder of one; NULL: not bound */
    bool is_holder;
};

static bool enter_takes(const struct enter *enter, const struct state *state, PyObject *object)
{
    return enter->is_holder ? PyObject_TypeCheck(object, state->later_types[TYPE_HOLDER])
                            : Py_IS_TYPE(object, state->annotate_type);
}

static PyObject *enter_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    struct enter *enter = (struct enter *)self;
    PyObject *annotation = enter->annotation;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (annotation == NULL && count == 1) { /* contextlib: annotate.__enter__(annotation) */
        struct state *state = state_of_type(Py_TYPE(self));
        if (state != NULL && enter_takes(enter, state, args[0])) {
            annotation = args[0];
            count = 0;
        }
    }
    if (__builtin_expect(annotation == NULL || count != 0 || names != NULL, 0)) {
        PyErr_SetString(PyExc_TypeError, "__enter__() takes an annotation and nothing else");
        return NULL;
    }
    if (enter->is_holder) {
        if (holder_enter(state_of_type(Py_TYPE(self)), annotation) < 0)
            return NULL;
    } else {
        if (!annotation_has_name((struct annotation *)annotation))
            return NULL;
        annotation_enter((struct annotation *)annotation);
    }
    return Py_NewRef(annotation);
}

static struct enter *enter_alloc(struct state *state)
{
    struct enter *enter = state->spare_enter;
    if (PYANNOT_FREE_THREADED || enter == NULL)
        return PyObject_New(struct enter, state->enter_type);
    state->spare_enter = NULL;
    return (struct enter *)PyObject_Init((PyObject *)enter, state->enter_type);
}

static PyObject *enter_get(PyObject *self, PyObject *annotation, PyObject *type)
{
    struct state *state = state_of_type(Py_TYPE(self));
    (void)type;
    if (annotation == NULL || annotation == Py_None)
        return Py_NewRef(self);
    if (!state_is_alive(state))
        return NULL;
    struct enter *enter = enter_alloc(state);
    if (enter == NULL)
        return NULL;
    enter->vectorcall = enter_vectorcall;
    enter->annotation = Py_NewRef(annotation);
    enter->is_holder = ((struct enter *)self)->is_holder;
    return (PyObject *)enter;
}

static void enter_dealloc(PyObject *self)
{
    struct enter *enter = (struct enter *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct state *state = state_of_type(type);
    Py_XDECREF(enter->annotation);
    if (!PYANNOT_FREE_THREADED && state != NULL && state->spare_enter == NULL)
        state->spare_enter = enter;
    else
        PyObject_Free(enter);
    Py_DECREF(type);
}

void enter_spare_free(struct state *state)
{
    PyObject_Free(state->spare_enter);
    state->spare_enter = NULL;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct enter, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, enter_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, enter_get},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.enter",
    .basicsize = sizeof(struct enter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

int enter_install(PyObject *module, PyTypeObject *type, bool is_holder)
{
    struct state *state = PyModule_GetState(module);
    if (state->enter_type == NULL)
        state->enter_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (state->enter_type == NULL)
        return -1;
    struct enter *enter = PyObject_New(struct enter, state->enter_type);
    if (enter == NULL)
        return -1;
    enter->vectorcall = enter_vectorcall;
    enter->annotation = NULL;
    enter->is_holder = is_holder;
    Py_XSETREF(state->enters[is_holder], (PyObject *)enter);
    return PyObject_SetAttrString((PyObject *)type, "__enter__", (PyObject *)enter);
}
