/* SPDX-License-Identifier: MIT */
/* Tables as modules of SQLite: cursors over the rows, and the conditions of a query that are passed
 * on to the scans. */
#include "query_tables.h"

#include "query_report.h"
#include "query_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct query_table query_recording, query_processes, query_threads, query_lanes,
    query_devices, query_ranges, query_marks, query_counters, query_flows, query_losses,
    query_samples, query_waits, query_stack_frames, query_stacks, query_frames, query_facts;

const struct query_table *const query_tables[] = {&query_recording,
                                                  &query_processes,
                                                  &query_threads,
                                                  &query_lanes,
                                                  &query_devices,
                                                  &query_ranges,
                                                  &query_marks,
                                                  &query_counters,
                                                  &query_flows,
                                                  &query_losses,
                                                  &query_samples,
                                                  &query_waits,
                                                  &query_stacks,
                                                  &query_stack_frames,
                                                  &query_frames,
                                                  &query_facts,
                                                  NULL};

/* A connected table. */
struct query_vtab {
    sqlite3_vtab base; /* first */
    struct query *query;
    struct query_table table; /* for the report: with its columns known */
};

/* The context of a module. */
struct module_of {
    struct query *query;
    struct query_table table;
};

/* ---- Tables ---------------------------------------------------------------------------------- */

static int declare(sqlite3 *db, const struct query_table *table)
{
    struct out_stream *out = out_stream_memory();
    size_t size = 0;
    int status = SQLITE_NOMEM;
    if (!out)
        return status;
    out_text(out, "CREATE TABLE x(");
    for (const struct schema_column *column = table->columns; column->name; column++) {
        out_text(out, column == table->columns ? "\"" : ", \"");
        out_text(out, column->name);
        out_text(out, "\" ");
        out_text(out, column->type);
    }
    out_write(out, ")", sizeof(")"));
    const char *text = (const char *)out_stream_memory_bytes(out, &size);
    if (out_error(out) == 0)
        status = sqlite3_declare_vtab(db, text);
    out_stream_abandon(out);
    return status;
}

static int connect_table(sqlite3 *db, void *context, int count, const char *const *words,
                         sqlite3_vtab **ret_vtab, char **ret_error)
{
    const struct module_of *module = context;
    struct query_vtab *vtab = calloc(1, sizeof(*vtab));
    (void)count;
    (void)words;
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->query = module->query;
    vtab->table = module->table;
    int error = vtab->table.columns
                    ? 0
                    : query_report_columns(vtab->query, vtab->table.name, &vtab->table.columns);
    vtab->query->declares = true;
    int status = error ? SQLITE_ERROR : declare(db, &vtab->table);
    vtab->query->declares = false;
    if (status != SQLITE_OK)
        *ret_error = sqlite3_mprintf("cannot make the table report_%s: %s", vtab->table.name,
                                     error ? strerror(-error) : sqlite3_errmsg(db));
    if (status == SQLITE_OK)
        *ret_vtab = &vtab->base;
    else
        free(vtab);
    return status;
}

static int disconnect(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static unsigned bit_of_time(uint8_t bound, unsigned char is)
{
    bool least = is == SQLITE_INDEX_CONSTRAINT_GE || is == SQLITE_INDEX_CONSTRAINT_GT;
    bool most = is == SQLITE_INDEX_CONSTRAINT_LE || is == SQLITE_INDEX_CONSTRAINT_LT;
    if (bound == BOUND_BEGIN)
        return least ? BIT_FROM : most ? BIT_UNTIL : 0;
    return most ? BIT_ENDED : 0;
}

/* Returns the enum bound_bit of a condition, or 0. */
static unsigned bit_of(const struct query_table *table, sqlite3_index_info *info, int index)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[index];
    if (!constraint->usable || constraint->iColumn < 0)
        return 0;
    uint8_t bound = table->columns[constraint->iColumn].bound;
    if (bound == BOUND_BEGIN || bound == BOUND_END)
        return bit_of_time(bound, constraint->op);
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
        return 0;
#if SQLITE_VERSION_NUMBER >= 3038000
    if (bound != BOUND_ID && sqlite3_vtab_in(info, index, -1))
        return 0; /* one scan for a whole IN list */
#endif
    bool exact = strcmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
    return bound == BOUND_ID        ? BIT_ID
           : bound == BOUND_THREAD  ? BIT_THREAD
           : bound == BOUND_PROCESS ? BIT_PROCESS
           : bound == BOUND_NAME    ? (exact ? BIT_NAME : 0)
                                    : 0;
}

