/* SPDX-License-Identifier: MIT */
/* Parses texts of schemas into lists of fields, one for each value. */
#include "schema.h"

#include "decode.h"

#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEXADECIMAL_MAX = 256,
    OVERLAP_MAX = 8, /* values of unions that a struct may have above one for each of its bytes */
};

static const uint8_t type_sizes[] = {
    [ANNOT_FIELD_TYPE_INT8] = 1,    [ANNOT_FIELD_TYPE_INT16] = 2,  [ANNOT_FIELD_TYPE_INT32] = 4,
    [ANNOT_FIELD_TYPE_INT64] = 8,   [ANNOT_FIELD_TYPE_UINT8] = 1,  [ANNOT_FIELD_TYPE_UINT16] = 2,
    [ANNOT_FIELD_TYPE_UINT32] = 4,  [ANNOT_FIELD_TYPE_UINT64] = 8, [ANNOT_FIELD_TYPE_FLOAT] = 4,
    [ANNOT_FIELD_TYPE_DOUBLE] = 8,  [ANNOT_FIELD_TYPE_BOOL] = 1,   [ANNOT_FIELD_TYPE_CHARS] = 1,
    [ANNOT_FIELD_TYPE_POINTER] = 8,
};

void schemas_free(struct schemas *schemas)
{
    for (size_t i = 0; i < schemas->items.count; i++)
        free(schemas->items.items[i]);
    vec_free(&schemas->items);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* The bytes up to a separator, which is replaced by NUL; *rest moves past it. */
static char *take_part(char **rest, char separator)
{
    char *part = *rest, *end = strchr(part, separator);
    *rest = end ? end + 1 : part + strlen(part);
    if (end)
        *end = 0;
    return part;
}

/* A decimal number of at most `limit`; false: not a number. */
static bool take_number(char **rest, uint32_t limit, uint32_t *ret_number)
{
    char *text = take_part(rest, '\x1f'), *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    *ret_number = (uint32_t)number;
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && number <= limit;
}

struct field_text {
    const char *name, *unit;
    uint32_t type, offset, count;
};

static bool take_field(char *text, uint32_t size, struct field_text *field)
{
    field->name = take_part(&text, '\x1f');
    if (!take_number(&text, UINT8_MAX, &field->type) || !take_number(&text, size, &field->offset) ||
        !take_number(&text, UINT16_MAX, &field->count))
        return false;
    field->unit = text;
    field->count += field->count == 0;
    bool known = field->type < sizeof(type_sizes) && type_sizes[field->type] != 0;
    return !known || field->count <= (size - field->offset) / type_sizes[field->type];
}

static int64_t add_key(struct names *names, const struct field_text *field, uint32_t index,
                       bool array)
{
    char text[ANNOT_STRING_MAX + 64];
    int length = snprintf(text, sizeof(text), "%s", field->name);
    if (array)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "[%u]", index);
    if (field->unit[0])
        length += snprintf(text + length, sizeof(text) - (size_t)length, " [%s]", field->unit);
    return names_inline(names, text, (size_t)length);
}

/* Adds one entry for each value. 0 or -ENOMEM. */
static int add_fields(struct names *names, struct schema *schema, const struct field_text *field)
{
    bool chars = field->type == ANNOT_FIELD_TYPE_CHARS;
    uint32_t values = chars ? 1 : field->count, size = type_sizes[field->type];
    uint32_t room = schema->size + OVERLAP_MAX;
    for (uint32_t i = 0; i < values; i++) {
        if (schema->count == SCHEMA_VALUES_MAX || schema->count == room) {
            schema->left_out += values - i;
            return 0;
        }
        int64_t key = add_key(names, field, i, values > 1);
        if (key < 0)
            return -ENOMEM;
        schema->fields[schema->count++] = (struct schema_field){
            .key = (uint32_t)key,
            .offset = (uint16_t)(field->offset + i * size),
            .size = (uint16_t)(chars ? field->count : size),
            .type = (uint8_t)field->type,
        };
    }
    return 0;
}

/* 1; 0: not a schema; -ENOMEM. */
static int parse(struct names *names, char *text, struct schema *schema)
{
    struct field_text field;
    char *head = take_part(&text, '\x1e');
    const char *title = take_part(&head, '\x1f');
    int64_t name = names_inline(names, title, strlen(title));
    if (name < 0)
        return -ENOMEM;
    schema->name = (uint32_t)name;
    if (!take_number(&head, ANNOT_STRUCT_BYTES, &schema->size))
        return 0;
    while (*text) {
        if (!take_field(take_part(&text, '\x1e'), schema->size, &field))
            return 0;
        bool known = field.type < sizeof(type_sizes) && type_sizes[field.type] != 0;
        if (known && add_fields(names, schema, &field) != 0) /* else from a later version */
            return -ENOMEM;
    }
    return 1;
}

