/* SPDX-License-Identifier: MIT */
/* Rows of a table gathered into columns, for formats that store a column in one piece.
 *
 * Rows come in groups of COLUMNS_ROWS_MAX, or fewer if their texts are long. Ranges of a group are
 * put in order of lane and begin. Every column may lack values. Memory: 12 bytes a cell of a group,
 * and its texts. Thread-safety: one thread per object. */
#ifndef ANNOT_COLUMNS_H
#define ANNOT_COLUMNS_H

#include "export_rows.h"
#include "vec.h"

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* A growing buffer; out of memory sets `failed`. */
struct column_bytes {
    VEC(uint8_t) vec;
    bool failed;
};

void column_put(struct column_bytes *bytes, const void *data, size_t size);

/* The length of a text, in four bytes. */
void column_put_size(struct column_bytes *bytes, size_t size);

/* Appends room for `size` bytes and returns it. NULL: out of memory. */
uint8_t *column_room(struct column_bytes *bytes, size_t size);
uint8_t *column_zeros(struct column_bytes *bytes, size_t size);

/* ---- Paths of ranges ----
 *
 * The paths of a group, as words of a dictionary that are spelled when they are written: each range
 * on them is kept once, below the one around it. */

struct path_node {
    uint32_t parent, name, scope;
    uint32_t depth; /* number of itself and those around it */
    uint32_t word;  /* + 1; 0: only an ancestor of words */
};

struct path_word {
    uint32_t node;
    size_t length;
};

struct column_paths {
    VEC(struct path_node) nodes; /* the first is the root */
    VEC(struct path_word) words;
    uint32_t *slots; /* hash table of nodes: index; 0: free */
    size_t slot_count;
    VEC(uint32_t) way;            /* scratch */
    struct rows_paths spelled;    /* the word spelled last; its links' numbers are nodes */
    size_t word_bytes, all_bytes; /* of texts: each once, and with repetitions */
};

/* 0 or -ENOMEM; then fini all the same. */
int column_paths_init(struct column_paths *paths, const struct trace *trace);
void column_paths_fini(struct column_paths *paths);

/* The word of a path, whose links are set to the numbers of nodes: a new one is words.count - 1. 0
 * or -ENOMEM. */
int column_paths_take(struct column_paths *paths, struct rows_paths *path, uint32_t *ret_word);

/* Spells a word into paths->spelled; its first *ret_same bytes equal those of the word before. 0 or
 * -ENOMEM. */
int column_paths_spell(struct column_paths *paths, uint32_t word, size_t *ret_same);

/* ---- Columns --------------------------------------------------------------------------------- */

enum column_type { COLUMN_INTEGER = 0, COLUMN_REAL, COLUMN_TEXT };

/* Of one group. */
struct column {
    const char *name;
    enum column_type type;
    bool dictionary;            /* texts are indices of words, in `bytes` or `paths` */
    struct column_paths *paths; /* NULL: without paths */
    bool in_order;              /* integers close to the one before */
    uint32_t *present;          /* by row: 0 or 1 */
    int64_t *values;            /* of the rows that have one: integers, bits of doubles */
    uint32_t *indices;          /* the same for words */
    uint32_t count;             /* of these */
    uint32_t word_count;        /* of the dictionary */
    struct column_bytes bytes;  /* texts, each after its length in four bytes */
};

enum { COLUMNS_ROWS_MAX = 1 << 18, COLUMN_LAST_WORDS = 64 };

struct column_word {
    uint64_t key; /* 0: unused */
    uint32_t index, length;
};

/* The words of a dictionary. */
struct column_words {
    struct map64 by_key; /* length in the upper half, index + 1 */
    struct column_word last[COLUMN_LAST_WORDS];
};

/* Sort key of a row. */
struct row_key {
    uint64_t lane;
    int64_t begin_ns;
    uint32_t row; /* its number before sorting */
};

struct columns {
    struct rows rows;
    struct column items[ROWS_COLUMNS_MAX];
    struct column_words words[ROWS_COLUMNS_MAX];
    struct column_paths paths;
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

/* Sorts the rows of the group; outer ranges first. 0 or -ENOMEM. */
int columns_sort(struct columns *columns);

/* Begins a new group. */
void columns_forget(struct columns *columns);

#endif
