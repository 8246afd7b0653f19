/* SPDX-License-Identifier: MIT */
/* Ranges, samples, counters and marks as rows of a table. */
#ifndef ANNOT_EXPORT_ROWS_H
#define ANNOT_EXPORT_ROWS_H

#include "export.h"
#include "hash_map.h"
#include "json_writer.h"
#include "strtab.h"

/* The same names as in annot query where it has them; times count from the begin of the recording.
 * Texts have keys, by which a writer knows them again without a look at their bytes. Memory: the
 * texts that were asked for, up to 32 MiB. Thread-safety: none. */

enum rows_table { ROWS_RANGES = 0, ROWS_SAMPLES, ROWS_COUNTERS, ROWS_MARKS, ROWS_TABLES };

enum rows_type {
    ROWS_INTEGER = 0,
    ROWS_TIME,   /* an integer; not far from that of the row before */
    ROWS_NUMBER, /* an integer or not */
    ROWS_TEXT,   /* one of many that come again */
    ROWS_BYTES,  /* text that seldom comes again */
};

struct rows_column {
    const char *name;
    uint8_t type; /* enum rows_type */
};

enum rows_cell_kind { CELL_NONE = 0, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BYTES };

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

/* ---- Paths of ranges: rows_paths.c ----
 *
 * Each path has a number, the same as long as it is known: paths that are the same may have
 * different ones, different paths have not. Memory: 4 MiB. */

struct rows_link {
    uint32_t name, scope, number;
};

struct rows_paths {
    VEC(struct rows_link) last; /* the path of the last range, from the root */
    struct map64 names;         /* of name and scope */
    struct map64 numbers;       /* of the path around it in the upper half, and that */
    uint32_t given;
};

/* The number of a range's path, or -ENOMEM. */
int64_t rows_paths_find(struct rows_paths *paths, const struct item *item);
void rows_paths_fini(struct rows_paths *paths);

/* ---- Rows: rows.c ---- */

struct rows_recent {
    uint64_t key; /* 0: none */
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
    struct rows_cell cells[ROWS_COLUMNS_MAX]; /* of the present row */
    const char *bytes;                        /* of its one CELL_BYTES */
    const struct item *item;                  /* what it is made of */
    struct rows_paths paths;
    struct out_stream *made, *text; /* memory: of cells of the row; of a text */
    struct map64 by_key;            /* key: place in texts + 1 */
    struct strtab texts;
    size_t text_bytes;
    struct rows_recent recent[ROWS_RECENT]; /* of keys, by their lowest bits */
};

/* Which of them is asked for: --table. */
enum rows_table rows_table_of(const struct export_options *options);
const char *rows_table_name(enum rows_table table);
uint32_t rows_wants(const struct export_options *options);

/* 0 or -ENOMEM; then fini all the same. */
int rows_init(struct rows *rows, const struct export_job *job);
void rows_fini(struct rows *rows);

/* 1: the item is a row, whose cells are there until the next call; 0: it is none; -ENOMEM. */
int rows_take(struct rows *rows, const struct item *item);

/* The text of a key of the present row; valid until the next call. NULL: no memory. */
const char *rows_text(struct rows *rows, uint64_t key, size_t *ret_length);

/* Key-values as members of a JSON object that is open; a value behind its key. */
void rows_put_values(struct json_doc *doc, const struct trace *trace, const struct args *args);
void rows_put_value(struct json_doc *doc, const struct trace *trace, uint32_t kind,
                    union value value);

#define ROWS_OPTION_TABLE                                                                          \
    {                                                                                              \
        "table", 0, OPTION_CHOICE, EXPORT_AT(table), "ranges|samples|counters|marks",              \
            "which table; default: ranges", NULL                                                   \
    }

#endif
