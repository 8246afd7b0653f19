/* SPDX-License-Identifier: MIT */
/* Methods for `with`: annotate.__enter__ and annotate.__exit__; for `async with`, the awaitable,
 * and the data of an open statement. */
#include "enter.h"

#include "annotate.h"
#include "annotation.h"
#include "entered.h"
#include "scope.h"
#include "state.h"
#include "task_exit.h"
#include "task_watch.h"

/* ---- __enter__ ------------------------------------------------------------------------------- */

/* annotate.__enter__, for interpreters up to 3.13: there a `with` statement binds __enter__ to its
 * object each time, and for an ordinary method that makes and frees an object that the garbage
 * collector tracks (20 ns). This one is its own descriptor, and binds to a part of the object that
 * is entered: the first reference to the part takes one to the whole, the last one releases it. A
 * method would cost 16 to 104 % of a statement more (tests/bench/bench_enter.py). */

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

/* The first reference. Builds that count all references must be notified. */
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

/* Leaving does not use the annotation, so one object serves all statements, and Python does not
 * bind it: a builtin function, as later interpreters specialize calls of those. But builtin
 * functions are not called at the limit of recursion, so that a range that ends by a RecursionError
 * would stay open: this one gets a vectorcall without that check. Before 3.12, where all calls of
 * builtin functions are checked, it is an object of our own. */

/* Accepts all arguments: `with` passes the exception, contextlib.ExitStack also the object. */
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

/* Else the class would keep this type alive, and the type the module. */
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

/* ---- async with: the awaitable --------------------------------------------------------------- */

/* It is its own iterator, which ends at once with the value. */

struct ready {
    PyObject_HEAD PyObject *value;
};

PyObject *ready_create(struct state *state, PyObject *value)
{
    PyTypeObject *type = state_type(state, TYPE_READY);
    struct ready *ready = type ? PyObject_New(struct ready, type) : NULL;
    if (ready == NULL)
        Py_DECREF(value);
    else
        ready->value = value;
    return (PyObject *)ready;
}

