/* SPDX-License-Identifier: MIT */
/* See columns.h. */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 32 << 20 };

/* ---- Bytes ----------------------------------------------------------------------------------- */

uint8_t *column_room(struct column_bytes *bytes, size_t size)
{
    if (bytes->failed || vec_reserve(&bytes->vec, size + 1) != 0) { /* never no place at all */
        bytes->failed = true;
        return NULL;
    }
    uint8_t *at = bytes->vec.items + bytes->vec.count;
    bytes->vec.count += size;
    return at;
}

uint8_t *column_zeros(struct column_bytes *bytes, size_t size)
{
    uint8_t *at = column_room(bytes, size);
    return at ? memset(at, 0, size) : NULL;
}

void column_put(struct column_bytes *bytes, const void *data, size_t size)
{
    uint8_t *at = column_room(bytes, size);
    if (at && size > 0)
        memcpy(at, data, size);
}

void column_put_size(struct column_bytes *bytes, size_t size)
{
    uint8_t text[4];
    for (unsigned i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(size >> 8 * i);
    column_put(bytes, text, sizeof(text));
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int add_column(struct columns *columns, uint32_t index)
{
    const struct rows_column *like = &columns->rows.columns[index];
    struct column *column = &columns->items[index];
    bool text = like->type == ROWS_TEXT || like->type == ROWS_BYTES || like->type == ROWS_PATH;
    column->name = like->name;
    column->type = text ? COLUMN_TEXT : like->type == ROWS_NUMBER ? COLUMN_REAL : COLUMN_INTEGER;
    column->dictionary = like->type == ROWS_TEXT || like->type == ROWS_PATH;
    column->in_order = like->type == ROWS_TIME;
    column->paths = like->type == ROWS_PATH ? &columns->paths : NULL;
    column->present = malloc(COLUMNS_ROWS_MAX * sizeof(*column->present));
    if (column->dictionary)
        column->indices = malloc(COLUMNS_ROWS_MAX * sizeof(*column->indices));
    else if (!text)
        column->values = malloc(COLUMNS_ROWS_MAX * sizeof(*column->values));
    return column->present && (column->indices || column->values || like->type == ROWS_BYTES)
               ? 0
               : -ENOMEM;
}

int columns_init(struct columns *columns, const struct export_job *job, bool spelled)
{
    columns->spelled = spelled;
    int error = rows_init(&columns->rows, job);
    if (!error)
        error = column_paths_init(&columns->paths, job->source->trace);
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = add_column(columns, i);
    if (columns->rows.table == ROWS_RANGES && !error) {
        columns->keys = malloc(COLUMNS_ROWS_MAX * sizeof(*columns->keys));
        error = columns->keys ? 0 : -ENOMEM;
    }
    return error;
}

void columns_fini(struct columns *columns)
{
    for (uint32_t i = 0; i < ROWS_COLUMNS_MAX; i++) {
        free(columns->items[i].present);
        free(columns->items[i].values);
        free(columns->items[i].indices);
        vec_free(&columns->items[i].bytes.vec);
        map64_free(&columns->words[i].by_key);
    }
    free(columns->keys);
    column_paths_fini(&columns->paths);
    rows_fini(&columns->rows);
}

void columns_forget(struct columns *columns)
{
    for (uint32_t i = 0; i < columns->rows.count; i++) {
        columns->items[i].count = columns->items[i].word_count = 0;
        columns->items[i].bytes.vec.count = 0;
        map64_free(&columns->words[i].by_key);
        memset(columns->words[i].last, 0, sizeof(columns->words[i].last));
    }
    for (size_t i = 0; i < columns->rows.paths.links.count; i++)
        columns->rows.paths.links.items[i].number = 0;
    column_paths_forget(&columns->paths);
    columns->row_count = 0;
    columns->text_bytes = 0;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static int put_text(struct columns *columns, struct column *column, const char *text, size_t length)
{
    if (!text || length > INT32_MAX - columns->text_bytes)
        return -ENOMEM;
    column_put_size(&column->bytes, length);
    column_put(&column->bytes, text, length);
    columns->text_bytes += length + sizeof(uint32_t);
    return column->bytes.failed ? -ENOMEM : 0;
}

static int find_word(struct columns *columns, uint32_t index, uint64_t key,
                     struct column_word *ret_word)
{
    struct column_words *words = &columns->words[index];
    struct column *column = &columns->items[index];
    const uint64_t *known = map64_find(&words->by_key, key);
    size_t length;
    if (known) {
        *ret_word = (struct column_word){key, (uint32_t)*known - 1, (uint32_t)(*known >> 32)};
        return 0;
    }
    const char *text = rows_text(&columns->rows, key, &length);
    if (put_text(columns, column, text, length) != 0)
        return -ENOMEM;
    *ret_word = (struct column_word){key, column->word_count++, (uint32_t)length};
    return map64_put(&words->by_key, key, (uint64_t)length << 32 | (ret_word->index + 1));
}

static int put_word(struct columns *columns, uint32_t index, uint64_t key)
{
    struct column *column = &columns->items[index];
    struct column_word *last = &columns->words[index].last[(key ^ key >> 30) % COLUMN_LAST_WORDS];
    if (last->key != key && find_word(columns, index, key, last) != 0)
        return -ENOMEM;
    column->indices[column->count++] = last->index;
    columns->text_bytes += columns->spelled ? last->length : 0;
    return columns->text_bytes > INT32_MAX ? -ENOMEM : 0;
}

static int put_path(struct columns *columns, struct column *column)
{
    struct column_paths *paths = column->paths;
    size_t bytes = columns->spelled ? paths->all_bytes : paths->word_bytes;
    int error = column_paths_take(paths, &columns->rows.paths, &column->indices[column->count++]);
    column->word_count = (uint32_t)paths->words.count;
    columns->text_bytes += (columns->spelled ? paths->all_bytes : paths->word_bytes) - bytes;
    return columns->text_bytes > INT32_MAX ? -ENOMEM : error;
}

static int put_text_cell(struct columns *columns, uint32_t index)
{
    const struct rows_cell *cell = &columns->rows.cells[index];
    struct column *column = &columns->items[index];
    if (column->paths)
        return put_path(columns, column);
    if (column->dictionary)
        return put_word(columns, index, cell->key);
    column->count++;
    return put_text(columns, column, columns->rows.bytes, cell->length);
}

static int64_t bits_of_number(const struct rows_cell *cell)
{
    double real = cell->kind == CELL_REAL ? cell->real : (double)cell->integer;
    int64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static int put_cells(struct columns *columns)
{
    int error = 0;
    uint32_t row = columns->row_count;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++) {
        const struct rows_cell *cell = &columns->rows.cells[i];
        struct column *column = &columns->items[i];
        column->present[row] = cell->kind != CELL_NONE;
        if (cell->kind == CELL_NONE)
            continue;
        if (column->type == COLUMN_INTEGER)
            column->values[column->count++] = cell->integer;
        else if (column->type == COLUMN_TEXT)
            error = put_text_cell(columns, i);
        else
            column->values[column->count++] = bits_of_number(cell);
    }
    return error;
}

static struct row_key key_of(const struct item *item, uint32_t row)
{
    const struct event *event = item->event;
    bool own = item->lane == LANE_THREAD || item->lane == LANE_PROCESS;
    return (struct row_key){(uint64_t)item->lane << 32 | (own ? event->thread : event->lane),
                            event->time_ns, row};
}

int columns_take(struct columns *columns, const struct item *item)
{
    int status = rows_take(&columns->rows, item);
    if (status <= 0)
        return status;
    int error = put_cells(columns);
    if (columns->keys)
        columns->keys[columns->row_count] = key_of(item, columns->row_count);
    columns->row_count++;
    if (error)
        return error;
    return columns->row_count == COLUMNS_ROWS_MAX || columns->text_bytes > TEXTS_MAX;
}
