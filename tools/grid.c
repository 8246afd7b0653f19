/* SPDX-License-Identifier: MIT */
/* The grid of grid.h: all texts in one array, measured when it is printed. */
#include "grid.h"

#include "term.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MIN = 24, COLUMNS_MAX = 32, GAP = 2 };

struct grid {
    const struct grid_column *columns;
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

struct grid *grid_create(const struct grid_column *columns, size_t count)
{
    struct grid *grid = count && count <= COLUMNS_MAX ? calloc(1, sizeof(*grid)) : NULL;
    if (!grid)
        return NULL;
    grid->columns = columns;
    grid->column_count = count;
    for (size_t i = 0; i < count; i++)
        grid->widths[i] = term_text_width(columns[i].title);
    return grid;
}

void grid_destroy(struct grid *grid)
{
    if (!grid)
        return;
    vec_free(&grid->text);
    vec_free(&grid->cells);
    free(grid);
}

void grid_add(struct grid *grid, const char *text)
{
    size_t size = strlen(text) + 1, column = grid->cells.count % grid->column_count;
    if (grid->no_memory || vec_push(&grid->cells, grid->text.count) != 0 ||
        vec_reserve(&grid->text, size) != 0) {
        grid->no_memory = true;
        return;
    }
    memcpy(grid->text.items + grid->text.count, text, size);
    grid->text.count += size;
    size_t width = term_text_width(text);
    if (width > grid->widths[column])
        grid->widths[column] = width;
}

void grid_add_time(struct grid *grid, uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid, number_time(ns, text));
}

void grid_add_count(struct grid *grid, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid, number_count(count, text));
}

void grid_add_percent(struct grid *grid, uint64_t part, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid, number_percent(part, whole, text));
}

void grid_limit_first(struct grid *grid, size_t width)
{
    grid->first_max = width;
}

/* Columns that the shown ones take, without the first. */
static size_t width_of_rest(const struct grid *grid)
{
    size_t width = 0;
    for (size_t i = 1; i < grid->column_count; i++)
        width += grid->hidden[i] ? 0 : grid->widths[i] + GAP;
    return width;
}

static bool hide_least_wanted(struct grid *grid)
{
    size_t worst = 0;
    for (size_t i = 1; i < grid->column_count; i++) {
        if (!grid->hidden[i] && grid->columns[i].rank > grid->columns[worst].rank)
            worst = i;
    }
    grid->hidden[worst] = worst != 0;
    return worst != 0;
}

/* Decides what is hidden and how wide the first column is. */
static void fit(struct grid *grid, size_t width, size_t *ret_hidden)
{
    if (grid->first_max && grid->widths[0] > grid->first_max)
        grid->widths[0] = grid->first_max;
    size_t least = grid->widths[0] < FIRST_MIN ? grid->widths[0] : FIRST_MIN;
    memset(grid->hidden, 0, sizeof(grid->hidden));
    *ret_hidden = 0;
    while (width && width_of_rest(grid) + least > width && hide_least_wanted(grid))
        ++*ret_hidden;
    size_t rest = width_of_rest(grid);
    size_t room = width > rest + least ? width - rest : least;
    if (width && grid->widths[0] > room)
        grid->widths[0] = room;
}

/* Padding waits in cell->blanks until a text follows, so that no line ends in blanks. */
static void print_cell(const struct grid *grid, size_t column, const char *text,
                       struct cell_buffer *cell)
{
    size_t width = grid->widths[column];
    size_t used = term_shorten(text, width, cell->text, cell->size);
    bool left = column == 0 || grid->columns[column].left;
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

static void print_titles(const struct grid *grid, bool color, struct cell_buffer *cell)
{
    fputs(color ? "\033[1m" : "", stdout);
    for (size_t i = 0; i < grid->column_count; i++) {
        if (!grid->hidden[i])
            print_cell(grid, i, grid->columns[i].title, cell);
    }
    fputs(color ? "\033[0m\n" : "\n", stdout);
    cell->blanks = 0;
}

int grid_print(struct grid *grid, size_t width, bool color, size_t *ret_hidden)
{
    fit(grid, width, ret_hidden);
    size_t widest = 0;
    for (size_t i = 0; i < grid->column_count; i++)
        widest = grid->widths[i] > widest ? grid->widths[i] : widest;
    struct cell_buffer buffer = {.size = 4 * widest + 8};
    buffer.text = grid->no_memory ? NULL : malloc(buffer.size);
    if (!buffer.text)
        return -ENOMEM;
    print_titles(grid, color, &buffer);
    size_t column = 0;
    for (size_t cell = 0; cell < grid->cells.count; cell++, column++) {
        if (column == grid->column_count)
            column = 0;
        if (!grid->hidden[column])
            print_cell(grid, column, grid->text.items + grid->cells.items[cell], &buffer);
        if (column + 1 < grid->column_count)
            continue;
        putchar('\n');
        buffer.blanks = 0;
    }
    free(buffer.text);
    return 0;
}
