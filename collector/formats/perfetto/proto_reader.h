/* SPDX-License-Identifier: MIT */
/* Fields of a protocol buffer message, in the order of the bytes, which are foreign. Fields are not
 * copied. Thread-safety: one thread per message. */
#ifndef ANNOT_PROTO_READER_H
#define ANNOT_PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct proto {
    const uint8_t *at, *end;
    bool bad; /* the rest is malformed and was not read */
};

struct proto_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;     /* of numbers of all widths */
    struct proto bytes; /* of other types */
};

static inline double proto_double(const struct proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

/* The next field; false at the end. */
bool proto_next(struct proto *message, struct proto_field *ret_field);

/* The next number of a packed field: of 7 bits a byte; of `size` bytes. False: too short. */
bool proto_varint(struct proto *message, uint64_t *ret_value);
bool proto_fixed(struct proto *message, size_t size, uint64_t *ret_value);

#endif
