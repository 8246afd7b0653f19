/* SPDX-License-Identifier: MIT */
/* Writes definitions of a trace into payloads, and applies such payloads to a trace, field by
 * field, driven by the tables of definitions.h. Foreign bytes: bounded. Thread-safety: one thread
 * per object. */
#ifndef ANNOT_FIELDS_H
#define ANNOT_FIELDS_H

#include "definitions.h"
#include "format.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct field;
struct trace;

/* Entries of constant tables refer only to tables before them. */
extern const uint8_t definition_order[STORE_DEFINE_COUNT - 1];

/* An element of a field of a struct of the model. A value out of the field's range is stored as
 * 0. */
uint64_t field_load(const void *entry, const struct field *field, unsigned element);
void field_save(void *entry, const struct field *field, unsigned element, uint64_t value);
unsigned field_elements(const struct field *field);

/* The part of a trace already written. `{0}`: empty. */
struct definitions_state {
    uint32_t next[STORE_DEFINE_COUNT];         /* of tables with constant entries */
    VEC(uint32_t) written[STORE_DEFINE_COUNT]; /* of the others: 1 + revision; 0: not written */
};

void definitions_state_free(struct definitions_state *state);

/* Marks all constant entries up to here as written. */
void definitions_state_resume(struct definitions_state *state, const struct trace *trace);

/* Marks the tables that are defined once more at the end of a recording as not written. */
void definitions_state_repeat(struct definitions_state *state);

struct definitions_buffer {
    VEC(uint8_t) bytes;
    uint64_t count; /* entries */
    VEC(uint8_t) body;
    VEC(uint8_t) column;
};

void definitions_buffer_free(struct definitions_buffer *buffer);

/* Appends entries that are new or changed since `state`, until about `limit` bytes: 1 if there is
 * more, 0 at the end, -ENOMEM. */
int definitions_collect(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer);

/* Limits the empty entries that fill holes of damaged chunks, per trace. */
struct definitions_holes {
    uint32_t filled[STORE_DEFINE_COUNT];
};

/* Applies a payload to a trace. 0, -ENOMEM; -EBADMSG: malformed from some entry on, earlier entries
 * were applied. */
int definitions_apply(struct trace *trace, struct definitions_holes *holes, const uint8_t *payload,
                      size_t size);

/* After the last payload: makes references lead to existing entries, and trees to roots. 0 or
 * -ENOMEM. */
int definitions_check(struct trace *trace);

#endif
