/* SPDX-License-Identifier: MIT */
/* Columns of the tables that compare two sides: each table has some of these, in this order. */
#ifndef ANNOT_COMPARE_TABLES_H
#define ANNOT_COMPARE_TABLES_H

#include "compare.h"
#include "table.h"

struct compare;

enum compare_column {
    LABEL, /* of people */
    OF,
    PLACE,
    A_TEXT,
    B_TEXT,
    DIFFERENCE_TEXT,
    CHANGE_TEXT,
    INTERVAL_TEXT,
    TIMES_TEXT,
    EACH_TEXT,
    KIND, /* of programs */
    NAME,
    OLD_NAME,
    METRIC,
    UNIT,
    A_NUMBER,
    B_NUMBER,
    DIFFERENCE,
    LOW,
    HIGH,
    CHANGE,
    P,
    ADJUSTED,
    CHANCE,
    A_COUNT,
    B_COUNT,
    VERDICT, /* of both */
    COMPARE_COLUMNS,
};

/* Adds all of them, so that a column's index is its number; those whose bits are not set in
 * `shown` have neither name nor title. */
void compare_add_columns(struct table *table, uint32_t shown);

int compare_tables(struct compare *compare, uint64_t limit, const struct table **ret_tables);

#endif
