/* SPDX-License-Identifier: MIT */
/* Converts Python's arguments, texts and numbers for libannot. */
#include "arguments.h"

#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

const char *text_of(PyObject *string, PyObject **ret_owner)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(string, &size);
    if (text != NULL && strlen(text) == (size_t)size) {
        *ret_owner = Py_NewRef(string);
        return text;
    }
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear();
    }
    PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
    if (bytes == NULL)
        return NULL;
    char *copy = PyBytes_AS_STRING(bytes);
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes); i++) {
        if (copy[i] == '\0')
            copy[i] = ' ';
    }
    *ret_owner = bytes;
    return copy;
}

int text_type_error(const char *argument, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", argument, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

int number_uint64(const char *argument, PyObject *value, uint64_t *ret_number)
{
    if (!PyLong_Check(value))
        return text_type_error(argument, "int", value);
    *ret_number = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred())
        return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s must be between 0 and 2**64 - 1", argument);
    return -1;
}

PyObject *number_reduce(PyObject *arguments)
{
    PyObject *copyreg = arguments ? PyImport_ImportModule("copyreg") : NULL;
    PyObject *make = copyreg ? PyObject_GetAttrString(copyreg, "__newobj_ex__") : NULL;
    PyObject *result = make ? PyTuple_Pack(2, make, arguments) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(copyreg);
    Py_XDECREF(arguments);
    return result;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Sorts positional and keyword arguments, with the messages of Python's own functions. */

static int argument_of_keyword(const struct state *state, PyObject *keyword)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (state->argument_names[i] == keyword)
            return i; /* names in a source are interned: the usual case */
    }
    if (PyUnicode_CHECK_INTERNED(keyword))
        return -1;
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (PyUnicode_Compare(state->argument_names[i], keyword) == 0)
            return i;
    }
    return -1;
}

/* Returns the argument of the keyword; -1: it is an item of the payload. */
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

/* ---- Values ---------------------------------------------------------------------------------- */

/* Numbers of other libraries (numpy, decimal) are converted by __index__ or __float__. */

const struct item_kind item_of_payload = {
    "payload item '%.200U' must be int, float, bool or str, not %.100s", false};
const struct item_kind item_of_counter = {"series '%.200U' must be a number, not %.100s", true};

/* ---- One value ------------------------------------------------------------------------------- */

static int set_double(struct annot_value *ret, PyObject *value)
{
    ret->kind = ANNOT_PAYLOAD_DOUBLE;
    ret->value.float64 = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    PyErr_Clear(); /* an int beyond the range of a double */
    ret->value.float64 = Py_HUGE_VAL;
    return 1;
}

static int set_int(struct annot_value *ret, PyObject *value)
{
    int overflow;
    ret->kind = ANNOT_PAYLOAD_INT64;
    ret->value.int64 = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0)
        return PyErr_Occurred() ? -1 : 1;
    if (overflow > 0) {
        ret->kind = ANNOT_PAYLOAD_UINT64;
        ret->value.uint64 = PyLong_AsUnsignedLongLong(value);
        if (!PyErr_Occurred())
            return 1;
        PyErr_Clear();
    }
    if (set_double(ret, value) < 0)
        return -1;
    if (overflow < 0 && ret->value.float64 == Py_HUGE_VAL)
        ret->value.float64 = -Py_HUGE_VAL;
    return 1;
}

static int set_string(struct annot_value *ret, PyObject *value, PyObject **ret_owner)
{
    ret->kind = ANNOT_PAYLOAD_STRING;
    ret->value.string = text_of(value, ret_owner);
    return ret->value.string ? 1 : -1;
}

static int set_index(struct annot_value *ret, PyObject *value)
{
    PyObject *index = PyNumber_Index(value);
    int result = index ? set_int(ret, index) : -1;
    Py_XDECREF(index);
    return result;
}

static bool is_float(PyObject *value)
{
    const PyNumberMethods *methods = Py_TYPE(value)->tp_as_number;
    return PyFloat_Check(value) || (methods && methods->nb_float);
}

