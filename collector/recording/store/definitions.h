/* SPDX-License-Identifier: MIT */
/* Definitions: all that a trace knows, as entries of a DEFINITIONS chunk.
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

/* ---- Tables ---- */

enum field_kind {
    FIELD_UNSIGNED = 0,
    FIELD_SIGNED,
    FIELD_TIME,     /* signed, within STORE_TIME_MAX: of the host's clock; 0: not known */
    FIELD_DURATION, /* likewise, of no clock */
    FIELD_FLAG,     /* bool                          */
    FIELD_TEXT,     /* {bytes, length}               */
    FIELD_BYTES,
};

/* How a field that refers to another table says "none". */
enum field_reference {
    REFERENCE_ORDINAL = 0, /* 0, which is nothing in that table           */
    REFERENCE_NEXT,        /* 0; else 1 + ordinal                         */
    REFERENCE_SIGNED,      /* -1                                          */
    REFERENCE_NEEDED,      /* never: an entry that is not there is made   */
    REFERENCE_NUMBER,      /* 0; those that are not defined stay          */
};

struct field {
    uint16_t offset;   /* in the model's struct */
    uint8_t width;     /* bytes, of one element */
    uint8_t kind;      /* enum field_kind */
    uint8_t count;     /* elements of an array; 0: no array */
    uint8_t refers;    /* enum store_definition; 0: to nothing */
    uint8_t reference; /* enum field_reference */
};

struct table {
    const struct field *fields;
    uint16_t field_count, size; /* size: of the model's struct */
    uint32_t first;             /* the smallest ordinal */
    uint32_t holes_max;         /* entries that damage may have taken */
    bool revised;               /* entries change, and begin with their revision */
    bool repeated;              /* defined once more at the end */
    bool loose;                 /* its ordinals are no places: what is not there leaves no hole */
    uint32_t (*count)(const struct trace *trace); /* with `first` */
    const void *(*get)(const struct trace *trace, uint32_t ordinal);
    /* Adds an entry, or replaces it; NULL: damage took it. 0, -ENOMEM, -EBADMSG, -ENOSPC. */
    int (*put)(struct trace *trace, uint32_t ordinal, const void *entry);
};

/* By number; that of an unknown number has no fields. */
extern const struct table definition_tables[STORE_DEFINE_COUNT];

/* What entries that don't change refer to comes before them. */
extern const uint8_t definition_order[STORE_DEFINE_COUNT - 1];

/* An element of a field of a struct of the model. What the field cannot hold is 0. */
uint64_t field_load(const void *entry, const struct field *field, unsigned element);
void field_save(void *entry, const struct field *field, unsigned element, uint64_t value);
unsigned field_elements(const struct field *field);

/* ---- Writing ---- */

/* What of a trace is written already. `{0}`: nothing. */
struct definitions_state {
    uint32_t next[STORE_DEFINE_COUNT];         /* of tables whose entries don't change */
    VEC(uint32_t) written[STORE_DEFINE_COUNT]; /* of the others: 1 + revision; 0: not written */
};

void definitions_state_free(struct definitions_state *state);

/* All that does not change is written up to here. */
void definitions_state_resume(struct definitions_state *state, const struct trace *trace);

/* What is defined once more at the end of a recording is not written yet. */
void definitions_state_repeat(struct definitions_state *state);

struct definitions_buffer {
    VEC(uint8_t) bytes;
    uint64_t count; /* entries */
    VEC(uint8_t) body;
    VEC(uint8_t) column;
};

void definitions_buffer_free(struct definitions_buffer *buffer);

/* Appends what is new or changed since `state`, until about `limit` bytes: 1 if there is more, 0
 * if that was all, -ENOMEM. */
int definitions_collect(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer);

/* ---- Reading ---- */

/* Holes that damaged chunks left may be filled by some empty entries in one trace. */
struct definitions_holes {
    uint32_t filled[STORE_DEFINE_COUNT];
};

/* Applies a payload to a trace. 0, -ENOMEM; -EBADMSG: malformed from some entry on, what stands
 * before it was applied. */
int definitions_apply(struct trace *trace, struct definitions_holes *holes, const uint8_t *payload,
                      size_t size);

/* After the last payload: references lead to entries that are there, and trees have roots. 0 or
 * -ENOMEM. */
int definitions_check(struct trace *trace);

#endif
