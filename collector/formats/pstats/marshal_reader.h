/* SPDX-License-Identifier: MIT */
/* Reads plain data in Python's marshal format into memory.
 *
 * The format is that of CPython's Python/marshal.c, versions 0 to 5, of Python 2.7 and later. The
 * module profile identifies the profiled program by a code object: of such an object only the name
 * is kept. Never executes code. Thread-safety: none. */
#ifndef ANNOT_MARSHAL_READER_H
#define ANNOT_MARSHAL_READER_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_sink;

enum marshal_kind {
    MARSHAL_NONE, /* also values of unsupported kinds */
    MARSHAL_INT,
    MARSHAL_DOUBLE,
    MARSHAL_TEXT, /* `count` bytes at file offset `first` */
    MARSHAL_CODE, /* name of a code object, stored like a text */
    MARSHAL_TUPLE,
    MARSHAL_DICT, /* keys and values alternate */
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
    VEC(uint32_t) refs;     /* values that the file may refer to */
    VEC(uint32_t) interned; /* texts that Python 2 files may refer to */
    VEC(uint32_t) open;     /* items of unfinished containers */
    bool cut;               /* the input ends inside a value */
    const char *problem;    /* constant text */
};

/* Reads the one value of the input. Returns its index; -EBADMSG and sets `problem`; -ENOMEM. Of a
 * truncated dict, returns the complete pairs if there is at least one. */
int64_t marshal_read(struct marshal_reader *reader, const char *bytes, size_t size);
void marshal_fini(struct marshal_reader *reader);

/* The string of a text, or "<code object NAME>". If out of memory, returns 0 and sets the sink's
 * error. */
uint32_t marshal_text(struct marshal_reader *reader, const struct marshal_value *value);

static inline const struct marshal_value *marshal_get(const struct marshal_reader *reader,
                                                      uint32_t value)
{
    return &reader->values.items[value];
}

/* Returns an item of a tuple or dict; `index` < count. */
static inline const struct marshal_value *
marshal_item(const struct marshal_reader *reader, const struct marshal_value *value, uint32_t index)
{
    return marshal_get(reader, reader->items.items[value->first + index]);
}

#endif
