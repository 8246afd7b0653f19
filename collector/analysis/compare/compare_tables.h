/* SPDX-License-Identifier: MIT */
/* Columns of the tables that compare two sides: each table has some of these, in this order. */
#ifndef ANNOT_COMPARE_TABLES_H
#define ANNOT_COMPARE_TABLES_H

#include "compare.h"
#include "table.h"

/* Limit of the tables of compare_tables() and compare_screen(). */
enum { COMPARE_TABLES_MAX = 24 };

enum compare_column {
    LABEL, /* for readers */
    OF,
    PLACE,
    A_TEXT,
    B_TEXT,
    DIFFERENCE_TEXT,
    CHANGE_TEXT,
    INTERVAL_TEXT,
    TIMES_TEXT,
    EACH_TEXT,
    KIND, /* for programs */
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
    VERDICT, /* for both */
    COMPARE_COLUMNS,
};

/* compare_add_columns adds all columns, so that a column's index is its number; those without a bit
 * in `shown` have neither name nor title. compare_tables makes the tables for printers, in display
 * order, valid until the next call; `limit`: rows shown to readers; `ret_tables` has room for
 * COMPARE_TABLES_MAX. Returns their number, or -ENOMEM. */
void compare_add_columns(struct table *table, uint32_t shown);

int compare_tables(struct compare *compare, uint64_t limit, const struct table **ret_tables);

/* Sets a cell; one that is not finite is unknown, as JSON cannot represent it. */
void compare_put_value(struct table_row *row, unsigned column, double value);

#endif
