/* SPDX-License-Identifier: MIT */
/* The class `track`: a separate timeline for ranges that belong to no thread (a task, a request).
 * Plain data that pickles: any thread, and any process that has it, may record on it.
 *
 * A range of a track may be ended by any thread and process. But a child that was forked inside of
 * a range has its parent's objects, and code of its parent's that ends them: that range is not the
 * child's. So an object counts the ranges begun by it, and in which process. */
#include "track.h"

#include "annotation.h"
#include "arguments.h"
#include "enter.h"
#include "entered.h"
#include "function.h"
#include "scope.h"
#include "state.h"

struct track {
    PyObject_HEAD PyObject *name; /* str */
    PyObject *parent;             /* a track, or NULL: the process */
    PyObject *domain;             /* str, of its events; or NULL */
    struct annot_track track;
    /* Upper half: entered_forks of a process; lower half: its open ranges of this track. */
    uint64_t open;
    bool inherited; /* a parent had begun ranges by it when it forked */
};

static const struct signature begin_signature = {"begin", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature mark_signature = {"mark", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature annotate_signature = {"annotate", {ARGUMENT_NAME}, 1, 1, false, NULL};

/* The number of a range that no process can have, as each sets its own bits in all of them: its end
 * is counted as one of a range that is not open here. */
enum { NOBODYS_RANGE = 1 };

/* Makes the result of track.annotate(): a range of the track for `with` and for decorators. Takes
 * over `annotation`. New reference, or NULL with an exception. */
static PyObject *track_range_create(struct state *state, struct track *track,
                                    struct annotation *annotation);

/* ---- Making ---------------------------------------------------------------------------------- */

/* Sets its name, and a new id or the given one. 0, or -1 with an exception. */
static int track_set(struct track *track, PyObject *id)
{
    const struct annot_track *parent =
        track->parent ? &((const struct track *)track->parent)->track : NULL;
    uint64_t number = 0;
    PyObject *owner;
    if (id != Py_None && number_uint64("id", id, &number) < 0)
        return -1;
    const char *text = text_of(track->name, &owner);
    if (text == NULL)
        return -1;
    if (id == Py_None) {
        track->track = annot_track_create(text, parent);
    } else {
        track->track = (struct annot_track){.id = number, .name = annot_name_intern(text)};
        track->track.parent = parent ? parent->id : 0;
        track->track.parent_name = parent ? parent->name : 0;
    }
    Py_DECREF(owner);
    return 0;
}

PyObject *track_create(PyTypeObject *type, PyObject *domain, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"name", "parent", "id", NULL};
    PyObject *name, *parent = Py_None, *id = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$O:track", ARGUMENT_NAMES(names), &name,
                                     &parent, &id))
        return NULL;
    if (!PyUnicode_Check(name)) {
        text_type_error("name", "str", name);
        return NULL;
    }
    if (parent != Py_None && !Py_IS_TYPE(parent, type)) {
        text_type_error("parent", "a track or None", parent);
        return NULL;
    }
    struct track *track = (struct track *)type->tp_alloc(type, 0);
    if (track == NULL)
        return NULL;
    track->name = Py_NewRef(name);
    track->parent = parent != Py_None ? Py_NewRef(parent) : NULL;
    track->domain = domain ? Py_NewRef(domain) : NULL;
    track->open = (uint64_t)entered_forks << 32;
    if (track_set(track, id) < 0)
        Py_CLEAR(track);
    return (PyObject *)track;
}

static PyObject *track_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    return track_create(type, NULL, args, keywords);
}

/* Frees a chain of parents without recursion, as it may be of any length. */
static void chain_release(PyObject *track)
{
    while (track != NULL && Py_REFCNT(track) == 1) {
        PyObject *parent = ((struct track *)track)->parent;
        ((struct track *)track)->parent = NULL;
        Py_DECREF(track);
        track = parent;
    }
    Py_XDECREF(track);
}

