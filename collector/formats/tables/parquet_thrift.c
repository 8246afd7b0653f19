/* SPDX-License-Identifier: MIT */
/* See parquet_parts.h. */
#include "parquet_parts.h"
#include "varint.h"

#include <assert.h>
#include <string.h>

void parquet_varint(struct column_bytes *bytes, uint64_t value)
{
    uint8_t text[VARINT_MAX];
    column_put(bytes, text, (size_t)(varint_put(text, value) - text));
}

static void put_byte(struct parquet_thrift *thrift, unsigned byte)
{
    const uint8_t value = (uint8_t)byte;
    column_put(thrift->out, &value, 1);
}

/* The number of a field is told as the step from the one before. */
static void begin_field(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type)
{
    int *last = &thrift->last[thrift->depth];
    assert(field > *last && field - *last <= 15);
    put_byte(thrift, (unsigned)(field - *last) << 4 | type);
    *last = field;
}

void thrift_struct(struct parquet_thrift *thrift, int field)
{
    if (field)
        begin_field(thrift, field, THRIFT_STRUCT);
    assert(thrift->depth + 1 < THRIFT_DEPTH_MAX);
    thrift->last[++thrift->depth] = 0;
}

void thrift_end(struct parquet_thrift *thrift)
{
    put_byte(thrift, 0);
    if (thrift->depth > 0)
        thrift->depth--;
}

void thrift_member(struct parquet_thrift *thrift, int64_t value)
{
    parquet_varint(thrift->out, zigzag(value));
}

void thrift_member_text(struct parquet_thrift *thrift, const char *text)
{
    parquet_varint(thrift->out, strlen(text));
    column_put(thrift->out, text, strlen(text));
}

void thrift_int(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                int64_t value)
{
    begin_field(thrift, field, type);
    thrift_member(thrift, value);
}

void thrift_text(struct parquet_thrift *thrift, int field, const char *text)
{
    begin_field(thrift, field, THRIFT_BINARY);
    thrift_member_text(thrift, text);
}

void thrift_list(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                 uint32_t count)
{
    begin_field(thrift, field, THRIFT_LIST);
    put_byte(thrift, (count < 15 ? count : 15) << 4 | type);
    if (count >= 15)
        parquet_varint(thrift->out, count);
}
