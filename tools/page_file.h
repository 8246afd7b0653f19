/* SPDX-License-Identifier: MIT */
/* A recording as a page (collector/page) in a file: of annot html, and of annot flame, which has a
 * part of it. A damaged recording is shown as far as it is whole, with exit 1. Main thread only. */
#ifndef ANNOT_PAGE_FILE_H
#define ANNOT_PAGE_FILE_H

#include <stdbool.h>

struct selection_values;

struct page_file {
    const char *output, *title; /* NULL: the recording's name with .html; of the program */
    const struct selection_values *selection; /* checked; its range: of samples only */
    const char *compare; /* another recording, A of the tables that compare the two; NULL: none */
    bool force;
    bool data, no_source; /* the data alone; without the text of source files */
    bool flame;           /* the views of stacks alone */
    bool gpu;             /* of GPU time */
};

/* Returns the exit status; what failed was printed. */
int page_file_write(const struct page_file *wanted, const char *recording);

#endif
