/* SPDX-License-Identifier: MIT */
/* Definitions: the contents of a trace, as entries of a DEFINITIONS chunk.
 *
 * Each kind of definition is one table of fields in definitions.c, which drives writing, reading
 * and the checks of references (fields.c). An entry holds up to STORE_ROWS_MAX definitions of
 * consecutive ordinals, column by column. To add a field: a row at the end of its table; a kind: a
 * number in format.h and a table. Thread-safety: none. */
#ifndef ANNOT_STORE_DEFINITIONS_H
#define ANNOT_STORE_DEFINITIONS_H

#include "format.h"
#include "trace.h"
#include "vec.h"

/* ---- Tables ---------------------------------------------------------------------------------- */

enum field_kind {
    FIELD_UNSIGNED = 0,
    FIELD_SIGNED,
    FIELD_TIME,     /* signed, within STORE_TIME_MAX: of the host's clock; 0: unknown */
    FIELD_DURATION, /* likewise, of no clock */
    FIELD_FLAG,     /* bool */
    FIELD_TEXT,     /* {bytes, length} */
    FIELD_BYTES,
};

/* Null value of a field that refers to another table. */
enum field_reference {
    REFERENCE_ORDINAL = 0, /* 0, the empty entry of that table */
    REFERENCE_NEXT,        /* 0; else 1 + ordinal */
    REFERENCE_SIGNED,      /* -1 */
    REFERENCE_NEEDED,      /* cannot be null: a missing entry is made */
    REFERENCE_NUMBER,      /* 0; undefined numbers are kept */
};

struct field {
    uint16_t offset;   /* in the model's struct */
    uint8_t width;     /* bytes, of one element */
    uint8_t kind;      /* enum field_kind */
    uint8_t count;     /* elements of an array; 0: a scalar */
    uint8_t refers;    /* enum store_definition; 0: not a reference */
    uint8_t reference; /* enum field_reference */
};

struct table {
    const struct field *fields;
    uint16_t field_count, size; /* size: of the model's struct */
    uint32_t first;             /* the smallest ordinal */
    uint32_t holes_max;         /* maximum number of entries lost by damage */
    bool revised;               /* entries change, and begin with their revision */
    bool repeated;              /* defined once more at the end */
    bool loose;                 /* its ordinals are not places: lost entries leave no hole */
    uint32_t (*count)(const struct trace *trace); /* with `first` */
    const void *(*get)(const struct trace *trace, uint32_t ordinal);
    /* Adds an entry, or replaces it; NULL: lost by damage. 0, -ENOMEM, -EBADMSG, -ENOSPC. */
    int (*put)(struct trace *trace, uint32_t ordinal, const void *entry);
};

/* By number; the table of an unknown number has no fields. */
extern const struct table definition_tables[STORE_DEFINE_COUNT];

#endif
