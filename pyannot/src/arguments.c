/* SPDX-License-Identifier: MIT */
/* Sorts positional and keyword arguments, with the messages that Python's own functions give. */
#include "arguments.h"

static int argument_of_keyword(const struct state *state, PyObject *keyword)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (state->argument_names[i] == keyword)
            return i; /* names in a source are interned: this is the usual way */
    }
    if (PyUnicode_CHECK_INTERNED(keyword))
        return -1;
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (PyUnicode_Compare(state->argument_names[i], keyword) == 0)
            return i;
    }
    return -1;
}

/* Which argument the keyword is for; -1: it is an item of the payload. */
static int argument_of(const struct state *state, bool is_counter, PyObject *keyword)
{
    int argument = argument_of_keyword(state, keyword);
    return argument == ARGUMENT_VALUE && !is_counter ? -1 : argument;
}

static int keywords_sort(struct arguments *arguments, const struct signature *signature)
{
    const struct call *call = arguments->call;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call->names); i++) {
        PyObject *keyword = PyTuple_GET_ITEM(call->names, i);
        int argument = argument_of(arguments->state, signature->is_counter, keyword);
        if (signature->is_counter && (argument < 0 || argument == ARGUMENT_PAYLOAD)) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.200U'",
                         signature->function, keyword);
            return -1;
        }
        if (argument < 0) {
            arguments->item_count++;
            continue;
        }
        if (arguments->values[argument] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%.200U'",
                         signature->function, keyword);
            return -1;
        }
        arguments->values[argument] = call->args[call->count + i];
    }
    return 0;
}

static int check_required(const struct arguments *arguments, const struct signature *signature)
{
    for (Py_ssize_t i = 0; i < signature->required_count; i++) {
        enum argument argument = signature->positional[i];
        if (arguments->values[argument] != NULL)
            continue;
        PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%.200U'%s%s",
                     signature->function, arguments->state->argument_names[argument],
                     signature->hint ? "; " : "", signature->hint ? signature->hint : "");
        return -1;
    }
    return 0;
}

int arguments_parse(struct arguments *arguments, const struct state *state,
                    const struct signature *signature, const struct call *call, PyObject *domain)
{
    *arguments = (struct arguments){.state = state, .call = call};
    if (!state_is_alive(state))
        return -1;
    if (call->count > signature->positional_count) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s but %zd were given",
                     signature->function, signature->positional_count,
                     signature->positional_count == 1 ? "" : "s", call->count);
        return -1;
    }
    arguments->values[ARGUMENT_DOMAIN] = domain;
    for (Py_ssize_t i = 0; i < call->count; i++)
        arguments->values[signature->positional[i]] = call->args[i];
    if (call->names != NULL && keywords_sort(arguments, signature) < 0)
        return -1;
    return check_required(arguments, signature);
}

bool arguments_next_item(const struct arguments *arguments, Py_ssize_t *at, PyObject **ret_key,
                         PyObject **ret_value)
{
    const struct call *call = arguments->call;
    if (arguments->item_count == 0)
        return false;
    while (*at < PyTuple_GET_SIZE(call->names)) {
        PyObject *keyword = PyTuple_GET_ITEM(call->names, *at);
        PyObject *value = call->args[call->count + (*at)++];
        if (argument_of(arguments->state, false, keyword) < 0) {
            *ret_key = keyword;
            *ret_value = value;
            return true;
        }
    }
    return false;
}
