/* SPDX-License-Identifier: MIT */
/* A table as a Parquet file: texts as dictionaries, integers as differences, pages compressed with
 * zstd.
 *
 * A group of rows (columns.h) is written column by column. Memory: that group, and 2 KiB for each
 * written group. Thread-safety: none. */
#include "columns.h"
#include "out_stream.h"
#include "varint.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>

enum parquet_thrift_type {
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

enum { THRIFT_DEPTH_MAX = 8 };

struct parquet_thrift {
    struct column_bytes *out;
    unsigned depth;
    int last[THRIFT_DEPTH_MAX]; /* field of each open struct */
};

enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_RLE = 3,
    PARQUET_DELTA = 5,      /* DELTA_BINARY_PACKED */
    PARQUET_DELTA_TEXT = 7, /* DELTA_BYTE_ARRAY */
    PARQUET_DICTIONARY = 8,
};

enum { DELTA_BLOCK = 128 };

/* DELTA_BINARY_PACKED, value after value. */
struct parquet_delta {
    struct column_bytes *out;
    uint64_t last, deltas[DELTA_BLOCK];
    unsigned used;
};

static void parquet_delta_flush(struct parquet_delta *delta);

static inline void parquet_delta_put(struct parquet_delta *delta, int64_t value)
{
    delta->deltas[delta->used++] = (uint64_t)value - delta->last;
    delta->last = (uint64_t)value;
    if (delta->used == DELTA_BLOCK)
        parquet_delta_flush(delta);
}

enum parquet_type { PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_BYTES = 6 };

struct parquet_pages {
    struct out_stream *out;
    struct column_bytes body, packed, header;
    struct column_bytes lengths, texts; /* of the encoding with three parts */
    enum parquet_encoding encoding;     /* of the current column */
    struct ZSTD_CCtx_s *zstd;
    int error;
};

/* ---- Thrift's compact protocol --------------------------------------------------------------- */

static void parquet_varint(struct column_bytes *bytes, uint64_t value)
{
    uint8_t text[VARINT_MAX];
    column_put(bytes, text, (size_t)(varint_put(text, value) - text));
}

static void put_byte(struct parquet_thrift *thrift, unsigned byte)
{
    const uint8_t value = (uint8_t)byte;
    column_put(thrift->out, &value, 1);
}

/* The number of a field is stored as the difference to the one before. */
static void begin_field(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type)
{
    int *last = &thrift->last[thrift->depth];
    assert(field > *last && field - *last <= 15);
    put_byte(thrift, (unsigned)(field - *last) << 4 | type);
    *last = field;
}

/* A struct, as a field or as a member of a list (field 0); the outermost is open from the start.
 * thrift_end of that one ends the document. */
static void thrift_struct(struct parquet_thrift *thrift, int field)
{
    if (field)
        begin_field(thrift, field, THRIFT_STRUCT);
    assert(thrift->depth + 1 < THRIFT_DEPTH_MAX);
    thrift->last[++thrift->depth] = 0;
}

static void thrift_end(struct parquet_thrift *thrift)
{
    put_byte(thrift, 0);
    if (thrift->depth > 0)
        thrift->depth--;
}

static void thrift_member(struct parquet_thrift *thrift, int64_t value)
{
    parquet_varint(thrift->out, zigzag(value));
}

static void thrift_member_text(struct parquet_thrift *thrift, const char *text)
{
    parquet_varint(thrift->out, strlen(text));
    column_put(thrift->out, text, strlen(text));
}

static void thrift_int(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                       int64_t value)
{
    begin_field(thrift, field, type);
    thrift_member(thrift, value);
}

static void thrift_text(struct parquet_thrift *thrift, int field, const char *text)
{
    begin_field(thrift, field, THRIFT_BINARY);
    thrift_member_text(thrift, text);
}

