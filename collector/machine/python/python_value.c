/* SPDX-License-Identifier: MIT */
/* See python_value.h. Layouts: Include/cpython and Include/internal of each version; parts equal in
 * all versions are constants here. */
#include "python_value.h"

#include "proc_info.h"
#include "python_stack.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Layouts --------------------------------------------------------------------------------- */

/* The place of an instance's attributes. */
enum instance {
    INSTANCE_DICT,   /* 3.9, 3.10: in a dict, at an offset given by its type */
    INSTANCE_VALUES, /* 3.11: an array before it, or a dict */
    INSTANCE_TAGGED, /* 3.12: one word for both */
    INSTANCE_INLINE, /* 3.13: an array after it, or a dict */
};

struct value_layout {
    uint32_t version;
    enum instance instance;
    uint16_t frame_locals;                       /* the first variable */
    uint16_t code_local_count, code_local_names; /* int; a tuple */
    uint16_t type_cached_keys;
    uint16_t values_at; /* in the array of a dict that shares its keys */
    uint16_t tuple_items;
    bool tagged_int;   /* an int's size has its sign in the lowest bits */
    bool new_keys;     /* the table of a dict's keys has logarithms of its sizes */
    bool tagged_local; /* the lowest bits of a variable are not part of its address */
};

static const struct value_layout layouts[] = {
    {0x0309, INSTANCE_DICT, 360, 28, 72, 864, 0, 24, false, false, false},
    {0x030a, INSTANCE_DICT, 352, 28, 72, 872, 0, 24, false, false, false},
    {0x030b, INSTANCE_VALUES, 72, 76, 96, 872, 0, 24, false, true, false},
    {0x030c, INSTANCE_TAGGED, 72, 72, 96, 880, 0, 24, true, true, false},
    {0x030d, INSTANCE_INLINE, 72, 72, 96, 880, 8, 24, true, true, false},
    {0x030e, INSTANCE_INLINE, 80, 72, 96, 880, 8, 32, true, true, true},
};

/* From 3.13 on, without a GIL: objects begin with these additional bytes, and have their dict
 * nearer, as the garbage collector's header is not before them. Debug builds have the same objects
 * as others. */
enum {
    OTHER_BUILDS = 0x030d,
    FREE_THREADED_HEAD = 16,
    DICT_BEFORE = 24,
    FREE_THREADED_DICT_BEFORE = 8
};

enum {
    OBJECT_TYPE = 8,
    OBJECT_SIZE = 16, /* of var objects, list, tuple, bytes */
    TYPE_NAME = 24,
    TYPE_BASICSIZE = 32,
    TYPE_FLAGS = 168,
    TYPE_DICTOFFSET = 288,
    TYPE_MRO = 344,
    INT_DIGITS = 24, /* of 30 bits */
    FLOAT_VALUE = 16,
    LIST_ITEMS = 24,
    CELL_VALUE = 16,
    DICT_USED = 16,
    DICT_KEYS = 32,
    DICT_VALUES = 40,
};

enum {
    TEXT_CHARACTERS = 60, /* shown per text */
    ITEMS_MAX = 8,
    DEPTH_MAX = 3,
    LOCALS_MAX = 256,
    KEYS_MAX = 1 << 12, /* searched for used entries */
    READS_MAX = 1 << 20,
    DIGITS_MAX = 4,
    NAME_SIZE = 64,
    BASES_MAX = 32,
};

