/* SPDX-License-Identifier: MIT */
/* See query.h. */
#include "query_functions.h"
#include "query_report.h"
#include "query_state.h"
#include "query_tables.h"
#include "reader.h"

#include "options.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 10000, CACHE_KIB = 32 << 10, LENGTH_MAX = 64 << 20 };

const struct store_reader *query_reader(const struct query *query)
{
    const struct store_reader *worst = query->options.reader;
    for (size_t i = 0; i < query->places.count; i++) {
        const struct store_reader *reader = query->places.items[i]->reader;
        if (store_reader_damage_count(reader) > store_reader_damage_count(worst))
            worst = reader;
    }
    return worst;
}

/* ---- Permissions ----------------------------------------------------------------------------- */

static bool is_harmless_pragma(const char *name)
{
    static const char *const names[] = {"table_info", "table_xinfo", "function_list",
                                        "compile_options"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (sqlite3_stricmp(name, names[i]) == 0)
            return true;
    return false;
}

static const char *action_name(int action)
{
    switch (action) {
    case SQLITE_ATTACH:
        return "ATTACH";
    case SQLITE_DETACH:
        return "DETACH";
    case SQLITE_PRAGMA:
        return "this PRAGMA";
    case SQLITE_INSERT:
        return "INSERT";
    case SQLITE_UPDATE:
        return "UPDATE";
    case SQLITE_DELETE:
        return "DELETE";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return "a transaction";
    case SQLITE_FUNCTION:
        return "this function";
    default:
        return "to change the schema";
    }
}

/* Allows reading only. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *inner)
{
    struct query *query = context;
    (void)database;
    (void)inner;
    bool allowed = query->declares || action == SQLITE_SELECT || action == SQLITE_READ ||
                   action == SQLITE_RECURSIVE ||
                   (action == SQLITE_FUNCTION && sqlite3_stricmp(second, "load_extension") != 0) ||
                   (action == SQLITE_PRAGMA && is_harmless_pragma(first));
    if (allowed)
        return SQLITE_OK;
    query->denied = query->denied ? query->denied : action_name(action);
    return SQLITE_DENY;
}

static int should_stop(void *context)
{
    const struct query *query = context;
    return *query->options.stop != 0;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void near_table(const char *wanted, struct text *hint)
{
    const char *best = NULL;
    unsigned least = options_near_limit(wanted);
    for (const struct query_table *const *at = query_tables; *at; at++) {
        unsigned distance = options_distance(wanted, (*at)->name);
        if (distance < least) {
            least = distance;
            best = (*at)->name;
        }
    }
    if (best)
        text_format(hint, "did you mean %s? ", best);
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static void make_hint(struct query *query, const char *message)
{
    static const char no_table[] = "no such table: ";
    struct text hint = text_init(query->hint, sizeof(query->hint));
    if (begins_with(message, no_table))
        near_table(message + strlen(no_table), &hint);
    if (begins_with(message, "no such table") || begins_with(message, "no such column"))
        text_format(&hint, "annot query --schema lists tables and columns");
    else if (begins_with(message, "no such function") ||
             begins_with(message, "wrong number of arguments"))
        text_format(&hint, "annot query --schema lists functions beside those of SQLite");
    else
        text_format(&hint, "SQL is that of SQLite %s: https://sqlite.org/lang_select.html",
                    sqlite3_libversion());
}

/* Maps an SQLite status to -errno, with a text if the user's SQL is wrong. */
static int explain(struct query *query, int status)
{
    char *ends[] = {query->error, query->hint};
    *ends[0] = *ends[1] = '\0';
    if (status == SQLITE_INTERRUPT || *query->options.stop)
        return -EINTR;
    if (query->read_error && query->read_error != -ENOMEM && !query->file_failed)
        return query->read_error;
    struct text error = text_init(query->error, sizeof(query->error));
    if (query->denied) {
        text_format(&error, "a query only reads: it may not ask for %s", query->denied);
        snprintf(query->hint, sizeof(query->hint), "write SELECT, or WITH ... SELECT");
    } else if (status == SQLITE_NOMEM || status == SQLITE_TOOBIG) {
        text_format(&error, "the query needs more than %llu MiB of memory",
                    (unsigned long long)(query->options.memory_bytes >> 20));
        snprintf(query->hint, sizeof(query->hint),
                 "ask for less at once: a part of the time, fewer groups, shorter texts");
    } else if (query->file_failed || (status & 0xff) == SQLITE_FULL ||
               (status & 0xff) == SQLITE_IOERR || (status & 0xff) == SQLITE_CANTOPEN) {
        text_format(&error, "cannot write temporary files: %s",
                    query->file_failed ? strerror(-query->read_error) : sqlite3_errmsg(query->db));
        snprintf(query->hint, sizeof(query->hint),
                 "sorts that are large need room there; TMPDIR names another folder");
    } else {
        text_format(&error, "%s", sqlite3_errmsg(query->db));
        make_hint(query, sqlite3_errmsg(query->db));
    }
    return -EINVAL;
}

const char *query_error(const struct query *query)
{
    return query->error;
}

const char *query_hint(const struct query *query)
{
    return query->hint;
}

/* ---- Statements ------------------------------------------------------------------------------ */

enum { EXPLAIN_CODE = 1, EXPLAIN_CURSOR = 2 }; /* columns of EXPLAIN */

/* True if the program of a statement uses row numbers, as OR of two conditions does to skip rows it
 * already has. Passes that read parts of a recording have no such numbers. */
static bool asks_for_numbers(struct query *query, const char *sql, int size)
{
    sqlite3_stmt *program = NULL;
    uint64_t tables = 0;
    bool asks = false;
    char *text = sqlite3_mprintf("EXPLAIN %.*s", size, sql);
    if (!text)
        return true;
    if (sqlite3_prepare_v2(query->db, text, -1, &program, NULL) != SQLITE_OK)
        program = NULL;
    while (program && !asks && sqlite3_step(program) == SQLITE_ROW) {
        const char *code = (const char *)sqlite3_column_text(program, EXPLAIN_CODE);
        uint64_t cursor = UINT64_C(1) << (sqlite3_column_int(program, EXPLAIN_CURSOR) & 63);
        if (code && strcmp(code, "VOpen") == 0)
            tables |= cursor;
        asks = code && strcmp(code, "Rowid") == 0 && (tables & cursor);
    }
    sqlite3_finalize(program);
    sqlite3_free(text);
    return asks;
}

/* *ret_statement NULL: only blanks and comments are left. Returns an SQLite status. */
static int prepare(struct query *query, const char **sql, sqlite3_stmt **ret_statement)
{
    const char *begin = *sql, *end = begin;
    query->plain = false;
    int status = sqlite3_prepare_v2(query->db, begin, -1, ret_statement, &end);
    if (status != SQLITE_OK || !*ret_statement) {
        *sql = end;
        return status;
    }
    bool explains = sqlite3_stmt_isexplain(*ret_statement);
    if (!explains && asks_for_numbers(query, begin, (int)(end - begin))) {
        sqlite3_finalize(*ret_statement);
        *ret_statement = NULL;
        query->plain = true;
        status = sqlite3_prepare_v2(query->db, begin, -1, ret_statement, &end);
    }
    *sql = end;
    return status;
}

static void take_cell(sqlite3_stmt *statement, int column, struct query_cell *cell)
{
    *cell = (struct query_cell){.type = QUERY_NULL};
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        cell->type = QUERY_INTEGER;
        cell->integer = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_FLOAT:
        cell->type = QUERY_REAL;
        cell->real = sqlite3_column_double(statement, column);
        break;
    case SQLITE_TEXT:
        cell->type = QUERY_TEXT;
        cell->bytes = (const char *)sqlite3_column_text(statement, column);
        cell->size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_BLOB:
        cell->type = QUERY_BLOB;
        cell->bytes = sqlite3_column_blob(statement, column);
        cell->size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    default:
        break;
    }
}

