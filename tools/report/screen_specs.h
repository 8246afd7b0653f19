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
    bool observed;      /* includes rows of observers */
    bool unlike;        /* shown only if its rows differ */
    unsigned wall_part; /* shown from this fraction of the wall time on; 0: always */
    struct short_column columns[7];
    const char *size;        /* column that orders the rows; NULL: time, else count */
    const char *optional[3]; /* columns hidden to make room for names, in this order */
};

extern const struct short_table screen_short_tables[]; /* ends with an entry without a name */

#endif
