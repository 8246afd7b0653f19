/* SPDX-License-Identifier: MIT */
/* pyannot._reader.Reader: one pass over a recording.
 *
 * After it is opened it returns facts, and then either rows or columns, once. Reading runs without
 * the interpreter's lock; `busy` keeps a second thread out. */
#include "recording_reader.h"

#include "facts.h"
#include "objects.h"
#include "reader_module.h"

#include "reader.h"

#include "column_table.h"
#include "range_stats.h"

#include <errno.h>
#include <stdatomic.h>

struct reader {
    PyObject_HEAD struct store_reader *store;
    PyObject *path;
    struct text_cache texts;
    PyObject *threads, *tracks; /* lists; NULL: no rows were requested */
    struct rows rows;
    size_t next;                 /* row */
    struct sample_rows *samples; /* of a pass over samples */
    PyObject *frames;            /* its labels, a dict */
    atomic_flag busy;
    bool ended;
};

PyObject *raise_code(int code, PyObject *path)
{
    if (code == -ENOMEM)
        return PyErr_NoMemory();
    errno = -code;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static struct reader *enter(PyObject *self)
{
    struct reader *reader = (struct reader *)self;
    if (!atomic_flag_test_and_set_explicit(&reader->busy, memory_order_acquire))
        return reader;
    PyErr_SetString(PyExc_RuntimeError, "another thread reads here; give each its own iterator");
    return NULL;
}

static void leave(struct reader *reader)
{
    atomic_flag_clear_explicit(&reader->busy, memory_order_release);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *path, *bytes = NULL;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Reader takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "U:Reader", &path) || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    struct reader *reader = (struct reader *)type->tp_alloc(type, 0);
    if (reader != NULL) {
        int code;
        reader->path = Py_NewRef(path);
        atomic_flag_clear(&reader->busy);
        Py_BEGIN_ALLOW_THREADS code = store_reader_open(PyBytes_AS_STRING(bytes), &reader->store);
        Py_END_ALLOW_THREADS if (code == 0) reader->texts.trace = store_reader_trace(reader->store);
        else raise_code(code, path);
        if (code != 0)
            Py_CLEAR(reader);
    }
    Py_DECREF(bytes);
    return (PyObject *)reader;
}

static int reader_clear(PyObject *self)
{
    struct reader *reader = (struct reader *)self;
    Py_CLEAR(reader->path);
    Py_CLEAR(reader->threads);
    Py_CLEAR(reader->tracks);
    Py_CLEAR(reader->frames);
    return 0;
}

static int reader_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct reader *reader = (struct reader *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reader->path);
    Py_VISIT(reader->threads);
    Py_VISIT(reader->tracks);
    Py_VISIT(reader->frames);
    return 0;
}

