/* SPDX-License-Identifier: MIT */
/* Imports reports of Nsight Systems exported by `nsys export --type sqlite`: NVTX ranges and marks,
 * calls of CUDA and of the operating system, work and memory of GPUs, samples and waits.
 *
 * Tables and columns vary with versions: a missing table counts as empty, a missing column as NULL.
 * Views and virtual tables are not read, as they could run arbitrary queries. */
#include "from_nsys.h"

#include "import.h"
#include "import_formats.h"
#include "input.h"
#include "nsys_shape.h"
#include "number.h"
#include "sink.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool nsys_has_table(struct nsys *nsys, const char *table);

/* ---- Samples, and waits of annot export ------------------------------------------------------ */

/* The default of Nsight Systems is 1,000 a second. */
#define SAMPLE_NS INT64_C(1000000)

enum { SAMPLE_QUERY_SIZE = 2048, REASON_SIZE = 64 };

/* Columns of the queries, followed by those of a frame. */
enum { AT_NUMBER, AT_START, AT_TID, AT_CPU, AT_VALUE, AT_NAME, AT_SYMBOL };

/* A kind of event with callchains: a row for each frame, outermost first. */
struct nsys_chained {
    const char *table, *number, *value, *name; /* columns */
    const char *chains, *chain;                /* table, and the column that refers to it */
    bool (*begin)(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample);
};

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

static uint32_t string_at(struct nsys *nsys, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    int size = sqlite3_column_bytes(row, column);
    return text && size > 0 ? import_string(nsys->sink, text, (size_t)size) : 0;
}