static int step_rows(struct query *query, sqlite3_stmt *statement, struct query_cell *cells,
                     struct query_result *result, const struct query_sink *sink)
{
    int error = 0, status = SQLITE_ROW;
    while (!error && (status = sqlite3_step(statement)) == SQLITE_ROW) {
        for (unsigned i = 0; i < result->column_count; i++)
            take_cell(statement, (int)i, &cells[i]);
        error = sink->row(sink->context, result);
    }
    if (!error && status != SQLITE_DONE)
        error = explain(query, status);
    return error;
}

static int run_statement(struct query *query, sqlite3_stmt *statement,
                         const struct query_sink *sink)
{
    unsigned count = (unsigned)sqlite3_column_count(statement);
    const char **names = calloc(count + 1, sizeof(*names));
    struct query_cell *cells = calloc(count + 1, sizeof(*cells));
    struct query_result result = {.column_count = count, .names = names};
    int error = names && cells ? 0 : -ENOMEM;
    for (unsigned i = 0; !error && i < count; i++) {
        names[i] = sqlite3_column_name(statement, (int)i);
        error = names[i] ? 0 : -ENOMEM;
    }
    if (!error)
        error = sink->begin(sink->context, &result);
    result.cells = cells;
    if (!error)
        error = step_rows(query, statement, cells, &result, sink);
    if (!error)
        error = sink->end(sink->context);
    free(names);
    free(cells);
    return error;
}

