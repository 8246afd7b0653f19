/* SPDX-License-Identifier: MIT */
/* The table of table.h: all texts in one array, measured when it is printed. */
#include "table.h"

#include "number_text.h"
#include "term.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MIN = 24, COLUMNS_MAX = 32, GAP = 2 };

struct table {
    const struct table_column *columns;
    size_t column_count;
    VEC(char) text;    /* cells, each with its NUL */
    VEC(size_t) cells; /* where each begins */
    size_t widths[COLUMNS_MAX];
    bool hidden[COLUMNS_MAX];
    size_t first_max; /* 0 = as wide as it needs */
    bool no_memory;
};

struct cell_buffer {
    char *text;
    size_t size;
    size_t blanks; /* owed before the next text */
};

struct table *table_create(const struct table_column *columns, size_t count)
{
    struct table *table = count && count <= COLUMNS_MAX ? calloc(1, sizeof(*table)) : NULL;
    if (!table)
        return NULL;
    table->columns = columns;
    table->column_count = count;
    for (size_t i = 0; i < count; i++)
        table->widths[i] = term_text_width(columns[i].title);
    return table;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    vec_free(&table->text);
    vec_free(&table->cells);
    free(table);
}

void table_add(struct table *table, const char *text)
{
    size_t size = strlen(text) + 1, column = table->cells.count % table->column_count;
    if (table->no_memory || vec_push(&table->cells, table->text.count) != 0 ||
        vec_reserve(&table->text, size) != 0) {
        table->no_memory = true;
        return;
    }
    memcpy(table->text.items + table->text.count, text, size);
    table->text.count += size;
    size_t width = term_text_width(text);
    if (width > table->widths[column])
        table->widths[column] = width;
}

void table_add_time(struct table *table, uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_time(ns, text));
}

void table_add_count(struct table *table, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_count(count, text));
}

void table_add_percent(struct table *table, uint64_t part, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_percent(part, whole, text));
}

void table_limit_first(struct table *table, size_t width)
{
    table->first_max = width;
}

/* Columns that the shown ones take, without the first. */
static size_t width_of_rest(const struct table *table)
{
    size_t width = 0;
    for (size_t i = 1; i < table->column_count; i++)
        width += table->hidden[i] ? 0 : table->widths[i] + GAP;
    return width;
}

static bool hide_least_wanted(struct table *table)
{
    size_t worst = 0;
    for (size_t i = 1; i < table->column_count; i++) {
        if (!table->hidden[i] && table->columns[i].rank > table->columns[worst].rank)
            worst = i;
    }
    table->hidden[worst] = worst != 0;
    return worst != 0;
}

/* Decides what is hidden and how wide the first column is. */
static void fit(struct table *table, size_t width, size_t *ret_hidden)
{
    if (table->first_max && table->widths[0] > table->first_max)
        table->widths[0] = table->first_max;
    size_t least = table->widths[0] < FIRST_MIN ? table->widths[0] : FIRST_MIN;
    memset(table->hidden, 0, sizeof(table->hidden));
    *ret_hidden = 0;
    while (width && width_of_rest(table) + least > width && hide_least_wanted(table))
        ++*ret_hidden;
    size_t rest = width_of_rest(table);
    size_t room = width > rest + least ? width - rest : least;
    if (width && table->widths[0] > room)
        table->widths[0] = room;
}

/* Padding waits in cell->blanks until a text follows, so that no line ends in blanks. */
static void print_cell(const struct table *table, size_t column, const char *text,
                       struct cell_buffer *cell)
{
    size_t width = table->widths[column];
    size_t used = term_shorten(text, width, cell->text, cell->size);
    bool left = column == 0 || table->columns[column].left;
    cell->blanks += (column ? GAP : 0) + (left ? 0 : width - used);
    size_t length = strlen(cell->text), shown = length;
    while (shown && cell->text[shown - 1] == ' ')
        shown--;
    if (shown) {
        printf("%*s%.*s", (int)cell->blanks, "", (int)shown, cell->text);
        cell->blanks = 0;
    }
    cell->blanks += length - shown;
    cell->blanks += left ? width - used : 0;
}

static void print_titles(const struct table *table, bool color, struct cell_buffer *cell)
{
    fputs(color ? "\033[1m" : "", stdout);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->hidden[i])
            print_cell(table, i, table->columns[i].title, cell);
    }
    fputs(color ? "\033[0m\n" : "\n", stdout);
    cell->blanks = 0;
}

int table_print(struct table *table, size_t width, bool color, size_t *ret_hidden)
{
    fit(table, width, ret_hidden);
    size_t widest = 0;
    for (size_t i = 0; i < table->column_count; i++)
        widest = table->widths[i] > widest ? table->widths[i] : widest;
    struct cell_buffer buffer = {.size = 4 * widest + 8};
    buffer.text = table->no_memory ? NULL : malloc(buffer.size);
    if (!buffer.text)
        return -ENOMEM;
    print_titles(table, color, &buffer);
    size_t column = 0;
    for (size_t cell = 0; cell < table->cells.count; cell++, column++) {
        if (column == table->column_count)
            column = 0;
        if (!table->hidden[column])
            print_cell(table, column, table->text.items + table->cells.items[cell], &buffer);
        if (column + 1 < table->column_count)
            continue;
        putchar('\n');
        buffer.blanks = 0;
    }
    free(buffer.text);
    return 0;
}
