/* SPDX-License-Identifier: MIT */
/* Reports of Nsight Systems as `nsys export --type sqlite` writes them: NVTX ranges and marks,
 * calls of CUDA and of the operating system, work and memory of GPUs, samples and waits.
 *
 * Tables and columns come and go with versions: a table that is missing is empty, a column that is
 * missing is NULL. Views, and tables that are none in the file, are not read: they may ask for
 * anything. */
#include "from_nsys_parts.h"

#include "nsys_shape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { QUERY_SIZE = 4096, CACHE_KIB = 16 << 10 };

/* ---- Queries --------------------------------------------------------------------------------- */

bool nsys_has_table(struct nsys *nsys, const char *table)
{
    static const char query[] =
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?";
    sqlite3_stmt *statement = NULL;
    if (vec_push(&nsys->asked, table) != 0)
        nsys->sink->error = -ENOMEM;
    bool found = sqlite3_prepare_v2(nsys->database, query, -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

static bool has_column(struct nsys *nsys, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(nsys->database, NULL, table, column, NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

/* "@column": the text of that number. */
static void put_column(struct nsys *nsys, struct text *query, const char *table, const char *column)
{
    bool is_text = column[0] == '@';
    column += is_text;
    if (!has_column(nsys, table, column) || (is_text && !nsys->has_texts))
        text_format(query, "NULL");
    else if (is_text)
        text_format(query, "(SELECT value FROM " NSYS_STRINGS " WHERE id = t.%s)", column);
    else
        text_format(query, "t.\"%s\"", column);
}

/* The call that launched what a table has, by the number that both have in a process. */
static void put_launch(struct nsys *nsys, struct text *query, const char *table, bool selects)
{
    bool joins = nsys->has_calls && has_column(nsys, table, "correlationId") &&
                 has_column(nsys, table, "globalPid");
    if (selects)
        text_format(query, "%s", joins ? ", r.start, r.globalTid" : ", NULL, NULL");
    else if (joins)
        text_format(query, " LEFT JOIN " NSYS_CALLS " r ON r.correlationId = "
                           "t.correlationId AND r.globalTid >> 24 = t.globalPid >> 24");
}

static void note_fault(struct nsys *nsys)
{
    struct import_result *result = nsys->sink->result;
    if (!result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "%s", sqlite3_errmsg(nsys->database));
}

static int run(struct nsys *nsys, const struct nsys_table *table, const char *query)
{
    sqlite3_stmt *row;
    int status = sqlite3_prepare_v2(nsys->database, query, -1, &row, NULL);
    int error = 0;
    if (status != SQLITE_OK) {
        note_fault(nsys);
        return status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
    }
    while (error == 0 && (status = sqlite3_step(row)) == SQLITE_ROW) {
        error = table->take(nsys, table, row);
        error = error ? error : nsys->sink->error;
    }
    if (error == 0 && status != SQLITE_DONE) {
        note_fault(nsys);
        error = status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
    }
    sqlite3_finalize(row);
    return error;
}

static int read_table(struct nsys *nsys, const struct nsys_table *table)
{
    char bytes[QUERY_SIZE];
    struct text query = text_init(bytes, sizeof(bytes));
    if (!nsys_has_table(nsys, table->name))
        return 0;
    nsys->any = true;
    text_format(&query, "SELECT ");
    for (unsigned i = 0; i < NSYS_COLUMNS && table->columns[i]; i++) {
        text_format(&query, "%s", i ? ", " : "");
        put_column(nsys, &query, table->name, table->columns[i]);
    }
    if (table->is_work)
        put_launch(nsys, &query, table->name, true);
    text_format(&query, " FROM \"%s\" t", table->name);
    if (table->is_work)
        put_launch(nsys, &query, table->name, false);
    return run(nsys, table, bytes);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Nothing in the file is run, and nothing is written. */
static int make_safe(struct nsys *nsys)
{
    char pragma[64];
    sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(nsys->database, SQLITE_LIMIT_LENGTH, 16 << 20);
    snprintf(pragma, sizeof(pragma), "PRAGMA cache_size = -%d", CACHE_KIB);
    return sqlite3_exec(nsys->database, pragma, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EBADMSG;
}

/* One that is compressed, or comes by a pipe, has to fit in memory. */
static int open_memory(struct nsys *nsys, struct import_input *input)
{
    const char *bytes;
    int64_t size = import_input_peek(input, INPUT_PIECE_MAX, &bytes);
    if (size < 0)
        return (int)size;
    if (size >= INPUT_PIECE_MAX) {
        snprintf(nsys->sink->result->problem, sizeof(nsys->sink->result->problem),
                 "a database of 64 MiB and more is read where it lies: unpack it first");
        return -EBADMSG;
    }
    unsigned char *copy = sqlite3_malloc64((uint64_t)size + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, (size_t)size);
    import_input_take(input, (size_t)size);
    int status = sqlite3_open_v2(":memory:", &nsys->database, SQLITE_OPEN_READWRITE, NULL);
    if (status != SQLITE_OK) {
        sqlite3_free(copy);
        return -ENOMEM;
    }
    status = sqlite3_deserialize(nsys->database, "main", copy, size, size,
                                 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    return status == SQLITE_OK ? 0 : -EBADMSG;
}

static int open_database(struct nsys *nsys, struct import_input *input)
{
    char uri[64];
    int file = import_input_file(input);
    if (file < 0)
        return open_memory(nsys, input);
    snprintf(uri, sizeof(uri), "file:/proc/self/fd/%d?mode=ro&immutable=1", file);
    int status =
        sqlite3_open_v2(uri, &nsys->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    return status == SQLITE_OK ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

static int read_all(struct nsys *nsys)
{
    nsys->has_texts = nsys_has_table(nsys, NSYS_STRINGS);
    nsys->has_calls = nsys_has_table(nsys, NSYS_CALLS) &&
                      has_column(nsys, NSYS_CALLS, "correlationId") &&
                      has_column(nsys, NSYS_CALLS, "globalTid");
    int error = 0;
    for (unsigned i = 0; nsys_tables[i].name && error == 0; i++)
        error = read_table(nsys, &nsys_tables[i]);
    if (error == 0)
        error = nsys_read_samples(nsys);
    if (error == 0)
        error = nsys_read_waits(nsys);
    for (unsigned i = 0; nsys_names[i].name && error == 0; i++)
        error = read_table(nsys, &nsys_names[i]);
    nsys_tell_guess(nsys);
    if (error == 0 && !nsys->any) {
        snprintf(nsys->sink->result->problem, sizeof(nsys->sink->result->problem),
                 "the database has no tables of Nsight Systems");
        error = -EBADMSG;
    }
    return error ? error : nsys_tell_left(nsys);
}

static bool sniff(const char *bytes, size_t size)
{
    static const char magic[] = "SQLite format 3"; /* with its NUL */
    return size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

static int read_nsys(struct import_input *input, struct import_sink *sink)
{
    struct nsys nsys = {.sink = sink};
    int error = open_database(&nsys, input);
    if (error == 0)
        error = make_safe(&nsys);
    if (error == 0)
        error = read_all(&nsys);
    else if (error == -EBADMSG && !sink->result->problem[0])
        snprintf(sink->result->problem, sizeof(sink->result->problem), "%s",
                 nsys.database ? sqlite3_errmsg(nsys.database) : "no database");
    nsys_fini(&nsys);
    sqlite3_close(nsys.database);
    return error;
}

const struct importer import_nsys = {
    .format = {.name = "nsys",
               .summary =
                   "Nsight Systems' SQLite: NVTX, calls of CUDA and the system, work of GPUs",
               .from = "nsys export --type sqlite"},
    .sniff = sniff,
    .read = read_nsys,
};
