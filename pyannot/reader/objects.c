/* SPDX-License-Identifier: MIT */
/* Converts plain rows to tuples of Python objects. The order of fields is that of pyannot/_read.py.
 * Thread-safety: the caller's. */
#include "objects.h"

#include "call_label.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_NUMBER_MAX = 1000, FRAMES_MAX = 1024 /* as annot cat shows */ };

void text_cache_fini(struct text_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        Py_XDECREF(cache->items[i]);
    PyMem_Free(cache->items);
    cache->items = NULL;
    cache->count = 0;
}

static int make_room(struct text_cache *cache, uint32_t ordinal)
{
    size_t count = trace_string_count(cache->trace);
    if (ordinal < cache->count)
        return 1;
    if (ordinal >= count)
        return 0;
    PyObject **items = PyMem_Realloc(cache->items, count * sizeof(*items));
    if (items == NULL)
        return 0;
    memset(items + cache->count, 0, (count - cache->count) * sizeof(*items));
    cache->items = items;
    cache->count = count;
    return 1;
}

PyObject *text_get(struct text_cache *cache, uint32_t ordinal)
{
    int kept = make_room(cache, ordinal);
    if (kept && cache->items[ordinal])
        return Py_NewRef(cache->items[ordinal]);
    const struct trace_string *string = trace_string(cache->trace, ordinal);
    PyObject *text = PyUnicode_DecodeUTF8(string->bytes, string->length, "replace");
    if (text && kept)
        cache->items[ordinal] = Py_NewRef(text);
    return text;
}

PyObject *text_or_none(struct text_cache *cache, uint32_t ordinal)
{
    return ordinal ? text_get(cache, ordinal) : Py_NewRef(Py_None);
}

/* ---- Tuples ---------------------------------------------------------------------------------- */

/* Fills a tuple field by field; fails at the end if an object could not be made. */
struct filler {
    PyObject *tuple;
    Py_ssize_t next;
    int failed;
};

static struct filler filler_start(Py_ssize_t size)
{
    struct filler filler = {.tuple = PyTuple_New(size)};
    filler.failed = filler.tuple == NULL;
    return filler;
}

/* Takes the reference. */
static void put(struct filler *filler, PyObject *object)
{
    if (filler->failed || object == NULL) {
        Py_XDECREF(object);
        filler->failed = 1;
        return;
    }
    PyTuple_SET_ITEM(filler->tuple, filler->next++, object);
}

static PyObject *filler_end(struct filler *filler)
{
    if (filler->failed)
        Py_CLEAR(filler->tuple);
    return filler->tuple;
}

static void put_int(struct filler *filler, int64_t value)
{
    put(filler, PyLong_FromLongLong(value));
}

static void put_uint(struct filler *filler, uint64_t value)
{
    put(filler, PyLong_FromUnsignedLongLong(value));
}

static void put_bool(struct filler *filler, int value)
{
    put(filler, PyBool_FromLong(value));
}

static void put_time(struct filler *filler, const struct row_context *context, int64_t time_ns)
{
    put_int(filler, (int64_t)((uint64_t)time_ns - (uint64_t)context->begin_ns));
}

/* Adds the object of that ordinal; Py_None if the list is shorter. */
static void put_listed(struct filler *filler, PyObject *list, uint64_t ordinal)
{
    PyObject *item =
        ordinal < (uint64_t)PyList_GET_SIZE(list) ? pyannot_list_item(list, ordinal) : NULL;
    put(filler, item ? item : Py_NewRef(Py_None));
}

static PyObject *value_object(const struct row_context *context, unsigned kind, union value value)
{
    switch (kind) {
    case VALUE_INT64:
        return PyLong_FromLongLong(value.int64);
    case VALUE_UINT64:
        return PyLong_FromUnsignedLongLong(value.uint64);
    case VALUE_DOUBLE:
        return PyFloat_FromDouble(value.float64);
    case VALUE_BOOL:
        return PyBool_FromLong(value.uint64 != 0);
    case VALUE_STRING:
        return text_get(context->texts, value.string);
    default:
        return Py_NewRef(Py_None);
    }
}

