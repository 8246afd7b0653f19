/* SPDX-License-Identifier: MIT */
/* Tables of a database of Nsight Systems that nothing is read from: they are named, with their
 * rows.
 */
#include "from_nsys_parts.h"

#include "number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TABLES_MAX = 4096, TOLD_MAX = 20 };

struct left_table {
    char name[64]; /* cut */
    int64_t rows;
};

struct left_tables {
    VEC(struct left_table) items;
};

/* Numbers by names, the machine, the session: no events. */
static bool is_fact(const char *name)
{
    static const char *const begins[] = {"ENUM_",     "TARGET_INFO_", "META_DATA_",
                                         "ANALYSIS_", "EXPORT_",      "sqlite_"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool was_asked(const struct nsys *nsys, const char *name)
{
    for (size_t i = 0; i < nsys->asked.count; i++)
        if (strcmp(nsys->asked.items[i], name) == 0)
            return true;
    return false;
}

static int64_t count_rows(struct nsys *nsys, const char *name)
{
    char *query = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", name);
    sqlite3_stmt *row = NULL;
    int64_t count = 0;
    if (query && sqlite3_prepare_v2(nsys->database, query, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        count = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_free(query);
    return count;
}

static int list(struct nsys *nsys, struct left_tables *tables)
{
    static const char query[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                "rootpage > 0 ORDER BY name LIMIT ?";
    sqlite3_stmt *row = NULL;
    int error = 0;
    if (sqlite3_prepare_v2(nsys->database, query, -1, &row, NULL) != SQLITE_OK ||
        sqlite3_bind_int(row, 1, TABLES_MAX) != SQLITE_OK)
        error = -ENOMEM;
    while (!error && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        struct left_table table = {0};
        if (!name || is_fact(name) || was_asked(nsys, name) ||
            (table.rows = count_rows(nsys, name)) == 0)
            continue;
        snprintf(table.name, sizeof(table.name), "%s", name);
        error = vec_push(&tables->items, table);
    }
    sqlite3_finalize(row);
    return error;
}

int nsys_tell_left(struct nsys *nsys)
{
    struct left_tables tables = {0};
    char text[160], rows[NUMBER_TEXT_SIZE];
    int error = list(nsys, &tables);
    for (size_t i = 0; i < tables.items.count && i < TOLD_MAX && !error; i++) {
        const struct left_table *table = &tables.items.items[i];
        snprintf(text, sizeof(text), "left out: rows of table %s: %s", table->name,
                 number_count((uint64_t)table->rows, rows));
        import_note(nsys->sink, text);
    }
    if (tables.items.count > TOLD_MAX && !error) {
        snprintf(text, sizeof(text), "left out: %zu tables more", tables.items.count - TOLD_MAX);
        import_note(nsys->sink, text);
    }
    vec_free(&tables.items);
    return error;
}
