/* SPDX-License-Identifier: MIT */
/* A table as an Arrow file (Feather version 2): record batches with buffers compressed with zstd.
 *
 * A group of rows (columns.h) is a record batch. Memory: that group three times, and 24 bytes for
 * each written batch. Thread-safety: none. */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Place of a buffer in the body of a message; rows of a field, and those without a value. */
struct arrow_buffer {
    int64_t offset, length;
};

struct arrow_node {
    int64_t rows, nulls;
};

/* The columns of a group in sequence; each buffer is compressed separately. */
struct arrow_body {
    struct column_bytes bytes, plain;
    VEC(struct arrow_buffer) buffers;
    VEC(struct arrow_node) nodes;
    struct ZSTD_CCtx_s *zstd;
    int error;
};

/* A message of the file. */
struct arrow_block {
    int64_t offset, metadata_bytes, body_bytes;
};

struct arrow_blocks {
    VEC(struct arrow_block) vec;
};

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* Integers and reals have a slot for each row; texts are stored in full, with the offset of each
 * end, which readers handle best. */

enum { LEVEL = 3, ALIGNMENT = 8, TEXT_SLACK = 32 };

/* 0 or -ENOMEM; then fini all the same. */
static int arrow_body_init(struct arrow_body *body)
{
    *body = (struct arrow_body){.zstd = ZSTD_createCCtx()};
    return body->zstd ? 0 : -ENOMEM;
}

static void arrow_body_fini(struct arrow_body *body)
{
    vec_free(&body->bytes.vec);
    vec_free(&body->plain.vec);
    vec_free(&body->buffers);
    vec_free(&body->nodes);
    ZSTD_freeCCtx(body->zstd);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* Compresses body->plain after its size. */
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

/* An empty buffer, if all rows have a value. */
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

/* A text of a column, after its length. */
static const uint8_t *text_at(const struct column *column, uint32_t place, uint32_t *ret_length)
{
    const uint8_t *at = column->bytes.vec.items + place;
    memcpy(ret_length, at, sizeof(*ret_length));
    return at + sizeof(*ret_length);
}

/* Offsets of the texts; NULL: out of memory. */
static uint32_t *find_texts(const struct column *column)
{
    uint32_t count = column->dictionary ? column->word_count : column->count, place = 0, length;
    uint32_t *places = calloc(count + 1ul, sizeof(*places));
    for (uint32_t i = 0; places && i < count; i++) {
        places[i] = place;
        text_at(column, place, &length);
        place += (uint32_t)sizeof(length) + length;
    }
    return places;
}

/* The texts of the rows in sequence. */
struct texts {
    const struct column *column;
    const uint32_t *places;
    uint32_t value; /* of the next row that has one */
};

/* NULL: the row has no text. */
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

/* Appends a text. A short one is copied with the bytes after it, which takes less time. */
static uint8_t *copy_text(uint8_t *at, const uint8_t *text, uint32_t length, const uint8_t *end)
{
    if (length <= TEXT_SLACK && text + TEXT_SLACK <= end)
        memcpy(at, text, TEXT_SLACK);
    else
        memcpy(at, text, length);
    return at + length;
}

/* Returns the end of the last. */
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

/* Of a column with a path in every row. */
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

/* Replaces its contents. 0 or -ENOMEM. */
static int arrow_body_fill(struct arrow_body *body, const struct columns *columns)
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

/* ---- Metadata -------------------------------------------------------------------------------- */

/* FlatBuffers, written from front to back: tables come before the objects that they refer to. A
 * field takes eight bytes for any type, so all are aligned, and a small number is the first bytes
 * of a large one. */

enum { FIELD_BYTES = 8 };

/* ---- FlatBuffers ----------------------------------------------------------------------------- */

/* Places count from the start of the buffer. */
static void put_at(struct column_bytes *out, size_t place, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size && !out->failed; i++)
        out->vec.items[place + i] = (uint8_t)(value >> 8 * i);
}

