/* SPDX-License-Identifier: MIT */
/* All rows of one kind in a recording, as columns of numbers.
 *
 * Ranges are in order of their start, other rows in order of time. Texts are numbers of `strings`,
 * each text once; -1 means absent. Memory: all of it, 83 bytes a range, 52 a sample and 8 more for
 * each of its values. Independent of Python. Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_COLUMN_TABLE_H
#define PYANNOT_READER_COLUMN_TABLE_H

#include "hash_map.h"
#include "rows.h"
#include "strtab.h"

enum { COLUMN_TABLE_MAX = 24 };

struct column_items {
    const char *name;
    char format;   /* of Python's struct module: q Q i d B ? */
    void *items;   /* `count` of the table; owned */
    bool is_value; /* a value of samples: named by the recording, `name` is NULL */
};

/* Maps ordinals of a recording to numbers from 0, in the order in which they first occur. */
struct column_numbers {
    struct map64 of; /* ordinal + 1 -> number */
    VEC(uint32_t) ordinals;
};

/* Rows of the ranges that are open on a thread or track. */
struct column_lane {
    VEC(uint32_t) rows;
};

struct column_table {
    struct column_items columns[COLUMN_TABLE_MAX];
    unsigned column_count;
    size_t count, capacity; /* rows */
    struct strtab strings;

    const struct trace *trace;
    struct pass *pass;
    enum row_kind wanted;
    int64_t begin_ns;        /* time 0 of the columns */
    struct map64 string_of;  /* string ordinal + 1 -> number of `strings` */
    struct wide_map lane_of; /* thread or track -> index + 1 */
    VEC(struct column_lane) lanes;
    struct wide_map started; /* overlapping ranges that are open -> row + 1 */

    struct sample_rows *samples; /* for samples, in place of the pass */
    unsigned set;                /* of the samples */
    struct column_numbers stacks, paths;
};

/* As rows_init. */
int column_table_init(struct column_table *table, struct store_reader *reader,
                      enum row_kind wanted);
/* Samples of one set, with a column for each of its values. */
int column_table_init_samples(struct column_table *table, struct store_reader *reader,
                              unsigned set);
void column_table_fini(struct column_table *table);

/* Reads a part: 1; 0: complete; -EOVERFLOW: more rows than can be numbered; -errno. */
int column_table_fill(struct column_table *table);

/* Returns the size of an item in bytes. */
size_t column_table_item_size(char format);

#endif
