/* SPDX-License-Identifier: MIT */
/* The class `flow`: an arrow between ranges, identified by a number. Plain data: its number may be
 * sent anywhere, and it pickles. Threads: any; constant after creation. */
#include "flow.h"

#include "arguments.h"
#include "state.h"

#include <annot/annot.h>

struct flow {
    PyObject_HEAD PyObject *name; /* str, or NULL */
    PyObject *text;               /* owner of `bytes` */
    const char *bytes;            /* NULL: no name */
    annot_flow id;
};

/* Sets the id from `number` and the scope, from `id`, or a new one. 0, or -1 with an exception. */
static int id_set(struct flow *flow, PyObject *number, PyObject *id)
{
    uint64_t value;
    if (number == Py_None && id == Py_None) {
        flow->id = annot_flow_new();
        return 0;
    }
    if (number != Py_None && id != Py_None) {
        PyErr_SetString(PyExc_TypeError, "flow() takes a number or an id, not both");
        return -1;
    }
    if (number != Py_None && flow->bytes == NULL) {
        PyErr_SetString(PyExc_TypeError, "flow() of a number needs a name: it is the scope");
        return -1;
    }
    if (number_uint64(number != Py_None ? "number" : "id", number != Py_None ? number : id,
                      &value) < 0)
        return -1;
    flow->id = number != Py_None ? annot_flow_id(flow->bytes, value) : value;
    return 0;
}

static int name_set(struct flow *flow, PyObject *name)
{
    if (name == Py_None)
        return 0;
    if (!PyUnicode_Check(name))
        return text_type_error("name", "str or None", name);
    flow->name = Py_NewRef(name);
    flow->bytes = text_of(name, &flow->text);
    return flow->bytes ? 0 : -1;
}

static PyObject *flow_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"name", "number", "id", NULL};
    PyObject *name = Py_None, *number = Py_None, *id = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO$O:flow", ARGUMENT_NAMES(names), &name,
                                     &number, &id))
        return NULL;
    struct flow *flow = (struct flow *)type->tp_alloc(type, 0);
    if (flow != NULL && (name_set(flow, name) < 0 || id_set(flow, number, id) < 0))
        Py_CLEAR(flow);
    return (PyObject *)flow;
}

static void flow_dealloc(PyObject *self)
{
    struct flow *flow = (struct flow *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(flow->name);
    Py_XDECREF(flow->text);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *flow_repr(PyObject *self)
{
    const struct flow *flow = (const struct flow *)self;
    return PyUnicode_FromFormat("flow(%R, id=%llu)", flow->name ? flow->name : Py_None,
                                (unsigned long long)flow->id);
}

static PyObject *flow_begin(PyObject *self, PyObject *ignored)
{
    const struct flow *flow = (const struct flow *)self;
    (void)ignored;
    annot_flow_begin(flow->id, flow->bytes);
    Py_RETURN_NONE;
}

static PyObject *flow_step(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    annot_flow_step(((const struct flow *)self)->id);
    Py_RETURN_NONE;
}

static PyObject *flow_end(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    annot_flow_end(((const struct flow *)self)->id);
    Py_RETURN_NONE;
}

static PyObject *flow_reduce(PyObject *self, PyObject *ignored)
{
    const struct flow *flow = (const struct flow *)self;
    (void)ignored;
    PyObject *arguments =
        Py_BuildValue("(O()N)", Py_TYPE(self),
                      Py_BuildValue("{sOsK}", "name", flow->name ? flow->name : Py_None, "id",
                                    (unsigned long long)flow->id));
    return number_reduce(arguments);
}

static PyMethodDef methods[] = {
    {"begin", flow_begin, METH_NOARGS,
     PyDoc_STR("begin($self)\n--\n\nStart the arrow in the calling thread's innermost range.")},
    {"step", flow_step, METH_NOARGS,
     PyDoc_STR("step($self)\n--\n\nLead the arrow through the calling thread's innermost range.")},
    {"end", flow_end, METH_NOARGS,
     PyDoc_STR("end($self)\n--\n\nEnd the arrow in the calling thread's innermost range.")},
    {"__reduce__", flow_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"id", T_ULONGLONG, offsetof(struct flow, id), READONLY,
     PyDoc_STR("The arrow's number: flow(id=number) is the same arrow in any process.")},
    {"name", T_OBJECT, offsetof(struct flow, name), READONLY, PyDoc_STR("The name given.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    flow_doc,
    "flow(name=None, number=None, *, id=None)\n--\n\n"
    "An arrow between ranges, from begin() through any step() to end(), also across threads\n"
    "and processes.\n\n"
    "flow(\"name\") makes one; send it (it can be pickled) or its id to the place of end().\n"
    "flow(\"requests\", 17) is the same arrow in every process that uses this number.");

static PyType_Slot slots[] = {
    {Py_tp_new, flow_new},
    {Py_tp_dealloc, flow_dealloc},
    {Py_tp_repr, flow_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, (void *)flow_doc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.flow",
    .basicsize = sizeof(struct flow),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *flow_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
