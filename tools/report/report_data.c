/* SPDX-License-Identifier: MIT */
/* Machine-readable reports: as JSON, and as one CSV table (RFC 4180 except for line ends) of all
 * tables. */
#include "report_data.h"

#include "report_text.h"

#include "csv.h"
#include "json_writer.h"
#include "out_stream.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_cell(struct json_doc *doc, const struct table_column *column,
                      const struct cell *cell)
{
    if (cell->state != CELL_KNOWN) {
        json_doc_null(doc, column->name);
        return;
    }
    switch (column->type) {
    case COLUMN_TEXT:
        json_doc_text(doc, column->name, cell->text);
        break;
    case COLUMN_VALUE:
        json_doc_double(doc, column->name, cell->value);
        break;
    case COLUMN_NUMBER:
        json_doc_int(doc, column->name, cell->number);
        break;
    case COLUMN_FLAG:
        json_doc_bool(doc, column->name, cell->count != 0);
        break;
    default:
        json_doc_uint(doc, column->name, cell->count);
    }
}

/* Writes the members of a row and leaves its object open. The rest, outside all rows, has the same
 * members, and one that names it. */
static void json_row(struct json_doc *doc, const struct table *table, const struct table_row *row)
{
    if (row->rest)
        json_doc_text(doc, "rest", row->rest);
    for (unsigned i = 0; i < table->column_count; i++)
        if (table->columns[i].name && (row->rest || row->cells[i].state != CELL_NONE))
            json_cell(doc, &table->columns[i], &row->cells[i]);
}

/* Parts are an array in the row that they belong to. */
static void json_rows(struct json_doc *doc, const struct table *table, struct table_row *row)
{
    bool in_row = false, in_parts = false;
    for (uint64_t i = 0; i < table->row_count; i++) {
        table_row(table, i, row);
        bool part = row->role == ROW_PART;
        if (part && !in_parts)
            json_doc_array(doc, "parts");
        if (!part && in_parts)
            json_doc_close(doc);
        in_parts = part;
        if (!part && in_row)
            json_doc_close(doc);
        in_row = in_row || !part;
        json_doc_object(doc, NULL);
        json_row(doc, table, row);
        if (part)
            json_doc_close(doc);
    }
    if (in_parts)
        json_doc_close(doc);
    if (in_row)
        json_doc_close(doc);
}

int report_json(const struct report_tables *tables, struct out_stream *out)
{
    struct json_doc doc = {.out = out};
    struct table_row *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    json_doc_object(&doc, NULL);
    for (unsigned i = 0; i < tables->count; i++) {
        const struct table *table = tables->items[i];
        if (table->is_single) {
            json_doc_object(&doc, table->name);
            table_row(table, 0, row);
            json_row(&doc, table, row);
        } else {
            json_doc_array(&doc, table->name);
            json_rows(&doc, table, row);
        }
        json_doc_close(&doc);
    }
    json_doc_close(&doc);
    out_text(out, "\n");
    free(row);
    return 0;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

enum { CSV_COLUMNS_MAX = 256 };

/* The columns of all tables, each name once. */
struct header {
    const char *names[CSV_COLUMNS_MAX];
    unsigned count;
};

static unsigned header_find(const struct header *header, const char *name)
{
    unsigned at = 0;
    while (at < header->count && strcmp(header->names[at], name) != 0)
        at++;
    return at;
}

static void header_add(struct header *header, const struct table *table)
{
    for (unsigned i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i].name;
        if (name && header->count < CSV_COLUMNS_MAX && header_find(header, name) == header->count)
            header->names[header->count++] = name;
    }
}

/* Columns of facts come last. */
static void header_init(struct header *header, const struct report_tables *tables)
{
    header->count = 0;
    for (unsigned i = 0; i < tables->count; i++)
        if (!tables->items[i]->is_single)
            header_add(header, tables->items[i]);
    for (unsigned i = 0; i < tables->count; i++)
        header_add(header, tables->items[i]);
}

static void csv_cell(struct out_stream *out, enum column_type type, const struct cell *cell)
{
    uint8_t *at = out_reserve(out, JSON_DOUBLE_MAX);
    if (type == COLUMN_TEXT)
        csv_text(out, cell->text);
    else if (type == COLUMN_VALUE)
        out_advance(out, (size_t)(json_put_double(at, cell->value) - at));
    else if (type == COLUMN_NUMBER)
        out_advance(out, (size_t)(json_put_int(at, cell->number) - at));
    else
        out_advance(out, (size_t)(json_put_uint(at, cell->count) - at));
}

/* `columns`: the table's column for each column of the header; UINT_MAX: missing. */
static void csv_row(struct out_stream *out, const struct table *table, const unsigned *columns,
                    unsigned count, const struct table_row *row)
{
    out_text(out, table->name);
    out_text(out, ",");
    out_text(out, row->rest ? row->rest : "");
    for (unsigned i = 0; i < count; i++) {
        unsigned column = columns[i];
        out_write(out, ",", 1);
        if (column < table->column_count && row->cells[column].state == CELL_KNOWN)
            csv_cell(out, table->columns[column].type, &row->cells[column]);
    }
    out_text(out, "\n");
}

static void csv_table(struct out_stream *out, const struct table *table,
                      const struct header *header, struct table_row *row)
{
    unsigned columns[CSV_COLUMNS_MAX];
    for (unsigned i = 0; i < header->count; i++)
        columns[i] = UINT32_MAX;
    for (unsigned i = 0; i < table->column_count; i++)
        if (table->columns[i].name && header_find(header, table->columns[i].name) < header->count)
            columns[header_find(header, table->columns[i].name)] = i;
    for (uint64_t i = 0; i < table->row_count; i++) {
        table_row(table, i, row);
        csv_row(out, table, columns, header->count, row);
    }
}

int report_csv(const struct report_tables *tables, struct out_stream *out)
{
    struct header header;
    struct table_row *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    header_init(&header, tables);
    out_text(out, "table,rest");
    for (unsigned i = 0; i < header.count; i++) {
        out_text(out, ",");
        out_text(out, header.names[i]);
    }
    out_text(out, "\n");
    for (unsigned i = 0; i < tables->count; i++)
        csv_table(out, tables->items[i], &header, row);
    free(row);
    return 0;
}
