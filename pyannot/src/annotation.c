/* SPDX-License-Identifier: MIT */
/* Turns Python values into events. Wrong types are the caller's error and raise, whether anybody
 * records or not; text without a UTF-8 form and numbers of any size are taken as they are. */
#include "annotation.h"

#include <string.h>

#include "state.h"

/* Gives the text of a str as UTF-8 without NUL; *ret_owner keeps it alive. */
static const char *text_of(PyObject *string, PyObject **ret_owner)
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
        PyErr_Clear(); /* lone surrogates, as in file names that are no UTF-8 */
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

static int type_error(const char *argument, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", argument, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

static bool is_given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* Interns the text of `value` as a domain, or as a category of `*domain`: its id, or -1. */
static int group_id(const char *argument, PyObject *value, const annot_domain *domain)
{
    PyObject *owner;
    if (!PyUnicode_Check(value))
        return type_error(argument, "str or None", value);
    const char *text = text_of(value, &owner);
    if (text == NULL)
        return -1;
    int id = domain ? annot_category_create(*domain, text) : annot_domain_create(text);
    Py_DECREF(owner);
    return id;
}

static const struct {
    const char *name;
    uint32_t rgb;
} colors[] = {
    {"black", 0x000000},  {"blue", 0x1f77b4},   {"brown", 0x8c564b},  {"cyan", 0x17becf},
    {"gray", 0x7f7f7f},   {"green", 0x2ca02c},  {"grey", 0x7f7f7f},   {"magenta", 0xe377c2},
    {"orange", 0xff7f0e}, {"pink", 0xe377c2},   {"purple", 0x9467bd}, {"red", 0xd62728},
    {"white", 0xffffff},  {"yellow", 0xbcbd22},
};

static int color_of_text(const char *text, uint32_t *ret_color)
{
    if (text[0] == '#' && strlen(text) == 7 && strspn(text + 1, "0123456789abcdefABCDEF") == 6) {
        *ret_color = 0xff000000u | (uint32_t)strtoul(text + 1, NULL, 16);
        return 0;
    }
    for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++) {
        if (strcmp(text, colors[i].name) == 0) {
            *ret_color = 0xff000000u | colors[i].rgb;
            return 0;
        }
    }
    return -1;
}

/* "red", "#d62728", 0xd62728 or, with an opacity, 0x80d62728. */
static int color_set(struct annot_event *event, PyObject *value)
{
    if (PyUnicode_Check(value)) {
        const char *text = PyUnicode_AsUTF8(value);
        if (text == NULL)
            return -1;
        if (color_of_text(text, &event->color) == 0)
            return 0;
        PyErr_Format(PyExc_ValueError, "color must be a known name or #rrggbb, not %R", value);
        return -1;
    }
    if (!PyLong_Check(value))
        return type_error("color", "str, int or None", value);
    unsigned long number = PyLong_AsUnsignedLong(value);
    if (PyErr_Occurred() || number > 0xffffffffu) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "color must be between 0 and 0xffffffff");
        return -1;
    }
    event->color = (uint32_t)number > 0xffffffu ? (uint32_t)number : 0xff000000u | (uint32_t)number;
    return 0;
}

static int level_set(struct annot_event *event, PyObject *value)
{
    if (!PyLong_Check(value))
        return type_error("level", "int", value);
    long level = PyLong_AsLong(value);
    if (level < 0 || level > 7) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "level must be between 0 and 7");
        return -1;
    }
    event->level = (uint8_t)level;
    return 0;
}

static int payload_set_double(struct annot_event *event, PyObject *value)
{
    event->payload_kind = ANNOT_PAYLOAD_DOUBLE;
    event->payload.float64 = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    PyErr_Clear(); /* an int beyond the range of a double */
    event->payload.float64 = Py_HUGE_VAL;
    return 0;
}

static int payload_set_int(struct annot_event *event, PyObject *value)
{
    int overflow;
    event->payload_kind = ANNOT_PAYLOAD_INT64;
    event->payload.int64 = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0)
        return PyErr_Occurred() ? -1 : 0;
    if (overflow > 0) {
        event->payload_kind = ANNOT_PAYLOAD_UINT64;
        event->payload.uint64 = PyLong_AsUnsignedLongLong(value);
        if (!PyErr_Occurred())
            return 0;
        PyErr_Clear();
    }
    if (payload_set_double(event, value) < 0)
        return -1;
    if (overflow < 0 && event->payload.float64 == Py_HUGE_VAL)
        event->payload.float64 = -Py_HUGE_VAL;
    return 0;
}

static int payload_set_string(struct annotation *annotation, PyObject *value)
{
    const char *text = text_of(value, &annotation->payload);
    annotation->event.payload_kind = ANNOT_PAYLOAD_STRING;
    annotation->event.payload.string = text;
    return text ? 0 : -1;
}

