/* SPDX-License-Identifier: MIT */
/* See arrow_parts.h. Integers and reals have a slot for each row; texts are spelled out, with the
 * place where each ends, as readers like them best. */
#include "arrow_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 3, ALIGNMENT = 8, TEXT_SLACK = 32 };

int arrow_body_init(struct arrow_body *body)
{
    *body = (struct arrow_body){.zstd = ZSTD_createCCtx()};
    return body->zstd ? 0 : -ENOMEM;
}

void arrow_body_fini(struct arrow_body *body)
{
    vec_free(&body->bytes.vec);
    vec_free(&body->plain.vec);
    vec_free(&body->buffers);
    vec_free(&body->nodes);
    ZSTD_freeCCtx(body->zstd);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* Behind its size. */
static size_t compress(struct arrow_body *body, uint8_t *at, size_t bound)
{
    const uint64_t size = body->plain.vec.count;
    memcpy(at, &size, sizeof(size));
    size_t packed =
        ZSTD_compressCCtx(body->zstd, at + sizeof(size), bound, body->plain.vec.items, size, LEVEL);
    if (ZSTD_isError(packed))
        body->error = -ENOMEM;
    return sizeof(size) + (ZSTD_isError(packed) ? 0 : packed);
}

/* Adds body->plain, and empties it. */
static void end_buffer(struct arrow_body *body)
{
    size_t begin = body->bytes.vec.count, bound = ZSTD_compressBound(body->plain.vec.count);
    struct arrow_buffer buffer = {.offset = (int64_t)begin};
    if (body->plain.vec.count > 0) {
        uint8_t *at = column_room(&body->bytes, sizeof(uint64_t) + bound);
        buffer.length = at ? (int64_t)compress(body, at, bound) : 0;
        body->bytes.vec.count = begin + (size_t)buffer.length;
        column_zeros(&body->bytes, -body->bytes.vec.count & (ALIGNMENT - 1));
    }
    if (body->bytes.failed || body->plain.failed || vec_push(&body->buffers, buffer) != 0)
        body->error = -ENOMEM;
    body->plain.vec.count = 0;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Nothing, if all rows have a value. */
static void put_presence(struct arrow_body *body, const struct column *column, uint32_t rows)
{
    uint8_t *at = column->count < rows ? column_zeros(&body->plain, (rows + 7) / 8) : NULL;
    for (uint32_t i = 0; at && i < rows; i++)
        at[i / 8] = (uint8_t)(at[i / 8] | column->present[i] << i % 8);
    end_buffer(body);
}

static void put_numbers(struct arrow_body *body, const struct column *column, uint32_t rows)
{
    if (column->count == rows) {
        column_put(&body->plain, column->values, rows * sizeof(*column->values));
        end_buffer(body);
        return;
    }
    uint8_t *at = column_zeros(&body->plain, rows * sizeof(*column->values));
    for (uint32_t i = 0, value = 0; at && i < rows; i++)
        if (column->present[i])
            memcpy(at + i * sizeof(*column->values), &column->values[value++],
                   sizeof(*column->values));
    end_buffer(body);
}

/* A text of a column, behind its length. */
static const uint8_t *text_at(const struct column *column, uint32_t place, uint32_t *ret_length)
{
    const uint8_t *at = column->bytes.vec.items + place;
    memcpy(ret_length, at, sizeof(*ret_length));
    return at + sizeof(*ret_length);
}

/* Where the texts are; NULL: no memory. */
static uint32_t *find_texts(const struct column *column)
{
    uint32_t count = column->dictionary ? column->word_count : column->count, place = 0, length;
    uint32_t *places = malloc((count + 1ul) * sizeof(*places));
    for (uint32_t i = 0; places && i < count; i++) {
        places[i] = place;
        text_at(column, place, &length);
        place += (uint32_t)sizeof(length) + length;
    }
    return places;
}

/* Of the rows, one after the other. */
struct texts {
    const struct column *column;
    const uint32_t *places;
    uint32_t value; /* of the next row that has one */
};

/* NULL: the row has none. */
static const uint8_t *next_text(struct texts *texts, uint32_t row, uint32_t *ret_length)
{
    const struct column *column = texts->column;
    *ret_length = 0;
    if (!column->present[row])
        return NULL;
    uint32_t value = texts->value++;
    return text_at(column, texts->places[column->dictionary ? column->indices[value] : value],
                   ret_length);
}

/* One behind the other. A short one is copied with what follows it, which takes less time. */
static uint8_t *copy_text(uint8_t *at, const uint8_t *text, uint32_t length, const uint8_t *end)
{
    if (length <= TEXT_SLACK && text + TEXT_SLACK <= end)
        memcpy(at, text, TEXT_SLACK);
    else
        memcpy(at, text, length);
    return at + length;
}

/* Returns that of the last. */
static uint32_t put_ends(struct arrow_body *body, struct texts texts, uint32_t rows)
{
    uint32_t end = 0, length;
    uint32_t *ends = (uint32_t *)(void *)column_room(&body->plain, (rows + 1ul) * sizeof(end));
    for (uint32_t i = 0; ends && i < rows; i++) {
        ends[i] = end;
        next_text(&texts, i, &length);
        end += length;
    }
    if (ends)
        ends[rows] = end;
    end_buffer(body);
    return end;
}

static void put_texts(struct arrow_body *body, const struct column *column, uint32_t rows)
{
    const uint8_t *limit = column->bytes.vec.items + column->bytes.vec.count;
    uint32_t *places = find_texts(column), length;
    struct texts texts = {column, places, 0};
    if (!places) {
        body->error = -ENOMEM;
        return;
    }
    uint32_t total = put_ends(body, texts, rows);
    uint8_t *at = column_room(&body->plain, (size_t)total + TEXT_SLACK);
    for (uint32_t i = 0; at && i < rows; i++) {
        const uint8_t *text = next_text(&texts, i, &length);
        if (length)
            at = copy_text(at, text, length, limit);
    }
    body->plain.vec.count -= at ? TEXT_SLACK : 0;
    end_buffer(body);
    free(places);
}

/* Of one that every row has. */
static void put_paths(struct arrow_body *body, const struct column *column)
{
    struct column_paths *paths = column->paths;
    uint32_t end = 0;
    column_put(&body->plain, &end, sizeof(end));
    for (uint32_t i = 0; i < column->count; i++) {
        end += (uint32_t)paths->words.items[column->indices[i]].length;
        column_put(&body->plain, &end, sizeof(end));
    }
    end_buffer(body);
    uint8_t *at = column_room(&body->plain, end);
    for (uint32_t i = 0; at && i < column->count && !body->error; i++) {
        size_t same, length;
        if (column_paths_spell(paths, column->indices[i], &same) != 0)
            body->error = -ENOMEM;
        const char *text = rows_paths_text(&paths->spelled, &length);
        at = mempcpy(at, text, body->error ? 0 : length);
    }
    end_buffer(body);
}

int arrow_body_fill(struct arrow_body *body, const struct columns *columns)
{
    uint32_t rows = columns->row_count;
    body->bytes.vec.count = body->buffers.count = body->nodes.count = 0;
    for (uint32_t i = 0; i < columns->rows.count && !body->error; i++) {
        const struct column *column = &columns->items[i];
        const struct arrow_node node = {rows, rows - column->count};
        if (vec_push(&body->nodes, node) != 0)
            body->error = -ENOMEM;
        put_presence(body, column, rows);
        if (column->paths)
            put_paths(body, column);
        else if (column->type == COLUMN_TEXT)
            put_texts(body, column, rows);
        else
            put_numbers(body, column, rows);
    }
    return body->error;
}
