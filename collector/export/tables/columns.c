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
    memset(at, 0, size);
    bytes->vec.count += size;
    return at;
}

void column_put(struct column_bytes *bytes, const void *data, size_t size)
{
    uint8_t *at = column_room(bytes, size);
    if (at && size > 0)
        memcpy(at, data, size);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int add_column(struct column *column, const struct rows_column *like)
{
    bool text = like->type == ROWS_TEXT || like->type == ROWS_BYTES;
    column->name = like->name;
    column->type = text ? COLUMN_TEXT : like->type == ROWS_NUMBER ? COLUMN_REAL : COLUMN_INTEGER;
    column->dictionary = like->type == ROWS_TEXT;
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
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = add_column(&columns->items[i], &columns->rows.columns[i]);
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
    columns->row_count = 0;
    columns->text_bytes = 0;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static int put_text(struct columns *columns, struct column *column, const char *text, size_t length)
{
    uint8_t size[4];
    if (!text || length > INT32_MAX - columns->text_bytes)
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(size); i++)
        size[i] = (uint8_t)(length >> 8 * i);
    column_put(&column->bytes, size, sizeof(size));
    column_put(&column->bytes, text, length);
    columns->text_bytes += length + sizeof(size);
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
    if (columns->spelled)
        columns->text_bytes += last->length;
    return columns->text_bytes > INT32_MAX ? -ENOMEM : 0;
}

static int put_cell(struct columns *columns, uint32_t index)
{
    const struct rows_cell *cell = &columns->rows.cells[index];
    struct column *column = &columns->items[index];
    int64_t value = cell->integer;
    column->present[columns->row_count] = cell->kind != CELL_NONE;
    if (cell->kind == CELL_NONE)
        return 0;
    if (column->dictionary)
        return put_word(columns, index, cell->key);
    if (column->type == COLUMN_TEXT) {
        column->count++;
        return put_text(columns, column, columns->rows.bytes, cell->length);
    }
    if (column->type == COLUMN_REAL) {
        double real = cell->kind == CELL_REAL ? cell->real : (double)cell->integer;
        memcpy(&value, &real, sizeof(value));
    }
    column->values[column->count++] = value;
    return 0;
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
    int status = rows_take(&columns->rows, item), error = 0;
    if (status <= 0)
        return status;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = put_cell(columns, i);
    if (columns->keys)
        columns->keys[columns->row_count] = key_of(item, columns->row_count);
    columns->row_count++;
    if (error)
        return error;
    return columns->row_count == COLUMNS_ROWS_MAX || columns->text_bytes > TEXTS_MAX;
}