/* True if the rows can be sorted for GROUP BY, ORDER BY or DISTINCT. */
static bool takes_order(const struct query_vtab *vtab, const sqlite3_index_info *info)
{
    const struct query_table *table = &vtab->table;
    uint64_t columns = 0;
    for (int i = 0; i < info->nOrderBy; i++) {
        if (info->aOrderBy[i].iColumn < 0 || info->aOrderBy[i].iColumn >= 63)
            return false;
        columns |= UINT64_C(1) << info->aOrderBy[i].iColumn;
    }
    return info->nOrderBy > 0 && info->nOrderBy <= ORDER_MAX && table->rows->can_sort &&
           table->rows->can_sort(table->kind, columns, info->colUsed);
}

/* Encodes for read_columns the requested columns and the terms of the order, each as twice its
 * column, plus 1 if descending. */
static char *describe_columns(const sqlite3_index_info *info, bool ordered)
{
    char *text = sqlite3_mprintf("%llx", (unsigned long long)info->colUsed);
    for (int i = 0; text && ordered && i < info->nOrderBy; i++)
        text = sqlite3_mprintf("%z %d", text,
                               2 * info->aOrderBy[i].iColumn + (info->aOrderBy[i].desc != 0));
    return text;
}

static void read_columns(struct query_bounds *bounds, const char *text)
{
    char *end;
    bounds->columns = strtoull(text, &end, 16);
    while (*end && bounds->order_count < ORDER_MAX) {
        unsigned long term = strtoul(end, &end, 10);
        bounds->order[bounds->order_count++] =
            (struct query_order){.column = (uint8_t)(term / 2), .down = term % 2};
    }
}

/* Estimates the cost of a scan, as part of one of all rows: a pass that begins late reads less, and
 * one that filters names and threads makes fewer rows. */
static void set_costs(const struct query_vtab *vtab, unsigned bits, sqlite3_index_info *info)
{
    const struct query_table *table = &vtab->table;
    double rows = table->rows->count(vtab->query, table->kind), cost = 100 + rows;
    bool both = (bits & BIT_FROM) && (bits & (BIT_UNTIL | BIT_ENDED));
    if (bits & BIT_ID) {
        rows = table->id_is_row ? 1 : 20;
        cost = rows;
        info->idxFlags = table->id_is_row ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    } else if (both) {
        cost = 1000 + cost / 50;
        rows = 1 + rows / 100;
    } else if (bits & (BIT_FROM | BIT_UNTIL | BIT_ENDED)) {
        cost = 1000 + cost / 2;
        rows = 1 + rows / 2;
    }
    if (bits & (BIT_NAME | BIT_THREAD | BIT_PROCESS)) {
        cost = 1000 + cost / 2;
        rows = 1 + rows / 10;
    }
    info->estimatedCost = cost;
    info->estimatedRows = (sqlite3_int64)rows;
}

/* Chooses the conditions to pass on: idxNum has their bits, their values follow in the order of
 * these; idxStr has the requested columns. They are hints, so SQLite checks again. */
static int choose(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct query_vtab *vtab = (const struct query_vtab *)base;
    int chosen[BIT_COUNT];
    unsigned bits = 0;
    bool plain = vtab->query->plain && !vtab->table.rows->number;
    for (int i = 0; i < info->nConstraint && !plain; i++) {
        unsigned bit = bit_of(&vtab->table, info, i);
        if (bit && !(bits & bit)) {
            bits |= bit;
            chosen[__builtin_ctz(bit)] = i;
        }
    }
    int count = 0;
    for (unsigned i = 0; i < BIT_COUNT; i++)
        if (bits & (1u << i))
            info->aConstraintUsage[chosen[i]].argvIndex = ++count;
    info->idxNum = (int)bits;
    info->orderByConsumed = !vtab->query->plain && takes_order(vtab, info);
    info->idxStr = describe_columns(info, info->orderByConsumed);
    info->needToFreeIdxStr = 1;
    set_costs(vtab, bits, info);
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- Values of conditions -------------------------------------------------------------------- */

static int64_t whole(double value, bool up)
{
    double rounded = up ? ceil(value) : floor(value);
    return rounded >= 9.2e18 ? INT64_MAX : rounded <= -9.2e18 ? INT64_MIN : (int64_t)rounded;
}

/* Converts a number to a time; false: not a number. */
static bool take_time(sqlite3_value *value, bool up, int64_t *ret_ns)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER)
        *ret_ns = sqlite3_value_int64(value);
    else if (type == SQLITE_FLOAT)
        *ret_ns = whole(sqlite3_value_double(value), up);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static bool take_number(sqlite3_value *value, int64_t *ret_number)
{
    *ret_number = sqlite3_value_int64(value);
    return sqlite3_value_type(value) == SQLITE_INTEGER;
}