/* Pads so that the position `before` bytes after the end is a multiple of eight. */
static void align(struct column_bytes *out, size_t before)
{
    column_zeros(out, -(out->vec.count + before) & 7);
}

/* Returns its place. `there` has a bit for each of its fields. */
static size_t add_table(struct column_bytes *out, unsigned there)
{
    unsigned fields = there ? 32 - (unsigned)__builtin_clz(there) : 0;
    size_t size = 4 + 2ul * fields;
    align(out, 0);
    size_t layout = out->vec.count;
    column_zeros(out, size);
    align(out, 0);
    size_t table = out->vec.count;
    column_zeros(out, FIELD_BYTES * (1ul + fields));
    put_at(out, layout, size, 2);
    put_at(out, layout + 2, FIELD_BYTES * (1ul + fields), 2);
    for (unsigned i = 0; i < fields; i++)
        put_at(out, layout + 4 + 2ul * i, there >> i & 1 ? FIELD_BYTES * (1ul + i) : 0, 2);
    put_at(out, table, table - layout, 4);
    return table;
}

static size_t field_of(size_t table, unsigned field)
{
    return table + FIELD_BYTES * (1ul + field);
}

static void set(struct column_bytes *out, size_t table, unsigned field, int64_t value)
{
    put_at(out, field_of(table, field), (uint64_t)value, FIELD_BYTES);
}

static void refer(struct column_bytes *out, size_t place, size_t target)
{
    put_at(out, place, target - place, 4);
}

/* A vector of zeros: returns the place of the first item; the vector is four bytes before it. */
static size_t add_vector(struct column_bytes *out, size_t count, size_t item_size)
{
    align(out, 4);
    size_t place = out->vec.count;
    column_zeros(out, 4 + count * item_size);
    put_at(out, place, count, 4);
    return place + 4;
}

static size_t add_vector_of(struct column_bytes *out, size_t table, unsigned field, size_t count,
                            size_t item_size)
{
    size_t first = add_vector(out, count, item_size);
    refer(out, field_of(table, field), first - 4);
    return first;
}

static void add_text(struct column_bytes *out, size_t table, unsigned field, const char *text)
{
    size_t first = add_vector_of(out, table, field, strlen(text), 1);
    if (!out->failed)
        memcpy(out->vec.items + first, text, strlen(text));
    column_zeros(out, 1); /* NUL */
}

/* Begins the outermost table. */
static size_t begin_buffer(struct column_bytes *out, unsigned there)
{
    out->vec.count = 0;
    column_zeros(out, 8);
    size_t table = add_table(out, there);
    refer(out, 0, table);
    return table;
}

/* ---- Schema ---------------------------------------------------------------------------------- */

enum {
    VERSION_5 = 4,
    HEADER_SCHEMA = 1,
    HEADER_RECORD_BATCH = 3,
    TYPE_INT = 2,
    TYPE_FLOATING_POINT = 3,
    TYPE_UTF8 = 5,
    PRECISION_DOUBLE = 2,
    CODEC_ZSTD = 1,
};

static size_t add_type(struct column_bytes *out, enum column_type type)
{
    size_t table = add_table(out, type == COLUMN_INTEGER ? 3 : type == COLUMN_REAL ? 1 : 0);
    if (type == COLUMN_INTEGER) {
        set(out, table, 0, 64);
        set(out, table, 1, true); /* signed */
    } else if (type == COLUMN_REAL) {
        set(out, table, 0, PRECISION_DOUBLE);
    }
    return table;
}

static size_t add_field(struct column_bytes *out, const struct column *column)
{
    enum { NAME = 0, NULLABLE, TYPE_KIND, TYPE, CHILDREN = 5 };

    static const int kinds[] = {[COLUMN_INTEGER] = TYPE_INT,
                                [COLUMN_REAL] = TYPE_FLOATING_POINT,
                                [COLUMN_TEXT] = TYPE_UTF8};
    const unsigned there =
        1u << NAME | 1u << NULLABLE | 1u << TYPE_KIND | 1u << TYPE | 1u << CHILDREN;
    size_t field = add_table(out, there);
    add_text(out, field, NAME, column->name);
    set(out, field, NULLABLE, true);
    set(out, field, TYPE_KIND, kinds[column->type]);
    refer(out, field_of(field, TYPE), add_type(out, column->type));
    add_vector_of(out, field, CHILDREN, 0, 4);
    return field;
}

