/* SPDX-License-Identifier: MIT */
/* Sorts positional and keyword arguments, with the messages that Python's own functions give. */
#include "arguments.h"

static int argument_of_keyword(const struct state *state, PyObject *keyword)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (state->argument_names[i] == keyword)
            return i; /* names in a source are interned: this is the usual way */
    }
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (PyUnicode_Compare(state->argument_names[i], keyword) == 0)
            return i;
    }
    return -1;
}

static int keywords_sort(const struct state *state, const struct signature *signature,
                         const struct call *call, PyObject **values)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call->names); i++) {
        PyObject *keyword = PyTuple_GET_ITEM(call->names, i);
        int argument = argument_of_keyword(state, keyword);
        if (argument < 0 || argument == (int)signature->rejected) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                         signature->function, keyword);
            return -1;
        }
        if (values[argument] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                         signature->function, keyword);
            return -1;
        }
        values[argument] = call->args[call->count + i];
    }
    return 0;
}

int arguments_parse(const struct state *state, const struct signature *signature,
                    const struct call *call, PyObject *values[ARGUMENT_COUNT])
{
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        values[i] = NULL;
    if (!state_is_alive(state))
        return -1;
    if (call->count > signature->positional_count) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s but %zd were given",
                     signature->function, signature->positional_count,
                     signature->positional_count == 1 ? "" : "s", call->count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < call->count; i++)
        values[signature->positional[i]] = call->args[i];
    if (call->names != NULL && keywords_sort(state, signature, call, values) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < signature->positional_count; i++) {
        enum argument argument = signature->positional[i];
        if (values[argument] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%U'",
                         signature->function, state->argument_names[argument]);
            return -1;
        }
    }
    return 0;
}
