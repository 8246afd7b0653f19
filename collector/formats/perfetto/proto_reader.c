/* SPDX-License-Identifier: MIT */
/* See proto_reader.h. */
#include "proto_reader.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

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
