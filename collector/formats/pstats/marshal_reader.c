/* SPDX-License-Identifier: MIT */
/* See marshal_reader.h. */
#include "marshal_reader.h"
#include "json_reader.h"
#include "sink.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_REF = 0x80, CODE_TEXT_SIZE = 256 };

static int64_t fail(struct marshal_reader *reader, const char *problem)
{
    if (!reader->problem)
        reader->problem = problem;
    return -EBADMSG;
}

/* NULL if fewer bytes remain. */
static const char *take(struct marshal_reader *reader, size_t size)
{
    const char *at = reader->at;
    if ((size_t)(reader->end - at) < size) {
        reader->cut = !reader->problem;
        fail(reader, "the file ends in the middle");
        return NULL;
    }
    reader->at += size;
    return at;
}

/* Little-endian, signed. */
static bool take_int(struct marshal_reader *reader, size_t size, int64_t *ret_value)
{
    const char *at = take(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; at && i < size; i++)
        value |= (uint64_t)(uint8_t)at[i] << 8 * i;
    unsigned unused = 64 - 8 * (unsigned)size;
    *ret_value = (int64_t)(value << unused) >> unused;
    return at != NULL;
}

static bool take_size(struct marshal_reader *reader, bool is_short, size_t *ret_size)
{
    int64_t size;
    if (!take_int(reader, is_short ? 1 : 4, &size))
        return false;
    *ret_size = (size_t)(is_short ? size & 0xff : size);
    if (size >= 0 || is_short)
        return true;
    fail(reader, "not marshal: a negative size");
    return false;
}

static int64_t add(struct marshal_reader *reader, const struct marshal_value *value)
{
    if (reader->values.count >= MARSHAL_VALUES_MAX)
        return fail(reader, "it has more than 8,388,608 values");
    if (vec_push(&reader->values, *value) != 0)
        return -ENOMEM;
    return (int64_t)reader->values.count - 1;
}

static int64_t add_int(struct marshal_reader *reader, size_t size)
{
    struct marshal_value value = {.kind = MARSHAL_INT};
    return take_int(reader, size, &value.number) ? add(reader, &value) : -EBADMSG;
}

/* Skips `size` bytes and adds a value of no kind. */
static int64_t add_passed(struct marshal_reader *reader, size_t size)
{
    return take(reader, size) ? add(reader, &(struct marshal_value){0}) : -EBADMSG;
}

/* Digits of 15 bits; the sign is that of their count. */
static int64_t add_long(struct marshal_reader *reader)
{
    struct marshal_value value = {.kind = MARSHAL_INT};
    int64_t count, digit;
    if (!take_int(reader, 4, &count))
        return -EBADMSG;
    if (count < -4 || count > 4)
        return add_passed(reader, 2 * (size_t)llabs(count));
    for (int64_t i = 0; i < llabs(count); i++) {
        if (!take_int(reader, 2, &digit))
            return -EBADMSG;
        value.number |= (digit & 0x7fff) << 15 * i;
    }
    if (count < 0)
        value.number = -value.number;
    return add(reader, &value);
}

static int64_t add_double(struct marshal_reader *reader)
{
    struct marshal_value value = {.kind = MARSHAL_DOUBLE};
    const char *at = take(reader, 8);
    if (!at)
        return -EBADMSG;
    memcpy(&value.real, at, 8);
    return add(reader, &value);
}

static int64_t add_text_double(struct marshal_reader *reader)
{
    struct marshal_value value = {.kind = MARSHAL_DOUBLE};
    size_t size;
    const char *at = take_size(reader, true, &size) ? take(reader, size) : NULL;
    const struct json_token token = {JSON_NUMBER, false, at, size};
    if (!at)
        return -EBADMSG;
    return json_double(&token, &value.real) ? add(reader, &value) : fail(reader, "no number");
}

static int64_t add_text(struct marshal_reader *reader, bool is_short)
{
    struct marshal_value value = {.kind = MARSHAL_TEXT};
    size_t size;
    const char *at = take_size(reader, is_short, &size) ? take(reader, size) : NULL;
    if (!at)
        return -EBADMSG;
    value.first = (uint32_t)(at - reader->begin);
    value.count = (uint32_t)size;
    return add(reader, &value);
}

uint32_t marshal_text(struct marshal_reader *reader, const struct marshal_value *value)
{
    char text[CODE_TEXT_SIZE];
    const char *bytes = reader->begin + value->first;
    int length = value->count < CODE_TEXT_SIZE ? (int)value->count : CODE_TEXT_SIZE;
    if (value->kind == MARSHAL_TEXT)
        return import_string(reader->sink, bytes, value->count);
    snprintf(text, sizeof(text), "<code object %.*s>", length, bytes);
    return import_text(reader->sink, text);
}

