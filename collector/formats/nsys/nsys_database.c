/* SPDX-License-Identifier: MIT */
/* See nsys_database.h. There are no rollbacks, so there is no journal. Memory: the cache, 16
 * MiB. */
#include "nsys_database.h"

#include "file_io.h"
#include "nsys_shape.h"
#include "out_stream.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SQL_SIZE = 4096,
    COPY_SIZE = 64 << 10,
    FEW_ROWS = 64, /* below this, batch statements do not pay */
};

/* First id of texts that are not strings of the trace. */
#define MADE_TEXTS (INT64_C(1) << 32)

/* ---- Tables ---------------------------------------------------------------------------------- */

#define CHAIN_COLUMNS                                                                              \
    "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER, kernelMode INTEGER, "           \
    "thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, "            \
    "unwindMethod INTEGER, stackDepth INTEGER NOT NULL"
#define WORK_COLUMNS                                                                               \
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, "          \
    "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"

/* Columns are in the order in which rows are written. */
static const struct {
    const char *name, *columns, *last; /* last: SQL after the columns */
} tables[NSYS_TABLES] = {
    [NSYS_TABLE_STRINGS] = {NSYS_STRINGS, "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL"},
    [NSYS_TABLE_THREADS] = {NSYS_THREAD_NAMES,
                            "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER"},
    [NSYS_TABLE_PROCESSES] = {NSYS_PROCESSES, "globalPid INTEGER, pid INTEGER, name TEXT"},
    [NSYS_TABLE_ANALYSIS] = {"ANALYSIS_DETAILS",
                             "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, "
                             "startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL"},
    [NSYS_TABLE_START_TIME] = {NSYS_START_TIME, "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT"},
    [NSYS_TABLE_GPU] = {NSYS_GPU,
                        "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
                        "totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, "
                        "computeMajor INTEGER, computeMinor INTEGER, memoryBandwidth INTEGER, "
                        "clockRate INTEGER, chipName TEXT"},
    [NSYS_TABLE_CUDA_DEVICE] = {"TARGET_INFO_CUDA_DEVICE",
                                "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, "
                                "uuid TEXT, numMultiprocessors INTEGER"},
    [NSYS_TABLE_CUDA_CONTEXT] = {"TARGET_INFO_CUDA_CONTEXT_INFO",
                                 "nullStreamId INTEGER, hwId INTEGER NOT NULL, "
                                 "vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
                                 "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
                                 "parentContextId INTEGER, isGreenContext INTEGER"},
    [NSYS_TABLE_CUDA_STREAM] = {"TARGET_INFO_CUDA_STREAM",
                                "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, "
                                "vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
                                "contextId INTEGER NOT NULL, priority INTEGER, flag INTEGER"},
    [NSYS_TABLE_CAPTURE] = {"META_DATA_CAPTURE", "name TEXT NOT NULL, value TEXT"},
    [NSYS_TABLE_EXPORT] = {NSYS_EXPORT, "name TEXT NOT NULL, value TEXT"},
    [NSYS_TABLE_NVTX] = {NSYS_NVTX,
                         "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
                         "rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, "
                         "globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
                         "domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, "
                         "doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, "
                         "floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"},
    [NSYS_TABLE_CALLS] = {NSYS_CALLS,
                          "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                          "eventClass INTEGER NOT NULL, globalTid INTEGER, "
                          "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, "
                          "callchainId INTEGER"},
    [NSYS_TABLE_KERNELS] = {NSYS_KERNELS, WORK_COLUMNS
                            ", demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
                            "mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, "
                            "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, "
                            "gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
                            "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, "
                            "localMemoryPerThread INTEGER, localMemoryTotal INTEGER, "
                            "gridId INTEGER, sharedMemoryExecuted INTEGER, "
                            "graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER"},
    [NSYS_TABLE_COPIES] = {NSYS_COPIES,
                           WORK_COLUMNS ", bytes INTEGER, copyKind INTEGER, "
                                        "deprecatedSrcId INTEGER, srcKind INTEGER, "
                                        "dstKind INTEGER, srcDeviceId INTEGER, "
                                        "srcContextId INTEGER, dstDeviceId INTEGER, "
                                        "dstContextId INTEGER, migrationCause INTEGER, "
                                        "graphNodeId INTEGER, virtualAddress INTEGER"},
    [NSYS_TABLE_SETS] = {NSYS_SETS, WORK_COLUMNS ", value INTEGER, bytes INTEGER, "
                                                 "graphNodeId INTEGER, memKind INTEGER"},
    [NSYS_TABLE_WAITS] = {NSYS_WAITS, WORK_COLUMNS ", syncType INTEGER NOT NULL, eventId INTEGER"},
    [NSYS_TABLE_GRAPHS] = {NSYS_GRAPHS, WORK_COLUMNS ", graphId INTEGER, graphExecId INTEGER"},
    [NSYS_TABLE_MEMORY] =
        {"CUDA_GPU_MEMORY_USAGE_EVENTS",
         "start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
         "address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, "
         "memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, "
         "streamId INTEGER, localMemoryPoolAddress INTEGER"},
    [NSYS_TABLE_OVERHEAD] = {"PROFILER_OVERHEAD",
                             "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, "
                             "nameId INTEGER NOT NULL, returnValue INTEGER"},
    [NSYS_TABLE_OSRT] = {NSYS_OSRT,
                         "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                         "eventClass INTEGER NOT NULL, globalTid INTEGER, "
                         "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, "
                         "nestingLevel INTEGER, callchainId INTEGER"},
    [NSYS_TABLE_OSRT_CHAINS] = {NSYS_OSRT_CHAINS, CHAIN_COLUMNS, ", PRIMARY KEY (id, stackDepth))"},
    [NSYS_TABLE_SWITCHES] = {"SCHED_EVENTS", "start INTEGER NOT NULL, cpu INTEGER, "
                                             "isSchedIn INTEGER NOT NULL, globalTid INTEGER"},
    [NSYS_TABLE_SAMPLES] = {NSYS_SAMPLES,
                            "id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, "
                            "cpu INTEGER, threadState INTEGER, globalTid INTEGER, "
                            "cpuCycles INTEGER NOT NULL"},
    [NSYS_TABLE_CHAINS] = {NSYS_CHAINS, CHAIN_COLUMNS, ", PRIMARY KEY (id, stackDepth))"},
    [NSYS_TABLE_LAUNCHED] = {"temp.launched",
                             "thread INTEGER NOT NULL, start INTEGER NOT NULL, "
                             "correlation INTEGER NOT NULL, number INTEGER NOT NULL",
                             ", PRIMARY KEY (thread, start, correlation)) WITHOUT ROWID"},
    [NSYS_TABLE_CALLED] = {"temp.called", "process INTEGER NOT NULL, number INTEGER NOT NULL",
                           ", PRIMARY KEY (process, number)) WITHOUT ROWID"},
};