bool python_values_init(struct python_values *values, int32_t pid,
                        const struct python_offsets *offsets)
{
    *values = (struct python_values){.pid = pid, .offsets = offsets, .reads_left = READS_MAX};
    bool other = offsets->flags & (PYTHON_FREE_THREADED | PYTHON_DEBUG_BUILD);
    values->head = offsets->flags & PYTHON_FREE_THREADED ? FREE_THREADED_HEAD : 0;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        if (layouts[i].version == offsets->version && (!other || offsets->version >= OTHER_BUILDS))
            values->layout = &layouts[i];
    return values->layout != NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_at(struct python_values *values, uint64_t address, void *buffer, size_t size)
{
    if (values->reads_left == 0)
        return false;
    values->reads_left--;
    return proc_read_memory(values->pid, address, buffer, size) == (int64_t)size;
}

/* 0 if unreadable, or if the word is 0. */
static uint64_t word_at(struct python_values *values, uint64_t address)
{
    uint64_t word = 0;
    return read_at(values, address, &word, sizeof(word)) ? word : 0;
}

/* A field of an object, by its offset in builds with a GIL. */
static uint64_t field_at(struct python_values *values, uint64_t object, unsigned field)
{
    return word_at(values, object + values->head + field);
}

static uint8_t byte_at(struct python_values *values, uint64_t address)
{
    uint8_t byte = 0;
    return read_at(values, address, &byte, 1) ? byte : 0;
}

/* Reads the text of an instance of a subclass of str. */
static size_t text_apart(struct python_values *values, uint64_t object, char *buffer, size_t size)
{
    uint8_t header[256], characters[4 * TEXT_CHARACTERS];
    const struct python_offsets *o = values->offsets;
    size_t header_size = o->unicode_compact_data + sizeof(uint64_t);
    uint64_t data;
    if (header_size > sizeof(header) || !read_at(values, object, header, header_size))
        return 0;
    size_t count = python_text_apart(o, header, header_size, &data);
    count = count < sizeof(characters) ? count : sizeof(characters);
    if (count == 0 || !read_at(values, data, characters, count))
        return 0;
    return python_text_of_apart(o, header, (struct python_characters){characters, count}, buffer,
                                size);
}

size_t python_value_text(struct python_values *values, uint64_t object, char *buffer, size_t size)
{
    uint8_t bytes[256 + 4 * TEXT_CHARACTERS];
    const struct python_offsets *o = values->offsets;
    /* Longer reads may leave the mapping: try the longest possible first. */
    static const uint8_t widths[] = {4, 2, 1};
    uint64_t length = word_at(values, object + o->unicode_length);
    size_t count = length < TEXT_CHARACTERS ? (size_t)length : TEXT_CHARACTERS;
    size_t used = 0;
    buffer[0] = 0;
    for (size_t i = 0; i <= sizeof(widths); i++) {
        size_t whole = i < sizeof(widths) ? o->unicode_compact_data + count * widths[i]
                                          : o->unicode_ascii_data + count;
        if (whole > sizeof(bytes) || !read_at(values, object, bytes, whole))
            continue;
        used = python_text(o, bytes, whole, buffer, size);
        break;
    }
    return used || count == 0 ? used : text_apart(values, object, buffer, size);
}

/* ---- Dicts ----------------------------------------------------------------------------------- */

struct entries {
    uint64_t at, shared; /* `shared`: the array of values; 0 = next to the keys */
    uint64_t count;
    uint32_t stride, key, value;
};

static struct entries entries_of(struct python_values *values, uint64_t keys, uint64_t shared)
{
    struct entries entries = {.shared = shared, .stride = 24, .key = 8, .value = 16};
    if (shared)
        entries.shared += values->layout->values_at;
    if (values->layout->new_keys) {
        unsigned bytes_log2 = byte_at(values, keys + 9);
        entries.at = keys + 32 + (bytes_log2 < 40 ? UINT64_C(1) << bytes_log2 : 0);
        entries.count = word_at(values, keys + 24);
        if (byte_at(values, keys + 10) != 0) /* all keys are texts, stored without a hash */
            entries.stride = 16, entries.key = 0, entries.value = 8;
    } else {
        uint64_t size = word_at(values, keys + 8);
        unsigned width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
        entries.at = keys + 40 + size * width;
        entries.count = word_at(values, keys + 32);
    }
    if (!keys || entries.count > KEYS_MAX)
        entries.count = keys ? KEYS_MAX : 0;
    return entries;
}

static struct entries entries_of_dict(struct python_values *values, uint64_t dict)
{
    return entries_of(values, field_at(values, dict, DICT_KEYS),
                      field_at(values, dict, DICT_VALUES));
}

/* The value; 0: the entry is empty. */
static uint64_t entry(struct python_values *values, const struct entries *entries, uint64_t i,
                      uint64_t *ret_key)
{
    uint64_t at = entries->at + i * entries->stride;
    *ret_key = word_at(values, at + entries->key);
    return word_at(values, entries->shared ? entries->shared + 8 * i : at + entries->value);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static struct entries entries_of_instance(struct python_values *values, uint64_t object)
{
    uint64_t type = field_at(values, object, OBJECT_TYPE);
    uint64_t keys = field_at(values, type, values->layout->type_cached_keys);
    uint64_t before =
        word_at(values, object - (values->head ? FREE_THREADED_DICT_BEFORE : DICT_BEFORE));
    uint64_t array;
    switch (values->layout->instance) {
    case INSTANCE_DICT:
        return entries_of_dict(values,
                               word_at(values, object + field_at(values, type, TYPE_DICTOFFSET)));
    case INSTANCE_VALUES:
        array = word_at(values, object - 32);
        return array ? entries_of(values, keys, array) : entries_of_dict(values, before);
    case INSTANCE_TAGGED:
        return before & 1 ? entries_of(values, keys, before + 1) : entries_of_dict(values, before);
    case INSTANCE_INLINE:
    default:
        array = object + field_at(values, type, TYPE_BASICSIZE);
        return byte_at(values, array + 3) ? entries_of(values, keys, array)
                                          : entries_of_dict(values, before);
    }
}

uint64_t python_value_attribute(struct python_values *values, uint64_t object, const char *name)
{
    struct entries entries = entries_of_instance(values, object);
    char text[NAME_SIZE];
    for (uint64_t i = 0; i < entries.count && i < LOCALS_MAX; i++) {
        uint64_t key, value = entry(values, &entries, i, &key);
        if (value && key && python_value_text(values, key, text, sizeof(text)) &&
            strcmp(text, name) == 0)
            return value;
    }
    return 0;
}

/* ---- Texts of values ------------------------------------------------------------------------- */

enum type_flags {
    TYPE_INT = 1u << 24,
    TYPE_LIST = 1u << 25,
    TYPE_TUPLE = 1u << 26,
    TYPE_BYTES = 1u << 27,
    TYPE_STR = 1u << 28,
    TYPE_DICT = 1u << 29,
};

struct value {
    uint64_t object;
    uint64_t flags;
    char type[NAME_SIZE];
};

/* "" if unreadable or not UTF-8. */
static void name_of_type(struct python_values *values, uint64_t type, char name[NAME_SIZE])
{
    uint64_t at = field_at(values, type, TYPE_NAME);
    int64_t got = proc_read_memory(values->pid, at, name, NAME_SIZE - 1);
    name[got > 0 ? got : 0] = 0;
    const char *dot = strrchr(name, '.'); /* "collections.OrderedDict" */
    if (dot)
        memmove(name, dot + 1, strlen(dot + 1) + 1);
    if (utf8_whole(name, strlen(name)) < strlen(name) || !utf8_is_text(name, strlen(name)))
        name[0] = 0;
}

static void look_at(struct python_values *values, uint64_t object, struct value *ret)
{
    uint64_t type = field_at(values, object, OBJECT_TYPE);
    *ret = (struct value){.object = object, .flags = field_at(values, type, TYPE_FLAGS)};
    name_of_type(values, type, ret->type);
}

/* True if a base has this name, for kinds of types without a flag. */
static bool has_base(struct python_values *values, uint64_t object, const char *name)
{
    uint64_t type = field_at(values, object, OBJECT_TYPE);
    uint64_t bases = field_at(values, type, TYPE_MRO);
    uint64_t count = field_at(values, bases, OBJECT_SIZE);
    uint64_t at = bases + values->head + values->layout->tuple_items;
    char base[NAME_SIZE];
    for (uint64_t i = 0; i < count && i < BASES_MAX && values->reads_left > 0; i++) {
        name_of_type(values, word_at(values, at + 8 * i), base);
        if (strcmp(base, name) == 0)
            return true;
    }
    return false;
}

static void show_int(struct python_values *values, const struct value *value, struct text *text)
{
    int64_t size = (int64_t)field_at(values, value->object, OBJECT_SIZE);
    bool negative = values->layout->tagged_int ? (size & 3) == 2 : size < 0;
    uint64_t count = values->layout->tagged_int ? (size & 3) == 1 ? 0 : (uint64_t)size >> 3
                     : size < 0                 ? 0 - (uint64_t)size
                                                : (uint64_t)size;
    uint32_t digits[DIGITS_MAX];
    unsigned __int128 number = 0;
    char decimal[48];
    size_t at = sizeof(decimal);
    if (count > DIGITS_MAX) {
        text_format(text, "<int of about %" PRIu64 " digits>", count * 9);
        return;
    }
    if (!read_at(values, value->object + values->head + INT_DIGITS, digits,
                 count * sizeof(*digits))) {
        text_format(text, "?");
        return;
    }
    while (count-- > 0)
        number = number << 30 | (digits[count] & 0x3fffffff);
    do
        decimal[--at] = (char)('0' + (int)(number % 10));
    while ((number /= 10) > 0);
    text_format(text, "%s%.*s", negative ? "-" : "", (int)(sizeof(decimal) - at), decimal + at);
}

static void show_bytes(struct python_values *values, const struct value *value, struct text *text)
{
    uint64_t size = word_at(values, value->object + values->offsets->bytes_size);
    uint8_t bytes[TEXT_CHARACTERS];
    size_t count = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
    if (!read_at(values, value->object + values->offsets->bytes_data, bytes, count))
        count = 0;
    text_format(text, "b'");
    for (size_t i = 0; i < count; i++)
        text_format(text, bytes[i] >= ' ' && bytes[i] < 0x7f ? "%c" : "\\x%02x", bytes[i]);
    text_format(text, "%s'", size > count ? "…" : "");
}

static void show_str(struct python_values *values, const struct value *value, struct text *text)
{
    char bytes[4 * TEXT_CHARACTERS + 8];
    python_value_text(values, value->object, bytes, sizeof(bytes));
    text_format(text, "'%s'", bytes);
}

static void show(struct python_values *values, uint64_t object, unsigned depth, struct text *text);

static void show_items(struct python_values *values, const struct value *value, unsigned depth,
                       struct text *text)
{
    bool is_list = value->flags & TYPE_LIST;
    uint64_t count = field_at(values, value->object, OBJECT_SIZE);
    uint64_t items = is_list ? field_at(values, value->object, LIST_ITEMS)
                             : value->object + values->head + values->layout->tuple_items;
    text_format(text, is_list ? "[" : "(");
    for (uint64_t i = 0; i < count && i < ITEMS_MAX; i++) {
        text_format(text, i ? ", " : "");
        show(values, word_at(values, items + 8 * i), depth, text);
    }
    if (count > ITEMS_MAX)
        text_format(text, ", … %" PRIu64 " items", count);
    text_format(text, is_list ? "]" : count == 1 ? ",)" : ")");
}

static void show_dict(struct python_values *values, const struct value *value, unsigned depth,
                      struct text *text)
{
    struct entries entries = entries_of_dict(values, value->object);
    uint64_t used = field_at(values, value->object, DICT_USED), shown = 0;
    text_format(text, "{");
    for (uint64_t i = 0; i < entries.count && shown < used && shown < ITEMS_MAX; i++) {
        uint64_t key, item = entry(values, &entries, i, &key);
        if (!item || !key)
            continue;
        text_format(text, shown++ ? ", " : "");
        show(values, key, depth, text);
        text_format(text, ": ");
        show(values, item, depth, text);
    }
    if (used > shown)
        text_format(text, ", … %" PRIu64 " items", used);
    text_format(text, "}");
}

static void show_float(struct python_values *values, const struct value *value, struct text *text)
{
    double number = 0;
    char shown[40];
    bool read =
        read_at(values, value->object + values->head + FLOAT_VALUE, &number, sizeof(number));
    for (int precision = 1; precision <= 17 && read; precision++) {
        double back = 0;
        snprintf(shown, sizeof(shown), "%.*g", precision, number);
        if (sscanf(shown, "%lf", &back) == 1 && back == number)
            break;
    }
    bool is_derived = strcmp(value->type, "float") != 0;
    text_format(text, is_derived ? "%s(%s)" : "%s%s", is_derived ? value->type : "",
                read ? shown : "?");
}

/* "Color.RED" */
static void show_member(struct python_values *values, const struct value *value, struct text *text)
{
    char name[NAME_SIZE];
    uint64_t at = python_value_attribute(values, value->object, "_name_");
    if (at && python_value_text(values, at, name, sizeof(name)) > 0)
        text_format(text, "%s.%s", value->type, name);
    else
        text_format(text, "<%s>", value->type);
}

/* "Color(1)" of a class that is also an int. */
static void show_known(struct python_values *values, const struct value *value, unsigned depth,
                       struct text *text)
{
    static const struct {
        uint32_t flag;
        const char *type;
    } bases[] = {{TYPE_INT, "int"},     {TYPE_LIST, "list"}, {TYPE_TUPLE, "tuple"},
                 {TYPE_BYTES, "bytes"}, {TYPE_STR, "str"},   {TYPE_DICT, "dict"}};

    const char *base = "";
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
        if (value->flags & bases[i].flag)
            base = bases[i].type;
    bool is_derived = strcmp(base, value->type) != 0;
    if (is_derived)
        text_format(text, "%s(", value->type);
    if (value->flags & TYPE_INT)
        show_int(values, value, text);
    else if (value->flags & TYPE_STR)
        show_str(values, value, text);
    else if (value->flags & TYPE_BYTES)
        show_bytes(values, value, text);
    else if (depth == 0)
        text_format(text, "…");
    else if (value->flags & TYPE_DICT)
        show_dict(values, value, depth - 1, text);
    else
        show_items(values, value, depth - 1, text);
    if (is_derived)
        text_format(text, ")");
}

static void show(struct python_values *values, uint64_t object, unsigned depth, struct text *text)
{
    const uint64_t known = TYPE_INT | TYPE_LIST | TYPE_TUPLE | TYPE_BYTES | TYPE_STR | TYPE_DICT;
    struct value value;
    look_at(values, object, &value);
    if (!value.type[0])
        text_format(text, "?");
    else if (strcmp(value.type, "NoneType") == 0)
        text_format(text, "None");
    else if (strcmp(value.type, "bool") == 0)
        text_format(text, field_at(values, object, INT_DIGITS) & 1 ? "True" : "False");
    else if (value.flags & known)
        show_known(values, &value, depth, text);
    else if (has_base(values, object, "float"))
        show_float(values, &value, text);
    else if (has_base(values, object, "Enum"))
        show_member(values, &value, text);
    else
        text_format(text, "<%s>", value.type);
}

size_t python_value_show(struct python_values *values, uint64_t object, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    show(values, object, DEPTH_MAX, &text);
    return text.length;
}

/* ---- Local variables ------------------------------------------------------------------------- */

/* The content of a variable shared by closures, which is in a cell. 0: empty. */
static uint64_t behind_cell(struct python_values *values, uint64_t object)
{
    struct value value;
    if (!object)
        return 0;
    look_at(values, object, &value);
    return strcmp(value.type, "cell") == 0 ? field_at(values, object, CELL_VALUE) : object;
}

uint32_t python_locals(struct python_values *values, uint64_t frame, uint64_t code,
                       struct python_local *ret_locals, uint32_t size)
{
    const struct value_layout *layout = values->layout;
    uint32_t count = (uint32_t)field_at(values, code, layout->code_local_count), used = 0;
    uint64_t names = field_at(values, code, layout->code_local_names);
    uint64_t name_count = names ? field_at(values, names, OBJECT_SIZE) : 0;
    for (uint32_t i = 0; i < count && i < name_count && i < LOCALS_MAX && used < size; i++) {
        struct python_local *local = &ret_locals[used];
        uint64_t object = word_at(values, frame + layout->frame_locals + UINT64_C(8) * i);
        local->value = behind_cell(values, layout->tagged_local ? object & ~UINT64_C(3) : object);
        if (!local->value)
            continue;
        uint64_t name = field_at(values, names, layout->tuple_items + 8 * i);
        if (python_value_text(values, name, local->name, sizeof(local->name)) > 0)
            used++;
    }
    return used;
}
