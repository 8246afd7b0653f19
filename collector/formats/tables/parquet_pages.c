/* SPDX-License-Identifier: MIT */
/* See parquet_parts.h. A column of a row group has a page of its dictionary, if it has one, and one
 * page of data; each is compressed by itself. */
#include "parquet_parts.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 3, CODEC_ZSTD = 6, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

int parquet_pages_init(struct parquet_pages *pages, struct out_stream *out)
{
    *pages = (struct parquet_pages){.out = out, .zstd = ZSTD_createCCtx()};
    return pages->zstd ? 0 : -ENOMEM;
}

void parquet_pages_fini(struct parquet_pages *pages)
{
    vec_free(&pages->body.vec);
    vec_free(&pages->packed.vec);
    vec_free(&pages->header.vec);
    vec_free(&pages->lengths.vec);
    vec_free(&pages->texts.vec);
    ZSTD_freeCCtx(pages->zstd);
}

enum parquet_type parquet_type_of(const struct column *column)
{
    static const enum parquet_type types[] = {[COLUMN_INTEGER] = PARQUET_INT64,
                                              [COLUMN_REAL] = PARQUET_DOUBLE,
                                              [COLUMN_TEXT] = PARQUET_BYTES};

    return types[column->type];
}

/* What a column's metadata says of its pages. */
struct sizes {
    uint64_t begin, data;   /* where they are, and that of the data is */
    uint64_t whole, packed; /* with headers */
};

static void compress(struct parquet_pages *pages)
{
    size_t bound = ZSTD_compressBound(pages->body.vec.count);
    pages->packed.vec.count = 0;
    uint8_t *at = column_room(&pages->packed, bound);
    if (!at || pages->body.failed) {
        pages->error = -ENOMEM;
        return;
    }
    size_t size = ZSTD_compressCCtx(pages->zstd, at, bound, pages->body.vec.items,
                                    pages->body.vec.count, LEVEL);
    if (ZSTD_isError(size))
        pages->error = -ENOMEM;
    else
        pages->packed.vec.count = size;
}

/* Writes pages->body. */
static void put_page(struct parquet_pages *pages, int type, uint32_t values, int encoding,
                     struct sizes *sizes)
{
    struct parquet_thrift thrift = {.out = &pages->header};
    pages->header.vec.count = 0;
    compress(pages);
    thrift_int(&thrift, 1, THRIFT_I32, type);
    thrift_int(&thrift, 2, THRIFT_I32, (int64_t)pages->body.vec.count);
    thrift_int(&thrift, 3, THRIFT_I32, (int64_t)pages->packed.vec.count);
    thrift_struct(&thrift, type == PAGE_DATA ? 5 : 7);
    thrift_int(&thrift, 1, THRIFT_I32, values);
    thrift_int(&thrift, 2, THRIFT_I32, encoding);
    if (type == PAGE_DATA) {
        thrift_int(&thrift, 3, THRIFT_I32, PARQUET_RLE);
        thrift_int(&thrift, 4, THRIFT_I32, PARQUET_RLE);
    }
    thrift_end(&thrift);
    thrift_end(&thrift);
    if (pages->header.failed)
        pages->error = -ENOMEM;
    if (pages->error)
        return;
    out_write(pages->out, pages->header.vec.items, pages->header.vec.count);
    out_write(pages->out, pages->packed.vec.items, pages->packed.vec.count);
    sizes->whole += pages->header.vec.count + pages->body.vec.count;
    sizes->packed += pages->header.vec.count + pages->packed.vec.count;
}

/* Which rows have a value: their number of bytes first. */
static void put_presence(struct column_bytes *body, const uint32_t *present, uint32_t rows)
{
    size_t begin = body->vec.count;
    column_zeros(body, 4);
    parquet_hybrid(body, present, rows, 1);
    for (unsigned i = 0; i < 4 && !body->failed; i++)
        body->vec.items[begin + i] = (uint8_t)((body->vec.count - begin - 4) >> 8 * i);
}

static unsigned width_of(uint32_t words)
{
    return words > 1 ? 32 - (unsigned)__builtin_clz(words - 1) : 1;
}

static void put_deltas(struct column_bytes *body, const int64_t *values, uint32_t count)
{
    struct parquet_delta delta;
    parquet_delta_begin(&delta, body, count, count ? values[0] : 0);
    for (uint32_t i = 1; i < count; i++)
        parquet_delta_put(&delta, values[i]);
    parquet_delta_flush(&delta);
}

/* Those of calls and loops come again, and zstd finds whole ones; what is random takes less as
 * differences. The first of them tell. */
static enum parquet_encoding choose_integers(struct parquet_pages *pages,
                                             const struct column *column)
{
    enum { TRIED = 8192 };

    const int64_t *values = column->values;
    uint32_t count = column->count < TRIED ? column->count : TRIED;
    if (column->in_order || column->count == 0 ||
        memcmp(values, values + 1, (column->count - 1ul) * sizeof(*values)) == 0)
        return PARQUET_DELTA;
    pages->body.vec.count = 0;
    put_deltas(&pages->body, values, count);
    compress(pages);
    size_t as_deltas = pages->packed.vec.count;
    pages->body.vec.count = 0;
    column_put(&pages->body, values, count * sizeof(*values));
    compress(pages);
    return pages->packed.vec.count < as_deltas ? PARQUET_PLAIN : PARQUET_DELTA;
}

/* Paths that seldom come again are told by what they share with the one before: a dictionary would
 * spell nearly all of them. */
