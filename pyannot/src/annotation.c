/* SPDX-License-Identifier: MIT */
/* Turns Python values into events. Wrong types are the caller's error and raise, with or without a
 * recording; text without a UTF-8 form and numbers of any size are accepted. */
#include "annotation.h"

#include "arguments.h"

#include <annot/observers.h>

#include <string.h>

/* ---- Attributes ------------------------------------------------------------------------------ */

static bool is_given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* As text_of; NULL with a TypeError if it is not a text. */
static const char *group_text(const char *argument, PyObject *value, PyObject **ret_owner)
{
    if (PyUnicode_Check(value))
        return text_of(value, ret_owner);
    text_type_error(argument, "str or None", value);
    return NULL;
}

static int domain_set(struct annot_event *event, const struct arguments *arguments)
{
    PyObject *value = arguments->values[ARGUMENT_DOMAIN], *owner;
    if (!is_given(value))
        return 0;
    const char *text = group_text("domain", value, &owner);
    if (text == NULL)
        return -1;
    event->domain = arguments->observer
                        ? annot_domain_observed(text, arguments->observer, arguments->role)
                        : annot_domain_create(text);
    Py_DECREF(owner);
    return 0;
}

static int category_set(struct annot_event *event, const struct arguments *arguments)
{
    PyObject *value = arguments->values[ARGUMENT_CATEGORY], *owner;
    if (!is_given(value))
        return 0;
    const char *text = group_text("category", value, &owner);
    if (text == NULL)
        return -1;
    event->category =
        arguments->observer
            ? annot_category_observed(event->domain, text, arguments->observer, arguments->role)
            : annot_category_create(event->domain, text);
    Py_DECREF(owner);
    return 0;
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

/* Domain, category, colour and level of an event. 0, or -1 with a TypeError or ValueError. */
static int attributes_set(struct annot_event *event, const struct arguments *arguments)
{
    PyObject *const *values = arguments->values;
    if (domain_set(event, arguments) < 0 || category_set(event, arguments) < 0)
        return -1;
    if (is_given(values[ARGUMENT_COLOR]) && color_set(event, values[ARGUMENT_COLOR]) < 0)
        return -1;
    return values[ARGUMENT_LEVEL] ? level_set(event, values[ARGUMENT_LEVEL]) : 0;
}

/* ---- Annotations ----------------------------------------------------------------------------- */

static void use_items(struct annotation *annotation, struct items *items)
{
    annotation->items = items;
    annotation->event.values = items->values;
    annotation->event.value_count = (uint64_t)items->count;
}

static const char payload_types[] = "int, float, bool, str, a dict of these or None";
static const char value_types[] = "a number or a dict of numbers";

/* Sets the one payload of the event, called `argument` in messages. */
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
    annotation->observer = annotation->role = 0;
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

/* An object for one statement takes the id from the cached annotation of its name instead of
 * hashing the text. */
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
    annotation->observer = arguments->observer;
    annotation->role = arguments->role;
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
    annotation->observer = like->observer;
    annotation->role = like->role;
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

/* ---- Pickling -------------------------------------------------------------------------------- */

/* An annotation is pickled as a call of its maker with the original arguments: ids of names and
 * domains are valid in one process only. */

static PyObject *text_object(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *value_object(const struct annot_value *value)
{
    switch (value->kind) {
    case ANNOT_PAYLOAD_INT64:
        return PyLong_FromLongLong(value->value.int64);
    case ANNOT_PAYLOAD_UINT64:
        return PyLong_FromUnsignedLongLong(value->value.uint64);
    case ANNOT_PAYLOAD_DOUBLE:
        return PyFloat_FromDouble(value->value.float64);
    case ANNOT_PAYLOAD_BOOL:
        return PyBool_FromLong(value->value.boolean);
    case ANNOT_PAYLOAD_STRING:
        return text_object(value->value.string);
    default:
        return Py_NewRef(Py_None);
    }
}

/* Takes over `value`; NULL is an error. 0, or -1 with an exception. */
static int put(PyObject *dict, const char *key, PyObject *value)
{
    PyObject *text = value ? text_object(key) : NULL;
    int error = text ? PyDict_SetItem(dict, text, value) : -1;
    Py_XDECREF(text);
    Py_XDECREF(value);
    return error;
}

static int put_items(PyObject *dict, const struct annot_event *event)
{
    for (uint64_t i = 0; i < event->value_count; i++) {
        if (put(dict, event->values[i].key, value_object(&event->values[i])) < 0)
            return -1;
    }
    return 0;
}

/* Beside one payload the items were keywords; else their names may be those of arguments. */
static int put_payloads(PyObject *keywords, const struct annot_event *event)
{
    struct annot_value value = {.kind = event->payload_kind};
    if (value.kind != ANNOT_PAYLOAD_NONE) {
        memcpy(&value.value, &event->payload, sizeof(value.value));
        return put(keywords, "payload", value_object(&value)) < 0 ? -1 : put_items(keywords, event);
    }
    if (event->value_count == 0)
        return 0;
    PyObject *items = PyDict_New();
    int error = items ? put_items(items, event) : -1;
    if (error == 0)
        error = PyDict_SetItemString(keywords, "payload", items);
    Py_XDECREF(items);
    return error;
}

static int put_attributes(PyObject *keywords, const struct annotation *annotation)
{
    const struct annot_event *event = &annotation->event;
    if (annotation->domain != NULL && annotation->observer == 0 &&
        PyDict_SetItemString(keywords, "domain", annotation->domain) < 0)
        return -1;
    if (annotation->category != NULL &&
        PyDict_SetItemString(keywords, "category", annotation->category) < 0)
        return -1;
    if (event->color != 0 && put(keywords, "color", PyLong_FromUnsignedLong(event->color)) < 0)
        return -1;
    return event->level ? put(keywords, "level", PyLong_FromLong(event->level)) : 0;
}

/* Returns the callable that makes the annotation again: for an observer's, a method of its domain.
 * New reference. */
static PyObject *maker_of(PyObject *maker, const struct annotation *annotation)
{
    if (annotation->observer == 0)
        return Py_NewRef(maker);
    PyObject *module = PyImport_ImportModule("pyannot._native");
    PyObject *domain =
        module ? PyObject_CallMethod(module, "observed_domain", "OHH", annotation->domain,
                                     annotation->observer, annotation->role)
               : NULL;
    PyObject *bound = domain ? PyObject_GetAttrString(domain, "annotate") : NULL;
    Py_XDECREF(domain);
    Py_XDECREF(module);
    return bound;
}

PyObject *annotation_reduce(PyObject *maker, const struct annotation *annotation)
{
    PyObject *name = annotation->name ? annotation->name : Py_None, *partial = NULL;
    PyObject *functools = PyImport_ImportModule("functools");
    PyObject *make = functools ? PyObject_GetAttrString(functools, "partial") : NULL;
    PyObject *keywords = make ? PyDict_New() : NULL;
    PyObject *own = keywords ? maker_of(maker, annotation) : NULL;
    PyObject *arguments = own ? PyTuple_Pack(2, own, name) : NULL;
    if (arguments != NULL && put_attributes(keywords, annotation) == 0 &&
        put_payloads(keywords, &annotation->event) == 0)
        partial = PyObject_Call(make, arguments, keywords);
    Py_XDECREF(arguments);
    Py_XDECREF(own);
    Py_XDECREF(keywords);
    Py_XDECREF(make);
    Py_XDECREF(functools);
    return partial ? Py_BuildValue("(N())", partial) : NULL;
}

/* ---- By name --------------------------------------------------------------------------------- */

void name_cache_add(struct name_cache *cache, struct annotation *annotation)
{
    struct annotation **slot = name_cache_slot(cache, annotation->name);
    struct annotation *old = __atomic_load_n(slot, __ATOMIC_RELAXED);
    /* A subclass of str may run code when it is freed, and a long text is not worth keeping. */
    if (!PyUnicode_CheckExact(annotation->name) ||
        PyUnicode_GET_LENGTH(annotation->name) > NAME_CACHE_TEXT_MAX)
        return;
    if (PYANNOT_FREE_THREADED && (old != NULL || !PyUnicode_CHECK_INTERNED(annotation->name)))
        return;
    Py_INCREF(annotation);
    /* Release: partner of the acquire in name_cache_find. */
    if (!__atomic_compare_exchange_n(slot, &old, annotation, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
        Py_DECREF(annotation);
        return;
    }
    Py_XDECREF(old);
}

void name_cache_clear(struct name_cache *cache)
{
    for (int i = 0; i < NAME_CACHE_SIZE; i++)
        Py_CLEAR(cache->slots[i]);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* Ends ranges that an exception leaves. A class may compute its own name: whatever it returns, or
 * raises, the range ends. */

/* Returns the text of an attribute that should be a str; *ret_owner keeps it alive. NULL if it is
 * not. */
static const char *attribute(PyObject *type, const char *name, PyObject **ret_owner)
{
    PyObject *value = PyObject_GetAttrString(type, name);
    const char *text = value && PyUnicode_Check(value) ? text_of(value, ret_owner) : NULL;
    Py_XDECREF(value);
    if (text == NULL)
        PyErr_Clear(); /* no function may be called while an exception is set */
    return text;
}

/* NULL only if out of memory. New reference to bytes. */
static PyObject *name_of(PyObject *type)
{
    PyObject *module_owner = NULL, *name_owner = NULL;
    const char *module = attribute(type, "__module__", &module_owner);
    const char *name = attribute(type, "__qualname__", &name_owner);
    bool is_bare = !module || strcmp(module, "builtins") == 0 || strcmp(module, "__main__") == 0;
    if (!name)
        name = ((PyTypeObject *)type)->tp_name;
    PyObject *text =
        PyBytes_FromFormat("%.500s%s%.500s", is_bare ? "" : module, is_bare ? "" : ".", name);
    Py_XDECREF(module_owner);
    Py_XDECREF(name_owner);
    return text;
}

/* The previous exception, and the value that is made meanwhile. */
struct note {
    PyObject *type, *error, *traceback, *text;
    struct annot_value value;
};

static void note_begin(struct note *note, PyObject *type)
{
    PyErr_Fetch(&note->type, &note->error, &note->traceback);
    note->text = name_of(type);
    note->value = annot_value_string("exception", note->text ? PyBytes_AS_STRING(note->text) : "?");
}

static void note_end(struct note *note)
{
    Py_XDECREF(note->text);
    PyErr_Restore(note->type, note->error, note->traceback);
}

void exception_pop_slow(PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_pop_values(&note.value, 1);
    note_end(&note);
}

void exception_end_slow(annot_range range, PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_end_values(range, &note.value, 1);
    note_end(&note);
}

void exception_track_end_slow(const struct annot_track *track, PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_track_end_values(track, &note.value, 1);
    note_end(&note);
}
