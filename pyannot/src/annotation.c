/* SPDX-License-Identifier: MIT */
/* Turns Python values into events. Wrong types are the caller's error and raise, whether anybody
 * records or not; text without a UTF-8 form and numbers of any size are taken as they are. */
#include "annotation.h"

#include <string.h>

#include "arguments.h"
#include "attributes.h"
#include "items.h"
#include "str_text.h"

static void use_items(struct annotation *annotation, struct items *items)
{
    annotation->items = items;
    annotation->event.values = items->values;
    annotation->event.value_count = (uint64_t)items->count;
}

static const char payload_types[] = "int, float, bool, str, a dict of these or None";
static const char value_types[] = "a number or a dict of numbers";

/* The one payload of the event, called `argument` in messages. */
static int payload_set(struct annotation *annotation, const char *argument, const char *types,
                       PyObject *payload)
{
    struct annot_value value = {0};
    int is_value = value_of(payload, &value, &annotation->payload);
    if (is_value == 0)
        return text_type_error(argument, types, payload);
    annotation->event.payload_kind = value.kind;
    memcpy(&annotation->event.payload, &value.value, sizeof(value.value));
    return is_value > 0 ? 0 : -1;
}

/* payload= may be one value or a dict; other keywords are items, too. */
static int payloads_set(struct annotation *annotation, const struct arguments *arguments)
{
    PyObject *payload = arguments->values[ARGUMENT_PAYLOAD];
    bool is_dict = payload != NULL && PyDict_Check(payload);
    if (is_dict || arguments->item_count > 0) {
        struct items *items = items_create(&item_of_payload, is_dict ? payload : NULL, arguments);
        if (items == NULL)
            return -1;
        use_items(annotation, items);
    }
    if (payload == NULL || payload == Py_None || is_dict)
        return 0;
    return payload_set(annotation, "payload", payload_types, payload);
}

/* A counter's value is a number, or {series: number}. */
static int value_set(struct annotation *annotation, const struct arguments *arguments)
{
    PyObject *value = arguments->values[ARGUMENT_VALUE];
    if (PyDict_Check(value)) {
        struct items *items = items_create(&item_of_counter, value, arguments);
        if (items == NULL)
            return -1;
        use_items(annotation, items);
        return 0;
    }
    if (value == Py_None || PyUnicode_Check(value))
        return text_type_error("value", value_types, value);
    return payload_set(annotation, "value", value_types, value);
}

int annotation_payload_to_items(struct annotation *annotation)
{
    struct annot_value value = {.kind = annotation->event.payload_kind};
    if (value.kind == ANNOT_PAYLOAD_NONE)
        return 0;
    memcpy(&value.value, &annotation->event.payload, sizeof(value.value));
    struct items *items = items_with(annotation->items, "value", &value, annotation->payload);
    if (items == NULL)
        return -1;
    annotation->payload = NULL;
    annotation->event.payload_kind = ANNOT_PAYLOAD_NONE;
    use_items(annotation, items);
    return 0;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static struct annotation *annotation_alloc(struct state *state)
{
    if (!state_is_alive(state))
        return NULL;
    struct annotation *annotation = PyObject_New(struct annotation, state->annotate_type);
    if (annotation == NULL)
        return NULL;
    annotation->name = annotation->text = annotation->payload = NULL;
    annotation->domain = annotation->category = NULL;
    annotation->items = NULL;
    annotation->event = (struct annot_event){0};
    annotation->plain = true;
    memset(&annotation->enter, 0, sizeof(annotation->enter));
    return annotation;
}

void annotation_dealloc(PyObject *self)
{
    struct annotation *annotation = (struct annotation *)self;
    PyTypeObject *type = Py_TYPE(self);
    items_destroy(annotation->items);
    Py_XDECREF(annotation->name);
    Py_XDECREF(annotation->text);
    Py_XDECREF(annotation->payload);
    Py_XDECREF(annotation->domain);
    Py_XDECREF(annotation->category);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int name_set(struct annotation *annotation, PyObject *name)
{
    if (!PyUnicode_Check(name))
        return text_type_error("name", "str", name);
    annotation->name = Py_NewRef(name);
    annotation->event.text = text_of(name, &annotation->text);
    return annotation->event.text ? 0 : -1;
}

void annotation_name_missing(void)
{
    PyErr_SetString(PyExc_TypeError,
                    "annotate() without a name is for decorators; others need annotate(name)");
}

/* An object for one statement takes the id from the name's kept one instead of hashing the text. */
static int name_id_share(struct state *state, struct annotation *annotation)
{
    if (annotation->plain || annotation->name == NULL || !annot_enabled())
        return 0;
    struct annotation *kept = annotation_of_name(state, annotation->name);
    if (kept == NULL)
        return -1;
    annotation->event.name = annotation_name_id(kept);
    Py_DECREF(kept);
    return 0;
}

static PyObject *given(PyObject *value)
{
    return value == Py_None ? NULL : Py_XNewRef(value);
}

static int annotation_fill(struct annotation *annotation, const struct arguments *arguments)
{
    PyObject *name = arguments->values[ARGUMENT_NAME];
    annotation->plain = arguments->item_count == 0;
    for (int i = ARGUMENT_NAME + 1; i < ARGUMENT_COUNT; i++)
        annotation->plain = annotation->plain && arguments->values[i] == NULL;
    if (name != NULL && name != Py_None && name_set(annotation, name) < 0)
        return -1;
    if (attributes_set(&annotation->event, arguments) < 0)
        return -1;
    annotation->domain = given(arguments->values[ARGUMENT_DOMAIN]);
    annotation->category = given(arguments->values[ARGUMENT_CATEGORY]);
    if (arguments->values[ARGUMENT_VALUE] != NULL)
        return value_set(annotation, arguments);
    return payloads_set(annotation, arguments);
}

struct annotation *annotation_create(struct state *state, const struct arguments *arguments)
{
    struct annotation *annotation = annotation_alloc(state);
    if (annotation != NULL &&
        (annotation_fill(annotation, arguments) < 0 || name_id_share(state, annotation) < 0))
        Py_CLEAR(annotation);
    return annotation;
}

struct annotation *annotation_renamed(struct state *state, struct annotation *like, PyObject *name)
{
    struct annotation *annotation = annotation_alloc(state);
    if (annotation == NULL)
        return NULL;
    annotation->event = like->event;
    annotation->event.name = 0;
    annotation->plain = like->plain;
    annotation->payload = Py_NewRef(like);
    annotation->domain = Py_XNewRef(like->domain);
    annotation->category = Py_XNewRef(like->category);
    if (name_set(annotation, name) < 0)
        Py_CLEAR(annotation);
    return annotation;
}

struct annotation *annotation_of_name(struct state *state, PyObject *name)
{
    struct annotation *annotation = name_cache_find(&state->names, name);
    if (annotation != NULL)
        return annotation;
    if (!PyUnicode_Check(name)) {
        text_type_error("name", "str", name);
        return NULL;
    }
    const struct arguments arguments = {.values = {name}, .state = state};
    annotation = annotation_create(state, &arguments);
    if (annotation != NULL)
        name_cache_add(&state->names, annotation);
    return annotation;
}