static size_t add_schema(struct column_bytes *out, const struct columns *columns)
{
    enum { ENDIANNESS = 0, FIELDS };

    size_t schema = add_table(out, 1u << ENDIANNESS | 1u << FIELDS);
    size_t fields = add_vector_of(out, schema, FIELDS, columns->rows.count, 4);
    for (uint32_t i = 0; i < columns->rows.count; i++)
        refer(out, fields + 4ul * i, add_field(out, &columns->items[i]));
    return schema;
}

/* ---- Messages -------------------------------------------------------------------------------- */

enum { MESSAGE_VERSION = 0, MESSAGE_KIND, MESSAGE_HEADER, MESSAGE_BODY_BYTES };

static size_t begin_message(struct column_bytes *out, int kind, int64_t body_bytes)
{
    size_t message = begin_buffer(out, 1u << MESSAGE_VERSION | 1u << MESSAGE_KIND |
                                           1u << MESSAGE_HEADER | 1u << MESSAGE_BODY_BYTES);
    set(out, message, MESSAGE_VERSION, VERSION_5);
    set(out, message, MESSAGE_KIND, kind);
    set(out, message, MESSAGE_BODY_BYTES, body_bytes);
    return message;
}

/* Each replaces the contents of `out`, with a length that is a multiple of eight bytes. */
static void arrow_put_schema(struct column_bytes *out, const struct columns *columns)
{
    size_t message = begin_message(out, HEADER_SCHEMA, 0);
    refer(out, field_of(message, MESSAGE_HEADER), add_schema(out, columns));
    align(out, 0);
}

static void arrow_put_batch(struct column_bytes *out, const struct arrow_body *body, uint32_t rows)
{
    enum { LENGTH = 0, NODES, BUFFERS, COMPRESSION, CODEC = 0, METHOD };

    size_t message = begin_message(out, HEADER_RECORD_BATCH, (int64_t)body->bytes.vec.count);
    size_t batch = add_table(out, 1u << LENGTH | 1u << NODES | 1u << BUFFERS | 1u << COMPRESSION);
    refer(out, field_of(message, MESSAGE_HEADER), batch);
    set(out, batch, LENGTH, rows);
    size_t at = add_vector_of(out, batch, NODES, body->nodes.count, 16);
    for (size_t i = 0; i < body->nodes.count; i++, at += 16) {
        put_at(out, at, (uint64_t)body->nodes.items[i].rows, 8);
        put_at(out, at + 8, (uint64_t)body->nodes.items[i].nulls, 8);
    }
    at = add_vector_of(out, batch, BUFFERS, body->buffers.count, 16);
    for (size_t i = 0; i < body->buffers.count; i++, at += 16) {
        put_at(out, at, (uint64_t)body->buffers.items[i].offset, 8);
        put_at(out, at + 8, (uint64_t)body->buffers.items[i].length, 8);
    }
    size_t compression = add_table(out, 1u << CODEC | 1u << METHOD); /* METHOD 0: by buffer */
    refer(out, field_of(batch, COMPRESSION), compression);
    set(out, compression, CODEC, CODEC_ZSTD);
    align(out, 0);
}