static int64_t add_reference(struct marshal_reader *reader)
{
    int64_t index;
    if (!take_int(reader, 4, &index))
        return -EBADMSG;
    bool known = index >= 0 && (size_t)index < reader->refs.count;
    uint32_t value = known ? reader->refs.items[index] : UINT32_MAX;
    return value < UINT32_MAX ? (int64_t)value : fail(reader, "not marshal: a wrong reference");
}

/* Refers to an earlier text of Python 2. */
static int64_t add_interned(struct marshal_reader *reader)
{
    int64_t index;
    if (!take_int(reader, 4, &index))
        return -EBADMSG;
    bool known = index >= 0 && (size_t)index < reader->interned.count;
    return known ? (int64_t)reader->interned.items[index]
                 : fail(reader, "not marshal: a wrong reference");
}

static int64_t keep_interned(struct marshal_reader *reader, int64_t text)
{
    return text >= 0 && vec_push(&reader->interned, (uint32_t)text) != 0 ? -ENOMEM : text;
}

/* A complex number as two texts. */
static int64_t add_text_complex(struct marshal_reader *reader)
{
    int64_t real = add_text_double(reader);
    return real < 0 ? real : add_text_double(reader);
}

static int64_t read_value(struct marshal_reader *reader, int depth);

/* ---- Code objects ---------------------------------------------------------------------------- */

/* The layout of code depends on the Python version, which the file does not give: 2.7 has four
 * numbers before the code bytes, 3.8 to 3.10 six, the others five. Then come seven or eight values,
 * including the name; the line; and one more value, or two from 3.11. */
enum { CODE_NAME_OLD = 7, CODE_NAME = 6, CODE_VALUES = 8, CODE_KINDS = 4 };

static size_t numbers_of_code(const struct marshal_reader *reader)
{
    size_t rest = (size_t)(reader->end - reader->at);
    for (size_t count = 4; count <= 6; count++) {
        const char *at = reader->at + 4 * count;
        uint32_t size;
        if (rest < 4 * count + 5 || ((uint8_t)*at & ~FLAG_REF) != 's')
            continue;
        memcpy(&size, at + 1, sizeof(size));
        if (size <= rest - 4 * count - 5)
            return count;
    }
    return 0;
}

static int64_t add_code(struct marshal_reader *reader, int depth)
{
    uint32_t values[CODE_VALUES];
    size_t numbers = numbers_of_code(reader);
    if (!numbers)
        return fail(reader, "code of a version of Python that is not known");
    int64_t value = add_passed(reader, 4 * numbers);
    for (int i = 0; i < CODE_VALUES && value >= 0; i++) {
        value = read_value(reader, depth + 1);
        values[i] = (uint32_t)value;
    }
    /* From 3.11 on the fifth value is text, before that a tuple: names of cells. */
    bool modern = value >= 0 && marshal_get(reader, values[CODE_KINDS])->kind == MARSHAL_TEXT;
    if (value >= 0)
        value = add_passed(reader, 4);
    for (int i = 0; i < 1 + modern && value >= 0; i++)
        value = read_value(reader, depth + 1);
    if (value == -ENODATA)
        return fail(reader, "not marshal: code is not whole");
    if (value < 0)
        return value;
    struct marshal_value code = *marshal_get(reader, values[modern ? CODE_NAME : CODE_NAME_OLD]);
    if (code.kind != MARSHAL_TEXT)
        return fail(reader, "not marshal: code without a name");
    code.kind = MARSHAL_CODE;
    return add(reader, &code);
}

/* ---- Containers ------------------------------------------------------------------------------ */

/* Makes a container from the items pushed to `open` since `first`. */
static int64_t close_items(struct marshal_reader *reader, uint32_t kind, size_t first)
{
    size_t count = reader->open.count - first;
    const struct marshal_value value = {
        .kind = kind, .first = (uint32_t)reader->items.count, .count = (uint32_t)count};
    if (vec_reserve(&reader->items, count) != 0)
        return -ENOMEM;
    if (count)
        memcpy(reader->items.items + reader->items.count, reader->open.items + first,
               count * sizeof(*reader->items.items));
    reader->items.count += count;
    reader->open.count = first;
    return add(reader, &value);
}