/* Reads the schema of that number. 0, -ENOMEM, -EFAULT; *ret_schema is set only if it exists. */
static int read_schema(struct names *names, uint16_t number, struct schema **ret_schema)
{
    char text[ANNOT_STRING_MAX + 1];
    int64_t length = names_schema(names, number, text);
    if (length <= 0)
        return (int)length;
    text[length] = 0;
    size_t size = sizeof(struct schema) + SCHEMA_VALUES_MAX * sizeof(struct schema_field);
    struct schema *schema = calloc(1, size);
    if (!schema)
        return -ENOMEM;
    int found = strlen(text) == (size_t)length ? parse(names, text, schema) : 0;
    if (found == 0) { /* its name is known, but no struct matches it */
        schema->size = SCHEMA_FITS_NONE;
        schema->count = 0;
    }
    size = sizeof(*schema) + schema->count * sizeof(schema->fields[0]);
    struct schema *kept = found >= 0 ? realloc(schema, size) : NULL;
    if (!kept)
        free(schema);
    *ret_schema = kept;
    return kept ? 0 : -ENOMEM;
}

int schemas_find(struct schemas *schemas, struct names *names, uint16_t number,
                 const struct schema **ret_schema)
{
    *ret_schema = number < schemas->items.count ? schemas->items.items[number] : NULL;
    if (*ret_schema || number == 0 || schemas->count >= SCHEMAS_MAX)
        return *ret_schema != NULL;
    struct schema *schema = NULL;
    int found = read_schema(names, number, &schema);
    if (!schema)
        return found;
    while (schemas->items.count <= number) {
        if (vec_push(&schemas->items, NULL) == 0)
            continue;
        free(schema);
        return -ENOMEM;
    }
    schemas->count++;
    schemas->items.items[number] = schema;
    *ret_schema = schema;
    return 1;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static int set_string(struct names *names, const char *text, size_t length, struct arg *arg)
{
    int64_t ordinal = names_inline(names, text, length);
    arg->kind = VALUE_STRING;
    arg->value.uint64 = ordinal > 0 ? (uint64_t)ordinal : 0;
    return ordinal < 0 ? -ENOMEM : 0;
}

static int64_t sign_extended(uint64_t value, unsigned size)
{
    unsigned shift = 64 - 8 * size;
    return (int64_t)(value << shift) >> shift;
}

static int show_pointer(struct names *names, uint64_t value, struct arg *arg)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    return set_string(names, text, (size_t)length, arg);
}

static void set_float(const uint8_t *bytes, struct arg *arg)
{
    float number;
    memcpy(&number, bytes, sizeof(number));
    arg->kind = VALUE_DOUBLE;
    arg->value.float64 = number;
}

int schema_value(struct names *names, const struct schema_field *field, const uint8_t *bytes,
                 struct arg *arg)
{
    uint64_t value = 0;
    const uint8_t *at = bytes + field->offset;
    if (field->type == ANNOT_FIELD_TYPE_CHARS)
        return set_string(names, (const char *)at, strnlen((const char *)at, field->size), arg);
    memcpy(&value, at, field->size);
    arg->value.uint64 = value;
    switch (field->type) {
    case ANNOT_FIELD_TYPE_INT8:
    case ANNOT_FIELD_TYPE_INT16:
    case ANNOT_FIELD_TYPE_INT32:
    case ANNOT_FIELD_TYPE_INT64:
        arg->kind = VALUE_INT64;
        arg->value.int64 = sign_extended(value, field->size);
        return 0;
    case ANNOT_FIELD_TYPE_FLOAT:
        set_float(at, arg);
        return 0;
    case ANNOT_FIELD_TYPE_DOUBLE:
        arg->kind = VALUE_DOUBLE;
        return 0;
    case ANNOT_FIELD_TYPE_BOOL:
        arg->kind = VALUE_BOOL;
        arg->value.uint64 = value != 0;
        return 0;
    case ANNOT_FIELD_TYPE_POINTER:
        return show_pointer(names, value, arg);
    default:
        arg->kind = VALUE_UINT64;
        return 0;
    }
}

int schema_show_bytes(struct names *names, const uint8_t *bytes, size_t size, struct arg *arg)
{
    char text[2 * HEXADECIMAL_MAX + 64];
    char *at = text_hex(text, bytes, size < HEXADECIMAL_MAX ? size : HEXADECIMAL_MAX);
    if (size > HEXADECIMAL_MAX)
        at += sprintf(at, "... (%zu bytes)", size);
    return set_string(names, text, (size_t)(at - text), arg);
}
