/* SPDX-License-Identifier: MIT */
/* The page: one self-contained file for browsers that shows where the time of a recording went.
 * docs/page-data.md describes its data.
 *
 * The recording is read once, together with the report (profile/report.h), whose tables are on the
 * page. The other data are sums of bounded number, so that a page has at most PAGE_BYTES_MAX bytes.
 * The page lists omitted data. Thread-safety: one thread per object. */
#ifndef ANNOT_PAGE_H
#define ANNOT_PAGE_H

#include "gpu_stacks.h"
#include "out_stream.h"
#include "report.h"

enum { PAGE_BYTES_MAX = 5000000 };

/* A second recording, as tables that compare the two. */
struct page_compare {
    const char *file; /* name of the other recording; NULL: no comparison */
    const struct table *const *tables;
    unsigned count;
};

struct page_options {
    struct report_options report; /* `sinks` is set by the page */
    const char *title;            /* NULL: the program's name */
    const char *ending;           /* how the command ended, as a sentence; "": normally */
    bool no_source;               /* omit the text of source files */
    bool flame;                   /* only the views of stacks: flame graph, trees, source */
    const struct gpu_stacks_totals
        *gpu; /* totals of GPU time from `report.source`; NULL: CPU time */
    struct page_compare compare;
};

struct page;

/* In the first lines of every page. */
#define PAGE_MARK "<meta name=\"generator\" content=\"annot\">"

/* Reads the recording. Objects that the options point to must outlive the page. 0 or -errno;
 * destroy accepts NULL. */
int page_create(const struct page_options *options, struct page **ret_page);
void page_destroy(struct page *page);

/* True if the page has any sample or wait. */
bool page_has_stacks(const struct page *page);

/* Write only the data, as JSON, or the whole page. The stream keeps its errors. 0 or -errno. */
int page_write_data(struct page *page, struct out_stream *out);
int page_write(struct page *page, struct out_stream *out);

#endif
