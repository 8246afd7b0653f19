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
    column_room(body, 4);
    parquet_hybrid(body, present, rows, 1);
    for (unsigned i = 0; i < 4 && !body->failed; i++)
        body->vec.items[begin + i] = (uint8_t)((body->vec.count - begin - 4) >> 8 * i);
}

static unsigned width_of(uint32_t words)
{
    return words > 1 ? 32 - (unsigned)__builtin_clz(words - 1) : 1;
}

static enum parquet_encoding encoding_of(const struct column *column)
{
    return column->dictionary               ? PARQUET_DICTIONARY
           : column->type == COLUMN_INTEGER ? PARQUET_DELTA
                                            : PARQUET_PLAIN;
}

static void put_values(struct column_bytes *body, const struct column *column)
{
    const uint8_t width = (uint8_t)width_of(column->word_count);
    switch (encoding_of(column)) {
    case PARQUET_DICTIONARY:
        column_put(body, &width, 1);
        parquet_hybrid(body, column->indices, column->count, width);
        break;
    case PARQUET_DELTA:
        parquet_delta(body, column->values, column->count);
        break;
    default:
        if (column->type == COLUMN_REAL)
            column_put(body, column->values, column->count * sizeof(*column->values));
        else
            column_put(body, column->bytes.vec.items, column->bytes.vec.count);
    }
}

static void put_metadata(struct parquet_thrift *thrift, const struct column *column, uint32_t rows,
                         const struct sizes *sizes)
{
    thrift_struct(thrift, 0);
    thrift_int(thrift, 2, THRIFT_I64, (int64_t)sizes->begin);
    thrift_struct(thrift, 3);
    thrift_int(thrift, 1, THRIFT_I32, parquet_type_of(column));
    thrift_list(thrift, 2, THRIFT_I32, 3);
    thrift_member(thrift, PARQUET_PLAIN);
    thrift_member(thrift, PARQUET_RLE);
    thrift_member(thrift, encoding_of(column));
    thrift_list(thrift, 3, THRIFT_BINARY, 1);
    thrift_member_text(thrift, column->name);
    thrift_int(thrift, 4, THRIFT_I32, CODEC_ZSTD);
    thrift_int(thrift, 5, THRIFT_I64, rows);
    thrift_int(thrift, 6, THRIFT_I64, (int64_t)sizes->whole);
    thrift_int(thrift, 7, THRIFT_I64, (int64_t)sizes->packed);
    thrift_int(thrift, 9, THRIFT_I64, (int64_t)sizes->data);
    if (column->dictionary)
        thrift_int(thrift, 11, THRIFT_I64, (int64_t)sizes->begin);
    thrift_end(thrift);
    thrift_end(thrift);
}

int parquet_pages_put(struct parquet_pages *pages, const struct column *column, uint32_t rows,
                      struct parquet_thrift *thrift)
{
    struct sizes sizes = {.begin = out_bytes(pages->out)};
    pages->body.vec.count = 0;
    if (column->dictionary) {
        column_put(&pages->body, column->bytes.vec.items, column->bytes.vec.count);
        put_page(pages, PAGE_DICTIONARY, column->word_count, PARQUET_PLAIN, &sizes);
    }
    sizes.data = out_bytes(pages->out);
    pages->body.vec.count = 0;
    put_presence(&pages->body, column->present, rows);
    put_values(&pages->body, column);
    put_page(pages, PAGE_DATA, rows, encoding_of(column), &sizes);
    put_metadata(thrift, column, rows, &sizes);
    return column->bytes.failed ? -ENOMEM : pages->error;
}