static void reader_dealloc(PyObject *self)
{
    struct reader *reader = (struct reader *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    rows_fini(&reader->rows);
    sample_rows_destroy(reader->samples);
    text_cache_fini(&reader->texts);
    store_reader_close(reader->store);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static PyObject *with_texts(PyObject *self, PyObject *(*make)(struct text_cache *texts))
{
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *result = make(&reader->texts);
    leave(reader);
    return result;
}

static PyObject *reader_processes(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return with_texts(self, facts_processes);
}

static PyObject *reader_threads(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return with_texts(self, facts_threads);
}

static PyObject *reader_tracks(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return with_texts(self, facts_tracks);
}

static PyObject *reader_session(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return with_texts(self, facts_session);
}

static PyObject *reader_sample_sets(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return with_texts(self, facts_sample_sets);
}

static PyObject *reader_file(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *result = facts_file(reader->store);
    leave(reader);
    return result;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int check_unused(const struct reader *reader, int kind)
{
    if (kind < 0 || kind >= ROW_KIND_COUNT) {
        PyErr_Format(PyExc_ValueError, "kind must be 0 to %d", ROW_KIND_COUNT - 1);
        return -1;
    }
    if (reader->threads != NULL || reader->ended) {
        PyErr_SetString(PyExc_RuntimeError, "a Reader is for one pass");
        return -1;
    }
    return 0;
}

static int start_rows(struct reader *reader, int kind, PyObject *threads, PyObject *tracks)
{
    if (check_unused(reader, kind) < 0)
        return -1;
    if (rows_init(&reader->rows, reader->store, (enum row_kind)kind) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    reader->threads = Py_NewRef(threads);
    reader->tracks = Py_NewRef(tracks);
    return 0;
}

static PyObject *reader_rows(PyObject *self, PyObject *args)
{
    int kind;
    PyObject *threads, *tracks;
    if (!PyArg_ParseTuple(args, "iO!O!:rows", &kind, &PyList_Type, &threads, &PyList_Type, &tracks))
        return NULL;
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    int status = start_rows(reader, kind, threads, tracks);
    leave(reader);
    return status < 0 ? NULL : Py_NewRef(self);
}

static int start_samples(struct reader *reader, PyObject *threads)
{
    if (check_unused(reader, 0) < 0)
        return -1;
    reader->frames = PyDict_New();
    if (reader->frames == NULL)
        return -1;
    reader->samples = sample_rows_create(reader->store);
    if (reader->samples == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    reader->threads = Py_NewRef(threads);
    return 0;
}

static PyObject *reader_samples(PyObject *self, PyObject *args)
{
    PyObject *threads;
    if (!PyArg_ParseTuple(args, "O!:samples", &PyList_Type, &threads))
        return NULL;
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    int status = start_samples(reader, threads);
    leave(reader);
    return status < 0 ? NULL : Py_NewRef(self);
}

/* Handles the result of filling rows or samples. */
static int end_fill(struct reader *reader, int status)
{
    reader->next = 0;
    if (status < 0)
        raise_code(status, reader->path);
    else if (PyErr_CheckSignals() < 0)
        status = -1;
    reader->ended = status <= 0;
    return status;
}

static int fill(struct reader *reader)
{
    int status;
    Py_BEGIN_ALLOW_THREADS status = rows_fill(&reader->rows);
    Py_END_ALLOW_THREADS return end_fill(reader, status);
}

static struct row_context context_of(struct reader *reader)
{
    return (struct row_context){
        .texts = &reader->texts,
        .threads = reader->threads,
        .tracks = reader->tracks,
        .begin_ns = trace_begin_ns(reader->texts.trace),
    };
}

static PyObject *next_row(struct reader *reader)
{
    while (reader->next >= reader->rows.items.count) {
        if (reader->ended || fill(reader) <= 0)
            return NULL;
    }
    const struct row_context context = context_of(reader);
    return row_object(&context, &reader->rows, &reader->rows.items.items[reader->next++]);
}

static int fill_samples(struct reader *reader)
{
    int status;
    Py_BEGIN_ALLOW_THREADS status = sample_rows_fill(reader->samples);
    Py_END_ALLOW_THREADS return end_fill(reader, status);
}

static PyObject *next_sample(struct reader *reader)
{
    const struct row_context context = context_of(reader);
    while (reader->next >= reader->samples->items.count) {
        if (reader->ended || fill_samples(reader) <= 0)
            return NULL;
    }
    return sample_object(&context, &reader->samples->items.items[reader->next++], reader->frames);
}

static PyObject *next_of_pass(struct reader *reader)
{
    if (reader->threads == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "rows() or samples() begins a pass");
        return NULL;
    }
    return reader->samples ? next_sample(reader) : next_row(reader);
}

static PyObject *reader_next(PyObject *self)
{
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *row = next_of_pass(reader);
    leave(reader);
    return row;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static PyObject *strings_object(const struct strtab *strings)
{
    PyObject *texts = PyTuple_New((Py_ssize_t)strings->count);
    for (size_t i = 0; texts && i < strings->count; i++) {
        const struct strtab_entry *entry = strtab_get(strings, i);
        PyObject *text = PyUnicode_DecodeUTF8(entry->bytes, entry->length, "replace");
        if (text == NULL)
            Py_CLEAR(texts);
        else
            PyTuple_SET_ITEM(texts, (Py_ssize_t)i, text);
    }
    return texts;
}

/* Moves the columns out of the table, by name; then the texts. Leaves values of samples. */
static PyObject *columns_object(struct module_state *state, struct column_table *table)
{
    PyObject *columns = PyDict_New();
    for (unsigned i = 0; columns && i < table->column_count; i++) {
        struct column_items *from = &table->columns[i];
        if (from->is_value)
            break;
        PyObject *column = column_create(state, from->format, from->items, table->count);
        from->items = NULL;
        if (column == NULL || PyDict_SetItemString(columns, from->name, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
    }
    PyObject *texts = columns ? strings_object(&table->strings) : NULL;
    if (texts == NULL || PyDict_SetItemString(columns, "strings", texts) < 0)
        Py_CLEAR(columns);
    Py_XDECREF(texts);
    return columns;
}

static int fill_table(struct column_table *table, PyObject *path)
{
    int status = 1;
    while (status == 1) {
        Py_BEGIN_ALLOW_THREADS status = column_table_fill(table);
        Py_END_ALLOW_THREADS if (status < 0) raise_code(status, path);
        else if (PyErr_CheckSignals() < 0) status = -1;
    }
    return status;
}

/* Returns a tuple of the objects that the numbers of a column stand for. */
static PyObject *numbered(const struct column_numbers *numbers, PyObject *(*make)(void *, uint32_t),
                          void *context)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)numbers->ordinals.count);
    for (size_t i = 0; tuple && i < numbers->ordinals.count; i++) {
        PyObject *item = make(context, numbers->ordinals.items[i]);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
    }
    return tuple;
}

static PyObject *make_stack(void *context, uint32_t stack)
{
    struct reader *reader = context;
    return sample_stack(reader->texts.trace, stack, reader->frames);
}

static PyObject *make_path(void *context, uint32_t path)
{
    const struct row_context row = {.texts = &((struct reader *)context)->texts};
    return sample_ranges(&row, path);
}

/* Moves the columns of values out of the table, by name. */
static PyObject *values_object(struct reader *reader, struct column_table *table)
{
    struct module_state *state = module_state_of((PyObject *)reader);
    PyObject *values = PyDict_New();
    unsigned index = 0;
    for (unsigned i = 0; values && i < table->column_count; i++) {
        struct column_items *from = &table->columns[i];
        if (!from->is_value)
            continue;
        PyObject *name = sample_value_name(reader->texts.trace, table->set, index++);
        PyObject *column =
            name ? column_create(state, from->format, from->items, table->count) : NULL;
        if (name)
            from->items = NULL;
        if (column == NULL || PyDict_SetItem(values, name, column) < 0)
            Py_CLEAR(values);
        Py_XDECREF(column);
        Py_XDECREF(name);
    }
    return values;
}

/* Takes over `value`, which may be NULL; on failure frees the dict. */
static PyObject *with(PyObject *dict, const char *key, PyObject *value)
{
    if (dict && (value == NULL || PyDict_SetItemString(dict, key, value) < 0))
        Py_CLEAR(dict);
    Py_XDECREF(value);
    return dict;
}

static PyObject *make_sample_columns(struct reader *reader, unsigned set)
{
    struct column_table table;
    PyObject *columns = NULL;
    if (check_unused(reader, 0) < 0 || (reader->frames = PyDict_New()) == NULL)
        return NULL;
    reader->ended = true;
    if (column_table_init_samples(&table, reader->store, set) != 0)
        PyErr_NoMemory();
    else if (fill_table(&table, reader->path) == 0)
        columns = columns_object(module_state_of((PyObject *)reader), &table);
    if (columns) {
        columns = with(columns, "sample_values", values_object(reader, &table));
        columns = with(columns, "stacks", numbered(&table.stacks, make_stack, reader));
        columns = with(columns, "paths", numbered(&table.paths, make_path, reader));
    }
    column_table_fini(&table);
    return columns;
}

static PyObject *reader_sample_columns(PyObject *self, PyObject *args)
{
    unsigned set;
    if (!PyArg_ParseTuple(args, "I:sample_columns", &set))
        return NULL;
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *columns = make_sample_columns(reader, set);
    leave(reader);
    return columns;
}

static PyObject *make_columns(struct reader *reader, int kind)
{
    struct column_table table;
    PyObject *columns = NULL;
    if (check_unused(reader, kind) < 0)
        return NULL;
    reader->ended = true;
    if (column_table_init(&table, reader->store, (enum row_kind)kind) != 0)
        PyErr_NoMemory();
    else if (fill_table(&table, reader->path) == 0)
        columns = columns_object(module_state_of((PyObject *)reader), &table);
    column_table_fini(&table);
    return columns;
}

static PyObject *reader_columns(PyObject *self, PyObject *args)
{
    int kind;
    if (!PyArg_ParseTuple(args, "i:columns", &kind))
        return NULL;
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *columns = make_columns(reader, kind);
    leave(reader);
    return columns;
}

/* ---- Report ---------------------------------------------------------------------------------- */

static PyObject *make_report(struct reader *reader, const struct report_wish *wish)
{
    if (check_unused(reader, 0) < 0)
        return NULL;
    reader->ended = true;
    return report_object(reader->store, reader->path, wish);
}

static PyObject *reader_report(PyObject *self, PyObject *args)
{
    struct report_wish wish;
    if (!PyArg_ParseTuple(args, "izz:report", &wish.grouping, &wish.inside, &wish.value))
        return NULL;
    if (wish.grouping < RANGE_BY_PATH || wish.grouping > RANGE_BY_THREAD) {
        PyErr_SetString(PyExc_ValueError, "no such grouping");
        return NULL;
    }
    struct reader *reader = enter(self);
    if (reader == NULL)
        return NULL;
    PyObject *tables = make_report(reader, &wish);
    leave(reader);
    return tables;
}

static PyMethodDef methods[] = {
    {"processes", reader_processes, METH_NOARGS, "A tuple of facts for each process."},
    {"threads", reader_threads, METH_NOARGS, "A tuple of facts for each thread."},
    {"tracks", reader_tracks, METH_NOARGS, "A tuple of facts for each track."},
    {"session", reader_session, METH_NOARGS, "Facts about the recording."},
    {"file", reader_file, METH_NOARGS, "(ends in order, bytes, events, samples, damage so far)."},
    {"rows", reader_rows, METH_VARARGS, "Begins the pass: an iterator of tuples of that kind."},
    {"samples", reader_samples, METH_VARARGS, "Begins the pass: an iterator of samples."},
    {"sample_sets", reader_sample_sets, METH_NOARGS, "A tuple of facts for each set of samples."},
    {"sample_columns", reader_sample_columns, METH_VARARGS,
     "The pass: Columns of the samples of a set, and what their numbers mean."},
    {"columns", reader_columns, METH_VARARGS, "The pass: a dict of Columns, and the strings."},
    {"report", reader_report, METH_VARARGS, "The pass: a dict of tables."},
    {NULL, NULL, 0, NULL},
};

static char doc[] = "One pass over the recording of that name.";

static PyType_Slot slots[] = {
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_traverse, reader_traverse},
    {Py_tp_clear, reader_clear},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, reader_next},
    {Py_tp_methods, methods},
    {Py_tp_doc, doc},
    {0, NULL},
};

PyType_Spec reader_spec = {
    .name = "pyannot._reader.Reader",
    .basicsize = sizeof(struct reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