/* The caller writes its members next. */
static void thrift_list(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                        uint32_t count)
{
    begin_field(thrift, field, THRIFT_LIST);
    put_byte(thrift, (count < 15 ? count : 15) << 4 | type);
    if (count >= 15)
        parquet_varint(thrift->out, count);
}

/* ---- Encodings ------------------------------------------------------------------------------- */

enum { MINIBLOCKS = 4, MINIBLOCK = DELTA_BLOCK / MINIBLOCKS, RUN_MIN = 8 };

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Packs bits in sequence, from the lowest. */
struct packer {
    uint8_t *at;
    uint64_t bits;
    unsigned used; /* of `bits`, fewer than 64 */
};

static inline void pack(struct packer *packer, uint64_t value, unsigned width)
{
    packer->bits |= value << packer->used;
    packer->used += width;
    if (packer->used < 64)
        return;
    memcpy(packer->at, &packer->bits, sizeof(packer->bits));
    packer->at += sizeof(packer->bits);
    packer->used -= 64;
    packer->bits = packer->used ? value >> (width - packer->used) : 0;
}

/* `count` values, then zeros up to `places`: a multiple of eight. */
static void put_bits(struct column_bytes *out, const uint64_t *values, unsigned count,
                     unsigned places, unsigned width)
{
    size_t size = (size_t)places * width / 8;
    struct packer packer = {.at = column_room(out, size + sizeof(packer.bits))};
    uint8_t *begin = packer.at;
    if (!begin)
        return;
    for (unsigned i = 0; i < count; i++)
        pack(&packer, values[i], width);
    memcpy(packer.at, &packer.bits, sizeof(packer.bits));
    packer.at += (packer.used + 7) / 8;
    if (packer.at < begin + size)
        memset(packer.at, 0, (size_t)(begin + size - packer.at));
    out->vec.count -= sizeof(packer.bits);
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Differences minus their minimum, in as few bits as each 32 of them need. */
static void put_block(struct column_bytes *out, const uint64_t *deltas, unsigned count)
{
    uint64_t rest[DELTA_BLOCK];
    uint8_t widths[MINIBLOCKS] = {0};
    int64_t least = (int64_t)deltas[0];
    for (unsigned i = 1; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (unsigned i = 0; i < count; i++)
        rest[i] = deltas[i] - (uint64_t)least;
    for (unsigned i = 0; i < count; i += MINIBLOCK) {
        uint64_t all = 0;
        for (unsigned k = i; k < count && k < i + MINIBLOCK; k++)
            all |= rest[k];
        widths[i / MINIBLOCK] = (uint8_t)bits_of(all);
    }
    parquet_varint(out, zigzag(least));
    column_put(out, widths, sizeof(widths));
    for (unsigned i = 0; i < count; i += MINIBLOCK) {
        unsigned part = count - i < MINIBLOCK ? count - i : MINIBLOCK;
        if (widths[i / MINIBLOCK])
            put_bits(out, rest + i, part, MINIBLOCK, widths[i / MINIBLOCK]);
    }
}

/* `count` values; `first` is the first one, or 0; the others follow, and a flush ends them. */
static void parquet_delta_begin(struct parquet_delta *delta, struct column_bytes *out,
                                uint32_t count, int64_t first)
{
    delta->out = out;
    delta->last = (uint64_t)first;
    delta->used = 0;
    parquet_varint(out, DELTA_BLOCK);
    parquet_varint(out, MINIBLOCKS);
    parquet_varint(out, count);
    parquet_varint(out, zigzag(first));
}

static void parquet_delta_flush(struct parquet_delta *delta)
{
    if (delta->used > 0)
        put_block(delta->out, delta->deltas, delta->used);
    delta->used = 0;
}

/* ---- Runs and packed bits -------------------------------------------------------------------- */

static void put_run(struct column_bytes *out, uint32_t value, uint32_t length, unsigned width)
{
    uint8_t bytes[4];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    parquet_varint(out, (uint64_t)length << 1);
    column_put(out, bytes, (width + 7) / 8);
}

/* Groups of eight; the last is padded with zeros. */
static void put_packed(struct column_bytes *out, const uint32_t *values, uint32_t count,
                       unsigned width)
{
    uint32_t groups = (count + 7) / 8;
    if (count == 0)
        return;
    parquet_varint(out, (uint64_t)groups << 1 | 1);
    for (uint32_t i = 0; i < count; i += DELTA_BLOCK) {
        uint64_t part[DELTA_BLOCK];
        uint32_t size = count - i < DELTA_BLOCK ? count - i : DELTA_BLOCK;
        for (uint32_t k = 0; k < size; k++)
            part[k] = values[i + k];
        put_bits(out, part, size, (size + 7) / 8 * 8, width);
    }
}

static uint32_t run_at(const uint32_t *values, uint32_t count)
{
    uint32_t length = 1;
    while (length < count && values[length] == values[0])
        length++;
    return length;
}

/* Only whole groups may precede a run, so a run gives up the values that fill the last group. */
static void parquet_hybrid(struct column_bytes *out, const uint32_t *values, uint32_t count,
                           unsigned width)
{
    uint32_t packed = 0; /* values before `at` not yet written */
    for (uint32_t at = 0; at < count;) {
        uint32_t run = run_at(values + at, count - at), fill = (8 - packed % 8) % 8;
        if (run < RUN_MIN + fill) {
            packed += run;
            at += run;
            continue;
        }
        put_packed(out, values + at - packed, packed + fill, width);
        put_run(out, values[at], run - fill, width);
        packed = 0;
        at += run;
    }
    put_packed(out, values + count - packed, packed, width);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* A column of a row group has a page for its dictionary, if any, and one page of data; each is
 * compressed separately. */

enum { LEVEL = 3, CODEC_ZSTD = 6, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* 0 or -ENOMEM; then fini all the same. */
static int parquet_pages_init(struct parquet_pages *pages, struct out_stream *out)
{
    *pages = (struct parquet_pages){.out = out, .zstd = ZSTD_createCCtx()};
    return pages->zstd ? 0 : -ENOMEM;
}

static void parquet_pages_fini(struct parquet_pages *pages)
{
    vec_free(&pages->body.vec);
    vec_free(&pages->packed.vec);
    vec_free(&pages->header.vec);
    vec_free(&pages->lengths.vec);
    vec_free(&pages->texts.vec);
    ZSTD_freeCCtx(pages->zstd);
}

static enum parquet_type parquet_type_of(const struct column *column)
{
    static const enum parquet_type types[] = {[COLUMN_INTEGER] = PARQUET_INT64,
                                              [COLUMN_REAL] = PARQUET_DOUBLE,
                                              [COLUMN_TEXT] = PARQUET_BYTES};

    return types[column->type];
}

/* Sizes of a column's pages, for its metadata. */
struct sizes {
    uint64_t begin, data;   /* offset of the first page; of the data page */
    uint64_t whole, packed; /* including headers */
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

/* Marks rows with a value, after the number of bytes. */
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

/* Integers of calls and loops repeat, and zstd compresses repeated ones well; random ones are
 * smaller as differences. Decides by the first values. */
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

/* If paths rarely repeat, stores them as differences to the one before: a dictionary would spell
 * nearly all of them. */
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

/* Stores the length that each path shares with the one before, and the rest. The first shares 0
 * bytes. */
static int put_paths(struct parquet_pages *pages, const struct column *column)
{
    struct column_paths *paths = column->paths;
    struct parquet_delta prefixes, lengths;
    prefixes.used = lengths.used = 0;
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

/* Writes its pages, and its ColumnChunk into `thrift`, as a member of a list. 0 or -errno. */
static int parquet_pages_put(struct parquet_pages *pages, const struct column *column,
                             uint32_t rows, struct parquet_thrift *thrift)
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

struct state {
    struct out_stream *out;
    struct columns columns;
    struct parquet_pages pages;
    uint64_t all_rows;
    uint32_t group_count;
    struct column_bytes groups; /* their metadata */
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    int error = columns_init(&s->columns, job, false);
    if (!error)
        error = parquet_pages_init(&s->pages, job->out);
    out_write(s->out, "PAR1", 4);
    return error;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int put_group(struct state *s)
{
    const struct columns *columns = &s->columns;
    struct parquet_thrift thrift = {.out = &s->groups};
    uint64_t begin_bytes = out_bytes(s->out);
    if (columns->row_count == 0)
        return 0;
    int error = columns_sort(&s->columns);
    thrift_list(&thrift, 1, THRIFT_STRUCT, columns->rows.count);
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = parquet_pages_put(&s->pages, &columns->items[i], columns->row_count, &thrift);
    thrift_int(&thrift, 2, THRIFT_I64, (int64_t)(out_bytes(s->out) - begin_bytes));
    thrift_int(&thrift, 3, THRIFT_I64, columns->row_count);
    thrift_end(&thrift);
    s->all_rows += columns->row_count;
    s->group_count++;
    columns_forget(&s->columns);
    return s->groups.failed ? -ENOMEM : error;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int status = columns_take(&s->columns, item);
    return status > 0 ? put_group(s) : status;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_schema(struct state *s, struct parquet_thrift *thrift)
{
    enum { OPTIONAL = 1, UTF8 = 0 };

    thrift_list(thrift, 2, THRIFT_STRUCT, s->columns.rows.count + 1);
    thrift_struct(thrift, 0);
    thrift_text(thrift, 4, rows_table_name(s->columns.rows.table));
    thrift_int(thrift, 5, THRIFT_I32, s->columns.rows.count);
    thrift_end(thrift);
    for (uint32_t i = 0; i < s->columns.rows.count; i++) {
        const struct column *column = &s->columns.items[i];
        thrift_struct(thrift, 0);
        thrift_int(thrift, 1, THRIFT_I32, parquet_type_of(column));
        thrift_int(thrift, 3, THRIFT_I32, OPTIONAL);
        thrift_text(thrift, 4, column->name);
        if (column->type == COLUMN_TEXT)
            thrift_int(thrift, 6, THRIFT_I32, UTF8);
        thrift_end(thrift);
    }
}

static int end(void *state)
{
    struct state *s = state;
    struct column_bytes footer = {0};
    struct parquet_thrift thrift = {.out = &footer};
    uint8_t size[4];
    int error = put_group(s);
    thrift_int(&thrift, 1, THRIFT_I32, 2); /* version */
    put_schema(s, &thrift);
    thrift_int(&thrift, 3, THRIFT_I64, (int64_t)s->all_rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, s->group_count);
    column_put(&footer, s->groups.vec.items, s->groups.vec.count);
    thrift_text(&thrift, 6, "annot");
    thrift_end(&thrift);
    for (unsigned i = 0; i < sizeof(size); i++)
        size[i] = (uint8_t)(footer.vec.count >> 8 * i);
    out_write(s->out, footer.vec.items, footer.vec.count);
    out_write(s->out, size, sizeof(size));
    out_write(s->out, "PAR1", 4);
    error = error ? error : footer.failed ? -ENOMEM : 0;
    vec_free(&footer.vec);
    return error;
}

static void destroy(void *state)
{
    struct state *s = state;
    vec_free(&s->groups.vec);
    parquet_pages_fini(&s->pages);
    columns_fini(&s->columns);
}

extern const struct exporter export_parquet;

const struct exporter export_parquet = {
    ROWS_EXPORTER,
    .name = "parquet",
    .extension = ".parquet",
    .summary = "the same table in a few bytes a row, for DuckDB, Polars, pandas",
    .viewer = "with DuckDB, Polars, pandas",
    .binary = true,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
