/* SPDX-License-Identifier: MIT */
/* Sorts rows by their groups, in bounded memory: SQLite's sorter compares texts for each pair of
 * rows, this one only for each pair of groups.
 *
 * Rows are collected, sorted by counting when the buffer is full, and written to an unnamed
 * temporary file; at the end such runs are merged. Rows of one group keep their order.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_QUERY_SORT_H
#define ANNOT_QUERY_SORT_H

#include "hash_map.h"

#include <stddef.h>
#include <stdint.h>

struct query_sort;

struct query_sort_options {
    size_t row_size;  /* bytes of a row: a multiple of 4 */
    size_t room_size; /* bytes for rows; twice as much is allocated */
    /* Orders groups: less than, equal to, or greater than 0. */
    int (*compare)(void *context, const struct wide_key *a, const struct wide_key *b);
    void *context;
};

/* NULL: out of memory. */
struct query_sort *query_sort_create(const struct query_sort_options *options);
void query_sort_destroy(struct query_sort *sort);

/* 0, -ENOMEM; -errno of the temporary file, see query_sort_file_failed. */
int query_sort_add(struct query_sort *sort, const struct wide_key *group, const void *row);

/* Call after the last row. Errors as above. */
int query_sort_finish(struct query_sort *sort);

/* 1: the next row, valid until the next call; 0: end; -errno. */
int query_sort_next(struct query_sort *sort, const struct wide_key **ret_group,
                    const void **ret_row);

/* Returns true if the last -errno was that of the temporary file. */
bool query_sort_file_failed(const struct query_sort *sort);

#endif