int value_of(PyObject *object, struct annot_value *ret_value, PyObject **ret_owner)
{
    *ret_owner = NULL;
    if (PyBool_Check(object)) {
        ret_value->kind = ANNOT_PAYLOAD_BOOL;
        ret_value->value.uint64 = 0;
        ret_value->value.boolean = object == Py_True;
        return 1;
    }
    if (PyLong_Check(object))
        return set_int(ret_value, object);
    if (PyUnicode_Check(object))
        return set_string(ret_value, object, ret_owner);
    if (PyIndex_Check(object))
        return set_index(ret_value, object);
    return is_float(object) ? set_double(ret_value, object) : 0;
}

/* ---- Several --------------------------------------------------------------------------------- */

static struct items *items_alloc(Py_ssize_t capacity)
{
    const size_t each = sizeof(struct annot_value) + 2 * sizeof(PyObject *);
    if ((size_t)capacity > ((size_t)PY_SSIZE_T_MAX - sizeof(struct items)) / each) {
        PyErr_NoMemory();
        return NULL;
    }
    struct items *items = PyMem_Calloc(1, sizeof(*items) + (size_t)capacity * each);
    if (items == NULL)
        PyErr_NoMemory();
    else
        items->owners = (PyObject **)&items->values[capacity];
    return items;
}

void items_destroy(struct items *items)
{
    if (items == NULL)
        return;
    for (Py_ssize_t i = 0; i < 2 * items->count; i++)
        Py_XDECREF(items->owners[i]);
    PyMem_Free(items);
}

struct items *items_with(struct items *items, const char *key, const struct annot_value *value,
                         PyObject *owner)
{
    Py_ssize_t count = items ? items->count : 0;
    struct items *more = items_alloc(count + 1);
    if (more == NULL)
        return NULL;
    more->count = count + 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        more->values[i] = items->values[i];
        more->owners[2 * i] = items->owners[2 * i];
        more->owners[2 * i + 1] = items->owners[2 * i + 1];
    }
    more->values[count] = *value;
    more->values[count].key = key;
    more->owners[2 * count] = owner;
    PyMem_Free(items);
    return more;
}

static int add_item(const struct item_kind *kind, struct items *items, PyObject *key,
                    PyObject *object)
{
    struct annot_value *value = &items->values[items->count];
    PyObject **owners = &items->owners[2 * items->count];
    if (!PyUnicode_Check(key))
        return text_type_error("key of a payload item or series", "str", key);
    value->key = text_of(key, &owners[0]);
    if (value->key == NULL)
        return -1;
    items->count++; /* from here on the list owns its references */
    int is_value =
        kind->numbers && PyUnicode_Check(object) ? 0 : value_of(object, value, &owners[1]);
    if (is_value == 0)
        PyErr_Format(PyExc_TypeError, kind->message, key, Py_TYPE(object)->tp_name);
    return is_value > 0 ? 0 : -1;
}

/* `dict` must not be shared. */
static int add_dict(const struct item_kind *kind, struct items *items, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (add_item(kind, items, key, value) < 0)
            return -1;
    }
    return 0;
}

static int add_keywords(const struct item_kind *kind, struct items *items, PyObject *dict,
                        const struct arguments *arguments)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (arguments_next_item(arguments, &at, &key, &value)) {
        int found = dict ? PyDict_Contains(dict, key) : 0;
        if (found > 0)
            PyErr_Format(PyExc_TypeError, "multiple values for payload item '%.200U'", key);
        if (found != 0 || add_item(kind, items, key, value) < 0)
            return -1;
    }
    return 0;
}

struct items *items_create(const struct item_kind *kind, PyObject *dict,
                           const struct arguments *arguments)
{
    /* A copy: code of the numbers, or another thread, may change the dict meanwhile. */
    PyObject *copy = dict ? PyDict_Copy(dict) : NULL;
    if (dict != NULL && copy == NULL)
        return NULL;
    struct items *items = items_alloc(arguments->item_count + (copy ? PyDict_GET_SIZE(copy) : 0));
    if (items != NULL && ((copy != NULL && add_dict(kind, items, copy) < 0) ||
                          add_keywords(kind, items, copy, arguments) < 0)) {
        items_destroy(items);
        items = NULL;
    }
    Py_XDECREF(copy);
    return items;
}
