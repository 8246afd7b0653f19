/* SPDX-License-Identifier: MIT */
/* The short tables of a report's first screen, in their order. */
#ifndef ANNOT_SCREEN_SPECS_H
#define ANNOT_SCREEN_SPECS_H

#include <stdbool.h>

struct short_column {
    const char *name, *title;
};

struct short_table {
    const char *name, *title, *label;
    bool observed;      /* with what observers told */
    bool unlike;        /* it matters if its rows differ */
    unsigned wall_part; /* it matters from this part of the wall time on; 0: always */
    struct short_column columns[7];
    const char *size;        /* the column that rows go by; NULL: their time, else how often */
    const char *optional[3]; /* columns that make room for names, these first */
};

extern const struct short_table screen_short_tables[]; /* the last has no name */

#endif
