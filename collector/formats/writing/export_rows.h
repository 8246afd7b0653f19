/* SPDX-License-Identifier: MIT */
/* Ranges, samples, counters and marks as rows of a table. */
#ifndef ANNOT_EXPORT_ROWS_H
#define ANNOT_EXPORT_ROWS_H

#include "export.h"
#include "hash_map.h"
#include "json_writer.h"
#include "row_schema.h"
#include "strtab.h"

/* Column names are those of annot query; times count from the start of the recording. Texts have
 * keys, by which a writer recognizes them without comparing their bytes. Memory: the texts
 * requested, up to 32 MiB. Thread-safety: none. */

enum rows_table { ROWS_RANGES = 0, ROWS_SAMPLES, ROWS_COUNTERS, ROWS_MARKS, ROWS_TABLES };

enum rows_type {
    ROWS_INTEGER = 0,
    ROWS_TIME,   /* an integer close to that of the row before */
    ROWS_NUMBER, /* an integer or not */
    ROWS_TEXT,   /* a text that is often repeated */
    ROWS_PATH,   /* of ranges, as text */
    ROWS_BYTES,  /* text that is rarely repeated */
};

struct rows;
struct rows_cell;

struct rows_column {
    const struct schema_column *schema; /* its name */
    uint8_t type;                       /* enum rows_type */
    /* Makes the cell of an event. NULL: schema->get does, or put_who. */
    void (*make)(struct rows *rows, const struct item *item, struct rows_cell *cell);
};

enum rows_cell_kind { CELL_NONE = 0, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BYTES, CELL_PATH };

struct rows_cell {
    uint8_t kind; /* enum rows_cell_kind */

    union {
        int64_t integer;
        double real;
        uint64_t key;  /* of a text: rows_text() */
        size_t length; /* of rows.bytes */
    };
};

enum { ROWS_COLUMNS_MAX = 20, ROWS_RECENT = 256 };

/* ---- Paths of ranges ----
 *
 * The path of one range, from the root. Consecutive ranges of a lane share most of their path, so
 * only the difference is made. Memory: the path. */

struct rows_link {
    uint32_t name, scope;
    uint32_t number; /* the caller's, 0 for a new one */
    size_t end;      /* of its text within that of the path */
};

struct rows_paths {
    const struct trace *trace;
    VEC(struct rows_link) links;
    struct out_stream *text; /* memory: "a/b/c" */
};

/* 0 or -ENOMEM; then fini all the same. */
int rows_paths_init(struct rows_paths *paths, const struct trace *trace);
void rows_paths_fini(struct rows_paths *paths);

/* Cuts the path to its first `count` ranges, if it has more; adds one: 0 or -ENOMEM. */
void rows_paths_cut(struct rows_paths *paths, size_t count);
int rows_paths_add(struct rows_paths *paths, uint32_t name, uint32_t scope);

/* Valid until the next call. */
const char *rows_paths_text(const struct rows_paths *paths, size_t *ret_length);

/* ---- Rows ------------------------------------------------------------------------------------ */

struct rows_recent {
    uint64_t key; /* 0: unused */
    const char *bytes;
    size_t length;
};

struct rows {
    const struct trace *trace;
    const struct sample_sets *sets;
    enum rows_table table;
    const struct rows_column *columns;
    uint32_t count; /* of columns */
    int64_t begin_ns;
    struct rows_cell cells[ROWS_COLUMNS_MAX]; /* of the current row */
    const char *bytes;                        /* of its one CELL_BYTES */
    struct rows_paths paths;                  /* of its one CELL_PATH */
    struct out_stream *made, *text;           /* memory: of cells of the row; of a text */
    struct map64 by_key;                      /* key: place in texts + 1 */
    struct strtab texts;
    size_t text_bytes;
    struct rows_recent recent[ROWS_RECENT]; /* of keys, by their lowest bits */
};

const char *rows_table_name(enum rows_table table);
uint32_t rows_wants(const struct export_options *options);

/* 0 or -ENOMEM; then fini all the same. */
int rows_init(struct rows *rows, const struct export_job *job);
void rows_fini(struct rows *rows);

/* 1: the item is a row, with cells valid until the next call; 0: it is not; -ENOMEM. */
int rows_take(struct rows *rows, const struct item *item);

/* The text of a key; valid until the next call. NULL: out of memory. */
const char *rows_text(struct rows *rows, uint64_t key, size_t *ret_length);

/* Key-values as members of an open JSON object; a value after its key. */
void rows_put_values(struct json_doc *doc, const struct trace *trace, const struct args *args);
void rows_put_value(struct json_doc *doc, const struct trace *trace, uint32_t kind,
                    union value value);

/* Common fields of the exporters of rows. */
extern const struct option_spec rows_options[];

#define ROWS_EXPORTER                                                                              \
    .carries = "ranges; or samples, counters, marks: --table", .waits = true,                      \
    .options = rows_options, .choose = rows_wants

#endif