int query_run(struct query *query, const char *sql, const struct query_sink *sink)
{
    int error = 0;
    query->error[0] = query->hint[0] = '\0';
    while (!error && *sql) {
        sqlite3_stmt *statement = NULL;
        query->denied = NULL;
        query->read_error = 0;
        query->file_failed = false;
        int status = prepare(query, &sql, &statement);
        if (status != SQLITE_OK)
            error = explain(query, status);
        else if (statement)
            error = run_statement(query, statement, sink);
        sqlite3_finalize(statement);
    }
    return error;
}

/* ---- The object ------------------------------------------------------------------------------ */

/* Limits SQLite's memory: its sorts spill to unnamed temporary files. */
static int set_limits(struct query *query)
{
    char text[96];
    sqlite3_hard_heap_limit64((sqlite3_int64)query->options.memory_bytes);
    sqlite3_limit(query->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    snprintf(text, sizeof(text), "PRAGMA temp_store = FILE; PRAGMA cache_size = -%d", CACHE_KIB);
    return sqlite3_exec(query->db, text, NULL, NULL, NULL);
}

static int open_database(struct query *query)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int status = sqlite3_open_v2(":memory:", &query->db, flags, NULL);
    if (status == SQLITE_OK)
        status = set_limits(query);
    if (status == SQLITE_OK)
        status = query_register_tables(query);
    if (status == SQLITE_OK)
        status = query_register_functions(query->db);
    if (status == SQLITE_OK) {
        sqlite3_db_config(query->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_progress_handler(query->db, STEPS_BETWEEN_LOOKS, should_stop, query);
        status = sqlite3_set_authorizer(query->db, authorize, query);
    }
    return status == SQLITE_OK ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

int query_open(const struct query_options *options, struct query **ret_query)
{
    struct query *query = calloc(1, sizeof(*query));
    struct query_place *first = calloc(1, sizeof(*first));
    if (!query || !first) {
        free(query);
        free(first);
        return -ENOMEM;
    }
    query->options = *options;
    query->trace = store_reader_trace(options->reader);
    query->begin_ns = trace_begin_ns(query->trace);
    *first = (struct query_place){.reader = options->reader, .whole = true};
    query->text = out_stream_memory();
    int error = query->text ? vec_push(&query->places, first) : -ENOMEM;
    if (error)
        free(first);
    if (!error)
        error = open_database(query);
    if (error)
        query_close(query);
    else
        *ret_query = query;
    return error;
}

void query_close(struct query *query)
{
    if (!query)
        return;
    sqlite3_close(query->db);
    query_report_destroy(query->report);
    for (size_t i = 0; i < query->places.count; i++) {
        if (i > 0) /* the first is the caller's */
            store_reader_close(query->places.items[i]->reader);
        free(query->places.items[i]);
    }
    vec_free(&query->places);
    vec_free(&query->owners);
    out_stream_abandon(query->text);
    free(query);
}
