/* SPDX-License-Identifier: MIT */
/* Rows of a table gathered into columns, for formats that store a column in one piece.
 *
 * Rows come in groups of COLUMNS_ROWS_MAX, or fewer if their texts are long. Ranges of a group are
 * put in order of lane and begin. Every column may lack values. Memory: 12 bytes a cell of a group,
 * and its texts. Thread-safety: none. */
#ifndef ANNOT_COLUMNS_H
#define ANNOT_COLUMNS_H

#include "export_rows.h"
#include "vec.h"

/* ---- Bytes ---- */

/* Grows; what does not fit for want of memory sets `failed`. */
struct column_bytes {
    VEC(uint8_t) vec;
    bool failed;
};

void column_put(struct column_bytes *bytes, const void *data, size_t size);
/* So many zeros; where they begin. NULL: no memory. */
uint8_t *column_room(struct column_bytes *bytes, size_t size);

/* ---- Columns: columns.c ---- */

enum column_type { COLUMN_INTEGER = 0, COLUMN_REAL, COLUMN_TEXT };

/* Of one group. */
struct column {
    const char *name;
    enum column_type type;
    bool dictionary;           /* texts are indices of words, which `bytes` has */
    uint32_t *present;         /* by row: 0 or 1 */
    int64_t *values;           /* those that are there: integers, bits of doubles */
    uint32_t *indices;         /* the same of words */
    uint32_t count;            /* of these */
    uint32_t word_count;       /* of the dictionary */
    struct column_bytes bytes; /* texts, each behind its length in four bytes */
};

enum { COLUMNS_ROWS_MAX = 1 << 18, COLUMN_LAST_WORDS = 64 };

struct column_word {
    uint64_t key; /* 0: none */
    uint32_t index, length;
};

/* The words of a dictionary. */
struct column_words {
    struct map64 by_key; /* length in the upper half, index + 1 */
    struct column_word last[COLUMN_LAST_WORDS];
};

/* By which rows are put in order. */
struct row_key {
    uint64_t lane;
    int64_t begin_ns;
    uint32_t row; /* as it came */
};

struct columns {
    struct rows rows;
    struct column items[ROWS_COLUMNS_MAX];
    struct column_words words[ROWS_COLUMNS_MAX];
    struct row_key *keys; /* of ranges; else NULL */
    uint32_t row_count;
    size_t text_bytes; /* of words, or spelled out */
    bool spelled;      /* a text is written as often as it occurs */
};

/* 0 or -ENOMEM; then fini all the same. */
int columns_init(struct columns *columns, const struct export_job *job, bool spelled);
void columns_fini(struct columns *columns);

/* 1: the group is full; 0; -ENOMEM. */
int columns_take(struct columns *columns, const struct item *item);

/* Puts the rows of the group in order; what is around comes first. 0 or -ENOMEM. */
int columns_sort(struct columns *columns);

/* Begins a new group. */
void columns_forget(struct columns *columns);

#endif
