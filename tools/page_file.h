/* SPDX-License-Identifier: MIT */
/* Writes a recording as a page (collector/page) to a file: for annot html, and for annot flame,
 * which has a part of it. Of a damaged recording the intact part is shown, with exit 1. Main thread
 * only. */
#ifndef ANNOT_PAGE_FILE_H
#define ANNOT_PAGE_FILE_H

#include <stdbool.h>

struct selection_values;

struct page_file {
    const char *output, *title; /* NULL: the recording's name with .html; the program */
    const struct selection_values *selection; /* checked; its range applies to samples only */
    const char *compare; /* another recording, side A of the comparison tables; NULL: unset */
    bool force;
    bool data, no_source; /* only the data; without the text of source files */
    bool flame;           /* only the views of stacks */
    bool gpu;             /* samples of GPU time */
};

/* Returns the exit status after printing errors. */
int page_file_write(const struct page_file *wanted, const char *recording);

#endif
