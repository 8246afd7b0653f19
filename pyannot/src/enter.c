/* SPDX-License-Identifier: MIT */
/* What `with` calls: annotate.__enter__ and annotate.__exit__. */
#include "enter.h"

#include "annotation_emit.h"
#include "entered.h"
#include "state.h"

/* ---- __enter__ ------------------------------------------------------------------------------- */

/* annotate.__enter__, for interpreters up to 3.13: there a `with` statement binds __enter__ to its
 * object each time, and for an ordinary method that makes and frees an object that the garbage
 * collector tracks (20 ns). This one is its own descriptor, and what it binds is a part of the
 * object that is entered: the first reference to the part takes one to the whole, the last one
 * gives it back. A method would cost 16 to 104 % of a statement more (tests/bench/bench_enter.py).
 */

#if PYANNOT_BIND_ENTER

static bool enter_takes(const struct enter *enter, PyObject *object)
{
    return enter->is_holder ? holder_is(object) : annotation_is(object);
}

static struct enter *enter_of(PyObject *object, bool is_holder)
{
    return is_holder ? &((struct holder *)object)->enter : &((struct annotation *)object)->enter;
}

static void takes_nothing_else(void)
{
    PyErr_SetString(PyExc_TypeError, "__enter__() takes an annotation and nothing else");
}

static PyObject *enter_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    const struct enter *enter = (struct enter *)self;
    PyObject *object = enter->object;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (object == NULL && count == 1 && enter_takes(enter, args[0])) {
        object = args[0]; /* contextlib: annotate.__enter__(annotation) */
        count = 0;
    }
    if (__builtin_expect(object == NULL || count != 0 || names != NULL, 0)) {
        takes_nothing_else();
        return NULL;
    }
    if (enter->is_holder) {
        if (holder_enter(object) < 0)
            return NULL;
    } else {
        if (!annotation_has_name((struct annotation *)object))
            return NULL;
        annotation_enter((struct annotation *)object);
    }
    return Py_NewRef(object);
}

/* The first reference. Builds that count all references have to be told of it. */
static void enter_revive(struct enter *enter, PyTypeObject *type)
{
    Py_INCREF(enter->object);
    Py_INCREF(type);
    Py_SET_TYPE((PyObject *)enter, type);
#ifdef Py_REF_DEBUG
    _Py_NewReference((PyObject *)enter);
#else
    Py_SET_REFCNT((PyObject *)enter, 1);
#endif
}

static PyObject *enter_get(PyObject *self, PyObject *object, PyObject *type)
{
    const struct enter *placed = (struct enter *)self;
    (void)type;
    if (object == NULL || object == Py_None)
        return Py_NewRef(self);
    if (__builtin_expect(!enter_takes(placed, object), 0)) {
        takes_nothing_else();
        return NULL;
    }
    struct enter *enter = enter_of(object, placed->is_holder);
    if (__builtin_expect(Py_REFCNT(enter) != 0, 0))
        return Py_NewRef(enter);
    enter->vectorcall = enter_vectorcall;
    enter->object = object;
    enter->is_holder = placed->is_holder;
    enter_revive(enter, Py_TYPE(self));
    return (PyObject *)enter;
}

static void enter_dealloc(PyObject *self)
{
    PyObject *object = ((struct enter *)self)->object;
    PyTypeObject *type = Py_TYPE(self);
    if (object != NULL)
        Py_DECREF(object);
    else
        PyObject_Free(self);
    Py_DECREF(type);
}

static PyMemberDef enter_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct enter, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot enter_slots[] = {
    {Py_tp_dealloc, enter_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, enter_get},
    {Py_tp_members, enter_members},
    {0, NULL},
};

static PyType_Spec enter_spec = {
    .name = "pyannot._native.enter",
    .basicsize = sizeof(struct enter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = enter_slots,
};

int enter_install(PyObject *module, PyTypeObject *type, bool is_holder)
{
    struct state *state = PyModule_GetState(module);
    if (state->enter_type == NULL)
        state->enter_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &enter_spec, NULL);
    if (state->enter_type == NULL)
        return -1;
    struct enter *enter = PyObject_New(struct enter, state->enter_type);
    if (enter == NULL)
        return -1;
    enter->vectorcall = enter_vectorcall;
    enter->object = NULL;
    enter->is_holder = is_holder;
    Py_XSETREF(state->enters[is_holder], (PyObject *)enter);
    return PyObject_SetAttrString((PyObject *)type, "__enter__", (PyObject *)enter);
}

#else

int enter_install(PyObject *module, PyTypeObject *type, bool is_holder)
{
    (void)module;
    (void)type;
    (void)is_holder;
    return 0;
}

#endif

/* ---- __exit__ -------------------------------------------------------------------------------- */

/* Leaving needs nothing of the annotation, so this is one object for all statements,
 * which Python does not bind: a builtin function, whose calls later interpreters specialize. But no
 * builtin function is called at the limit of recursion, so that a range that ends by a
 * RecursionError would stay open: what calls this one without looking is put into it. Before 3.12,
 * whose calls of builtin functions are all checked, it is an object of our own. */

/* Whatever is passed: by `with` the exception, by contextlib.ExitStack also the object. */
static inline PyObject *leave(PyObject *const *args, Py_ssize_t count)
{
    if (entered_pop())
        exception_pop(exception_of_exit(args, count));
    Py_RETURN_NONE;
}

/* Takes over `exit`. */
static int install(PyTypeObject *annotate_type, PyObject *exit)
{
    int result = exit ? PyObject_SetAttrString((PyObject *)annotate_type, "__exit__", exit) : -1;
    Py_XDECREF(exit);
    return result;
}

static PyObject *leave_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    (void)self;
    (void)names;
    return leave(args, PyVectorcall_NARGS(flags));
}

#if PY_VERSION_HEX >= 0x030C0000

static PyObject *leave_function(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return leave(args, count);
}

static PyMethodDef definition = {
    "__exit__", (PyCFunction)(void (*)(void))leave_function, METH_FASTCALL,
    PyDoc_STR("__exit__(*exception)\n--\n\nClose the range that __enter__ opened.")};

int leave_install(PyObject *module, PyTypeObject *annotate_type)
{
    (void)module;
    PyObject *exit = PyCFunction_NewEx(&definition, NULL, NULL);
    if (exit != NULL)
        ((PyCFunctionObject *)exit)->vectorcall = leave_vectorcall;
    return install(annotate_type, exit);
}

#else

struct leave {
    PyObject_HEAD vectorcallfunc vectorcall;
};

static void leave_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* Else the class would keep this type, and it the module, for ever. */
static int leave_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static PyMemberDef leave_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct leave, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot leave_slots[] = {
    {Py_tp_dealloc, leave_dealloc},
    {Py_tp_traverse, leave_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, leave_members},
    {Py_tp_doc, (void *)PyDoc_STR("Closes the range that __enter__ opened.")},
    {0, NULL},
};

static PyType_Spec leave_spec = {
    .name = "pyannot._native.leave",
    .basicsize = sizeof(struct leave),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = leave_slots,
};

int leave_install(PyObject *module, PyTypeObject *annotate_type)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &leave_spec, NULL);
    struct leave *exit = type ? PyObject_GC_New(struct leave, type) : NULL;
    Py_XDECREF(type);
    if (exit != NULL) {
        exit->vectorcall = leave_vectorcall;
        PyObject_GC_Track(exit);
    }
    return install(annotate_type, (PyObject *)exit);
}

#endif
