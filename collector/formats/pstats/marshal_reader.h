/* SPDX-License-Identifier: MIT */
/* Values as Python's marshal writes them, of the kinds that plain data have: all of them in memory.
 *
 * The format is that of CPython's Python/marshal.c, versions 0 to 5, of Python 2.7 and later. The
 * module profile names the program that it ran by its code object: of such a one the name is kept,
 * and all else in it passed over. Nothing is ever run. Thread-safety: none. */
#ifndef ANNOT_MARSHAL_READER_H
#define ANNOT_MARSHAL_READER_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_sink;

enum marshal_kind {
    MARSHAL_NONE, /* or one of a kind that is passed over */
    MARSHAL_INT,
    MARSHAL_DOUBLE,
    MARSHAL_TEXT, /* of `count` bytes, from the `first` of the file on */
    MARSHAL_CODE, /* of code objects, its name: the same */
    MARSHAL_TUPLE,
    MARSHAL_DICT, /* keys and values by turns */
};

struct marshal_value {
    uint32_t kind;
    uint32_t first, count; /* of items */

    union {
        int64_t number;
        double real;
    };
};

enum { MARSHAL_VALUES_MAX = 8 << 20, MARSHAL_DEPTH_MAX = 100 };

struct marshal_reader {
    struct import_sink *sink;
    const char *begin, *at, *end;
    VEC(struct marshal_value) values;
    VEC(uint32_t) items;    /* values of tuples and dicts */
    VEC(uint32_t) refs;     /* values that may be named again */
    VEC(uint32_t) interned; /* texts of Python 2 that may be named again */
    VEC(uint32_t) open;     /* items of what is not whole yet */
    bool cut;               /* the bytes end in the middle of a value */
    const char *problem;    /* constant text */
};

/* The value that all bytes are: its index, or -EBADMSG and `problem`, or -ENOMEM. Of a dict that is
 * cut, what is whole: at least one pair. */
int64_t marshal_read(struct marshal_reader *reader, const char *bytes, size_t size);
void marshal_fini(struct marshal_reader *reader);

/* The string of a text, or "<code object NAME>". Out of memory: 0, and the sink's error. */
uint32_t marshal_text(struct marshal_reader *reader, const struct marshal_value *value);

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
