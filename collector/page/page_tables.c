/* SPDX-License-Identifier: MIT */
/* Writes all tables of the report, the first rows of each. */
#include "page_tables.h"

#include "page_data.h"
#include "page_model.h"

#include "number.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Rest rows come last, so few suffice. */
enum { RESTS_MAX = 4 };

static void put_column(struct json_doc *doc, const struct table_column *column)
{
    static const char *const types[] = {
        [COLUMN_TEXT] = "text",   [COLUMN_TIME] = "time",   [COLUMN_COUNT] = "count",
        [COLUMN_BYTES] = "bytes", [COLUMN_FLAG] = "flag",   [COLUMN_NUMBER] = "number",
        [COLUMN_VALUE] = "value", [COLUMN_SHARE] = "share",
    };
    json_doc_object(doc, NULL);
    if (column->name)
        json_doc_text(doc, "name", column->name);
    if (column->title)
        json_doc_text(doc, "title", column->title);
    json_doc_text(doc, "type", types[column->type]);
    if (column->adds_up)
        json_doc_bool(doc, "adds_up", true);
    if (column->rare)
        json_doc_bool(doc, "rare", true);
    if (column->rank)
        json_doc_uint(doc, "rank", column->rank);
    if (column->type == COLUMN_SHARE) {
        json_doc_uint(doc, "of", column->of);
        json_doc_uint(doc, "whole", column->whole);
    }
    if (column->of_row)
        json_doc_bool(doc, "of_row", true);
    json_doc_close(doc);
}

static void put_cell(const struct page *page, struct json_doc *doc,
                     const struct table_column *column, const struct cell *cell)
{
    if (cell->state != CELL_KNOWN || column->type == COLUMN_SHARE)
        json_doc_null(doc, NULL);
    else if (column->type == COLUMN_TEXT)
        page_put_text(page, doc, NULL, cell->text);
    else if (column->type == COLUMN_VALUE)
        json_doc_double(doc, NULL, cell->value);
    else if (column->type == COLUMN_NUMBER)
        json_doc_int(doc, NULL, cell->number);
    else if (column->type == COLUMN_FLAG)
        json_doc_bool(doc, NULL, cell->count != 0);
    else
        json_doc_uint(doc, NULL, cell->count);
}

static void put_row(const struct page *page, struct json_doc *doc, const struct table *table,
                    const struct table_row *row)
{
    static const char *const roles[] = {
        [ROW_PLAIN] = "plain", [ROW_PART] = "part",     [ROW_MINOR] = "minor",
        [ROW_APART] = "apart", [ROW_HIDDEN] = "hidden", [ROW_REST] = "rest",
    };
    json_doc_object(doc, NULL);
    if (row->role != ROW_PLAIN)
        json_doc_text(doc, "role", roles[row->role]);
    if (row->owner)
        json_doc_text(doc, "owner", code_owner_name(row->owner));
    if (row->few)
        json_doc_bool(doc, "few", true);
    if (row->observed)
        json_doc_bool(doc, "observed", true);
    if (row->rest)
        json_doc_text(doc, "rest", row->rest);
    json_doc_array(doc, "cells");
    for (unsigned i = 0; i < table->column_count; i++)
        put_cell(page, doc, &table->columns[i], &row->cells[i]);
    json_doc_close(doc);
    json_doc_close(doc);
}

/* Writes the first rows and the rests. Returns the number of omitted rows. */
static uint64_t put_rows(const struct page *page, struct json_doc *doc, const struct table *table,
                         struct table_row *row)
{
    uint64_t more = 0;
    json_doc_array(doc, "rows");
    for (uint64_t i = 0; i < table->row_count; i++) {
        if (i >= page->row_limit && i + RESTS_MAX < table->row_count) {
            more = table->row_count - RESTS_MAX - i;
            i = table->row_count - RESTS_MAX;
        }
        table_row(table, i, row);
        if (i < page->row_limit || row->role == ROW_REST)
            put_row(page, doc, table, row);
        else
            more++;
    }
    json_doc_close(doc);
    return more;
}

static void put_notes(struct json_doc *doc, const struct table *table)
{
    char number[NUMBER_TEXT_SIZE];
    json_doc_array(doc, "notes");
    for (unsigned i = 0; i < table->note_count; i++) {
        const struct table_note *note = &table->notes[i];
        char text[1024];
        snprintf(text, sizeof(text), "%s%s%s", note->before,
                 note->after ? number_count(note->count, number) : "",
                 note->after ? note->after : "");
        json_doc_text(doc, NULL, text);
    }
    json_doc_close(doc);
}

static void put_table(const struct page *page, struct json_doc *doc, const struct table *table,
                      struct table_row *row)
{
    json_doc_object(doc, NULL);
    json_doc_text(doc, "name", table->name);
    page_put_text(page, doc, "title", table->title ? table->title : "");
    if (table->is_single)
        json_doc_bool(doc, "single", true);
    json_doc_array(doc, "columns");
    for (unsigned i = 0; i < table->column_count; i++)
        put_column(doc, &table->columns[i]);
    json_doc_close(doc);
    json_doc_uint(doc, "more", put_rows(page, doc, table, row));
    put_notes(doc, table);
    json_doc_close(doc);
}

static int put_tables(const struct page *page, struct json_doc *doc,
                      const struct table *const *tables, unsigned count)
{
    struct table_row *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    json_doc_array(doc, "tables");
    for (unsigned i = 0; i < count; i++)
        put_table(page, doc, tables[i], row);
    json_doc_close(doc);
    free(row);
    return 0;
}

int page_put_tables(struct page *page, struct json_doc *doc)
{
    const struct table *tables[REPORT_TABLES_MAX];
    unsigned count = report_table_count(page->report);
    for (unsigned i = 0; i < count; i++)
        tables[i] = report_table(page->report, i);
    return put_tables(page, doc, tables, count);
}

int page_put_compare(struct page *page, struct json_doc *doc)
{
    const struct page_compare *compare = &page->options.compare;
    if (!compare->file) {
        json_doc_null(doc, "compare");
        return 0;
    }
    json_doc_object(doc, "compare");
    page_put_text(page, doc, "file", compare->file);
    int error = put_tables(page, doc, compare->tables, compare->count);
    json_doc_close(doc);
    return error;
}
