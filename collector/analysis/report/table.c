/* SPDX-License-Identifier: MIT */
/* Functions for makers of tables (table.h): columns and cells. */
#include "table.h"

#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void table_cells(const struct table *table, uint64_t index, uint64_t columns,
                 struct table_row *ret_row)
{
    memset(ret_row, 0, offsetof(struct table_row, texts));
    ret_row->wanted = columns;
    table->fill(table, index, ret_row);
}

void table_row(const struct table *table, uint64_t index, struct table_row *ret_row)
{
    table_cells(table, index, UINT64_MAX, ret_row);
}

void table_sums(const struct table *table, uint64_t index, struct table_row *ret_row)
{
    memset(ret_row, 0, offsetof(struct table_row, texts));
    ret_row->sums_only = true;
    for (unsigned i = 0; i < table->column_count; i++)
        if (table->columns[i].adds_up || table->columns[i].rare)
            ret_row->wanted |= TABLE_COLUMN(i);
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

/* The last byte is the terminator of all later texts. */
static void take(struct table_row *row, unsigned column, size_t length)
{
    row->cells[column] = (struct cell){.state = CELL_KNOWN, .text = row->texts + row->used};
    row->used += length + 1;
    if (row->used >= sizeof(row->texts))
        row->used = sizeof(row->texts) - 1;
}

/* Marks the end of a cut text; returns its new length. */
static size_t mark_cut(char *text, size_t length)
{
    static const char mark[] = "\u2026";
    size_t size = sizeof(mark) - 1;
    if (length < size)
        return length;
    size_t kept = utf8_cut(text, length, length - size);
    memcpy(text + kept, mark, sizeof(mark));
    return kept + size;
}

/* A text that fills its space counts as cut, as the caller does not say. */
void row_take(struct table_row *row, unsigned column, size_t length)
{
    size_t size;
    char *text = row_room(row, &size);
    take(row, column, length + 1 >= size ? mark_cut(text, length) : length);
}

void row_text(struct table_row *row, unsigned column, const char *text)
{
    size_t size, length = strlen(text);
    char *room = row_room(row, &size);
    struct text copy = text_init(room, size);
    text_add(&copy, text, length);
    take(row, column, copy.length < length ? mark_cut(room, copy.length) : length);
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
