/* SPDX-License-Identifier: MIT */
/* A report as a page of tables that needs no other file: every number stands in a `data` element,
 * whose value is exact. */
#include "report_print.h"

#include "json_writer.h"
#include "number_text.h"
#include "xml_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<title>annot report</title>\n<style>\n"
    "body{font-family:sans-serif;margin:2em}\n"
    "table{border-collapse:collapse;margin-bottom:2em}\n"
    "caption{text-align:left;font-weight:bold;padding:.4em 0}\n"
    "th,td{text-align:left;padding:.15em .6em;border-bottom:1px solid #ddd}\n"
    "td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "tr.part td:first-child{padding-left:2em}\ntr.rest{font-style:italic}\n"
    "</style>\n</head>\n<body>\n<h1>annot report</h1>\n";

static const char *number_of(enum column_type type, const struct cell *cell, char *buffer)
{
    switch (type) {
    case COLUMN_TIME:
        return number_time_plain(cell->count, buffer);
    case COLUMN_BYTES:
        return number_size(cell->count, buffer);
    case COLUMN_VALUE:
        return number_value(cell->value, buffer);
    case COLUMN_NUMBER:
        snprintf(buffer, NUMBER_TEXT_SIZE, "%lld", (long long)cell->number);
        return buffer;
    case COLUMN_FLAG:
        return cell->count ? "yes" : "no";
    default:
        return number_count(cell->count, buffer);
    }
}

static void put_number(struct out_stream *out, enum column_type type, const struct cell *cell)
{
    char text[NUMBER_TEXT_SIZE];
    out_text(out, "<td class=\"n\"><data value=\"");
    uint8_t *at = out_reserve(out, JSON_DOUBLE_MAX);
    if (type == COLUMN_VALUE)
        out_advance(out, (size_t)(json_put_double(at, cell->value) - at));
    else if (type == COLUMN_NUMBER)
        out_advance(out, (size_t)(json_put_int(at, cell->number) - at));
    else
        out_advance(out, (size_t)(json_put_uint(at, cell->count) - at));
    out_text(out, cell->rough ? "\">~" : "\">");
    out_text(out, number_of(type, cell, text));
    out_text(out, "</data></td>");
}

static void put_cell(struct out_stream *out, const struct table_column *column,
                     const struct cell *cell)
{
    if (cell->state == CELL_NONE) {
        out_text(out, "<td></td>");
    } else if (cell->state == CELL_UNKNOWN) {
        out_text(out, "<td class=\"n\">-</td>");
    } else if (column->type == COLUMN_TEXT) {
        out_text(out, "<td>");
        xml_text(out, cell->text, strlen(cell->text));
        out_text(out, "</td>");
    } else {
        put_number(out, column->type, cell);
    }
}

/* What is in no other row says so in front. */
static void put_row(struct out_stream *out, const struct table *table, const struct table_row *row)
{
    out_text(out, row->role == ROW_PART   ? "<tr class=\"part\">"
                  : row->role == ROW_REST ? "<tr class=\"rest\">"
                                          : "<tr>");
    bool first = true;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (!table->columns[i].name)
            continue;
        if (first && row->rest) {
            out_text(out, "<td>(");
            out_text(out, row->rest);
            out_text(out, ")</td>");
        } else {
            put_cell(out, &table->columns[i], &row->cells[i]);
        }
        first = false;
    }
    out_text(out, "</tr>\n");
}

static void put_table(struct out_stream *out, const struct table *table, struct table_row *row)
{
    out_text(out, "<table id=\"");
    out_text(out, table->name);
    out_text(out, "\">\n<caption>");
    const char *title = table->title ? table->title : table->name;
    xml_text(out, title, strlen(title));
    out_text(out, "</caption>\n<thead><tr>");
    for (unsigned i = 0; i < table->column_count; i++) {
        if (!table->columns[i].name)
            continue;
        out_text(out, "<th scope=\"col\">");
        out_text(out, table->columns[i].name);
        out_text(out, "</th>");
    }
    out_text(out, "</tr></thead>\n<tbody>\n");
    for (uint64_t i = 0; i < table->row_count; i++) {
        table_row(table, i, row);
        put_row(out, table, row);
    }
    out_text(out, "</tbody>\n</table>\n");
}

int report_html(const struct report_tables *tables, struct out_stream *out)
{
    struct table_row *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    out_text(out, page_head);
    for (unsigned i = 0; i < tables->count; i++)
        if (tables->items[i]->row_count > 0)
            put_table(out, tables->items[i], row);
    out_text(out, "</body>\n</html>\n");
    free(row);
    return 0;
}
