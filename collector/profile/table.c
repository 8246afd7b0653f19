/* SPDX-License-Identifier: MIT */
/* What makers of tables (table.h) share: columns, cells, and the order of rows. */
#include "table.h"

#include "text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_TEXT_SIZE = 16384 };

void table_row(const struct table *table, uint64_t index, struct table_row *ret_row)
{
    memset(ret_row, 0, offsetof(struct table_row, texts));
    table->fill(table, index, ret_row);
}

void table_sums(const struct table *table, uint64_t index, struct table_row *ret_row)
{
    memset(ret_row, 0, offsetof(struct table_row, texts));
    ret_row->sums_only = true;
    table->fill(table, index, ret_row);
}

void table_fini(struct table *table)
{
    free(table->title);
    free(table->rows);
    table->title = NULL;
    table->rows = NULL;
}

unsigned table_add_column(struct table *table, struct table_column column)
{
    assert(table->column_count < TABLE_COLUMNS_MAX);
    table->columns[table->column_count] = column;
    return table->column_count++;
}

void table_add_note(struct table *table, struct table_note note)
{
    assert(table->note_count < TABLE_NOTES_MAX);
    table->notes[table->note_count++] = note;
}

char *row_room(struct table_row *row, size_t *ret_size)
{
    size_t rest = sizeof(row->texts) - row->used;
    *ret_size = rest < TABLE_LABEL_SIZE ? rest : TABLE_LABEL_SIZE;
    return row->texts + row->used;
}

/* The last byte is the end of any text that comes then. */
void row_take(struct table_row *row, unsigned column, size_t length)
{
    row->cells[column] = (struct cell){.state = CELL_KNOWN, .text = row->texts + row->used};
    row->used += length + 1;
    if (row->used >= sizeof(row->texts))
        row->used = sizeof(row->texts) - 1;
}

void row_text(struct table_row *row, unsigned column, const char *text)
{
    size_t size;
    char *room = row_room(row, &size);
    struct text copy = text_init(room, size);
    text_add(&copy, text, strlen(text));
    row_take(row, column, copy.length);
}

void row_count(struct table_row *row, unsigned column, uint64_t count)
{
    row->cells[column] = (struct cell){.state = CELL_KNOWN, .count = count};
}

void row_number(struct table_row *row, unsigned column, int64_t number)
{
    row->cells[column] = (struct cell){.state = CELL_KNOWN, .number = number};
}

void row_value(struct table_row *row, unsigned column, double value)
{
    row->cells[column] = (struct cell){.state = CELL_KNOWN, .value = value};
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int by_numbers(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    if (a->last != b->last)
        return a->last ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? 1 : -1;
    if (a->second != b->second)
        return a->second < b->second ? 1 : -1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_text(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

static bool is_tie(const struct order_entry *a, const struct order_entry *b)
{
    return a->last == b->last && a->first == b->first && a->second == b->second;
}

static int sort_tie(struct order_entry *entries, size_t count, order_text *text,
                    const void *context)
{
    char *buffer = malloc(ORDER_TEXT_SIZE);
    int rc = buffer ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        size_t length = text(context, entries[i].row, buffer, ORDER_TEXT_SIZE);
        entries[i].text = strndup(buffer, length);
        rc = entries[i].text ? 0 : -ENOMEM;
    }
    if (rc == 0)
        qsort(entries, count, sizeof(*entries), by_text);
    for (size_t i = 0; i < count; i++) {
        free(entries[i].text);
        entries[i].text = NULL;
    }
    free(buffer);
    return rc;
}

int order_sort(struct order_entry *entries, size_t count, order_text *text, const void *context)
{
    int rc = 0;
    if (count > 0)
        qsort(entries, count, sizeof(*entries), by_numbers);
    for (size_t first = 0, end; first < count && rc == 0; first = end) {
        for (end = first + 1; end < count && is_tie(&entries[first], &entries[end]);)
            end++;
        if (end - first > 1)
            rc = sort_tie(entries + first, end - first, text, context);
    }
    return rc;
}