static void ready_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct ready *)self)->value);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *ready_self(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *ready_next(PyObject *self)
{
    PyObject *value = ((struct ready *)self)->value;
    if (value != Py_None) /* NULL without an exception stands for None */
        PyErr_SetObject(PyExc_StopIteration, value);
    return NULL;
}

static PyObject *ready_send(PyObject *self, PyObject *ignored)
{
    PyErr_SetObject(PyExc_StopIteration, ((struct ready *)self)->value);
    (void)ignored;
    return NULL;
}

static PyMethodDef ready_methods[] = {
    {"send", ready_send, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ready_slots[] = {
    {Py_tp_dealloc, ready_dealloc}, {Py_am_await, ready_self},      {Py_tp_iter, ready_self},
    {Py_tp_iternext, ready_next},   {Py_tp_methods, ready_methods}, {0, NULL},
};

static PyType_Spec ready_spec = {
    .name = "pyannot._native.ready",
    .basicsize = sizeof(struct ready),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = ready_slots,
};

PyTypeObject *ready_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &ready_spec, NULL);
}

/* ---- async with: open statements ------------------------------------------------------------- */

/* The variable's value is the innermost link of a chain of open statements. Other tasks share the
 * links from before they were made. A link changes only when it ends, once, wherever that happens:
 * an abandoned asynchronous generator is closed by the event loop, in another task. So a context
 * drops links that have ended as soon as they are its innermost ones.
 *
 * Statements of asynchronous generators may end in another order than they began; then the
 * innermost one of the same annotation is taken, so that names at least are right. */

struct link {
    PyObject_HEAD PyObject *annotation;
    struct link *outer; /* NULL: the outermost */
    annot_range range;
    bool ended;
};

int async_enter_install(struct state *state)
{
    state->async_open = PyContextVar_New("pyannot.open", Py_None);
    return state->async_open ? 0 : -1;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* Takes over `outer`. */
static struct link *link_create(struct state *state, struct annotation *annotation,
                                struct link *outer)
{
    PyTypeObject *type = state_type(state, TYPE_LINK);
    struct link *link = type ? PyObject_New(struct link, type) : NULL;
    if (link == NULL) {
        Py_XDECREF(outer);
        return NULL;
    }
    link->annotation = Py_NewRef((PyObject *)annotation);
    link->outer = outer;
    link->range = 0;
    link->ended = false;
    return link;
}

/* Frees a chain without recursion, as it may be of any length. The holder of the only reference is
 * the only one that could make another. */
static void link_dealloc(PyObject *self)
{
    struct link *link = (struct link *)self, *outer = link->outer;
    PyTypeObject *type = Py_TYPE(self);
    while (outer != NULL && Py_REFCNT(outer) == 1) {
        struct link *next = outer->outer;
        outer->outer = NULL;
        Py_DECREF(outer);
        outer = next;
    }
    Py_XDECREF(outer);
    Py_XDECREF(link->annotation);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot link_slots[] = {
    {Py_tp_dealloc, link_dealloc},
    {0, NULL},
};

static PyType_Spec link_spec = {
    .name = "pyannot._native.open_statement",
    .basicsize = sizeof(struct link),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = link_slots,
};

PyTypeObject *link_type_create(PyObject *module)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &link_spec, NULL);
    if (type != NULL)
        type->tp_new = NULL; /* only `async with` makes links */
    return type;
}

/* ---- The chain of the context ---------------------------------------------------------------- */

/* Returns the innermost link in *ret_link (new reference, or NULL). 0, or -1 with an exception. */
static int chain_get(struct state *state, struct link **ret_link)
{
    PyObject *value;
    *ret_link = NULL;
    if (PyContextVar_Get(state->async_open, NULL, &value) < 0)
        return -1;
    if (value != NULL && Py_IS_TYPE(value, state_type_made(state, TYPE_LINK)))
        *ret_link = (struct link *)value;
    else
        Py_XDECREF(value); /* None, or an object of other code */
    return 0;
}

static int chain_set(struct state *state, struct link *link)
{
    PyObject *token =
        PyContextVar_Set(state->async_open, link != NULL ? (PyObject *)link : Py_None);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

/* Borrowed from `link`, which may be NULL. */
static struct link *first_open(struct link *link)
{
    /* Relaxed: to drop a link later than possible is harmless. */
    while (link != NULL && __atomic_load_n(&link->ended, __ATOMIC_RELAXED))
        link = link->outer;
    return link;
}

/* Without a recording, a statement gets no link, unless another is open around it. */
int async_enter(struct state *state, struct annotation *annotation)
{
    bool on = annot_enabled();
    struct link *head, *outer;
    if (chain_get(state, &head) < 0)
        return -1;
    outer = first_open(head);
    Py_XINCREF(outer);
    Py_XDECREF(head);
    if (!on && outer == NULL)
        return 0;
    struct link *link = link_create(state, annotation, outer);
    int error = link ? chain_set(state, link) : -1;
    if (error == 0 && on)
        link->range = emit_start(annotation);
    Py_XDECREF(link);
    return error;
}

/* Ends the innermost open statement of the annotation; returns its range, or 0. */
static annot_range end_innermost(struct link *link, struct annotation *annotation)
{
    for (; link != NULL; link = link->outer) {
        /* Acquire and release: its own partner; of all contexts that have it, one ends it. */
        if (link->annotation == (PyObject *)annotation &&
            !__atomic_exchange_n(&link->ended, true, __ATOMIC_ACQ_REL))
            return link->range;
    }
    return 0;
}

int async_leave(struct state *state, struct annotation *annotation, annot_range *ret_range)
{
    struct link *head;
    *ret_range = 0;
    if (chain_get(state, &head) < 0)
        return -1;
    if (head == NULL)
        return 0;
    *ret_range = end_innermost(head, annotation);
    struct link *rest = first_open(head);
    int error = rest != head ? chain_set(state, rest) : 0;
    Py_DECREF(head);
    return error;
}
