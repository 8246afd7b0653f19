/* SPDX-License-Identifier: MIT */
/* Processes, threads, tracks, the session and the file, as tuples of Python objects with fields in
 * the order of pyannot/_read.py; and the tables of a report (profile/report.h) as dicts, as `annot
 * report --json` prints them. Thread-safety: the caller's. */
#include "facts.h"

#include "objects.h"
#include "recording_reader.h"
#include "table.h"

#include "reader.h"
#include "volumes.h"

#include "heap_stats.h"
#include "missing.h"
#include "report.h"

#include <errno.h>
#include <string.h>

enum { LABEL_SIZE = 4096 };

/* 0 is unknown. */
static PyObject *time_object(const struct trace *trace, int64_t time_ns)
{
    if (time_ns == 0)
        return Py_NewRef(Py_None);
    return PyLong_FromLongLong((int64_t)((uint64_t)time_ns - (uint64_t)trace_begin_ns(trace)));
}

static PyObject *label_object(const struct trace *trace, uint32_t ordinal,
                              size_t (*label)(const struct trace *, uint32_t, char *, size_t))
{
    char text[LABEL_SIZE];
    size_t length = label(trace, ordinal, text, sizeof(text));
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

static int put_count(PyObject *dict, const char *key, uint64_t number)
{
    PyObject *count = PyLong_FromUnsignedLongLong(number);
    int rc = count ? PyDict_SetItemString(dict, key, count) : -1;
    Py_XDECREF(count);
    return rc;
}

/* Cause to number, without zeros. */
static PyObject *losses_object(const uint64_t lost[LOSS_COUNT])
{
    PyObject *losses = PyDict_New();
    for (int i = 0; losses && i < LOSS_COUNT; i++)
        if (lost[i] && put_count(losses, loss_name((enum loss)i), lost[i]) < 0)
            Py_CLEAR(losses);
    return losses;
}

static PyObject *calls_object(const struct trace *trace)
{
    uint64_t counts[MISUSE_COUNT];
    PyObject *calls = PyDict_New();
    misuse_sums(trace, counts);
    for (unsigned i = 0; calls && i < MISUSE_COUNT; i++)
        if (counts[i] && put_count(calls, misuse_name((enum misuse)i), counts[i]) < 0)
            Py_CLEAR(calls);
    return calls;
}

/* Returns a list of the objects that `make` returns for each ordinal. */
static PyObject *list_of(struct text_cache *texts, uint32_t count,
                         PyObject *(*make)(struct text_cache *texts, uint32_t ordinal))
{
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *item = make(texts, i);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *make_process(struct text_cache *texts, uint32_t ordinal)
{
    const struct trace *trace = texts->trace;
    const struct trace_process *process = trace_process_get(trace, ordinal);
    uint32_t count = trace_process_count(trace);
    bool has_parent = process->parent >= 0 && (uint32_t)process->parent < count;
    PyObject *parent = has_parent ? PyLong_FromLong(process->parent) : Py_NewRef(Py_None);
    return Py_BuildValue(
        "(iiiNNNNNNNOKNN)", (int)ordinal, (int)process->pid, (int)process->ppid, parent,
        label_object(trace, ordinal, trace_process_label), text_get(texts, process->cmdline),
        time_object(trace, process->start_ns), time_object(trace, process->end_ns),
        label_object(trace, ordinal, trace_process_end_label), text_or_none(texts, process->note),
        process->forked ? Py_True : Py_False, (unsigned long long)process->event_count,
        losses_object(process->lost), text_get(texts, process->comm));
}

static PyObject *make_thread(struct text_cache *texts, uint32_t ordinal)
{
    const struct trace *trace = texts->trace;
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    return Py_BuildValue("(iNiINNKN)", (int)ordinal,
                         label_object(trace, ordinal, trace_thread_label), (int)thread->tid,
                         thread->process, time_object(trace, thread->first_ns),
                         time_object(trace, thread->last_ns),
                         (unsigned long long)thread->event_count, losses_object(thread->lost));
}

static PyObject *make_track(struct text_cache *texts, uint32_t ordinal)
{
    const struct trace *trace = texts->trace;
    const struct trace_lane *track = trace_lane_get(trace, ordinal);
    uint32_t count = trace_lane_count(trace);
    bool has_parent = track->parent > 0 && track->parent <= count;
    PyObject *parent = has_parent ? PyLong_FromUnsignedLong(track->parent - 1) : Py_NewRef(Py_None);
    return Py_BuildValue("(iNNKIN)", (int)ordinal, label_object(trace, ordinal, trace_lane_label),
                         label_object(trace, ordinal, trace_lane_path),
                         (unsigned long long)track->id, track->process, parent);
}

PyObject *facts_processes(struct text_cache *texts)
{
    return list_of(texts, trace_process_count(texts->trace), make_process);
}

PyObject *facts_threads(struct text_cache *texts)
{
    return list_of(texts, trace_thread_count(texts->trace), make_thread);
}

PyObject *facts_tracks(struct text_cache *texts)
{
    return list_of(texts, trace_lane_count(texts->trace), make_track);
}

static PyObject *make_fact(struct text_cache *texts, uint32_t index)
{
    const struct trace_fact *fact = trace_fact_get(texts->trace, index);
    return Py_BuildValue("(iNK)", (int)fact->kind, text_get(texts, fact->name),
                         (unsigned long long)fact->value);
}

static PyObject *make_refusal(struct text_cache *texts, uint32_t index)
{
    const struct trace_refusal *refusal = trace_refusal_get(texts->trace, index);
    return Py_BuildValue("(iNN)", (int)refusal->pid, text_get(texts, refusal->comm),
                         text_get(texts, refusal->reason));
}

/* Names, units, and whether they add up. */
static PyObject *values_of_set(const struct trace *trace, unsigned set)
{
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    PyObject *values = PyTuple_New(entry->count);
    for (unsigned i = 0; values && i < entry->count; i++) {
        unsigned type = entry->types[i];
        bool level = value_type_get(trace_sets_get(trace), type)->sum == VALUE_SUM_LEVEL;
        const char *unit = trace_value_unit(trace, type);
        PyObject *value =
            Py_BuildValue("(NNO)", sample_value_name(trace, set, i),
                          PyUnicode_DecodeUTF8(unit, (Py_ssize_t)strlen(unit), "replace"),
                          level ? Py_False : Py_True);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, (Py_ssize_t)i, value);
    }
    return values;
}

/* Sets with values: number, name, flags, period and values of each. */
PyObject *facts_sample_sets(struct text_cache *texts)
{
    const struct trace *trace = texts->trace;
    const struct sample_sets *sets = trace_sets_get(trace);
    PyObject *list = PyList_New(0);
    for (unsigned set = 1; list && set < sample_sets_count(sets); set++) {
        const struct sample_set *entry = sample_set_get(sets, set);
        char buffer[16];
        const char *name = trace_set_name(trace, set, buffer);
        if (entry->count == 0)
            continue;
        PyObject *fact = Py_BuildValue(
            "(INIIN)", set, PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace"),
            (unsigned)entry->flags, (unsigned)entry->period, values_of_set(trace, set));
        if (fact == NULL || PyList_Append(list, fact) < 0)
            Py_CLEAR(list);
        Py_XDECREF(fact);
    }
    return list;
}

PyObject *facts_session(struct text_cache *texts)
{
    const struct trace *trace = texts->trace;
    const struct trace_session *session = trace_session_get(trace);
    return Py_BuildValue(
        "(NNNNLLNiONNN)", text_get(texts, session->command), text_get(texts, session->hostname),
        text_get(texts, session->kernel), text_get(texts, session->annot_version),
        (long long)trace_begin_ns(trace), (long long)session->begin_realtime_ns,
        time_object(trace, session->end_ns), (int)session->command_status,
        session->recovered ? Py_True : Py_False, list_of(texts, trace_fact_count(trace), make_fact),
        list_of(texts, trace_refusal_count(trace), make_refusal), calls_object(trace));
}

PyObject *facts_file(const struct store_reader *reader)
{
    struct store_info info;
    store_reader_info(reader, &info);
    uint32_t count = store_reader_damage_count(reader);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        char text[STORE_DAMAGE_TEXT_SIZE];
        store_damage_text(damage, text);
        PyObject *reason = PyUnicode_DecodeFSDefault(damage->missing_count ? text : damage->reason);
        PyObject *item = Py_BuildValue("(KKN)", (unsigned long long)damage->offset,
                                       (unsigned long long)damage->length, reason);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return Py_BuildValue("(OKKKN)", info.complete ? Py_True : Py_False,
                         (unsigned long long)info.file_bytes, (unsigned long long)info.event_count,
                         (unsigned long long)info.sample_count, list);
}

/* ---- Reports --------------------------------------------------------------------------------- */

/* A new reference, or NULL with an exception. */
static PyObject *cell_object(enum column_type type, const struct cell *cell)
{
    if (cell->state != CELL_KNOWN)
        return Py_NewRef(Py_None);
    switch (type) {
    case COLUMN_TEXT:
        return PyUnicode_DecodeUTF8(cell->text, (Py_ssize_t)strlen(cell->text), "replace");
    case COLUMN_VALUE:
        return PyFloat_FromDouble(cell->value);
    case COLUMN_NUMBER:
        return PyLong_FromLongLong(cell->number);
    case COLUMN_FLAG:
        return PyBool_FromLong(cell->count != 0);
    default:
        return PyLong_FromUnsignedLongLong(cell->count);
    }
}

/* Takes over `value`, which may be NULL. 0, or -1 with an exception. */
static int put(PyObject *dict, const char *key, PyObject *value)
{
    int status = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *row_dict(const struct table *table, const struct table_row *row)
{
    PyObject *dict = PyDict_New();
    int status =
        dict != NULL && row->rest != NULL ? put(dict, "rest", PyUnicode_FromString(row->rest)) : 0;
    for (unsigned i = 0; dict != NULL && status == 0 && i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        if (column->name != NULL && (row->rest != NULL || row->cells[i].state != CELL_NONE))
            status = put(dict, column->name,
                         cell_object((enum column_type)column->type, &row->cells[i]));
    }
    if (status < 0)
        Py_CLEAR(dict);
    return dict;
}

/* Adds a row; parts go into the row before. 0, or -1 with an exception. */
static int add_row(PyObject *rows, PyObject *row, bool is_part)
{
    if (!is_part)
        return PyList_Append(rows, row);
    PyObject *whole = PyList_GetItem(rows, PyList_GET_SIZE(rows) - 1); /* borrowed */
    PyObject *parts = whole != NULL ? PyDict_GetItemString(whole, "parts") : NULL;
    if (whole != NULL && parts == NULL && put(whole, "parts", PyList_New(0)) == 0)
        parts = PyDict_GetItemString(whole, "parts");
    return parts != NULL ? PyList_Append(parts, row) : -1;
}

static PyObject *table_rows(const struct table *table, struct table_row *row)
{
    PyObject *rows = PyList_New(0);
    for (uint64_t i = 0; rows != NULL && i < table->row_count; i++) {
        table_row(table, i, row);
        PyObject *dict = row_dict(table, row);
        if (dict == NULL || add_row(rows, dict, row->role == ROW_PART) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(dict);
    }
    return rows;
}

static PyObject *tables_object(const struct report *report)
{
    struct table_row *row = malloc(sizeof(*row));
    if (row == NULL)
        return PyErr_NoMemory();
    PyObject *tables = PyDict_New();
    for (unsigned i = 0; tables != NULL && i < report_table_count(report); i++) {
        const struct table *table = report_table(report, i);
        PyObject *made = NULL;
        if (table->is_single) {
            table_row(table, 0, row);
            made = row_dict(table, row);
        } else {
            made = table_rows(table, row);
        }
        if (put(tables, table->name, made) < 0)
            Py_CLEAR(tables);
    }
    free(row);
    return tables;
}

/* 0, or -1 with a ValueError. */
static int find_weight(const struct trace *trace, const char *value, struct sample_weight *weight)
{
    char names[2048];
    int error = value ? sample_weight_find(trace, value, weight) : 0;
    if (error == 0)
        return 0;
    sample_weight_list(trace, names, sizeof(names));
    PyErr_Format(PyExc_ValueError, "no value of samples that adds up is called %s; there are: %s",
                 value, names);
    return -1;
}

PyObject *report_object(struct store_reader *store, PyObject *path, const struct report_wish *wish)
{
    const struct pass_selection block = pass_select_block(store_reader_trace(store));
    struct report *report = NULL;
    int code;
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL)
        PyErr_Clear(); /* a name that is not a text */
    struct sample_weight weight = {0};
    if (find_weight(store_reader_trace(store), wish->value, &weight) < 0)
        return NULL;
    if (weight.heap == HEAP_PEAK && (code = heap_stats_choose_peak(store, &block)) < 0)
        return raise_code(code, path);
    const struct report_options options = {
        .path = name != NULL ? name : "",
        .only = "",
        .reader = store,
        .selection = &block,
        .grouping = (enum range_grouping)wish->grouping,
        .sort = RANGE_COLUMN_SELF,
        .weight = weight,
        .value = wish->value,
        .range = wish->inside,
        .limit = UINT64_MAX,
        .functions = UINT64_MAX,
        .all = true,
    };
    Py_BEGIN_ALLOW_THREADS code = report_create(&options, &report);
    Py_END_ALLOW_THREADS if (code < 0) return raise_code(code, path);
    PyObject *tables = tables_object(report);
    report_destroy(report);
    return tables;
}