/* ---- Errors ---------------------------------------------------------------------------------- */

static void fail(struct nsys_database *db, int status)
{
    int system = db->file ? sqlite3_system_errno(db->file) : 0;
    if (db->error)
        return;
    if (status == SQLITE_NOMEM)
        db->error = -ENOMEM;
    else if (file_limit_hit(&db->signals))
        db->error = -EFBIG;
    else if (status == SQLITE_FULL)
        db->error = -ENOSPC;
    else
        db->error = system ? -system : -EIO;
}

static void check(struct nsys_database *db, int status)
{
    if (status != SQLITE_OK && status != SQLITE_DONE && status != SQLITE_ROW)
        fail(db, status);
}

static void run(struct nsys_database *db, const char *sql)
{
    if (!db->error)
        check(db, sqlite3_exec(db->file, sql, NULL, NULL, NULL));
}

/* Inserts the waiting rows. */
static void insert(struct nsys_database *db, struct nsys_rows *rows)
{
    if (rows->waiting && !db->error) {
        check(db, sqlite3_bind_int(rows->insert, rows->columns * rows->size + 1, rows->waiting));
        check(db, sqlite3_step(rows->insert));
    }
    if (rows->insert)
        sqlite3_reset(rows->insert);
    rows->waiting = 0;
}

