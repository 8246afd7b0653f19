/* SPDX-License-Identifier: MIT */
/* Rows in the order of the groups that they belong to, in bounded memory: what SQLite's sorter does
 * with one comparison of texts for each pair of rows, by one comparison for each pair of groups.
 *
 * Rows are collected, put in order by counting when there is no more room, and written to a
 * temporary file without a name; in the end such runs are read side by side. Rows of one group stay
 * in the order in which they came. Thread-safety: none. */
#ifndef ANNOT_QUERY_SORT_H
#define ANNOT_QUERY_SORT_H

#include "hash_map.h"

#include <stddef.h>
#include <stdint.h>

struct query_sort;

struct query_sort_options {
    size_t row_size;  /* of each row, in bytes: a multiple of 4 */
    size_t room_size; /* bytes for rows; twice as many are taken */
    /* Which group goes first: less than, equal to, or greater than 0. */
    int (*compare)(void *context, const struct wide_key *a, const struct wide_key *b);
    void *context;
};

/* NULL: no memory. */
struct query_sort *query_sort_create(const struct query_sort_options *options);
void query_sort_destroy(struct query_sort *sort);

/* 0, -ENOMEM; -errno of the temporary file, see query_sort_file_failed. */
int query_sort_add(struct query_sort *sort, const struct wide_key *group, const void *row);

/* All are added. As above. */
int query_sort_finish(struct query_sort *sort);

/* 1: the next one, valid until the next call; 0: there are no more; -errno. */
int query_sort_next(struct query_sort *sort, const struct wide_key **ret_group,
                    const void **ret_row);

/* Was the last -errno that of the temporary file? */
bool query_sort_file_failed(const struct query_sort *sort);

#endif