static void arrow_put_footer(struct column_bytes *out, const struct columns *columns,
                             const struct arrow_blocks *batches)
{
    enum { VERSION = 0, SCHEMA, DICTIONARIES, BATCHES, BLOCK_BYTES = 24 };

    size_t footer =
        begin_buffer(out, 1u << VERSION | 1u << SCHEMA | 1u << DICTIONARIES | 1u << BATCHES);
    set(out, footer, VERSION, VERSION_5);
    refer(out, field_of(footer, SCHEMA), add_schema(out, columns));
    add_vector_of(out, footer, DICTIONARIES, 0, BLOCK_BYTES);
    size_t at = add_vector_of(out, footer, BATCHES, batches->vec.count, BLOCK_BYTES);
    for (size_t i = 0; i < batches->vec.count; i++, at += BLOCK_BYTES) {
        const struct arrow_block *block = &batches->vec.items[i];
        put_at(out, at, (uint64_t)block->offset, 8);
        put_at(out, at + 8, (uint64_t)block->metadata_bytes, 4);
        put_at(out, at + 16, (uint64_t)block->body_bytes, 8);
    }
    align(out, 0);
}

static const char magic[8] = "ARROW1"; /* at the start followed by its two zeros */

enum { MAGIC_BYTES = 6, PREFIX_BYTES = 8 };

struct state {
    struct out_stream *out;
    struct columns columns;
    struct arrow_body body;
    struct column_bytes metadata;
    struct arrow_blocks batches;
};

/* The prefix of a message: the size of its metadata in bytes. */
static void put_prefix(struct out_stream *out, uint32_t size)
{
    const uint32_t prefix[] = {UINT32_MAX, size};
    _Static_assert(sizeof(prefix) == PREFIX_BYTES, "what the format has");
    out_write(out, prefix, sizeof(prefix));
}

/* Writes s->metadata. */
static int put_metadata(struct state *s)
{
    put_prefix(s->out, (uint32_t)s->metadata.vec.count);
    out_write(s->out, s->metadata.vec.items, s->metadata.vec.count);
    return s->metadata.failed ? -ENOMEM : 0;
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    int error = columns_init(&s->columns, job, true);
    if (!error)
        error = arrow_body_init(&s->body);
    if (error)
        return error;
    out_write(s->out, magic, sizeof(magic));
    arrow_put_schema(&s->metadata, &s->columns);
    return put_metadata(s);
}

static int put_group(struct state *s)
{
    struct arrow_block block = {.offset = (int64_t)out_bytes(s->out)};
    if (s->columns.row_count == 0)
        return 0;
    int error = columns_sort(&s->columns);
    if (!error)
        error = arrow_body_fill(&s->body, &s->columns);
    if (error)
        return error;
    arrow_put_batch(&s->metadata, &s->body, s->columns.row_count);
    block.metadata_bytes = PREFIX_BYTES + (int64_t)s->metadata.vec.count;
    block.body_bytes = (int64_t)s->body.bytes.vec.count;
    error = put_metadata(s);
    out_write(s->out, s->body.bytes.vec.items, s->body.bytes.vec.count);
    columns_forget(&s->columns);
    return error ? error : vec_push(&s->batches.vec, block);
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int status = columns_take(&s->columns, item);
    return status > 0 ? put_group(s) : status;
}

static int end(void *state)
{
    struct state *s = state;
    int error = put_group(s);
    if (error)
        return error;
    put_prefix(s->out, 0); /* no more messages */
    arrow_put_footer(&s->metadata, &s->columns, &s->batches);
    const uint32_t size = (uint32_t)s->metadata.vec.count;
    out_write(s->out, s->metadata.vec.items, size);
    out_write(s->out, &size, sizeof(size));
    out_write(s->out, magic, MAGIC_BYTES);
    return s->metadata.failed ? -ENOMEM : 0;
}

static void destroy(void *state)
{
    struct state *s = state;
    vec_free(&s->metadata.vec);
    vec_free(&s->batches.vec);
    arrow_body_fini(&s->body);
    columns_fini(&s->columns);
}

extern const struct exporter export_arrow;

const struct exporter export_arrow = {
    ROWS_EXPORTER,
    .name = "arrow",
    .extension = ".arrow",
    .summary = "the same table as an Arrow file (Feather), for Polars, pandas, ClickHouse",
    .viewer = "with Polars, pandas, ClickHouse",
    .binary = true,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