static void track_dealloc(PyObject *self)
{
    struct track *track = (struct track *)self;
    PyTypeObject *type = Py_TYPE(self);
    chain_release(track->parent);
    Py_XDECREF(track->name);
    Py_XDECREF(track->domain);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *track_repr(PyObject *self)
{
    const struct track *track = (const struct track *)self;
    return PyUnicode_FromFormat("track(%R, id=%llu)", track->name,
                                (unsigned long long)track->track.id);
}

static PyObject *track_reduce(PyObject *self, PyObject *ignored)
{
    const struct track *track = (const struct track *)self;
    (void)ignored;
    return number_reduce(Py_BuildValue("(O()N)", Py_TYPE(self),
                                       Py_BuildValue("{sOsOsK}", "name", track->name, "parent",
                                                     track->parent ? track->parent : Py_None, "id",
                                                     (unsigned long long)track->track.id)));
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

/* Stops counting ranges that were open when this process was forked. */
static uint64_t track_adopt(struct track *track)
{
    uint64_t open = __atomic_load_n(&track->open, __ATOMIC_ACQUIRE); /* see the exchange */
    while (__builtin_expect(open >> 32 != entered_forks, 0)) {
        uint64_t none = (uint64_t)entered_forks << 32;
        if ((uint32_t)open != 0)
            __atomic_store_n(&track->inherited, true, __ATOMIC_RELAXED);
        /* Release: a thread that finds our number finds `inherited`, too. */
        if (__atomic_compare_exchange_n(&track->open, &open, none, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return none;
    }
    return open;
}

/* Counts a range that is begun by this object. */
static void track_opened(struct track *track)
{
    track_adopt(track);
    __atomic_add_fetch(&track->open, 1, __ATOMIC_RELAXED);
}

/* Counts a range that is ended by this object: false if it can only be a parent's. */
static bool track_may_end(struct track *track)
{
    uint64_t open = track_adopt(track);
    while ((uint32_t)open != 0) {
        if (__atomic_compare_exchange_n(&track->open, &open, open - 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return !__atomic_load_n(&track->inherited, __ATOMIC_RELAXED);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct annotation *annotation_of_call(struct track *track, const struct signature *signature,
                                             const struct call *call)
{
    struct state *state = state_of_type(Py_TYPE(track));
    struct arguments arguments;
    if (state != NULL && track->domain == NULL && call_is_short(call, 1))
        return annotation_of_name(state, call->args[0]);
    if (arguments_parse(&arguments, state, signature, call, track->domain) < 0)
        return NULL;
    struct annotation *annotation = annotation_create(state, &arguments);
    if (annotation != NULL &&
        (annotation_payload_to_items(annotation) < 0 || !annotation_has_name(annotation)))
        Py_CLEAR(annotation);
    return annotation;
}

static PyObject *track_begin(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    struct track *track = (struct track *)self;
    const struct call call = {args, count, names};
    struct annotation *annotation = annotation_of_call(track, &begin_signature, &call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled()) {
        emit_track_begin(&track->track, annotation);
        track_opened(track);
    }
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *track_end(PyObject *self, PyObject *ignored)
{
    struct track *track = (struct track *)self;
    (void)ignored;
    if (__builtin_expect(track_may_end(track), 1))
        annot_track_end(&track->track);
    else
        annot_end(NOBODYS_RANGE);
    Py_RETURN_NONE;
}

static PyObject *track_mark(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *names)
{
    struct track *track = (struct track *)self;
    const struct call call = {args, count, names};
    struct annotation *annotation = annotation_of_call(track, &mark_signature, &call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled())
        emit_track_mark(&track->track, annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *track_annotate(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                PyObject *names)
{
    struct track *track = (struct track *)self;
    const struct call call = {args, count, names};
    struct annotation *annotation = annotation_of_call(track, &annotate_signature, &call);
    if (annotation == NULL)
        return NULL;
    return track_range_create(state_of_type(Py_TYPE(self)), track, annotation);
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

enum { KEYWORDS = METH_FASTCALL | METH_KEYWORDS };

static PyMethodDef methods[] = {
    {"begin", METHOD(track_begin), KEYWORDS,
     PyDoc_STR("begin($self, name, *, domain=None, category=None, color=None, payload=None, "
               "level=0, **items)\n--\n\nOpen a range on the track; ranges of one track nest.")},
    {"end", track_end, METH_NOARGS,
     PyDoc_STR("end($self)\n--\n\nClose the track's innermost range, also one that another "
               "thread\nopened, but not one that was open when this process was forked.")},
    {"mark", METHOD(track_mark), KEYWORDS,
     PyDoc_STR("mark($self, name, *, domain=None, category=None, color=None, payload=None, "
               "level=0, **items)\n--\n\nRecord one instant on the track.")},
    {"annotate", METHOD(track_annotate), KEYWORDS,
     PyDoc_STR("annotate($self, name, *, domain=None, category=None, color=None, payload=None, "
               "level=0, **items)\n--\n\nA range of the track, for `with`, `async with` and as a "
               "decorator.")},
    {"__reduce__", track_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"id", T_ULONGLONG, offsetof(struct track, track.id), READONLY,
     PyDoc_STR("The track's number: track(name, id=number) is the same track in any process.")},
    {"name", T_OBJECT, offsetof(struct track, name), READONLY, PyDoc_STR("The name given.")},
    {"parent", T_OBJECT, offsetof(struct track, parent), READONLY,
     PyDoc_STR("The track that it is shown below, or None: the process.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(track_doc,
             "track(name, parent=None, *, id=None)\n--\n\n"
             "A separate line in the viewer, for ranges that belong to no thread: a task, a\n"
             "request, a connection. Any thread may use it, and any process: it can be pickled.\n\n"
             "  parent  the track that it is shown below; None: the process\n"
             "  id      the number of an existing track; None makes a new one");

static PyType_Slot slots[] = {
    {Py_tp_new, track_new},
    {Py_tp_dealloc, track_dealloc},
    {Py_tp_repr, track_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, (void *)track_doc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.track",
    .basicsize = sizeof(struct track),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *track_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* ---- The class `track_range` ----------------------------------------------------------------- */

/* The class `track_range`: the result of track.annotate(). entered.h keeps which of its statements
 * were entered during a recording, as for other annotations.
 * Threads: any; a statement is left on the thread that entered it. */

struct track_range {
    PyObject_HEAD struct track *track;
    struct annotation *annotation;
};

static PyObject *track_range_create(struct state *state, struct track *track,
                                    struct annotation *annotation)
{
    PyTypeObject *type = state_type(state, TYPE_TRACK_RANGE);
    struct track_range *range = type ? PyObject_New(struct track_range, type) : NULL;
    if (range == NULL) {
        Py_DECREF(annotation);
        return NULL;
    }
    range->track = (struct track *)Py_NewRef((PyObject *)track);
    range->annotation = annotation;
    return (PyObject *)range;
}

static void range_dealloc(PyObject *self)
{
    struct track_range *range = (struct track_range *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(range->track);
    Py_XDECREF(range->annotation);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *range_enter(PyObject *self, PyObject *ignored)
{
    struct track_range *range = (struct track_range *)self;
    bool on = annot_enabled();
    (void)ignored;
    entered_push_own(on);
    if (on) {
        emit_track_begin(&range->track->track, range->annotation);
        track_opened(range->track);
    }
    return Py_NewRef(self);
}

static PyObject *range_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct track_range *range = (struct track_range *)self;
    if (entered_pop_own() && track_may_end(range->track))
        exception_track_end(&range->track->track, exception_of_exit(args, count));
    Py_RETURN_NONE;
}

static PyObject *range_aenter(PyObject *self, PyObject *ignored)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyObject *entered = state_is_alive(state) ? range_enter(self, ignored) : NULL;
    return entered ? ready_create(state, entered) : NULL;
}

static PyObject *range_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyObject *left = range_exit(self, args, count);
    if (!state_is_alive(state))
        Py_CLEAR(left);
    return left ? ready_create(state, left) : NULL;
}

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyErr_Format(PyExc_TypeError, "%.100s objects are made by track.annotate()", type->tp_name);
    return NULL;
}

static PyObject *range_repr(PyObject *self)
{
    struct track_range *range = (struct track_range *)self;
    return PyUnicode_FromFormat("%R.annotate(%R)", range->track, range->annotation->name);
}

static PyObject *range_reduce(PyObject *self, PyObject *ignored)
{
    struct track_range *range = (struct track_range *)self;
    PyObject *maker = PyObject_GetAttrString((PyObject *)range->track, "annotate");
    (void)ignored;
    PyObject *result = maker ? annotation_reduce(maker, range->annotation) : NULL;
    Py_XDECREF(maker);
    return result;
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef track_range_methods[] = {
    {"__enter__", range_enter, METH_NOARGS, PyDoc_STR("__enter__($self)\n--\n\nOpen the range.")},
    {"__exit__", METHOD(range_exit), METH_FASTCALL,
     PyDoc_STR("__exit__($self, *exception)\n--\n\nClose it.")},
    {"__aenter__", range_aenter, METH_NOARGS,
     PyDoc_STR("__aenter__($self)\n--\n\nOpen the range.")},
    {"__aexit__", METHOD(range_aexit), METH_FASTCALL,
     PyDoc_STR("__aexit__($self, *exception)\n--\n\nClose it.")},
    {"__reduce__", range_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot track_range_slots[] = {
    {Py_tp_new, range_new},      {Py_tp_dealloc, range_dealloc},
    {Py_tp_repr, range_repr},    {Py_tp_methods, track_range_methods},
    {Py_tp_call, decorate_call}, {0, NULL},
};

static PyType_Spec track_range_spec = {
    .name = "pyannot.track_range",
    .basicsize = sizeof(struct track_range),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = track_range_slots,
};

PyTypeObject *track_range_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &track_range_spec, NULL);
}
