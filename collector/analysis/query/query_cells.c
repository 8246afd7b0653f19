/* SPDX-License-Identifier: MIT */
/* Cells of rows, and their transfer to SQLite. */
#include "query_cells.h"

#include "query_state.h"

#include <stdio.h>
#include <string.h>

struct query_cell string_cell(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_string *string = ordinal ? trace_string(trace, ordinal) : NULL;
    if (!string)
        return (struct query_cell){.type = QUERY_NULL};
    return (struct query_cell){.type = QUERY_TEXT, .bytes = string->bytes, .size = string->length};
}

struct query_cell constant_cell(const char *text)
{
    if (!text)
        return (struct query_cell){.type = QUERY_NULL};
    return (struct query_cell){.type = QUERY_TEXT, .bytes = text, .size = strlen(text)};
}

struct query_cell owner_cell(const struct trace *trace, uint32_t ordinal, enum owner_part part)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = thread ? trace_process_get(trace, thread->process) : NULL;
    if (part == OWNER_THREAD)
        return integer_cell(ordinal);
    if (part == OWNER_PROCESS && thread)
        return integer_cell(thread->process);
    if (part == OWNER_TID && thread)
        return integer_cell(thread->tid);
    if (part == OWNER_PID && process)
        return integer_cell(process->pid);
    return (struct query_cell){.type = QUERY_NULL};
}

void put_cell(sqlite3_context *context, struct query_cell cell)
{
    if (cell.type == QUERY_INTEGER)
        sqlite3_result_int64(context, cell.integer);
    else if (cell.type == QUERY_TEXT)
        sqlite3_result_text(context, cell.bytes, (int)cell.size, SQLITE_STATIC);
}

struct query_cell cell_of_schema(const struct trace *trace, struct schema_cell cell)
{
    if (cell.kind == SCHEMA_INTEGER)
        return integer_cell(cell.integer);
    if (cell.kind == SCHEMA_STRING)
        return string_cell(trace, cell.string);
    return constant_cell(cell.kind == SCHEMA_CONSTANT ? cell.constant : NULL);
}

static void put_bits(sqlite3_context *context, const char *format, uint64_t bits)
{
    char text[32];
    int length = snprintf(text, sizeof(text), format, (unsigned long long)bits);
    put_copy(context, text, (size_t)length);
}

void put_schema(sqlite3_context *context, const struct trace *trace, struct schema_cell cell)
{
    switch ((enum schema_cell_kind)cell.kind) {
    case SCHEMA_NULL:
        break;
    case SCHEMA_INTEGER:
        put_integer(context, cell.integer);
        break;
    case SCHEMA_REAL:
        sqlite3_result_double(context, cell.real);
        break;
    case SCHEMA_STRING:
        sqlite3_result_text(context, trace_string(trace, cell.string)->bytes, -1, SQLITE_STATIC);
        break;
    case SCHEMA_CONSTANT:
        put_constant(context, cell.constant);
        break;
    case SCHEMA_ID:
        put_bits(context, "0x%llx", cell.bits);
        break;
    case SCHEMA_COLOR:
        put_bits(context, "#%08llx", cell.bits);
        break;
    }
}

void put_string(sqlite3_context *context, const struct trace *trace, uint32_t ordinal)
{
    put_cell(context, string_cell(trace, ordinal));
}

void put_constant(sqlite3_context *context, const char *text)
{
    put_cell(context, constant_cell(text));
}

void put_copy(sqlite3_context *context, const char *text, size_t size)
{
    sqlite3_result_text64(context, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void put_made(sqlite3_context *context, const struct query *query)
{
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(query->text, &size);
    if (out_error(query->text))
        sqlite3_result_error_nomem(context);
    else
        put_copy(context, (const char *)bytes, size);
}

void put_time(sqlite3_context *context, const struct query *query, int64_t time_ns)
{
    int64_t after;
    if (__builtin_sub_overflow(time_ns, query->begin_ns, &after))
        after = time_ns < 0 ? INT64_MIN : INT64_MAX;
    put_integer(context, after);
}
