/* SPDX-License-Identifier: MIT */
/* Prints results of queries. Main thread only. */
#ifndef ANNOT_QUERY_PRINT_H
#define ANNOT_QUERY_PRINT_H

#include "out_stream.h"
#include "query.h"

/* ---- Results --------------------------------------------------------------------------------- */

enum query_form {
    QUERY_FORM_TABLE, /* to standard output */
    QUERY_FORM_CSV,
    QUERY_FORM_JSON, /* one object per line */
};

struct query_printer {
    enum query_form form;
    struct out_stream *out; /* of CSV and JSON */
    size_t width;           /* 0: no limit */
    bool color;
    /* Of the current result. */
    unsigned results; /* so far */
    uint64_t rows;
    struct query_block *block; /* rows of a table, printed together */
};

/* Valid as long as the printer; fini in any case. Results of the sink are -errno of the output. */
struct query_sink query_printer_sink(struct query_printer *printer);
void query_printer_fini(struct query_printer *printer);

#endif