/* Pushes the row's frame onto the sample's stack. */
static void take_frame(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *module = (const char *)sqlite3_column_text(row, AT_SYMBOL + 1);
    struct import_frame frame = {.function = string_at(nsys, row, AT_SYMBOL), .kind = FRAME_NATIVE};
    uint32_t file = string_at(nsys, row, AT_SYMBOL + 1);
    if (!frame.function)
        return;
    if (sqlite3_column_int(row, AT_SYMBOL + 3))
        frame.kind = FRAME_NOTE;
    else if (sqlite3_column_int(row, AT_SYMBOL + 2))
        frame.kind = FRAME_KERNEL;
    else if (module && ends_with(module, ".py"))
        frame.kind = FRAME_PYTHON;
    if (frame.kind == FRAME_PYTHON)
        frame.file = file;
    else
        frame.module = file;
    uint32_t ordinal = import_frame(nsys->sink, &frame);
    sample->stack = import_stack(nsys->sink, sample->stack, ordinal);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool begin_sample(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    int64_t unit_ns = import_unit_ns(nsys->sink, SAMPLE_NS);
    nsys->values[0] = nsys->is_ours ? sqlite3_column_int64(row, AT_VALUE) : unit_ns;
    sample->set = SAMPLE_SET_CPU;
    sample->cpu = (uint16_t)sqlite3_column_int(row, AT_CPU);
    sample->value_count = 1;
    nsys->guessed = nsys->guessed || !nsys->is_ours;
    return nsys->values[0] >= 0;
}

static bool begin_wait(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *name = (const char *)sqlite3_column_text(row, AT_NAME);
    char text[REASON_SIZE];
    unsigned reason = 0;
    if (!nsys->is_ours || !name || name[0] != '[')
        return false;
    bool runnable = strcmp(name, NSYS_RUNNABLE) == 0; /* without a wait before it */
    if (runnable)
        reason = WAIT_PREEMPTED;
    for (; !runnable && reason < WAIT_REASON_COUNT; reason++) {
        snprintf(text, sizeof(text), "[%s]", wait_reason_name((enum wait_reason)reason));
        if (strcmp(text, name) == 0)
            break;
    }
    sample->set = SAMPLE_SET_OFF_CPU;
    sample->end_ns = sqlite3_column_int64(row, AT_VALUE);
    sample->reason = reason < WAIT_REASON_COUNT ? (uint8_t)reason : WAIT_UNKNOWN;
    sample->value_count = 2;
    nsys->values[runnable] = sample->end_ns - sample->time_ns;
    nsys->values[!runnable] = 0;
    return nsys->values[runnable] >= 0;
}

/* Merges a following "[runnable]" row of the thread into the wait: one stretch. */
static bool extends_wait(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *name = (const char *)sqlite3_column_text(row, AT_NAME);
    int64_t end_ns = sqlite3_column_int64(row, AT_VALUE);
    if (!name || strcmp(name, NSYS_RUNNABLE) != 0 || sample->set != SAMPLE_SET_OFF_CPU ||
        sqlite3_column_int64(row, AT_START) != sample->end_ns || nsys->values[1] > 0 ||
        end_ns < sample->end_ns || end_ns > IMPORT_TIME_MAX ||
        nsys_thread_of(nsys, sqlite3_column_int64(row, AT_TID)) != sample->thread)
        return false;
    nsys->values[1] = end_ns - sample->end_ns;
    sample->end_ns = end_ns;
    return true;
}

static bool begin(struct nsys *nsys, const struct nsys_chained *chained, sqlite3_stmt *row,
                  struct sample *sample)
{
    int64_t time_ns = sqlite3_column_int64(row, AT_START);
    bool good = time_ns >= -IMPORT_TIME_MAX && time_ns <= IMPORT_TIME_MAX;
    *sample = (struct sample){.time_ns = time_ns, .values = nsys->values};
    if (good && chained->begin(nsys, row, sample)) {
        sample->thread = nsys_thread_of(nsys, sqlite3_column_int64(row, AT_TID));
        return true;
    }
    nsys->sink->left[LEFT_MALFORMED] += !good;
    return false;
}

static int read_rows(struct nsys *nsys, const struct nsys_chained *chained, sqlite3_stmt *row)
{
    struct sample sample;
    int64_t number = 0;
    int status, error = 0;
    bool wanted = false, any = false, extends = false;
    while (!error && (status = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t next = sqlite3_column_int64(row, AT_NUMBER);
        if (!any || next != number)
            extends = wanted && extends_wait(nsys, row, &sample);
        if ((!any || next != number) && !extends) {
            error = wanted ? import_sample(nsys->sink, &sample) : 0;
            wanted = begin(nsys, chained, row, &sample);
        }
        any = true;
        number = next;
        if (wanted && !extends)
            take_frame(nsys, row, &sample);
        error = error ? error : nsys->sink->error;
    }
    if (!error && wanted)
        error = import_sample(nsys->sink, &sample);
    return error ? error : status == SQLITE_DONE ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct nsys_chained chained_tables[] = {
    {.table = NSYS_SAMPLES,
     .number = "e.id",
     .value = "e.cpuCycles",
     .name = "NULL",
     .chains = NSYS_CHAINS,
     .chain = "e.id",
     .begin = begin_sample},
    {.table = NSYS_OSRT,
     .number = "e.rowid",
     .value = "e.end",
     .name = "(SELECT value FROM " NSYS_STRINGS " WHERE id = e.nameId)",
     .chains = NSYS_OSRT_CHAINS,
     .chain = "e.callchainId",
     .begin = begin_wait},
};

static void make_query(struct nsys *nsys, const struct nsys_chained *chained, struct text *query)
{
    bool chains = nsys_has_table(nsys, chained->chains) && nsys->has_texts;
    text_format(query, "SELECT %s, e.start, e.globalTid, %s, %s, %s, ", chained->number,
                chained->begin == begin_sample ? "e.cpu" : "NULL", chained->value, chained->name);
    if (chains)
        text_format(query,
                    "(SELECT value FROM " NSYS_STRINGS " WHERE id = c.symbol), "
                    "(SELECT value FROM " NSYS_STRINGS " WHERE id = c.module), "
                    "c.kernelMode, c.specialEntry FROM %s e LEFT JOIN %s c ON c.id = %s "
                    "ORDER BY 1, c.stackDepth DESC",
                    chained->table, chained->chains, chained->chain);
    else
        text_format(query, "NULL, NULL, NULL, NULL FROM %s e ORDER BY 1", chained->table);
}

/* 0 or -errno. */
static int nsys_read_samples(struct nsys *nsys)
{
    int error = 0;
    for (size_t i = 0; i < sizeof(chained_tables) / sizeof(*chained_tables) && !error; i++) {
        const struct nsys_chained *chained = &chained_tables[i];
        char bytes[SAMPLE_QUERY_SIZE];
        struct text query = text_init(bytes, sizeof(bytes));
        sqlite3_stmt *row = NULL;
        if (!nsys_has_table(nsys, chained->table) ||
            (chained->begin == begin_wait && !nsys->is_ours))
            continue;
        nsys->any = true;
        make_query(nsys, chained, &query);
        /* Versions without one of these columns have no readable rows. */
        if (sqlite3_prepare_v2(nsys->database, bytes, -1, &row, NULL) == SQLITE_OK)
            error = read_rows(nsys, chained, row);
        sqlite3_finalize(row);
    }
    return error;
}

/* Notes the assumed meaning of samples and waits. */
static void nsys_emit_guess(struct nsys *nsys)
{
    char text[160], unit[NUMBER_TEXT_SIZE];
    int64_t unit_ns = import_unit_ns(nsys->sink, SAMPLE_NS);
    snprintf(text, sizeof(text), "samples stand for %s of CPU time each (--unit)",
             number_time_short((uint64_t)unit_ns, unit));
    if (nsys->guessed)
        import_note(nsys->sink, text);
    if (nsys->waits)
        import_note(nsys->sink, "waits have no stacks, and last until the thread ran again");
    snprintf(text, sizeof(text), "left out: waits without an end: %s",
             number_count(nsys->endless, unit));
    if (nsys->endless)
        import_note(nsys->sink, text);
}

/* ---- Waits from scheduler events ------------------------------------------------------------- */

/* Waits of annot export are OSRT_API rows with reasons, read above. */

enum { AT_THREAD, AT_TIME, AT_IN, AT_STATE };

/* A thread that left a CPU. */
struct leaving {
    int64_t global, time_ns, state;
    bool is_open;
};

static int add_wait(struct nsys *nsys, const struct leaving *leaving, int64_t end_ns)
{
    bool runnable = leaving->state == NSYS_STATE_RUNNING;
    struct sample sample = {.time_ns = leaving->time_ns,
                            .end_ns = end_ns,
                            .reason = runnable ? WAIT_PREEMPTED : WAIT_UNKNOWN};
    sample.thread = nsys_thread_of(nsys, leaving->global);
    sample_set_wait(&sample, 0, nsys->values);
    nsys->waits = true;
    return nsys->sink->error ? nsys->sink->error : import_sample(nsys->sink, &sample);
}

static int take_row(struct nsys *nsys, sqlite3_stmt *row, struct leaving *leaving)
{
    int64_t global = sqlite3_column_int64(row, AT_THREAD),
            time_ns = sqlite3_column_int64(row, AT_TIME);
    bool comes_back = sqlite3_column_int(row, AT_IN) != 0;
    struct leaving before = *leaving;
    if (nsys_is_null(row, AT_THREAD) || time_ns < -IMPORT_TIME_MAX || time_ns > IMPORT_TIME_MAX) {
        nsys->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    bool goes_on = before.is_open && before.global == global;
    nsys->endless += before.is_open && (!goes_on || !comes_back);
    *leaving = (struct leaving){global, time_ns, sqlite3_column_int64(row, AT_STATE), !comes_back};
    return goes_on && comes_back ? add_wait(nsys, &before, time_ns) : 0;
}

static int read_switches(struct nsys *nsys, sqlite3_stmt *row)
{
    struct leaving leaving = {0};
    int status, error = 0;
    while (!error && (status = sqlite3_step(row)) == SQLITE_ROW)
        error = take_row(nsys, row, &leaving);
    nsys->endless += leaving.is_open;
    return error ? error : status == SQLITE_DONE ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

/* Reads waits, from where a thread left a CPU to its return. 0 or -errno. */
static int nsys_read_waits(struct nsys *nsys)
{
    static const char *const queries[] = {
        "SELECT globalTid, start, isSchedIn, threadState FROM " NSYS_SCHED
        " ORDER BY globalTid, start, isSchedIn",
        "SELECT globalTid, start, isSchedIn, NULL FROM " NSYS_SCHED
        " ORDER BY globalTid, start, isSchedIn"};
    sqlite3_stmt *row = NULL;
    int error = 0;
    if (!nsys_has_table(nsys, NSYS_SCHED) || nsys->is_ours)
        return 0;
    nsys->any = true;
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries) && !row; i++)
        if (sqlite3_prepare_v2(nsys->database, queries[i], -1, &row, NULL) != SQLITE_OK)
            row = NULL;
    if (row)
        error = read_switches(nsys, row);
    sqlite3_finalize(row);
    return error;
}

/* ---- Unread tables --------------------------------------------------------------------------- */

/* Unknown tables are listed with their numbers of rows. */

enum { TABLES_MAX = 4096, TABLES_NAMED_MAX = 20 };

struct left_table {
    char name[64]; /* may be truncated */
    int64_t rows;
};

struct left_tables {
    VEC(struct left_table) items;
};

/* True for tables without events: enums, machine, session. */
static bool is_fact(const char *name)
{
    static const char *const begins[] = {"ENUM_",     "TARGET_INFO_", "META_DATA_",
                                         "ANALYSIS_", "EXPORT_",      "sqlite_"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool is_known_table(const struct nsys *nsys, const char *name)
{
    for (size_t i = 0; i < nsys->known.count; i++)
        if (strcmp(nsys->known.items[i], name) == 0)
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
        if (!name || is_fact(name) || is_known_table(nsys, name) ||
            (table.rows = count_rows(nsys, name)) == 0)
            continue;
        snprintf(table.name, sizeof(table.name), "%s", name);
        error = vec_push(&tables->items, table);
    }
    sqlite3_finalize(row);
    return error;
}

/* Notes unknown tables that have rows. 0 or -ENOMEM. */
static int nsys_emit_left(struct nsys *nsys)
{
    struct left_tables tables = {0};
    char text[160], rows[NUMBER_TEXT_SIZE];
    int error = list(nsys, &tables);
    for (size_t i = 0; i < tables.items.count && i < TABLES_NAMED_MAX && !error; i++) {
        const struct left_table *table = &tables.items.items[i];
        snprintf(text, sizeof(text), "left out: rows of table %s: %s", table->name,
                 number_count((uint64_t)table->rows, rows));
        import_note(nsys->sink, text);
    }
    if (tables.items.count > TABLES_NAMED_MAX && !error) {
        snprintf(text, sizeof(text), "left out: %zu tables more",
                 tables.items.count - TABLES_NAMED_MAX);
        import_note(nsys->sink, text);
    }
    vec_free(&tables.items);
    return error;
}

enum { QUERY_SIZE = 4096, CACHE_KIB = 16 << 10 };

/* ---- Queries --------------------------------------------------------------------------------- */

/* Stores the pointer `table` in the list of known tables. */
static bool nsys_has_table(struct nsys *nsys, const char *table)
{
    static const char query[] =
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?";
    sqlite3_stmt *statement = NULL;
    if (vec_push(&nsys->known, table) != 0)
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

/* "@column" stands for the text of that StringIds number. */
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

/* Joins work with the call that launched it, by correlationId and process. */
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

/* Keeps the file's SQL from running and the file from being changed; limits memory. */
static int make_safe(struct nsys *nsys)
{
    char pragma[64];
    sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(nsys->database, SQLITE_LIMIT_LENGTH, 16 << 20);
    snprintf(pragma, sizeof(pragma), "PRAGMA cache_size = -%d", CACHE_KIB);
    return sqlite3_exec(nsys->database, pragma, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EBADMSG;
}

/* A compressed or piped database must fit in memory. */
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
    nsys_emit_guess(nsys);
    if (error == 0 && !nsys->any) {
        snprintf(nsys->sink->result->problem, sizeof(nsys->sink->result->problem),
                 "the database has no tables of Nsight Systems");
        error = -EBADMSG;
    }
    return error ? error : nsys_emit_left(nsys);
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