static bool take_value(struct query_bounds *bounds, unsigned bit, sqlite3_value *value)
{
    switch (bit) {
    case BIT_ID:
        return take_number(value, &bounds->id);
    case BIT_THREAD:
        return take_number(value, &bounds->thread);
    case BIT_PROCESS:
        return take_number(value, &bounds->process);
    case BIT_FROM:
        return take_time(value, false, &bounds->from_ns);
    case BIT_UNTIL:
        return take_time(value, true, &bounds->until_ns);
    case BIT_ENDED:
        return take_time(value, true, &bounds->ended_ns);
    default:
        bounds->name = (const char *)sqlite3_value_text(value);
        return sqlite3_value_type(value) == SQLITE_TEXT && bounds->name;
    }
}

static struct query_bounds read_bounds(int bits, const char *columns, sqlite3_value **values)
{
    struct query_bounds bounds = {0};
    read_columns(&bounds, columns);
    for (unsigned i = 0; i < BIT_COUNT; i++) {
        unsigned bit = 1u << i;
        if (!((unsigned)bits & bit))
            continue;
        bounds.nothing |= sqlite3_value_type(*values) == SQLITE_NULL;
        if (take_value(&bounds, bit, *values++))
            bounds.given |= bit;
    }
    return bounds;
}

/* ---- Cursors --------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct query_vtab *vtab = (struct query_vtab *)base;
    struct query_cursor *cursor = calloc(1, sizeof(*cursor));
    void *state = calloc(1, vtab->table.rows->state_size);
    if (!cursor || !state) {
        free(cursor);
        free(state);
        return SQLITE_NOMEM;
    }
    cursor->query = vtab->query;
    cursor->table = &vtab->table;
    cursor->state = state;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct query_cursor *cursor = (struct query_cursor *)base;
    if (cursor->table->rows->close)
        cursor->table->rows->close(cursor);
    free(cursor->state);
    free(cursor);
    return SQLITE_OK;
}

/* Stores -errno of reading for the user; returns the SQLite status. */
static int fail(struct query_cursor *cursor, int error)
{
    cursor->query->read_error = error;
    return error == -EINTR ? SQLITE_INTERRUPT : error == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct query_cursor *cursor = (struct query_cursor *)base;
    int status = cursor->table->rows->next(cursor);
    cursor->ended = status <= 0;
    cursor->scanned++;
    return status < 0 ? fail(cursor, status) : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int bits, const char *columns, int count,
                  sqlite3_value **values)
{
    struct query_cursor *cursor = (struct query_cursor *)base;
    const struct query_bounds bounds = read_bounds(bits, columns, values);
    (void)count;
    cursor->scanned = 0;
    cursor->ended = bounds.nothing;
    if (bounds.nothing)
        return SQLITE_OK;
    int error = cursor->table->rows->filter(cursor, &bounds);
    return error ? fail(cursor, error) : next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((const struct query_cursor *)base)->ended;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct query_cursor *cursor = (const struct query_cursor *)base;
    cursor->table->rows->put(cursor, (unsigned)column, context);
    return SQLITE_OK;
}

static int put_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_number)
{
    const struct query_cursor *cursor = (const struct query_cursor *)base;
    const struct query_rows *rows = cursor->table->rows;
    *ret_number = rows->number ? rows->number(cursor) : (sqlite3_int64)cursor->scanned;
    return SQLITE_OK;
}

/* Without xCreate a module has a single table, of its own name. */
static const sqlite3_module table_module = {
    .xConnect = connect_table,
    .xBestIndex = choose,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = put_column,
    .xRowid = put_number,
};

static int add_module(struct query *query, const char *name, const struct query_table *table)
{
    struct module_of *module = malloc(sizeof(*module));
    if (!module)
        return SQLITE_NOMEM;
    module->query = query;
    module->table = *table;
    return sqlite3_create_module_v2(query->db, name, &table_module, module, free);
}

/* Tables of the report without a similar table: they also have their short names. */
static bool has_short_name(const char *name)
{
    return strcmp(name, "calls") == 0 || strcmp(name, "call_edges") == 0 ||
           strcmp(name, "calls_by_context") == 0 || strcmp(name, "coroutines") == 0;
}

int query_register_tables(struct query *query)
{
    char name[64];
    int status = SQLITE_OK;
    for (const struct query_table *const *at = query_tables; *at && status == SQLITE_OK; at++)
        status = add_module(query, (*at)->name, *at);
    for (const char *const *at = query_report_names; *at && status == SQLITE_OK; at++) {
        const struct query_table table = {.name = *at, .rows = &report_rows};
        snprintf(name, sizeof(name), "report_%s", *at);
        status = add_module(query, name, &table);
        if (status == SQLITE_OK && has_short_name(*at))
            status = add_module(query, *at, &table);
    }
    return status;
}
