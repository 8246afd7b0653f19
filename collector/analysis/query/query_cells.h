/* SPDX-License-Identifier: MIT */
/* Cells of rows: made from a trace, and passed to SQLite. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_CELLS_H
#define ANNOT_QUERY_CELLS_H

#include "query.h"
#include "query_state.h"

#include <stddef.h>
#include <stdint.h>

struct query;
struct trace;

/* Cells with texts that outlive them. */
static inline struct query_cell integer_cell(int64_t value)
{
    return (struct query_cell){.type = QUERY_INTEGER, .integer = value};
}

static inline void put_integer(sqlite3_context *context, int64_t value)
{
    sqlite3_result_int64(context, value);
}

struct query_cell string_cell(const struct trace *trace, uint32_t ordinal); /* 0: NULL */
struct query_cell constant_cell(const char *text);
void put_cell(sqlite3_context *context, struct query_cell cell);

/* Cells of the schema's columns. cell_of_schema: integers, strings and constants only. */
struct query_cell cell_of_schema(const struct trace *trace, struct schema_cell cell);
void put_schema(sqlite3_context *context, const struct trace *trace, struct schema_cell cell);

/* The owner of an event or sample, by its thread. */
enum owner_part { OWNER_PROCESS, OWNER_THREAD, OWNER_PID, OWNER_TID };

struct query_cell owner_cell(const struct trace *trace, uint32_t thread, enum owner_part part);

/* Texts of the trace are not copied. */
void put_string(sqlite3_context *context, const struct trace *trace, uint32_t ordinal);
void put_constant(sqlite3_context *context, const char *text);
void put_copy(sqlite3_context *context, const char *text, size_t size);

/* Copies the text in query->text. */
void put_made(sqlite3_context *context, const struct query *query);

/* Times are relative to the start of the recording. */
void put_time(sqlite3_context *context, const struct query *query, int64_t time_ns);

#endif
