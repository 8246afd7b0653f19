/* SPDX-License-Identifier: MIT */
/* Decodes structs that programs emit as bytes, by the schema that they registered.
 *
 * Texts of schemas and bytes of structs are foreign: each field must lie inside the size of the
 * schema and of the struct, or the schema is rejected. */
#ifndef ANNOT_SCHEMA_H
#define ANNOT_SCHEMA_H

#include "event.h"
#include "names.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SCHEMA_VALUES_MAX = 256, /* shown per struct; slightly more than it has bytes */
    SCHEMAS_MAX = 1024,      /* per segment */
};

#define SCHEMA_FITS_NONE UINT32_MAX

/* One value of a struct. */
struct schema_field {
    uint32_t key; /* string: "size [bytes]", "a[3]" */
    uint16_t offset, size;
    uint8_t type; /* enum annot_field_type */
};

struct schema {
    uint32_t name; /* string */
    uint32_t size; /* bytes of the struct; SCHEMA_FITS_NONE: its text is invalid */
    uint32_t count, left_out;
    struct schema_field fields[];
};

/* By number; `{0}` is empty. */
struct schemas {
    VEC(struct schema *) items;
    uint32_t count;
};

void schemas_free(struct schemas *schemas);

/* The schema of that number: 1; 0: unknown; -ENOMEM, -EFAULT. */
int schemas_find(struct schemas *schemas, struct names *names, uint16_t number,
                 const struct schema **ret_schema);

/* Reads a field of a struct with schema->size bytes. 0 or -ENOMEM. */
int schema_value(struct names *names, const struct schema_field *field, const uint8_t *bytes,
                 struct arg *arg);

/* Shows bytes without a schema in hexadecimal. 0 or -ENOMEM. */
int schema_show_bytes(struct names *names, const uint8_t *bytes, size_t size, struct arg *arg);

#endif
