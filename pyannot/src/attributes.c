/* SPDX-License-Identifier: MIT */
/* See attributes.h. */
#include "attributes.h"

#include <string.h>

#include "str_text.h"

static bool is_given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* Interns the text of `value` as a domain, or as a category of `*domain`: its id, or -1. */
static int group_id(const char *argument, PyObject *value, const annot_domain *domain)
{
    PyObject *owner;
    if (!is_given(value))
        return 0;
    if (!PyUnicode_Check(value))
        return text_type_error(argument, "str or None", value);
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
        if (text != NULL && color_of_text(text, &event->color) == 0)
            return 0;
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "color must be a known name or #rrggbb, not '%.100U'",
                     value);
        return -1;
    }
    if (!PyLong_Check(value))
        return text_type_error("color", "str, int or None", value);
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
        return text_type_error("level", "int", value);
    long level = PyLong_AsLong(value);
    if (level < 0 || level > 7) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "level must be between 0 and 7");
        return -1;
    }
    event->level = (uint8_t)level;
    return 0;
}

int attributes_set(struct annot_event *event, const struct arguments *arguments)
{
    PyObject *const *values = arguments->values;
    int domain = group_id("domain", values[ARGUMENT_DOMAIN], NULL);
    if (domain < 0)
        return -1;
    event->domain = (annot_domain)domain;
    int category = group_id("category", values[ARGUMENT_CATEGORY], &event->domain);
    if (category < 0)
        return -1;
    event->category = (annot_category)category;
    if (is_given(values[ARGUMENT_COLOR]) && color_set(event, values[ARGUMENT_COLOR]) < 0)
        return -1;
    return values[ARGUMENT_LEVEL] ? level_set(event, values[ARGUMENT_LEVEL]) : 0;
}