void nsys_run(struct nsys_database *db, const char *sql)
{
    for (unsigned i = 0; i < NSYS_TABLES; i++)
        insert(db, &db->tables[i]);
    run(db, sql);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* Unlinks the file at once, so that other processes cannot open it and it is freed on exit. */
static int open_file(struct nsys_database *db)
{
    char path[FILE_TEMPORARY_SIZE];
    db->fd = file_open_named(path);
    if (db->fd < 0)
        return db->fd;
    int status =
        sqlite3_open_v2(path, &db->file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    check(db, status);
    run(db, "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; "
            "PRAGMA temp_store = FILE; PRAGMA encoding = 'UTF-8'; BEGIN");
    unlink(path);
    return db->error;
}

int nsys_database_init(struct nsys_database *db, const struct trace *trace)
{
    *db = (struct nsys_database){.fd = -1, .trace = trace};
    db->string_count = trace_string_count(trace);
    db->written = calloc(db->string_count + 1u, sizeof(*db->written));
    if (!db->written)
        return -ENOMEM;
    file_limit_hold(&db->signals);
    db->holds_signals = true;
    return open_file(db);
}

static void finalize(struct nsys_database *db)
{
    for (unsigned i = 0; i < NSYS_TABLES; i++) {
        sqlite3_finalize(db->tables[i].insert);
        db->tables[i].insert = NULL;
    }
    sqlite3_finalize(db->find_launch);
    db->find_launch = NULL;
}

void nsys_database_fini(struct nsys_database *db)
{
    finalize(db);
    sqlite3_close(db->file);
    if (db->fd >= 0)
        close(db->fd);
    if (db->holds_signals)
        file_limit_release(&db->signals);
    free(db->written);
    strtab_free(&db->made);
    *db = (struct nsys_database){.fd = -1};
}

int nsys_database_copy(struct nsys_database *db, struct out_stream *out)
{
    nsys_run(db, "COMMIT");
    finalize(db);
    if (!db->error)
        check(db, sqlite3_close(db->file));
    if (!db->error)
        db->file = NULL;
    for (uint64_t at = 0; !db->error && !out_error(out);) {
        ssize_t got = file_read_at(db->fd, out_reserve(out, COPY_SIZE), COPY_SIZE, at);
        if (got <= 0)
            return (int)got;
        out_advance(out, (size_t)got);
        at += (uint64_t)got;
    }
    return db->error;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Prepares a statement for up to `size` rows; its last parameter is their number. */
static void make_insert(struct nsys_database *db, enum nsys_table table, int size)
{
    char sql[SQL_SIZE];
    struct text text = text_init(sql, sizeof(sql));
    struct nsys_rows *rows = &db->tables[table];
    rows->columns = 1;
    for (const char *at = tables[table].columns; (at = strchr(at, ',')); at++)
        rows->columns++;
    rows->size = size;
    text_format(&text, "INSERT %sINTO %s ", table >= NSYS_TABLE_LAUNCHED ? "OR IGNORE " : "",
                tables[table].name);
    for (int i = 0; i < size * rows->columns; i++)
        text_format(&text, i == 0                   ? "SELECT ?"
                           : i % rows->columns == 0 ? " UNION ALL SELECT ?"
                                                    : ",?");
    text_format(&text, " LIMIT ?");
    if (!db->error)
        check(db, sqlite3_prepare_v3(db->file, sql, -1, SQLITE_PREPARE_PERSISTENT, &rows->insert,
                                     NULL));
    memset(rows->put, 0, sizeof(rows->put));
}

static void make_table(struct nsys_database *db, enum nsys_table table)
{
    char sql[SQL_SIZE];
    struct text text = text_init(sql, sizeof(sql));
    const char *last = tables[table].last;
    text_format(&text, "CREATE TABLE %s (%s%s", tables[table].name, tables[table].columns,
                last ? last : ")");
    run(db, sql);
    make_insert(db, table, 1);
}

/* Switches a table to batches after FEW_ROWS. The private tables are queried between inserts, so
 * they stay at one row. */
static void make_wide(struct nsys_database *db, enum nsys_table table)
{
    struct nsys_rows *rows = &db->tables[table];
    if (rows->seen < FEW_ROWS)
        rows->seen++;
    if (rows->seen < FEW_ROWS || rows->size > 1 || table >= NSYS_TABLE_LAUNCHED)
        return;
    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
    make_insert(db, table, NSYS_ROWS_MAX);
}

void nsys_begin_row(struct nsys_database *db, enum nsys_table table)
{
    struct nsys_rows *rows = &db->tables[table];
    if (!rows->insert && !db->error)
        make_table(db, table);
    else if (!db->error)
        make_wide(db, table);
    db->rows = rows->insert && !db->error ? rows : NULL;
    db->column = 0;
    db->put = 0;
}

/* Marks the next column as not NULL and returns its parameter, or 0 outside of a row. */
static int next_parameter(struct nsys_database *db)
{
    if (!db->rows)
        return 0;
    db->put |= UINT64_C(1) << db->column++;
    return db->rows->waiting * db->rows->columns + db->column;
}

void nsys_put(struct nsys_database *db, int64_t number)
{
    int parameter = next_parameter(db);
    if (parameter)
        check(db, sqlite3_bind_int64(db->rows->insert, parameter, number));
}

void nsys_put_real(struct nsys_database *db, double number)
{
    int parameter = next_parameter(db);
    if (parameter)
        check(db, sqlite3_bind_double(db->rows->insert, parameter, number));
}

static void put_text(struct nsys_database *db, const char *bytes, size_t length,
                     sqlite3_destructor_type kept)
{
    int parameter = next_parameter(db);
    if (parameter)
        check(db,
              sqlite3_bind_text64(db->rows->insert, parameter, bytes, length, kept, SQLITE_UTF8));
}

void nsys_put_text(struct nsys_database *db, const char *bytes, size_t length)
{
    put_text(db, bytes, length, SQLITE_TRANSIENT);
}

void nsys_put_lasting(struct nsys_database *db, const char *bytes, size_t length)
{
    put_text(db, bytes, length, SQLITE_STATIC);
}

void nsys_skip(struct nsys_database *db, int columns)
{
    db->column += columns;
}

void nsys_end_row(struct nsys_database *db)
{
    struct nsys_rows *rows = db->rows;
    if (!rows)
        return;
    uint64_t stale = rows->put[rows->waiting] & ~db->put; /* columns set by an earlier row */
    for (; stale; stale &= stale - 1)
        sqlite3_bind_null(rows->insert, rows->waiting * rows->columns + 1 + __builtin_ctzll(stale));
    rows->put[rows->waiting++] = db->put;
    if (rows->waiting == rows->size)
        insert(db, rows);
    db->rows = NULL;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void put_string(struct nsys_database *db, int64_t id, const char *bytes, size_t length)
{
    nsys_begin_row(db, NSYS_TABLE_STRINGS);
    nsys_put(db, id);
    nsys_put_lasting(db, bytes, length);
    nsys_end_row(db);
}

int64_t nsys_string(struct nsys_database *db, uint32_t string)
{
    const struct trace_string *text = trace_string(db->trace, string);
    if (string >= db->string_count)
        return nsys_text(db, text->bytes);
    if (!db->written[string]) {
        db->written[string] = 1;
        put_string(db, string, text->bytes, text->length);
    }
    return string;
}

int64_t nsys_text(struct nsys_database *db, const char *text)
{
    size_t count = db->made.count, length = strlen(text);
    int64_t number = strtab_add(&db->made, text, length);
    if (number < 0) {
        db->error = db->error ? db->error : (int)number;
        return MADE_TEXTS;
    }
    if (db->made.count > count)
        put_string(db, MADE_TEXTS + number, strtab_get(&db->made, (size_t)number)->bytes, length);
    return MADE_TEXTS + number;
}