/* Numbers of other libraries (numpy, decimal) come in by __index__ or __float__. */
static int payload_set(struct annotation *annotation, PyObject *value)
{
    struct annot_event *event = &annotation->event;
    if (PyBool_Check(value)) {
        event->payload_kind = ANNOT_PAYLOAD_BOOL;
        event->payload.boolean = value == Py_True;
        return 0;
    }
    if (PyLong_Check(value))
        return payload_set_int(event, value);
    if (PyUnicode_Check(value))
        return payload_set_string(annotation, value);
    if (PyIndex_Check(value)) {
        PyObject *index = PyNumber_Index(value);
        int result = index ? payload_set_int(event, index) : -1;
        Py_XDECREF(index);
        return result;
    }
    if (PyFloat_Check(value) ||
        (Py_TYPE(value)->tp_as_number && Py_TYPE(value)->tp_as_number->nb_float))
        return payload_set_double(event, value);
    return type_error("payload", "int, float, bool, str or None", value);
}

/* A counter has a number, always. */
static int value_set(struct annotation *annotation, PyObject *value)
{
    if (value == Py_None || PyUnicode_Check(value))
        return type_error("value", "a number", value);
    return payload_set(annotation, value);
}

static int event_set(struct annotation *annotation, PyObject *const *values)
{
    struct annot_event *event = &annotation->event;
    int domain = 0, category = 0;
    if (is_given(values[ARGUMENT_DOMAIN]))
        domain = group_id("domain", values[ARGUMENT_DOMAIN], NULL);
    if (domain < 0)
        return -1;
    event->domain = (annot_domain)domain;
    if (is_given(values[ARGUMENT_CATEGORY]))
        category = group_id("category", values[ARGUMENT_CATEGORY], &event->domain);
    if (category < 0)
        return -1;
    event->category = (annot_category)category;
    if (is_given(values[ARGUMENT_COLOR]) && color_set(event, values[ARGUMENT_COLOR]) < 0)
        return -1;
    if (values[ARGUMENT_LEVEL] != NULL && level_set(event, values[ARGUMENT_LEVEL]) < 0)
        return -1;
    if (values[ARGUMENT_VALUE] != NULL)
        return value_set(annotation, values[ARGUMENT_VALUE]);
    if (is_given(values[ARGUMENT_PAYLOAD]))
        return payload_set(annotation, values[ARGUMENT_PAYLOAD]);
    return 0;
}

/* An object for one statement takes the id from the name's kept one instead of hashing the text. */
static int name_id_share(struct state *state, struct annotation *annotation)
{
    if (annotation->plain || !annot_enabled())
        return 0;
    struct annotation *kept = annotation_of_name(state, annotation->name);
    if (kept == NULL)
        return -1;
    annotation->event.name = annotation_name_id(kept);
    Py_DECREF(kept);
    return 0;
}

struct annotation *annotation_create(struct state *state, PyObject *const *values)
{
    PyObject *name = values[ARGUMENT_NAME];
    if (!state_is_alive(state))
        return NULL;
    if (!PyUnicode_Check(name)) {
        type_error("name", "str", name);
        return NULL;
    }
    struct annotation *annotation = PyObject_New(struct annotation, state->annotate_type);
    if (annotation == NULL)
        return NULL;
    annotation->name = Py_NewRef(name);
    annotation->text = NULL;
    annotation->payload = NULL;
    annotation->event = (struct annot_event){0};
    annotation->event.text = text_of(name, &annotation->text);
    annotation->plain = true;
    for (int i = ARGUMENT_NAME + 1; i < ARGUMENT_COUNT; i++)
        annotation->plain = annotation->plain && values[i] == NULL;
    if (annotation->event.text == NULL || event_set(annotation, values) < 0 ||
        name_id_share(state, annotation) < 0) {
        Py_DECREF(annotation);
        return NULL;
    }
    return annotation;
}

struct annotation *annotation_of_name(struct state *state, PyObject *name)
{
    struct annotation *annotation = name_cache_find(&state->names, name);
    if (annotation != NULL)
        return annotation;
    PyObject *values[ARGUMENT_COUNT] = {name};
    annotation = annotation_create(state, values);
    if (annotation != NULL)
        name_cache_add(&state->names, annotation);
    return annotation;
}

void annotation_destroy(struct annotation *annotation)
{
    PyTypeObject *type = Py_TYPE(annotation);
    Py_XDECREF(annotation->name);
    Py_XDECREF(annotation->text);
    Py_XDECREF(annotation->payload);
    PyObject_Free(annotation);
    Py_DECREF(type);
}