static int64_t add_tuple(struct marshal_reader *reader, bool is_short, int depth)
{
    size_t size, first = reader->open.count;
    if (!take_size(reader, is_short, &size))
        return -EBADMSG;
    for (size_t i = 0; i < size; i++) {
        int64_t item = read_value(reader, depth + 1);
        if (item == -ENODATA)
            item = fail(reader, "not marshal: a tuple is not whole");
        if (item < 0)
            return item;
        if (vec_push(&reader->open, (uint32_t)item) != 0)
            return -ENOMEM;
    }
    return close_items(reader, MARSHAL_TUPLE, first);
}

/* Makes a dict from the complete pairs if the input ends inside the outermost one. */
static int64_t close_cut(struct marshal_reader *reader, size_t first, size_t whole, int depth)
{
    if (!reader->cut || depth > 0 || whole == first)
        return -EBADMSG;
    reader->open.count = whole;
    return close_items(reader, MARSHAL_DICT, first);
}

static int64_t add_dict(struct marshal_reader *reader, int depth)
{
    size_t first = reader->open.count, whole = first;
    for (;;) {
        int64_t item = read_value(reader, depth + 1);
        bool odd = (reader->open.count - first) % 2;
        if (item == -EBADMSG)
            return close_cut(reader, first, whole, depth);
        if (item == -ENODATA && odd)
            item = fail(reader, "not marshal: a key has no value");
        if (item == -ENODATA)
            return close_items(reader, MARSHAL_DICT, first);
        if (item < 0)
            return item;
        if (vec_push(&reader->open, (uint32_t)item) != 0)
            return -ENOMEM;
        if (odd)
            whole = reader->open.count;
    }
}

/* Kinds that occur only among constants of code. */
static int64_t read_constant(struct marshal_reader *reader, char kind, int depth)
{
    switch (kind) {
    case '.':
    case 'S':
        return add_passed(reader, 0);
    case 'x':
        return add_text_complex(reader);
    case 'y':
        return add_passed(reader, 16);
    case '<':
    case '>':
    case '[':
        return add_tuple(reader, false, depth);
    default:
        return fail(reader, "not marshal, or values that are no plain data");
    }
}

static int64_t read_kind(struct marshal_reader *reader, char kind, int depth)
{
    switch (kind) {
    case 'N':
        return add(reader, &(struct marshal_value){.kind = MARSHAL_NONE});
    case 'T':
    case 'F':
        return add(reader, &(struct marshal_value){.kind = MARSHAL_INT, .number = kind == 'T'});
    case 'i':
        return add_int(reader, 4);
    case 'I':
        return add_int(reader, 8);
    case 'l':
        return add_long(reader);
    case 'g':
        return add_double(reader);
    case 'f':
        return add_text_double(reader);
    case 't':
        return keep_interned(reader, add_text(reader, false));
    case 'R':
        return add_interned(reader);
    case 's':
    case 'u':
    case 'a':
    case 'A':
        return add_text(reader, false);
    case 'z':
    case 'Z':
        return add_text(reader, true);
    case 'r':
        return add_reference(reader);
    case '(':
    case ')':
        return add_tuple(reader, kind == ')', depth);
    case '{':
        return add_dict(reader, depth);
    case 'c':
        return add_code(reader, depth);
    default:
        return read_constant(reader, kind, depth);
    }
}

/* Returns -ENODATA for the mark that ends a dict. */
static int64_t read_value(struct marshal_reader *reader, int depth)
{
    const char *at = take(reader, 1);
    if (!at)
        return -EBADMSG;
    if (depth > MARSHAL_DEPTH_MAX)
        return fail(reader, "values are nested too deeply");
    if (*at == '0')
        return -ENODATA;
    bool named = (uint8_t)*at & FLAG_REF;
    char kind = (char)(*at & ~FLAG_REF);
    size_t ref = reader->refs.count;
    if (named && vec_push(&reader->refs, UINT32_MAX) != 0)
        return -ENOMEM;
    int64_t value = read_kind(reader, kind, depth);
    if (named && value >= 0)
        reader->refs.items[ref] = (uint32_t)value;
    return value;
}

int64_t marshal_read(struct marshal_reader *reader, const char *bytes, size_t size)
{
    reader->begin = reader->at = bytes;
    reader->end = bytes + size;
    int64_t value = read_value(reader, 0);
    if (value == -ENODATA)
        return fail(reader, "not marshal");
    if (value >= 0 && !reader->cut && reader->at != reader->end)
        return fail(reader, "something follows its end");
    return value;
}

void marshal_fini(struct marshal_reader *reader)
{
    vec_free(&reader->values);
    vec_free(&reader->items);
    vec_free(&reader->refs);
    vec_free(&reader->interned);
    vec_free(&reader->open);
}
