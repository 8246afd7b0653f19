/* SPDX-License-Identifier: MIT */
/* Protocol buffer messages in memory. A written message starts with one byte for its length, enough
 * for most; proto_end moves the contents up if it takes more. */
#include "varint.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_AND_VARINT = 2 * VARINT_MAX }; /* bytes */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void proto_reset(struct proto_writer *writer)
{
    writer->size = 0;
    writer->depth = 0;
    writer->error = 0;
}

void proto_destroy(struct proto_writer *writer)
{
    free(writer->bytes);
    *writer = (struct proto_writer){0};
}

static bool make_room(struct proto_writer *writer, size_t size)
{
    if (writer->error)
        return false;
    if (writer->capacity - writer->size >= size)
        return true;
    size_t capacity = writer->capacity ? writer->capacity : 256;
    while (capacity - writer->size < size)
        capacity *= 2;
    uint8_t *bytes = realloc(writer->bytes, capacity);
    if (!bytes) {
        writer->error = -ENOMEM;
        return false;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

static void put_varint(struct proto_writer *writer, uint64_t value)
{
    uint8_t *end = varint_put(writer->bytes + writer->size, value);
    writer->size = (size_t)(end - writer->bytes);
}

static void put_tag(struct proto_writer *writer, uint32_t field, enum wire_type type)
{
    put_varint(writer, (uint64_t)field << 3 | type);
}

void proto_begin(struct proto_writer *writer, uint32_t field)
{
    assert(writer->depth < PROTO_DEPTH_MAX);
    if (make_room(writer, VARINT_MAX + 1)) {
        put_tag(writer, field, WIRE_BYTES);
        writer->size++;
    }
    writer->begins[writer->depth++] = writer->size;
}

void proto_end(struct proto_writer *writer)
{
    assert(writer->depth > 0);
    size_t begin = writer->begins[--writer->depth];
    size_t length = writer->size - begin;
    if (length < 0x80) { /* nearly always */
        if (!writer->error)
            writer->bytes[begin - 1] = (uint8_t)length;
        return;
    }
    uint8_t text[VARINT_MAX];
    size_t width = (size_t)(varint_put(text, length) - text);
    if (!make_room(writer, width - 1))
        return;
    memmove(writer->bytes + begin - 1 + width, writer->bytes + begin, length);
    memcpy(writer->bytes + begin - 1, text, width);
    writer->size += width - 1;
}

void proto_uint(struct proto_writer *writer, uint32_t field, uint64_t value)
{
    if (!make_room(writer, TAG_AND_VARINT))
        return;
    put_tag(writer, field, WIRE_VARINT);
    put_varint(writer, value);
}

void proto_int(struct proto_writer *writer, uint32_t field, int64_t value)
{
    proto_uint(writer, field, (uint64_t)value);
}

void proto_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value)
{
    if (!make_room(writer, VARINT_MAX + sizeof(value)))
        return;
    put_tag(writer, field, WIRE_FIXED64);
    memcpy(writer->bytes + writer->size, &value, sizeof(value));
    writer->size += sizeof(value);
}

void proto_double(struct proto_writer *writer, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    proto_fixed64(writer, field, bits);
}

void proto_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t size)
{
    if (!make_room(writer, TAG_AND_VARINT))
        return;
    put_tag(writer, field, WIRE_BYTES);
    put_varint(writer, size);
    proto_fields(writer, bytes, size);
}

void proto_text(struct proto_writer *writer, uint32_t field, const char *text)
{
    proto_bytes(writer, field, text, strlen(text));
}

void proto_fields(struct proto_writer *writer, const void *bytes, size_t size)
{
    if (size == 0 || !make_room(writer, size))
        return;
    memcpy(writer->bytes + writer->size, bytes, size);
    writer->size += size;
}

/* ---- Reading --------------------------------------------------------------------------------- */

bool proto_varint(struct proto *message, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

bool proto_fixed(struct proto *message, size_t size, uint64_t *ret_value)
{
    *ret_value = 0;
    if ((size_t)(message->end - message->at) < size)
        return false;
    memcpy(ret_value, message->at, size);
    message->at += size;
    return true;
}

static bool take_value(struct proto *message, unsigned wire, struct proto_field *field)
{
    uint64_t size;
    switch (wire) {
    case WIRE_VARINT:
        return proto_varint(message, &field->value);
    case WIRE_FIXED64:
        return proto_fixed(message, 8, &field->value);
    case WIRE_FIXED32:
        return proto_fixed(message, 4, &field->value);
    case WIRE_BYTES:
        if (!proto_varint(message, &size) || size > (uint64_t)(message->end - message->at))
            return false;
        field->is_bytes = true;
        field->bytes = (struct proto){message->at, message->at + size, false};
        message->at += size;
        return true;
    default:
        return false;
    }
}

bool proto_next(struct proto *message, struct proto_field *ret_field)
{
    uint64_t tag;
    *ret_field = (struct proto_field){0};
    if (message->at >= message->end || message->bad)
        return false;
    message->bad = !proto_varint(message, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
    if (!message->bad) {
        ret_field->number = (uint32_t)(tag >> 3);
        message->bad = !take_value(message, tag & 7, ret_field);
    }
    return !message->bad;
}
