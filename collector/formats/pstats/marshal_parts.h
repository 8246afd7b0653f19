/* SPDX-License-Identifier: MIT */
/* Values as Python's marshal writes them, of the kinds that plain data have: all of them in memory.
 *
 * The format is that of CPython's Python/marshal.c, versions 0 to 4. Code objects and the like are
 * refused: nothing is ever run. Thread-safety: none. */
#ifndef ANNOT_MARSHAL_PARTS_H
#define ANNOT_MARSHAL_PARTS_H

#include "import_parts.h"

enum marshal_kind {
    MARSHAL_NONE,
    MARSHAL_INT,
    MARSHAL_DOUBLE,
    MARSHAL_TEXT,
    MARSHAL_TUPLE,
    MARSHAL_DICT, /* keys and values by turns */
};

struct marshal_value {
    uint32_t kind;
    uint32_t text;         /* string of the sink's trace */
    uint32_t first, count; /* of items */

    union {
        int64_t number;
        double real;
    };
};

enum { MARSHAL_VALUES_MAX = 8 << 20, MARSHAL_DEPTH_MAX = 16 };

struct marshal_reader {
    struct import_sink *sink;
    const char *at, *end;
    VEC(struct marshal_value) values;
    VEC(uint32_t) items; /* values of tuples and dicts */
    VEC(uint32_t) refs;  /* values that may be named again */
    VEC(uint32_t) open;  /* items of what is not whole yet */
    const char *problem; /* constant text */
};

/* The value that all bytes are: its index, or -EBADMSG and `problem`, or -ENOMEM. */
int64_t marshal_read(struct marshal_reader *reader, const char *bytes, size_t size);
void marshal_fini(struct marshal_reader *reader);

static inline const struct marshal_value *marshal_get(const struct marshal_reader *reader,
                                                      uint32_t value)
{
    return &reader->values.items[value];
}

/* Of a tuple or dict; `index` < count. */
static inline const struct marshal_value *
marshal_item(const struct marshal_reader *reader, const struct marshal_value *value, uint32_t index)
{
    return marshal_get(reader, reader->items.items[value->first + index]);
}

#endif