/* Returns a key; a repeated one is "KEY (2)", as in all outputs. A new reference. */
static PyObject *free_key(const struct row_context *context, PyObject *values, uint32_t key)
{
    PyObject *text = key ? text_get(context->texts, key) : PyUnicode_FromString("(no name)");
    PyObject *name = text ? Py_NewRef(text) : NULL;
    for (int i = 2; name && i < KEY_NUMBER_MAX; i++) {
        int used = PyDict_Contains(values, name);
        if (used == 0)
            break;
        Py_DECREF(name);
        name = used < 0 ? NULL : PyUnicode_FromFormat("%U (%d)", text, i);
    }
    Py_XDECREF(text);
    return name;
}

static PyObject *values_object(const struct row_context *context, const struct rows *rows,
                               const struct row *row)
{
    PyObject *values = PyDict_New();
    for (uint32_t i = 0; values && i < row->value_count; i++) {
        const struct arg *item = &rows->values.items[row->values + i];
        PyObject *key = free_key(context, values, item->key);
        PyObject *value = key ? value_object(context, item->kind, item->value) : NULL;
        if (value == NULL || PyDict_SetItem(values, key, value) < 0)
            Py_CLEAR(values);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return values;
}

/* Returns the name of a range in reports: "domain:name". */
static PyObject *path_part(const struct row_context *context, uint32_t name, uint32_t scope)
{
    uint32_t domain = trace_scope_domain(context->texts->trace, scope);
    bool named = trace_string(context->texts->trace, name)->length > 0;
    PyObject *text = named ? text_get(context->texts, name) : PyUnicode_FromString("(no name)");
    PyObject *before = text && domain ? text_get(context->texts, domain) : NULL;
    if (text == NULL || domain == 0)
        return text;
    PyObject *both = before ? PyUnicode_FromFormat("%U:%U", before, text) : NULL;
    Py_XDECREF(before);
    Py_DECREF(text);
    return both;
}

static PyObject *path_object(const struct row_context *context, const struct rows *rows,
                             const struct row *row)
{
    PyObject *path = PyTuple_New((Py_ssize_t)row->name_count + 1);
    for (uint32_t i = 0; path && i <= row->name_count; i++) {
        struct row_name name = {row->event.name, row->event.scope};
        if (i < row->name_count)
            name = rows->names.items[row->names + i];
        PyObject *text = path_part(context, name.name, name.scope);
        if (text == NULL)
            Py_CLEAR(path);
        else
            PyTuple_SET_ITEM(path, (Py_ssize_t)i, text);
    }
    return path;
}

/* Adds observer and role of an event. */
static void put_observer(struct filler *filler, const struct scope *scope)
{
    put(filler, PyUnicode_InternFromString(observer_name(scope->observer)));
    put_int(filler, scope->role);
}

static void put_attributes(struct filler *filler, const struct row_context *context,
                           const struct rows *rows, const struct row *row)
{
    const struct event *event = &row->event;
    const struct scope *scope = trace_scope(context->texts->trace, event->scope);
    put(filler, text_or_none(context->texts, scope->category));
    put(filler, text_or_none(context->texts, scope->domain));
    put_observer(filler, scope);
    put_int(filler, event->level);
    put(filler, event->flags & EVENT_HAS_COLOR ? PyLong_FromUnsignedLong(event->color)
                                               : Py_NewRef(Py_None));
    put(filler, value_object(context, event->value_kind, event->value));
    put(filler, values_object(context, rows, row));
}

static PyObject *range_object(const struct row_context *context, const struct rows *rows,
                              const struct row *row)
{
    static const char *const kinds[] = {"pushed", "overlapping", "track"};
    bool track = row->range == ROW_TRACK;
    struct filler filler = filler_start(21);
    put(&filler, text_get(context->texts, row->event.name));
    put_time(&filler, context, row->event.time_ns);
    put_time(&filler, context, row->end_ns);
    put_listed(&filler, context->threads, row->event.thread);
    put(&filler, path_object(context, rows, row));
    put_int(&filler, row->depth);
    put_int(&filler, row->self_ns);
    put(&filler, PyUnicode_InternFromString(kinds[row->range]));
    put_listed(&filler, context->tracks, track ? row->event.lane : UINT64_MAX);
    put_attributes(&filler, context, rows, row);
    put_uint(&filler, row->id);
    put_listed(&filler, context->threads, row->end_thread);
    put_bool(&filler, (row->flags & ITEM_UNFINISHED) != 0);
    put_bool(&filler, (row->flags & ITEM_END_LOST) != 0);
    return filler_end(&filler);
}

static PyObject *mark_object(const struct row_context *context, const struct rows *rows,
                             const struct row *row)
{
    struct filler filler = filler_start(12);
    put(&filler, text_get(context->texts, row->event.name));
    put_time(&filler, context, row->event.time_ns);
    put_listed(&filler, context->threads, row->event.thread);
    put_listed(&filler, context->tracks, row->range == ROW_TRACK ? row->event.lane : UINT64_MAX);
    put_attributes(&filler, context, rows, row);
    return filler_end(&filler);
}

static PyObject *counter_object(const struct row_context *context, const struct row *row)
{
    uint32_t domain = trace_scope_domain(context->texts->trace, row->event.scope);
    uint32_t unit = trace_unit_find(context->texts->trace, domain, row->event.name);
    struct filler filler = filler_start(8);
    put(&filler, text_get(context->texts, row->event.name));
    put_time(&filler, context, row->event.time_ns);
    put(&filler, value_object(context, row->event.value_kind, row->event.value));
    put_listed(&filler, context->threads, row->event.thread);
    put(&filler, text_or_none(context->texts, domain));
    put_observer(&filler, trace_scope(context->texts->trace, row->event.scope));
    put(&filler, text_or_none(context->texts, unit));
    return filler_end(&filler);
}

static PyObject *flow_object(const struct row_context *context, const struct row *row)
{
    static const char *const kinds[] = {"begin", "step", "end"};
    struct filler filler = filler_start(8);
    put(&filler, PyUnicode_InternFromString(kinds[row->event.kind - EVENT_FLOW_BEGIN]));
    put_time(&filler, context, row->event.time_ns);
    put_uint(&filler, row->event.id);
    put(&filler, text_or_none(context->texts, row->event.name));
    put_listed(&filler, context->threads, row->event.thread);
    const struct scope *scope = trace_scope(context->texts->trace, row->event.scope);
    put(&filler, text_or_none(context->texts, scope->domain));
    put_observer(&filler, scope);
    return filler_end(&filler);
}

static PyObject *loss_object(const struct row_context *context, const struct row *row)
{
    unsigned cause = row->event.level < LOSS_COUNT ? row->event.level : LOSS_CORRUPT;
    struct filler filler = filler_start(5);
    put_time(&filler, context, row->event.time_ns);
    put_time(&filler, context, row->end_ns);
    put_uint(&filler, row->event.value.uint64);
    put(&filler, PyUnicode_InternFromString(loss_name((enum loss)cause)));
    put_listed(&filler, context->threads, row->event.thread);
    return filler_end(&filler);
}

PyObject *row_object(const struct row_context *context, const struct rows *rows,
                     const struct row *row)
{
    switch (rows->wanted) {
    case ROW_RANGE:
        return range_object(context, rows, row);
    case ROW_MARK:
        return mark_object(context, rows, row);
    case ROW_COUNTER:
        return counter_object(context, row);
    case ROW_FLOW:
        return flow_object(context, row);
    default:
        return loss_object(context, row);
    }
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Returns the label of a frame in all outputs. A new reference. */
static PyObject *frame_object(const struct trace *trace, uint32_t ordinal, PyObject *frames)
{
    char label[CALL_LABEL_SIZE];
    PyObject *key = PyLong_FromUnsignedLong(ordinal);
    if (key == NULL)
        return NULL;
    PyObject *text = PyDict_GetItemWithError(frames, key);
    if (text != NULL || PyErr_Occurred()) {
        Py_XINCREF(text);
        Py_DECREF(key);
        return text;
    }
    size_t length = call_frame_label(trace, ordinal, CALL_STRIP_LIBRARIES, label, sizeof(label));
    text = PyUnicode_DecodeUTF8(label, (Py_ssize_t)length, "replace");
    if (text != NULL && PyDict_SetItem(frames, key, text) < 0)
        Py_CLEAR(text);
    Py_DECREF(key);
    return text;
}

PyObject *sample_stack(const struct trace *trace, uint32_t stack, PyObject *frames)
{
    uint32_t ordinals[FRAMES_MAX];
    uint32_t count = stacks_frames(trace_stacks_get(trace), stack, ordinals, FRAMES_MAX);
    PyObject *labels = PyTuple_New((Py_ssize_t)count);
    for (uint32_t i = 0; labels && i < count; i++) {
        PyObject *label = frame_object(trace, ordinals[i], frames);
        if (label == NULL)
            Py_CLEAR(labels);
        else
            PyTuple_SET_ITEM(labels, (Py_ssize_t)i, label);
    }
    return labels;
}

/* "name", or "domain:name". */
static PyObject *path_range(const struct row_context *context, uint32_t path)
{
    const struct trace *trace = context->texts->trace;
    const struct range_path *range = stacks_get_path(trace_stacks_get(trace), path);
    char label[CALL_LABEL_SIZE];
    if (trace_scope_domain(trace, range->scope) == 0)
        return text_get(context->texts, range->name);
    size_t length = trace_range_label(trace, path, label, sizeof(label));
    return PyUnicode_DecodeUTF8(label, (Py_ssize_t)length, "replace");
}

PyObject *sample_ranges(const struct row_context *context, uint32_t path)
{
    const struct trace *trace = context->texts->trace;
    uint32_t paths[FRAMES_MAX];
    uint32_t count = stacks_paths(trace_stacks_get(trace), path, paths, FRAMES_MAX);
    PyObject *texts = PyTuple_New((Py_ssize_t)count);
    for (uint32_t i = 0; texts && i < count; i++) {
        PyObject *text = path_range(context, paths[i]);
        if (text == NULL)
            Py_CLEAR(texts);
        else
            PyTuple_SET_ITEM(texts, (Py_ssize_t)i, text);
    }
    return texts;
}

PyObject *sample_value_name(const struct trace *trace, unsigned set, unsigned index)
{
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    char buffer[16];
    const char *name =
        trace_value_name(trace, index < entry->count ? entry->types[index] : 0, buffer);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* Returns a dict, by their names. */
static PyObject *values_of_sample(const struct trace *trace, const struct sample *sample)
{
    PyObject *dict = PyDict_New();
    for (unsigned i = 0; dict && i < sample->value_count; i++) {
        PyObject *name = sample_value_name(trace, sample->set, i);
        PyObject *value = name ? PyLong_FromLongLong(sample->values[i]) : NULL;
        if (value == NULL || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
        Py_XDECREF(name);
    }
    return dict;
}

PyObject *sample_object(const struct row_context *context, const struct sample *sample,
                        PyObject *frames)
{
    const struct stacks *stacks = trace_stacks_get(context->texts->trace);
    const struct trace *trace = context->texts->trace;
    const struct sample_sets *sets = trace_sets_get(trace);
    enum sample_role role = sample_role(sets, sample);
    bool off = role == SAMPLE_ROLE_OFF_CPU;
    char name[16];
    struct filler filler = filler_start(17);
    put(&filler, PyUnicode_InternFromString(off ? "off_cpu"
                                            : role == SAMPLE_ROLE_CPU
                                                ? "cpu"
                                                : trace_set_name(trace, sample->set, name)));
    put_time(&filler, context, sample->time_ns);
    put_time(&filler, context, sample_order_ns(sample));
    put_listed(&filler, context->threads, sample->thread);
    put(&filler, sample_ranges(context, sample->path));
    put(&filler, sample_stack(context->texts->trace, sample->stack, frames));
    put_int(&filler, sample->cpu);
    put_uint(&filler, sample_cpu_ns(sets, sample));
    put(&filler,
        off ? PyUnicode_InternFromString(wait_reason_name(sample->reason)) : Py_NewRef(Py_None));
    put_uint(&filler, sample_off_share(sets, sample).runnable_ns);
    put_bool(&filler, (sample->flags & SAMPLE_IN_KERNEL) != 0);
    put_bool(&filler, (sample->flags & SAMPLE_GC) != 0);
    put_bool(&filler, (sample->flags & SAMPLE_HOLDS_GIL) != 0);
    put_bool(&filler, (sample->flags & SAMPLE_UNFINISHED) != 0);
    put_bool(&filler, stacks_get_path(stacks, sample->path)->kind == RANGE_PATH_INHERITED);
    put_uint(&filler, sample->id);
    put(&filler, values_of_sample(trace, sample));
    return filler_end(&filler);
}
