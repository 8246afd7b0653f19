/* SPDX-License-Identifier: MIT */
/* See arrow_parts.h.
 *
 * FlatBuffers, written from front to back: what a table refers to stands behind it. A field takes
 * eight bytes whatever its type, so all are aligned, and a small number is the first bytes of a
 * large one. */
#include "arrow_parts.h"

#include <string.h>

enum { FIELD_BYTES = 8 };

/* ---- FlatBuffers ----------------------------------------------------------------------------- */

/* Places count from the begin of the buffer. */
static void put_at(struct column_bytes *out, size_t place, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size && !out->failed; i++)
        out->vec.items[place + i] = (uint8_t)(value >> 8 * i);
}

/* So that what is `before` bytes behind the end is at a multiple of eight. */
static void align(struct column_bytes *out, size_t before)
{
    column_zeros(out, -(out->vec.count + before) & 7);
}

/* Its place. `there` has a bit for each of its first fields. */
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

/* Of items of zeros: where the first is; four bytes before it is the vector. */
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

/* The outermost table. */
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

void arrow_put_schema(struct column_bytes *out, const struct columns *columns)
{
    size_t message = begin_message(out, HEADER_SCHEMA, 0);
    refer(out, field_of(message, MESSAGE_HEADER), add_schema(out, columns));
    align(out, 0);
}

void arrow_put_batch(struct column_bytes *out, const struct arrow_body *body, uint32_t rows)
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

void arrow_put_footer(struct column_bytes *out, const struct columns *columns,
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
