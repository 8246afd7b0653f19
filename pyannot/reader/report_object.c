/* SPDX-License-Identifier: MIT */
/* The tables of a report (profile/report.h) as Python objects: what `annot report --json` prints.
 */
#include "reader_types.h"

#include "report.h"

#include <errno.h>
#include <string.h>

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

/* Parts go into the row before: 0, or -1 with an exception. */
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

PyObject *report_object(struct store_reader *store, PyObject *path, int grouping,
                        const char *inside)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    struct report *report = NULL;
    int code;
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL)
        PyErr_Clear(); /* a name that is no text */
    const struct report_options options = {
        .path = name != NULL ? name : "",
        .only = "",
        .reader = store,
        .selection = &all,
        .grouping = (enum range_grouping)grouping,
        .sort = RANGE_COLUMN_SELF,
        .range = inside,
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