static enum parquet_encoding choose_encoding(struct parquet_pages *pages,
                                             const struct column *column)
{
    enum { SELDOM = 4 };

    const struct column_paths *paths = column->paths;
    if (paths && paths->word_bytes * SELDOM > paths->all_bytes)
        return PARQUET_DELTA_TEXT;
    if (column->dictionary)
        return PARQUET_DICTIONARY;
    return column->type == COLUMN_INTEGER ? choose_integers(pages, column) : PARQUET_PLAIN;
}

static int put_words(struct column_bytes *body, const struct column *column)
{
    if (!column->paths) {
        column_put(body, column->bytes.vec.items, column->bytes.vec.count);
        return 0;
    }
    for (uint32_t i = 0; i < column->word_count; i++) {
        size_t same, length;
        if (column_paths_spell(column->paths, i, &same) != 0)
            return -ENOMEM;
        const char *text = rows_paths_text(&column->paths->spelled, &length);
        column_put_size(body, length);
        column_put(body, text, length);
    }
    return 0;
}

/* How much of each path is that of the one before, and the rest. The first shares nothing. */
static int put_paths(struct parquet_pages *pages, const struct column *column)
{
    struct column_paths *paths = column->paths;
    struct parquet_delta prefixes, lengths;
    pages->lengths.vec.count = pages->texts.vec.count = 0;
    rows_paths_cut(&paths->spelled, 0);
    for (uint32_t i = 0; i < column->count; i++) {
        size_t same, length;
        if (column_paths_spell(paths, column->indices[i], &same) != 0)
            return -ENOMEM;
        const char *text = rows_paths_text(&paths->spelled, &length);
        if (i == 0) {
            parquet_delta_begin(&prefixes, &pages->body, column->count, 0);
            parquet_delta_begin(&lengths, &pages->lengths, column->count, (int64_t)length);
        } else {
            parquet_delta_put(&prefixes, (int64_t)same);
            parquet_delta_put(&lengths, (int64_t)(length - same));
        }
        column_put(&pages->texts, text + same, length - same);
    }
    parquet_delta_flush(&prefixes);
    parquet_delta_flush(&lengths);
    column_put(&pages->body, pages->lengths.vec.items, pages->lengths.vec.count);
    column_put(&pages->body, pages->texts.vec.items, pages->texts.vec.count);
    return pages->lengths.failed || pages->texts.failed ? -ENOMEM : 0;
}

static int put_values(struct parquet_pages *pages, const struct column *column)
{
    struct column_bytes *body = &pages->body;
    const uint8_t width = (uint8_t)width_of(column->word_count);
    switch (pages->encoding) {
    case PARQUET_DELTA_TEXT:
        return put_paths(pages, column);
    case PARQUET_DICTIONARY:
        column_put(body, &width, 1);
        parquet_hybrid(body, column->indices, column->count, width);
        break;
    case PARQUET_DELTA:
        put_deltas(body, column->values, column->count);
        break;
    default:
        if (column->type == COLUMN_TEXT)
            column_put(body, column->bytes.vec.items, column->bytes.vec.count);
        else
            column_put(body, column->values, column->count * sizeof(*column->values));
    }
    return 0;
}

/* `pages` has its encoding. */
static void put_metadata(const struct parquet_pages *pages, const struct column *column,
                         uint32_t rows, const struct sizes *sizes, struct parquet_thrift *thrift)
{
    thrift_struct(thrift, 0);
    thrift_int(thrift, 2, THRIFT_I64, (int64_t)sizes->begin);
    thrift_struct(thrift, 3);
    thrift_int(thrift, 1, THRIFT_I32, parquet_type_of(column));
    thrift_list(thrift, 2, THRIFT_I32, 3);
    thrift_member(thrift, PARQUET_PLAIN);
    thrift_member(thrift, PARQUET_RLE);
    thrift_member(thrift, pages->encoding);
    thrift_list(thrift, 3, THRIFT_BINARY, 1);
    thrift_member_text(thrift, column->name);
    thrift_int(thrift, 4, THRIFT_I32, CODEC_ZSTD);
    thrift_int(thrift, 5, THRIFT_I64, rows);
    thrift_int(thrift, 6, THRIFT_I64, (int64_t)sizes->whole);
    thrift_int(thrift, 7, THRIFT_I64, (int64_t)sizes->packed);
    thrift_int(thrift, 9, THRIFT_I64, (int64_t)sizes->data);
    if (pages->encoding == PARQUET_DICTIONARY)
        thrift_int(thrift, 11, THRIFT_I64, (int64_t)sizes->begin);
    thrift_end(thrift);
    thrift_end(thrift);
}

int parquet_pages_put(struct parquet_pages *pages, const struct column *column, uint32_t rows,
                      struct parquet_thrift *thrift)
{
    struct sizes sizes = {.begin = out_bytes(pages->out)};
    int error = 0;
    pages->encoding = choose_encoding(pages, column);
    pages->body.vec.count = 0;
    if (pages->encoding == PARQUET_DICTIONARY) {
        error = put_words(&pages->body, column);
        put_page(pages, PAGE_DICTIONARY, column->word_count, PARQUET_PLAIN, &sizes);
    }
    sizes.data = out_bytes(pages->out);
    pages->body.vec.count = 0;
    put_presence(&pages->body, column->present, rows);
    if (!error)
        error = put_values(pages, column);
    put_page(pages, PAGE_DATA, rows, pages->encoding, &sizes);
    put_metadata(pages, column, rows, &sizes, thrift);
    return error || column->bytes.failed ? -ENOMEM : pages->error;
}
